"""Progress: a live display on a terminal, plain lines elsewhere, the same figures on both."""

import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import replace
from fcntl import ioctl

import pytest

from commands import COMMAND
from fewpoint.cli.progress import PlainLines, RemainingTime, show_progress
from fewpoint.cli.voice import VERBOSE, speaking
from fewpoint.core import EpochFinished, EpochRecord, Message, StageFinished, StageStarted, StepsTaken

RECORD = EpochRecord(
    epoch=3,
    phase="warm-up",
    loss=0.5,
    positive_risk=0.25,
    negative_risk=0.25,
    ascent_share=0.25,
    click_probability=0.875,
    mean_prior=0.0625,
    negative_variance=0.001,
    largest_positive_share=0.1,
)


def test_away_from_a_terminal_progress_is_plain_lines(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with show_progress() as listener:
        listener(StageFinished("superpixels", 1.25, reused=True))
        listener(StageStarted("learning", 24))
        listener(EpochFinished(RECORD, 24))
        listener(Message("the stopping rule did not hold", warning=True))
        listener(StageFinished("learning", 12.34))
    assert capsys.readouterr().err.splitlines() == [
        "superpixels: already finished",
        "training: 12%",
        "warning: the stopping rule did not hold",
        "training: 12.3 s",
    ]


def test_figures_of_training_are_shown_with_v_alone(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    with speaking(VERBOSE), show_progress() as listener:
        listener(EpochFinished(RECORD, 24))
    assert capsys.readouterr().err == "warm-up, epoch 3 of at most 24: prior 0.0625, ascent 25%, clicks 0.88\n"


def test_plain_lines_keep_to_one_epoch_every_few_seconds_and_the_last(capsys):
    lines = PlainLines()
    for epoch in range(1, 25):
        lines(EpochFinished(EpochRecord(**{**vars(RECORD), "epoch": epoch}), 24))
    shown = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in shown] == ["training: 4%", "training: 100%"]


def test_an_epoch_after_which_nobody_looked_shows_the_clicks_last_known(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.setattr("fewpoint.cli.progress.SECONDS_BETWEEN_LINES", -1.0)
    with speaking(VERBOSE), show_progress() as listener:
        for epoch, clicks in ((3, math.nan), (4, 0.5), (5, math.nan)):
            listener(EpochFinished(replace(RECORD, epoch=epoch, click_probability=clicks), 24))
    shown = [line.split("ascent 25%")[1].split(", ") for line in capsys.readouterr().err.splitlines()]
    assert [part[1] if len(part) > 1 else "" for part in shown] == ["", "clicks 0.50", "clicks 0.50"]


def test_quiet_tells_warnings_only(capsys):
    with show_progress(quiet=True) as listener:
        listener(StageFinished("superpixels", 1.25))
        listener(Message("bound: given"))
        listener(Message("trapped", warning=True))
    assert capsys.readouterr().err == "warning: trapped\n"


def test_the_time_left_follows_the_pace_since_the_first_epoch_of_this_start(monkeypatch):
    now = iter([0.0, 100.0, 130.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    remaining = RemainingTime()
    assert remaining.estimate(10, 20) == ""  # already finished up to here, at second 100
    assert remaining.estimate(14, 20) == "0:45 left"  # 4 epochs took 30 s, so that 6 take 45 s


def test_there_is_an_estimate_after_a_few_steps_and_it_is_put_right(monkeypatch):
    """A step of ten a second, then one every two seconds."""
    now = iter([0.0, 0.1, 0.6, 2.6])  # the clock is read for the first step and for each estimate
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    remaining = RemainingTime()
    told = [remaining.estimate(step / 10, 20) for step in range(1, 8)]
    # The first step does not count. Then 0.5 epochs in 0.5 s with 19.4 to come, 0.6 in 2.5 s with 19.3 to come.
    assert told == ["", "", "", "", "", "0:19 left", "1:20 left"]


def test_plain_lines_tell_the_first_estimate_once(capsys, monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    lines = PlainLines()
    for step in range(1, 9):
        lines(StepsTaken(epoch=1, done=step, steps=10, total=24))
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"training: about \d+:\d\d left", line)


@pytest.mark.nightly
def test_on_a_terminal_of_80_columns_all_figures_are_on_screen(case):
    screen = show_on_terminal([*COMMAND, *case.segment("--set", "phases.final_epochs=10", "-v")], columns=80)
    for pattern in (
        r"superpixels",
        r"(warm-up|estimation|final), epoch \d+, \d+%, \d+:\d\d left",
        r"prior 0\.\d{4}, ascent \d+%, clicks 0\.\d\d",
        r"report: .*report\.html",
    ):
        assert re.search(pattern, screen), pattern


def show_on_terminal(command: list[str], columns: int) -> str:
    """What a command prints on a terminal of so many columns, without the codes that move and colour."""
    leader, follower = pty.openpty()
    ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env={**environment, "TERM": "xterm"}
    ) as process:
        os.close(follower)
        printed = b"".join(iter(lambda: read_some(leader), b""))
    os.close(leader)
    assert process.returncode == 0, printed.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())


def read_some(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # what Linux answers once the other side is closed
        return b""
