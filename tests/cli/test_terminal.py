"""What a terminal, a pipe or a file system may do to a command: it answers in one line or not at all."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from commands import COMMAND
from fewpoint.cli.main import run
from fewpoint.cli.voice import say, tell

WAITING = """
import time
from fewpoint.cli.terminal import heed_interrupts
heed_interrupts()
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("ending", flush=True)
    time.sleep(600)
"""


def test_the_second_interrupt_ends_at_once_and_without_a_traceback():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=-1, stderr=-1, text=True) as process:
        for expected in ("ready\n", "ending\n"):
            assert process.stdout.readline() == expected
            process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=180)
    assert process.returncode == 130
    assert told == "fewpoint: stopped; run the same command to continue\n"


def start(line: str) -> subprocess.CompletedProcess[bytes]:
    command = ["bash", "-c", f'set -o pipefail; "$@" {line}', "-", *COMMAND, "info"]
    return subprocess.run(command, capture_output=True, check=False)


def test_a_reader_that_goes_away_is_no_error_to_talk_about():
    done = start("| true")
    assert done.stderr == b"" and done.returncode in (0, 141)


@pytest.mark.parametrize("line", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter(line):
    done = start(line)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
def test_a_full_disk_under_the_output_is_told():
    done = start("> /dev/full")
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1 and b"standard" in done.stderr and b"No space left on device" in done.stderr


def refuse(arguments: list[str], capsys) -> str:
    assert run(arguments) in (1, 2)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


def test_a_name_that_is_no_text_is_refused(capsys):
    assert "valid UTF-8" in refuse(["segment", "a\udcff.npy", "--out", "x"], capsys)


def test_a_name_cannot_steer_the_terminal(capsys):
    told = refuse(["evaluate", "\x1b[2J\x07.npy", "b.npy"], capsys)
    assert "\x1b" not in told and "\x07" not in told and "\\x1b[2J" in told


def test_a_name_from_a_file_cannot_either(capsys):
    say("masks of \x1b[31mred\x07")
    tell("warning: \x9b2J\tof ü")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("masks of \\x1b[31mred\\x07\n", "warning: \\x9b2J\tof ü\n")


@pytest.mark.parametrize("number", ["1_0", "١٢", "１"])
def test_numbers_have_the_digits_0_to_9(number, capsys):
    assert "not a valid number" in refuse(["segment", "a", "--out", "b", "--points", "c", "--seed", number], capsys)


@pytest.mark.parametrize("number", ["1_0", "١", "１"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--window", "{},400"),
        ("--channels", "0,{}"),
        ("--largest-box", "0,0,0,{},5"),
        ("--max-fraction", "{}%"),
        ("--box", "{},0,0,5,5"),
        ("--set", "training.batch={}"),
        ("--set", "warmup.rate={}"),
    ],
)
def test_so_have_those_in_lists_and_settings(option, value, number, tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.zeros((2, 8, 8), np.uint8))
    (tmp_path / "points.csv").write_text("frame,y,x\n0,1,1\n")
    call = ["segment", str(tmp_path / "a.npy"), "--out", str(tmp_path / "b"), "--points", str(tmp_path / "points.csv")]
    assert "must be" in refuse([*call, option, value.format(number)], capsys)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("could not create a primitive")])
def test_too_little_memory_is_one_line(error, monkeypatch, capsys):
    def exhaust(*given):
        raise error

    monkeypatch.setattr("fewpoint.cli.main._invoke", exhaust)
    assert run(["info"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "fewpoint: this machine's memory is not enough; reduce the input, or end other programs"
    ]
