"""Which paths may be read: those below one folder, by whatever way they are named."""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from fewpoint.errors import InputError
from fewpoint.io import tiff
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.projects import RUNS_SUFFIX, SUFFIX
from fewpoint.io.stacks import FRAME_SUFFIXES, NUMPY_SUFFIXES, READERS, natural_order
from fewpoint.io.video import SUFFIXES as VIDEO_SUFFIXES
from fewpoint.io.zarr_images import SUFFIXES as ZARR_SUFFIXES
from fewpoint.web.faults import MissingError
from fewpoint.web.messages import EntryKind, FileEntry, FileListing

UPLOADS_FOLDER = ".fewpoint-uploads"
MOST_ENTRIES = 5000
MOST_LINKS_CHECKED = 100_000
MOST_SCANNED = 20_000
DEEPEST_SCAN = 4
HEADER_BYTES = 64 * 2**10
PLAYLISTS = (b"#EXTM3U", b"ffconcat", b"[playlist]")
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
                if name.endswith(SUFFIX) and self.holds(Path(folder, name)):
                    yield Path(folder, name)
            if seen > MOST_SCANNED:
                return

    def new_upload_folder(self) -> Path:
        folder = self.path / UPLOADS_FOLDER
        if not self.holds(folder):
            raise InputError(f"{UPLOADS_FOLDER} is a link that leads out of the root; remove it")
        return folder / secrets.token_hex(8)

    def check_input(self, path: Path) -> None:
        """Raise InputError for an input that would make a reader open files outside the root."""
        if path.is_dir():
            check_links(path, self)
        elif path.name.lower().endswith((".mhd", ".nhdr")):
            check_links(path.parent, self, deep=False)
            _check_header(path)
        elif path.name.lower().endswith(tiff.SUFFIXES):
            _check_one_file(path)
        elif path.name.lower().endswith(VIDEO_SUFFIXES):
            _check_no_playlist(path)


def check_links(folder: Path, root: Root, *, deep: bool = True) -> None:
    """Raise InputError for a link in a folder that leads out of the root; readers take all files, links followed."""
    seen = 0
    for current, names, files in os.walk(folder):
        for name in (*names, *files):
            entry = Path(current, name)
            if entry.is_symlink() and not root.holds(entry):
                raise InputError(f"{name} is a link that leads out of {root.path.name}; copy the file instead")
        seen += len(names) + len(files)
        if not deep:
            return
        if seen > MOST_LINKS_CHECKED:
            raise InputError(f"{folder.name} must hold at most {MOST_LINKS_CHECKED} files; open a folder inside it")


def classify(path: Path) -> EntryKind | None:
    """Folder, input or project by its name; None for what cannot be opened.

    A folder that holds frames or a series is an input, one that also holds other folders can be entered as well.
    """
    name = path.name.lower()
    if path.is_dir():
        if name.endswith(ZARR_SUFFIXES):
            return "input"
        return "input" if _holds_frames(path) else "folder"
    if name.endswith(SUFFIX):
        return "project"
    return "input" if name.endswith(FILE_SUFFIXES) else None


def _holds_frames(folder: Path) -> bool:
    if (folder / FRAMES_FOLDER).is_dir():
        return True
    try:
        entries = list(_visible(folder))[:200]
    except OSError:
        return False
    suffixes = (*FRAME_SUFFIXES, ".dcm", ".dicom")
    return any(entry.name.lower().endswith(suffixes) and entry.is_file() for entry in entries)


def _visible(folder: Path) -> Iterator[Path]:
    return (entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _is_ours(name: str) -> bool:
    return name.startswith(".") or name.endswith(RUNS_SUFFIX)


def _dot(name: str) -> str:
    return "" if name == "." else name


def _check_header(path: Path) -> None:
    """Refuse a header that names its data by anything but a file next to it."""
    with explaining_read_errors(path), open(path, "rb") as stream:
        text = stream.read(HEADER_BYTES).decode("latin-1")
    statement = re.search(
        r"^\s*(?:ElementDataFile\s*=|data ?file\s*:)(.*)", text, re.IGNORECASE | re.MULTILINE | re.DOTALL
    )
    for line in map(str.strip, (statement[1] if statement else "").splitlines()):
        if line.startswith(("/", "\\")) or ":" in line or ".." in line.replace("\\", "/").split("/"):
            raise InputError(f"{path.name} must name data beside it, it names {line[:80]}; move the data there")


def _check_one_file(path: Path) -> None:
    """Refuse an OME-TIFF whose frames are said to lie in other files."""
    from tifffile import TiffFile, TiffFileError

    try:
        with TiffFile(path) as stored:
            text = stored.ome_metadata if stored.is_ome else None
    except (TiffFileError, OSError, ValueError):
        return  # the reader will say what is wrong
    for name in re.findall(r'FileName\s*=\s*"([^"]*)"', text or ""):
        if "/" in name or "\\" in name or ".." in name:
            raise InputError(f"{path.name} must hold its own frames, it names {name[:80]}; put all files beside it")


def _check_no_playlist(path: Path) -> None:
    """Refuse a list of other files that has the name of a video."""
    with explaining_read_errors(path), open(path, "rb") as stream:
        start = stream.read(64).lstrip()
    if start.startswith(PLAYLISTS):
        raise InputError(f"{path.name} is a list of other files, not a video; give the video itself")
