"""What figures need of a cell beyond its scores: masks, the course of the priors, and one frame as learning saw it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import PriorHistory
from fewpoint.io.atomic import write_arrays
from fewpoint.io.decoding import load_arrays

RECORD_FILE = "record.npz"


@dataclass(frozen=True, eq=False)
class Course:
    """How a method that learns went, one entry per epoch; empty for one that does not.

    phases: (E,) names. priors, observed, positive_share: (E, T). variance: (E,) of pseudo-negatives. errors, f1: (E,)
    mean absolute error of the priors and F1 of the superpixels, NaN if an epoch was not scored. selected: the epoch
    that the stopping rule chose, 0 if none was.
    """

    phases: np.ndarray
    priors: np.ndarray
    observed: np.ndarray
    positive_share: np.ndarray
    variance: np.ndarray
    errors: np.ndarray
    selected: int
    f1: np.ndarray

    @classmethod
    def of(cls, history: PriorHistory, errors: Sequence[float | None], f1: Sequence[float | None] = ()) -> "Course":
        """The course that a history records; errors, f1: one per epoch, None or no f1 at all if it is not known."""
        return cls(
            phases=np.array([record.phase for record in history.records], dtype=np.str_),
            priors=history.priors,
            observed=history.observed,
            positive_share=history.positive_share,
            variance=np.array([record.negative_variance for record in history.records], np.float64),
            errors=np.array(errors, np.float64),
            selected=history.selected_epoch,
            f1=np.array(f1 or [None] * len(errors), np.float64),
        )

    @property
    def estimation(self) -> np.ndarray:
        """Positions of the epochs in which priors were estimated."""
        return np.flatnonzero(self.phases == "estimation")


@dataclass(frozen=True, eq=False)
class Shown:
    """One frame as learning saw it.

    labels: (H, W) its superpixels. epochs: (E,) ascending, those that were looked at, counted from 1. probabilities:
    (E, regions) float16.
    """

    frame: int
    labels: np.ndarray
    epochs: np.ndarray
    probabilities: np.ndarray

    def paint(self, epoch: int) -> np.ndarray:
        """(H, W) float32 probabilities after an epoch, or the last one before it that was looked at.

        >>> shown = Shown(0, np.array([[0, 1]]), np.array([4, 8]), np.array([[0.1, 0.2], [0.3, 0.4]], np.float16))
        >>> shown.paint(7).round(1).tolist() == shown.paint(4).round(1).tolist() != shown.paint(8).round(1).tolist()
        True
        """
        looked = max(0, int(np.searchsorted(self.epochs, epoch, side="right")) - 1)
        return self.probabilities[looked][self.labels].astype(np.float32)


@dataclass(frozen=True, eq=False)
class Record:
    """masks: (T, H, W) bool. untracked: the same without tracking, None if there was none. shown: None if no
    epoch was reported."""

    masks: np.ndarray
    untracked: np.ndarray | None
    course: Course
    shown: Shown | None


def write_record(record: Record, path: Path) -> None:
    """Write a compressed .npz; masks take one bit per pixel."""
    arrays = {"shape": np.array(record.masks.shape), "masks": np.packbits(record.masks)}
    if record.untracked is not None:
        arrays["untracked"] = np.packbits(record.untracked)
    arrays |= {f"course_{name}": np.asarray(value) for name, value in vars(record.course).items()}
    if record.shown is not None:
        arrays |= {f"shown_{name}": np.asarray(value) for name, value in vars(record.shown).items()}
    write_arrays(path, arrays)


def read_record(path: Path) -> Record:
    """Read what write_record wrote."""
    stored = load_arrays(path)
    shape = tuple(stored["shape"].tolist())
    stored.setdefault("course_f1", np.full(len(stored["course_errors"]), np.nan))  # earlier versions kept none
    course: dict[str, Any] = {name: stored[f"course_{name}"] for name in Course.__dataclass_fields__}
    course["selected"] = int(course["selected"])
    shown = None
    if "shown_frame" in stored:
        arrays = (stored[f"shown_{name}"] for name in ("labels", "epochs", "probabilities"))
        shown = Shown(int(stored["shown_frame"]), *arrays)
    untracked = _unpack(stored["untracked"], shape) if "untracked" in stored else None
    return Record(_unpack(stored["masks"], shape), untracked, Course(**course), shown)


def _unpack(bits: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.unpackbits(bits, count=int(np.prod(shape))).reshape(shape).astype(bool)
