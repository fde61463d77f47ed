"""Call a function of fewpoint.io that decodes a file, in a process that can do nothing else."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fewpoint import errors
from fewpoint.core.stopping import check_stop
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.apart import plain
from fewpoint.io.apart.forker import Forker, guess_libraries, is_trusting

WITHIN = "FEWPOINT_WITHIN"  # a folder that links in an input must not lead out of
MEMORY_BYTES, MEMORY_DENSEST = 3 * 2**29, 250
STORE_BYTES, STORE_DENSEST = 2**31, 250
SECONDS, BYTES_PER_SECOND = 15.0, 2**20
DETACHED = (".mhd", ".nhdr")  # headers whose voxels lie in another file
THREAD_BYTES = 8 * 2**20
MOST_FILES = 50_000
# Files that name others beside them, or whose names say so little that they may.
ALONE = (".nii", ".gz", ".nrrd", ".mha", ".npy", ".npz", ".nnia", ".png", ".jpg", ".jpeg")
ALONE += (".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm", ".mpg", ".mpeg", ".wmv")

Found = TypeVar("Found")


def call(function: Callable[..., Found], path: Path, *arguments: Any) -> Found:
    """function(path, *arguments), in a process apart unless files are trusted.

    function: of fewpoint.io, whose module may name LIBRARIES that it needs besides those of the file. Arguments and
    answer must be able to travel (see plain). Whatever becomes of that process is an InputError that says so.
    """
    if is_trusting():
        return function(path, *arguments)
    with _Reading(function, path, arguments) as reading:
        kind, *rest = reading.hear()
        reading.check(kind, rest)
        return rest[0]


def stream(function: Callable[..., Iterator[Found]], path: Path, *arguments: Any) -> Generator[Found, None, None]:
    """The values of a generator, as in call; each may take as long as a whole call."""
    if is_trusting():
        yield from function(path, *arguments)
        return
    with _Reading(function, path, arguments) as reading:
        while True:
            kind, *rest = reading.hear()
            if kind == "answer":
                return
            if kind != "next":
                reading.check(kind, rest)
            yield rest[0]


@dataclass(frozen=True)
class _Given:
    """What a process may read, and how large that is."""

    readable: tuple[Path, ...]
    size_bytes: int

    @property
    def memory_bytes(self) -> int:
        most = MEMORY_BYTES + MEMORY_DENSEST * self.size_bytes + (os.cpu_count() or 1) * THREAD_BYTES
        return min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") + self.size_bytes)

    @property
    def seconds(self) -> float:
        return SECONDS + self.size_bytes / BYTES_PER_SECOND

    @property
    def store_bytes(self) -> int:
        return STORE_BYTES + STORE_DENSEST * self.size_bytes


def _survey(path: Path) -> _Given:
    """A file or a folder with what links in it lead to; a file that names others, with the files beside it."""
    if path.is_dir():
        return _survey_folder(path, os.environ.get(WITHIN), deep=True)
    if not path.is_file():
        raise InputError(f"{path} must be a file or a folder, it is neither; give another path")
    if path.name.lower().endswith(ALONE):
        return _Given((path.resolve(),), path.stat().st_size)
    # A header may name any file beside it: were links there followed, it could have whatever they lead to.
    within = str(path.parent.resolve()) if path.suffix.lower() in DETACHED else os.environ.get(WITHIN)
    beside = _survey_folder(path.parent, within, deep=False)
    return _Given((path.resolve(), *beside.readable), beside.size_bytes)


def _survey_folder(folder: Path, within: str | None, *, deep: bool) -> _Given:
    """within: a folder that links must not lead out of, None if they may lead anywhere."""
    readable, size, count = [folder.resolve()], 0, 0
    for current, names, files in os.walk(folder):
        for name in files:
            entry = Path(current, name)
            with suppress(OSError):
                size += entry.stat().st_size
                if entry.is_symlink() and (within is None or entry.resolve().is_relative_to(within)):
                    readable.append(entry.resolve())
        count += len(names) + len(files)
        if not deep or count > MOST_FILES:
            break
    return _Given(tuple(readable), size)


def _find_temporary() -> str:
    """Where unnamed files go; if that is nowhere, who needs one will say so."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return os.sep


class _Reading:
    """One file in the hands of a process."""

    def __init__(self, function: Callable[..., Any], path: Path, arguments: tuple[Any, ...]) -> None:
        self._path, self._absolute = path, path.absolute()
        try:
            self._given = _survey(self._absolute)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}; make it readable") from error
        self._request = {
            "function": f"{function.__module__}:{function.__qualname__}",
            "folder": _find_temporary(),
            "limits": (self._given.memory_bytes, self._given.store_bytes),
            "readable": self._given.readable,
            "arguments": (self._absolute, *arguments),
        }
        needed = getattr(sys.modules[function.__module__], "LIBRARIES", ())
        self._libraries = (*guess_libraries(self._absolute), *needed)
        self._ended = False

    def __enter__(self) -> "_Reading":
        self._forker, self._child, self._link = Forker.begin(self._libraries)
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # what hear() finds out
                plain.send(self._link, self._request)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        self._link.close()
        self._end()

    def hear(self) -> tuple[Any, ...]:
        """What the process says next, but for signs of life."""
        while (said := self._receive())[0] == "alive":
            check_stop()
        return said

    def _receive(self) -> tuple[Any, ...]:
        try:
            said = plain.receive(self._link, time.monotonic() + self._given.seconds)
        except TimeoutError:
            self._end()
            raise InputError(
                f"{self._path} could not be read within {self._given.seconds:.0f} s, enough for any file of its size; "
                f"it may be damaged, export or copy it again{_OR_TRUST}"
            ) from None
        except plain.ClosedError:
            raise InputError(self._explain(self._end())) from None
        except plain.GarbledError as error:
            raise InputError(
                f"cannot read {self._path}: the decoder returned an invalid reply ({str(error)[:80]})"
            ) from None
        if not (isinstance(said, tuple) and said):
            raise InputError(f"cannot read {self._path}: the decoder returned an invalid reply (damaged file?)")
        return said

    def check(self, kind: str, rest: list[Any]) -> None:
        """Raise what the process met."""
        if kind == "memory":
            raise InputError(self._explain_memory())
        if kind == "error":
            name, text = rest
            noun = getattr(errors, name, InputError)
            is_known = isinstance(noun, type) and issubclass(noun, FewpointError)
            raise (noun if is_known else InputError)(str(text).replace(str(self._absolute), str(self._path)))

    def _explain(self, code: int) -> str:
        """Why a process is gone without a word."""
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        return (
            f"cannot read {self._path}: its decoder crashed ({how}); "
            "it may be damaged or malicious, export or copy it again"
        )

    def _explain_memory(self) -> str:
        return (
            f"{self._path} takes more than {self._given.memory_bytes / 2**30:.1f} GiB of memory to read, too much for "
            f"a file of its size; it may be damaged, export or copy it again{_OR_TRUST}"
        )

    def _end(self) -> int:
        """Make sure that the process is gone."""
        if self._ended:
            return 0
        self._ended = True
        return self._forker.end(self._child)


_OR_TRUST = ", or read it with --trust if you know who made it"
