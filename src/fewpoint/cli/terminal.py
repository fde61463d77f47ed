"""What a terminal, a pipe or a log does to a command: Ctrl-C, closed streams, and names that cannot be printed."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Any, TextIO

INTERRUPTED = 130
FAILED, PIPE_CLOSED = 1, 141
AGAIN = "stopped; run the same command to continue"


class QuietStream:
    """A stream that goes silent when nobody reads it any more: a run does not end because its log was closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_broken = stream, False

    def write(self, text: str) -> int:
        if not self._is_broken:
            try:
                return self._stream.write(text)
            except (OSError, ValueError):
                self._is_broken = True
        return len(text)

    def flush(self) -> None:
        if not self._is_broken:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._is_broken = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """Make standard streams that are closed lead nowhere, and those that are open print any name."""
    for number in (0, 1, 2):  # or the next file that is opened gets such a number, and what is printed goes into it
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    sys.stderr = QuietStream(sys.stderr)  # pyright: ignore[reportAttributeAccessIssue]


def heed_interrupts() -> None:
    """End in order at the first Ctrl-C, and at once at the second: what is on disk is whole at any moment."""
    pressed = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed += 1
        if pressed > 1:
            with suppress(OSError):
                os.write(2, f"fewpoint: {AGAIN}\n".encode())
            os._exit(INTERRUPTED)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def leave(code: int) -> None:
    """End the process; somebody who stopped reading what it prints is no error to talk about."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence_output()
        code = PIPE_CLOSED
    except OSError as error:
        print(f"fewpoint: cannot write to standard output: {error.strerror}", file=sys.stderr)
        silence_output()
        code = code or FAILED
    sys.exit(code)


def silence_output() -> None:
    """Let what is left to print go nowhere, also while Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
