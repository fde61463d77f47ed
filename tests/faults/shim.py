"""The shim that fails writes, seen from Python: compiled, loaded ahead of the C library, set as wished."""

import ctypes
import errno
import mmap
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("failing_writes.c")
STATE, LOG = "FAULTS_STATE", "FAULTS_LOG"
COMPILER = shutil.which("cc") or shutil.which("gcc")


class _State(ctypes.Structure):
    _fields_ = (("count", ctypes.c_long), ("at", ctypes.c_long), ("error", ctypes.c_long), ("lasting", ctypes.c_long))
    _fields_ += (("root", ctypes.c_char * 4096),)


@dataclass(frozen=True)
class Fault:
    """What goes wrong at a write: the disk is full from then on, or this one write fails."""

    name: str
    error: int
    lasting: bool


FULL, BROKEN = Fault("full", errno.ENOSPC, True), Fault("broken", errno.EIO, False)


@dataclass(frozen=True)
class Call:
    """A call that changes a folder."""

    number: int
    kind: str
    path: Path


def make_shim(folder: Path) -> dict[str, str]:
    """Compile it into a folder; returns the variables that load it into a process and those that it starts."""
    library = folder / "failing_writes.so"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    (folder / "state").write_bytes(bytes(ctypes.sizeof(_State)))
    return {STATE: str(folder / "state"), LOG: str(folder / "log"), "LD_PRELOAD": str(library)}


class Shim:
    """The counter that all processes share."""

    def __init__(self) -> None:
        with open(os.environ[STATE], "r+b") as file:
            self._state = _State.from_buffer(mmap.mmap(file.fileno(), ctypes.sizeof(_State)))

    def count_below(self, root: Path) -> None:
        """Start counting calls below a folder, none of which fails."""
        self._set(root, 0, FULL)

    def fail(self, root: Path, number: int, fault: Fault) -> None:
        """Start counting, and fail at this number."""
        self._set(root, number, fault)

    def stop(self) -> tuple[Call, ...]:
        """Count no more; returns the calls so far."""
        self._state.root = b""
        lines = Path(os.environ[LOG]).read_text(encoding="utf-8").splitlines()
        parts = (line.split(" ", 2) for line in lines)
        return tuple(Call(int(number), kind, Path(path)) for number, kind, path in parts)

    def _set(self, root: Path, number: int, fault: Fault) -> None:
        os.truncate(os.environ[LOG], 0)
        self._state.count, self._state.at = 0, number
        self._state.error, self._state.lasting = fault.error, fault.lasting
        self._state.root = os.fsencode(root)
