"""What there is of the paper's dataset below a folder, and what is missing, in a line each."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fewpoint.bench.sequences import (
    LOCATIONS,
    PAPER_TYPES,
    BenchSequence,
    DatasetSequence,
    choose_sequences,
    find_folders,
)
from fewpoint.bench.suite import read_suite
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points

DOI = "https://doi.org/10.5281/zenodo.5007788"
PAPER_SEQUENCES = 4  # of each type


@dataclass(frozen=True)
class Extent:
    """How large a sequence is. size: height and width."""

    frames: int
    size: tuple[int, int]


@dataclass(frozen=True)
class Survey:
    """Sequences that are whole, with their extents, and lines about what is not there."""

    extents: dict[BenchSequence, Extent]
    notes: tuple[str, ...]

    @property
    def sequences(self) -> tuple[BenchSequence, ...]:
        return tuple(self.extents)


def survey(root: Path, names: Iterable[str] = (), *, first_of_type: bool = False) -> Survey:
    """Read every sequence below a folder, or of a suite's file, once, and tell which cannot be used and why.

    names: only these sequences, by name or as type/name; all if there are none. first_of_type: one of each type.
    """
    if not root.exists():
        raise InputError(
            f"--data must be a folder with sequences in it or the file of a suite, {root} is neither; the paper's own "
            f"data is at {DOI}"
        )
    extents, notes = {}, []
    for item in read_suite(root).sequences if root.is_file() else find_folders(root.resolve()):
        try:
            sequence = DatasetSequence(item) if isinstance(item, Path) else item
            extents[sequence] = check_sequence(sequence)
        except FewpointError as error:
            notes.append(f"left out {item.name}: {error}")
    if not extents:
        reason = f"; {notes[0]}" if notes else ""
        raise InputError(
            f"no whole sequence was found below {root}: each needs input-frames, ground_truth-frames and 2dlocs.csv"
            f"{reason}. The paper's own data is published at {DOI}"
        )
    notes += count_missing(extents)
    chosen = choose_sequences(tuple(extents), names)
    if first_of_type:
        chosen = tuple({sequence.type: sequence for sequence in reversed(chosen)}.values())[::-1]
    return Survey({sequence: extents[sequence] for sequence in chosen}, tuple(notes))


def check_sequence(sequence: BenchSequence) -> Extent:
    """Read frames, truth and points; raise if one of them cannot be read or does not fit the frames."""
    frames, truth = read_sequence(sequence.input), read_masks(sequence.truth)
    if truth.shape != frames.shape[:3]:
        raise InputError(
            f"truth and frames must have one shape, {sequence.truth} has {truth.shape}, the frames {frames.shape[:3]}"
        )
    if not truth.any():
        raise InputError(f"the truth must show the object somewhere, {sequence.truth} is empty")
    read_points(sequence.find_points(LOCATIONS) or sequence.truth, frames)
    return Extent(len(frames), frames.size)


def count_missing(sequences: Iterable[BenchSequence]) -> list[str]:
    """A line for each type of the paper's own data that has fewer than its four sequences; none for other data."""
    folders = (sequence for sequence in sequences if isinstance(sequence, DatasetSequence))
    counts = Counter(sequence.type for sequence in folders if sequence.is_papers)
    if not counts:
        return []
    return [
        f"{kind} has {counts[kind]} of the paper's {PAPER_SEQUENCES} sequences here; all are published at {DOI}"
        for kind in PAPER_TYPES.values()
        if counts[kind] < PAPER_SEQUENCES
    ]
