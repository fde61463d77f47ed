"""The process that decoders are forked from, seen from here; free of numpy, so that it can be started first of all."""

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import fewpoint
from fewpoint.errors import InputError

TRUST = "FEWPOINT_TRUST"  # set to 1: files are decoded in the process itself
KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
ANSWER_SECONDS = 120.0  # it may have to load libraries from a slow disk
LENGTH, ANSWER = struct.Struct(">I"), struct.Struct(">q")
MOST_LOOKED_AT = 40

LIBRARIES: dict[tuple[str, ...], tuple[str, ...]] = {
    (".nii", ".gz"): ("nibabel", "nibabel.nifti1"),
    (".nrrd", ".nhdr", ".mha", ".mhd"): ("SimpleITK",),
    (".png", ".jpg", ".jpeg"): ("PIL.Image", "PIL.PngImagePlugin", "PIL.JpegImagePlugin", "imagecodecs"),
    (".tif", ".tiff"): ("tifffile", "imagecodecs"),
    (".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm", ".mpg", ".mpeg", ".wmv"): ("av",),
    (".zarr", ".zattrs", ".zgroup", ".zarray", "zarr.json"): ("zarr",),
    (".npy", ".npz"): (),
    (".nnia",): ("imagecodecs",),
    (".json",): (),
}
DICOM_LIBRARIES = ("pydicom", "pydicom.pixels", "gdcm")


def is_trusting() -> bool:
    """Whether files are decoded in this process itself: on request, and where processes cannot be forked."""
    return os.environ.get(TRUST) == "1" or not hasattr(os, "fork") or not hasattr(socket, "send_fds")


def warm_up(path: str | Path | None = None) -> None:
    """Start the process, and let it load what a file needs, while this one does other things."""
    if not is_trusting():
        with suppress(OSError):
            Forker.of_this_process().load(() if path is None else guess_libraries(Path(path)))


def guess_libraries(path: Path) -> tuple[str, ...]:
    """What a file needs by its name, or a folder by the names in it; a wrong guess costs a moment."""
    names = [path.name.lower()]
    if path.is_dir():
        with suppress(OSError), os.scandir(path) as entries:
            names += [entry.name.lower() for entry, _ in zip(entries, range(MOST_LOOKED_AT), strict=False)]
    found = next((needed for ends, needed in LIBRARIES.items() if any(name.endswith(ends) for name in names)), None)
    return DICOM_LIBRARIES if found is None else found


class Forker:
    """One such process. Safe to use from several threads."""

    _current: "Forker | None" = None
    _starting = threading.Lock()

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.process_id = os.getpid()
        self._control, self._lock = ours, threading.Lock()
        code = (
            f"import sys; sys.path[:] = {_module_places()!r}; "
            f"from fewpoint.io.apart.zygote import main; main({theirs.fileno()})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_clean_environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the process that asks
            )

    @classmethod
    def of_this_process(cls) -> "Forker":
        with cls._starting:
            current = cls._current
            if current is None or current.process_id != os.getpid() or current._process.poll() is not None:
                if current is not None:
                    current.close()
                cls._current = current = cls()
            return current

    @classmethod
    def begin(cls, libraries: tuple[str, ...]) -> "tuple[Forker, int, socket.socket]":
        """A new process with these libraries loaded, and the socket to talk to it."""
        for _ in range(2):  # somebody may have ended the one that was there
            forker = cls.of_this_process()
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    child = forker._ask({"libraries": libraries}, [theirs.fileno()])
                return forker, child, ours
            except (OSError, struct.error):
                ours.close()
                forker.close()
        raise InputError("the process that decodes files could not be started; try again, or read with --trust")

    def load(self, libraries: tuple[str, ...]) -> None:
        """Have libraries loaded, without waiting for it."""
        text = json.dumps({"load": libraries}).encode()
        with self._lock:
            self._control.sendall(LENGTH.pack(len(text)) + text)

    def end(self, child: int) -> int:
        """End a process; returns its exit code, negative for the signal that killed it."""
        try:
            return self._ask({"end": child}, [])
        except (OSError, struct.error):
            return -int(signal.SIGKILL)

    def close(self) -> None:
        """Let it end, and its processes with it."""
        self._control.close()
        if self.process_id == os.getpid():
            self._process.kill()
            self._process.wait()

    def _ask(self, order: dict[str, Any], files: list[int]) -> int:
        text = json.dumps(order).encode()
        with self._lock:
            self._control.settimeout(ANSWER_SECONDS)
            if files:
                socket.send_fds(self._control, [LENGTH.pack(len(text))], files)
            else:
                self._control.sendall(LENGTH.pack(len(text)))
            self._control.sendall(text)
            return ANSWER.unpack(self._control.recv(ANSWER.size, socket.MSG_WAITALL))[0]


def _module_places() -> list[str]:
    """Where this process finds modules, but for the present folder and that of a script."""
    foreign = {"", os.getcwd(), str(Path(sys.argv[0] or ".").absolute().parent)}
    kept = [entry for entry in sys.path if os.path.isabs(entry) and entry not in foreign]
    return [*kept, str(Path(fewpoint.__file__).parent.parent)]


def _clean_environment() -> dict[str, str]:
    """What Python needs, and one thread for libraries that would start one per core."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2", **threads, **kept}


@atexit.register
def _close_at_exit() -> None:
    if Forker._current is not None:
        Forker._current.close()
