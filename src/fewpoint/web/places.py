"""Which paths may be read: those below one folder, by whatever way they are named."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath, PureWindowsPath

from fewpoint.core.plain_text import is_encodable
from fewpoint.errors import InputError
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.dicom import is_dicom
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.projects import RUNS_SUFFIX, SUFFIX
from fewpoint.io.stacks import FRAME_SUFFIXES, NUMPY_SUFFIXES, READERS, natural_order
from fewpoint.io.zarr_images import SUFFIXES as ZARR_SUFFIXES
from fewpoint.web.faults import MissingError
from fewpoint.web.messages import EntryKind, FileEntry, FileListing

UPLOADS_FOLDER = "fewpoint-uploads"
HIDDEN_UPLOADS_FOLDER = ".fewpoint-uploads"  # where earlier versions kept them
MOST_ENTRIES = 5000
MOST_LINKS_CHECKED = 100_000
MOST_SCANNED = 20_000
MOST_TRIED = 20  # files looked into for DICOM, whose names often say nothing
DEEPEST_SCAN = 4
DICOM_SUFFIXES = (".dcm", ".dicom")
FILE_SUFFIXES = tuple(suffix for suffixes in READERS for suffix in suffixes) + NUMPY_SUFFIXES


@dataclass(frozen=True)
class Root:
    """The folder below which everything lies that the page may open."""

    path: Path

    @classmethod
    def of(cls, path: str | Path) -> "Root":
        try:
            real = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            raise InputError(f"the root must be a folder that is there, got {path}") from None
        if not real.is_dir():
            raise InputError(f"the root must be a folder, got {path}")
        return cls(real)

    @property
    def uploads(self) -> Path:
        """Where files go that are sent."""
        return self.path / UPLOADS_FOLDER

    def resolve(self, relative: str) -> Path:
        """The real path behind a name; MissingError for one that is not there or leads out of the root.

        Both get the same answer, so that nobody learns what there is outside.
        """
        missing = MissingError(f"there is no {relative[:200]!r} below the root")
        if "\0" in relative or "\\" in relative or PurePosixPath(relative).is_absolute():
            raise missing
        if PureWindowsPath(relative).drive or ".." in PurePosixPath(relative).parts:
            raise missing
        try:
            real = (self.path / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise missing from None
        if not self.holds(real):
            raise missing
        return real

    def holds(self, path: Path) -> bool:
        """Whether a path, all links followed, lies below the root."""
        try:
            return path.resolve().is_relative_to(self.path)
        except (OSError, RuntimeError):
            return False

    def name(self, path: Path) -> str:
        """A path below the root as the page names it."""
        return path.relative_to(self.path).as_posix() if path.is_relative_to(self.path) else path.name

    def list_folder(self, relative: str) -> FileListing:
        """What a folder holds that can be opened; folders first."""
        folder = self.resolve(relative)
        if not folder.is_dir():
            raise InputError(f"{relative[:200]} is a file; open it instead")
        with explaining_read_errors(folder):
            found = [self._describe(entry) for entry in _visible(folder)]
        entries = sorted(filter(None, found), key=lambda entry: (entry.kind != "folder", natural_order(entry.name)))
        parent = None if folder == self.path else _dot(self.name(folder.parent))
        return FileListing(path=_dot(self.name(folder)), parent=parent, entries=entries[:MOST_ENTRIES])

    def _describe(self, entry: Path) -> FileEntry | None:
        if not self.holds(entry) or entry.name.endswith(RUNS_SUFFIX):
            return None
        kind = classify(entry)
        if kind is None:
            return None
        size = entry.stat().st_size if entry.is_file() else 0
        return FileEntry(name=entry.name, path=self.name(entry), kind=kind, size_bytes=size)

    def find_projects(self) -> Iterator[Path]:
        """Project files not too far below the root."""
        seen = 0
        for folder, names, files in os.walk(self.path):
            depth = len(Path(folder).relative_to(self.path).parts)
            names[:] = [] if depth >= DEEPEST_SCAN else sorted(name for name in names if not _is_ours(name))
            seen += len(files)
            for name in sorted(files):
                if name.endswith(SUFFIX) and is_encodable(name) and self.holds(Path(folder, name)):
                    yield Path(folder, name)
            if seen > MOST_SCANNED:
                return

    def find_inputs(self) -> Iterator[Path]:
        """Inputs not too far below the root; what lies inside of one is not listed by itself."""
        seen = 0
        for folder, names, files in os.walk(self.path):
            here = Path(folder)
            depth = len(here.relative_to(self.path).parts)
            inner = [here / name for name in sorted(names, key=natural_order) if not _is_ours(name)]
            kinds = {each: classify(each) for each in inner}
            names[:] = [each.name for each in inner if kinds[each] == "folder" and depth < DEEPEST_SCAN]
            found = [each for each in inner if kinds[each] in ("input", "series")]
            named = sorted(filter(is_encodable, files), key=natural_order)
            found += [path for name in named if classify(path := here / name) == "input"]
            yield from (each.resolve() for each in found if self.holds(each))
            seen += len(files)
            if seen > MOST_SCANNED:
                return

    def new_upload_folder(self, name: str) -> Path:
        """A folder that is not there yet, called as what is sent, with a number if that name is taken."""
        folder = self.uploads
        if not self.holds(folder):
            raise InputError(f"{UPLOADS_FOLDER} is a link that leads out of the root; remove it")
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        return next(folder / each for each in names if not (folder / each).exists())

    def check_input(self, path: Path) -> None:
        """Raise InputError for a folder with a link that leads out of the root; who decodes it could not follow it."""
        if path.is_dir():
            check_links(path, self)


def check_links(folder: Path, root: Root) -> None:
    """Raise InputError for a link in a folder that leads out of the root; readers take all files, links followed."""
    seen = 0
    for current, names, files in os.walk(folder):
        for name in (*names, *files):
            entry = Path(current, name)
            if entry.is_symlink() and not root.holds(entry):
                raise InputError(f"{name} is a link that leads out of {root.path.name}; copy the file instead")
        seen += len(names) + len(files)
        if seen > MOST_LINKS_CHECKED:
            raise InputError(f"{folder.name} must hold at most {MOST_LINKS_CHECKED} files; open a folder inside it")


def classify(path: Path) -> EntryKind | None:
    """Folder, input, series or project by its name; None for what cannot be opened.

    A folder that holds frames is an input, one that holds DICOM images may hold several series.
    """
    name = path.name.lower()
    if path.is_dir():
        if name.endswith(ZARR_SUFFIXES):
            return "input"
        if _holds(path, DICOM_SUFFIXES) or _looks_like_series(path):
            return "series"
        return "input" if (path / FRAMES_FOLDER).is_dir() or _holds(path, FRAME_SUFFIXES) else "folder"
    if name.endswith(SUFFIX):
        return "project"
    return "input" if name.endswith(FILE_SUFFIXES) else None


def _holds(folder: Path, suffixes: tuple[str, ...]) -> bool:
    try:
        entries = list(_visible(folder))[:200]
    except OSError:
        return False
    return any(entry.name.lower().endswith(suffixes) and entry.is_file() for entry in entries)


def _looks_like_series(folder: Path) -> bool:
    """Whether the first files of a folder whose names say nothing are DICOM."""
    try:
        files = [entry for entry in list(_visible(folder))[:MOST_TRIED] if entry.is_file() and not entry.suffix]
        return any(is_dicom(file) for file in files)
    except (OSError, InputError):
        return False


def _visible(folder: Path) -> Iterator[Path]:
    names = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return (entry for entry in names if is_encodable(entry.name))


def _is_ours(name: str) -> bool:
    """Whether a folder is not looked into: what runs leave, hidden ones, and names that no page can show."""
    is_hidden = name.startswith(".") and name != HIDDEN_UPLOADS_FOLDER
    return is_hidden or name.endswith(RUNS_SUFFIX) or not is_encodable(name)


def _dot(name: str) -> str:
    return "" if name == "." else name
