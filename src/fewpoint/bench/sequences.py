"""Sequences with their truth on disk: in the layout of the paper's public dataset, or in any files that are read."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from fewpoint.bench.protocols import made_of_truth
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.masks import TRUTH_FOLDER
from fewpoint.io.points import LOCATIONS_FILE, OLD_LOCATIONS_FOLDER, find_locations

# The paper names its folders DatasetXY, X being the type.
PAPER_TYPES = {"0": "Tweezer", "1": "Cochlea", "2": "Slitlamp", "3": "Brain"}
PAPER_NAME = re.compile(r"Dataset([0-3])\d+")
LOCATIONS = Path(LOCATIONS_FILE).stem


@dataclass(frozen=True)
class DatasetSequence:
    """A folder that holds input-frames/, ground_truth-frames/ and 2dlocs.csv, and maybe other files of points.

    In the older layout of the paper's data a CSV in gaze-measurements/ stands for 2dlocs.csv.
    """

    folder: Path

    def __post_init__(self) -> None:
        missing = [name for name in (FRAMES_FOLDER, TRUTH_FOLDER) if not (self.folder / name).exists()]
        missing += [] if find_locations(self.folder) else [LOCATIONS_FILE]
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
    def is_papers(self) -> bool:
        """Whether its name is one of the paper's own."""
        return PAPER_NAME.fullmatch(self.name) is not None

    @property
    def input(self) -> Path:
        return self.folder

    @property
    def truth(self) -> Path:
        return self.folder / TRUTH_FOLDER

    @property
    def locations(self) -> Path:
        """Its own points, one on each frame that shows the object."""
        return find_locations(self.folder) or self.folder / LOCATIONS_FILE

    def choose_points(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """The points it is run with: all that a suite asks for."""
        return asked

    def find_points(self, name: str) -> Path | None:
        """The file of these points; None for those that are made of the truth."""
        if made_of_truth(name):
            return None
        return self.locations if name == LOCATIONS else self.folder / f"{name}.csv"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the names and bytes of all frames, true masks and points."""
        files = [path for folder in (FRAMES_FOLDER, TRUTH_FOLDER) for path in (self.folder / folder).iterdir()]
        paths = sorted({*files, *self.folder.glob("*.csv"), self.locations})
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
AnySequence = TypeVar("AnySequence", bound=BenchSequence)


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
    paper = PAPER_NAME.fullmatch(folder.name)
    return PAPER_TYPES[paper[1]] if paper else folder.parent.name


def find_sequences(root: Path) -> tuple[DatasetSequence, ...]:
    """Every folder below root in the dataset's layout, by path."""
    needed = (FRAMES_FOLDER, TRUTH_FOLDER)
    complete = [
        folder
        for folder in find_folders(root)
        if all((folder / name).is_dir() for name in needed) and find_locations(folder)
    ]
    if not complete:
        raise InputError(
            f"no sequence found below {root}: looked for folders with {FRAMES_FOLDER}, {TRUTH_FOLDER} and "
            f"{LOCATIONS_FILE}; give another root in the suite or set FEWPOINT_DATA"
        )
    return tuple(map(DatasetSequence, complete))


def find_folders(root: Path) -> list[Path]:
    """Every folder below root that holds any part of the dataset's layout, by path."""
    parts = (FRAMES_FOLDER, TRUTH_FOLDER, LOCATIONS_FILE, OLD_LOCATIONS_FOLDER)
    return sorted({path.parent for part in parts for path in root.rglob(part)})


def place_of(sequence: BenchSequence) -> str:
    """Type and name."""
    return f"{sequence.type}/{sequence.name}"


def choose_sequences(sequences: tuple[AnySequence, ...], names: Iterable[str]) -> tuple[AnySequence, ...]:
    """Those sequences that are named, each by its name or as type/name, in their own order; all without names."""
    wanted = tuple(names)
    known = {name for sequence in sequences for name in (sequence.name, place_of(sequence))}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(f"there is no sequence {unknown[0]}, there are {', '.join(map(place_of, sequences))}")
    return tuple(each for each in sequences if not wanted or {each.name, place_of(each)} & {*wanted})


def _list_files(path: Path) -> list[tuple[str, Path]]:
    """A file, or all files below a folder, each with its name there."""
    if not path.is_dir():
        return [(path.name, path)]
    return [(file.relative_to(path).as_posix(), file) for file in sorted(path.rglob("*")) if file.is_file()]
