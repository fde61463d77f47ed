"""Processes that the server starts: orders go in as lines, news come out as lines."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fewpoint.core.workers import safe_environment
from fewpoint.io.atomic import explaining_write_errors

LOG_TAIL = 4000


def start_process(command: Sequence[str], log: Path) -> subprocess.Popen[str]:
    """Start a process that talks over its standard input and output; what else it prints goes to the log."""
    with explaining_write_errors(log), open(log, "wb") as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=safe_environment({"OMP_WAIT_POLICY": "PASSIVE", **os.environ}),
            start_new_session=True,  # Ctrl-C reaches the server only, which then ends it
            text=True,
            encoding="utf-8",
        )


def send_line(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin is not None:
        process.stdin.write(line + "\n")
        process.stdin.flush()


def close_pipes(process: subprocess.Popen[str]) -> None:
    """Let go of a process that has ended."""
    for pipe in filter(None, (process.stdin, process.stdout)):
        with suppress(BrokenPipeError):
            pipe.close()


def explain_death(code: int, log: Path, what: str) -> str:
    """Why a process ended silently, from its exit code and the last line that it left. what: the process in words."""
    if code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if name == "SIGKILL" else ""
        return f"{what} was killed by {name}{hint}"
    try:
        lines = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip().splitlines()
    except OSError:
        lines = []
    last = lines[-1] if lines else f"it exited with code {code} and no message"
    return f"{what} ended early: {last[:500]}"
