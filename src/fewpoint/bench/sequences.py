"""Sequences with their truth on disk: in the layout of the paper's public dataset, or in any files that are read."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fewpoint.bench.protocols import made_of_truth
from fewpoint.errors import InputError
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.masks import TRUTH_FOLDER
from fewpoint.io.points import LOCATIONS_FILE

# The paper names its folders DatasetXY, X being the type.
PAPER_TYPES = {"0": "Tweezer", "1": "Cochlea", "2": "Slitlamp", "3": "Brain"}


@dataclass(frozen=True)
class DatasetSequence:
    """A folder that holds input-frames/, ground_truth-frames/ and 2dlocs.csv, and maybe other files of points."""

    folder: Path

    def __post_init__(self) -> None:
        missing = [name for name in (FRAMES_FOLDER, TRUTH_FOLDER, LOCATIONS_FILE) if not (self.folder / name).exists()]
        if missing:
            raise InputError(
                f"a sequence of a suite must hold {FRAMES_FOLDER}, {TRUTH_FOLDER} and {LOCATIONS_FILE}; "
                f"{self.folder} has no {' and no '.join(missing)}"
            )

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def type(self) -> str:
        return name_type(self.folder)

    @property
    def input(self) -> Path:
        return self.folder

    @property
    def truth(self) -> Path:
        return self.folder / TRUTH_FOLDER

    def choose_points(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """The points it is run with: all that a suite asks for."""
        return asked

    def find_points(self, name: str) -> Path | None:
        """The file of these points; None for those that are made of the truth."""
        return None if made_of_truth(name) else self.folder / f"{name}.csv"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the names and bytes of all frames, true masks and points."""
        files = [path for folder in (FRAMES_FOLDER, TRUTH_FOLDER) for path in (self.folder / folder).iterdir()]
        paths = sorted([*files, *self.folder.glob("*.csv")])
        return hash_files((path.relative_to(self.folder).as_posix(), path) for path in paths)


@dataclass(frozen=True)
class SingleSequence:
    """A sequence whose input, truth and points lie anywhere, in any format that is read."""

    name: str
    type: str
    input: Path
    truth: Path
    points: Path

    def __post_init__(self) -> None:
        for path in (self.input, self.truth, self.points):
            if not path.exists():
                raise InputError(f"the files of sequence {self.type}/{self.name} must be there, {path} is not")

    def choose_points(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """The points it is run with: its own, named after their file, whatever a suite asks for."""
        return (self.points.stem,)

    def find_points(self, name: str) -> Path:
        return self.points

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the names and bytes of all files."""
        parts = {"input": self.input, "truth": self.truth, "points": self.points}
        return hash_files((f"{part}/{name}", file) for part, path in parts.items() for name, file in _list_files(path))


BenchSequence = DatasetSequence | SingleSequence


def hash_files(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 (hex) of the names given and the bytes of files, in order."""
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def name_type(folder: Path) -> str:
    """The parent folder's name; of the paper's own folders what X in DatasetXY stands for.

    >>> name_type(Path("data/brain/pat1")), name_type(Path("data/Dataset21"))
    ('brain', 'Slitlamp')
    """
    paper = re.fullmatch(r"Dataset(\d)\d+", folder.name)
    return PAPER_TYPES.get(paper[1], folder.parent.name) if paper else folder.parent.name


def find_sequences(root: Path) -> tuple[DatasetSequence, ...]:
    """Every folder below root in the dataset's layout, by path."""
    folders = sorted(path.parent for path in root.rglob(LOCATIONS_FILE))
    complete = [folder for folder in folders if all((folder / name).is_dir() for name in (FRAMES_FOLDER, TRUTH_FOLDER))]
    if not complete:
        raise InputError(
            f"no sequence found below {root}: looked for folders with {FRAMES_FOLDER}, {TRUTH_FOLDER} and "
            f"{LOCATIONS_FILE}; give another root in the suite or set FEWPOINT_DATA"
        )
    return tuple(map(DatasetSequence, complete))


def _list_files(path: Path) -> list[tuple[str, Path]]:
    """A file, or all files below a folder, each with its name there."""
    if not path.is_dir():
        return [(path.name, path)]
    return [(file.relative_to(path).as_posix(), file) for file in sorted(path.rglob("*")) if file.is_file()]
