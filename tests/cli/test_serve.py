"""`fewpoint serve` as a user starts it."""

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from commands import COMMAND
from fewpoint.cli.main import run


@pytest.mark.nightly
def test_it_prints_where_clients_connect_and_their_key_and_ends_without_a_trace(tmp_path):
    kept = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "kept"), "FEWPOINT_TOKEN": "a-key-of-my-own"}
    command = [*COMMAND, "serve", "--root", str(tmp_path), "--port", "0", "--sessions", "2", "--idle", "5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=kept) as server:
        lines = [server.stderr.readline() for _ in range(3)]
        address = re.fullmatch(r"server:  (http://127\.0\.0\.1:\d+)\n", lines[0])[1]
        assert lines[1] == "api key: a-key-of-my-own\n"
        assert lines[2] == "note:    whoever has this key can open everything below the root\n"
        claim = urllib.request.Request(f"{address}/claim", b"", {"Authorization": "Bearer a-key-of-my-own"})
        with urllib.request.urlopen(claim, timeout=180) as answer:
            assert json.loads(answer.read())["idle_timeout_seconds"] == 300
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/claim", b"", timeout=180)
        assert list((tmp_path / "kept").rglob("session-*"))
        server.send_signal(signal.SIGINT)
        server.wait(60)
    assert not list((tmp_path / "kept").rglob("server-*"))


def test_a_place_that_cannot_be_written_is_told_in_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "kept").write_bytes(b"a file where a folder should be")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "kept"))
    assert run(["serve", "--root", str(tmp_path), "--port", "0", "--no-token"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("fewpoint: ") and told.count("\n") == 1 and "kept" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--host", "0.0.0.0", "--no-token"), "--no-token works only at this machine's own address"),
        (("--root", "nowhere"), "the root must be a folder that is there, got nowhere"),
        (("--sessions", "0"), "--sessions"),
        (("--preset", "slow"), "--preset"),
        (("--set", "training.bach=3"), "did you mean training.batch?"),
    ],
)
def test_what_cannot_be_is_told_before_anything_listens(capsys, arguments, told):
    assert run(["serve", *arguments]) in (1, 2)
    assert told in capsys.readouterr().err
