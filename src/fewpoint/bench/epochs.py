"""How good each epoch of a run is, scored as it goes."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fewpoint.bench.records import Shown
from fewpoint.bench.results import require
from fewpoint.core import EpochPredicted, SuperpixelMap, SuperpixelsReady
from fewpoint.core.progress import Event
from fewpoint.evaluation.metrics import share_error
from fewpoint.evaluation.regions import RegionTruth

EPOCHS_FILE = "epochs.jsonl"


@dataclass(frozen=True)
class EpochScore:
    """F1 of the superpixels at 0.5 or above after an epoch, and the error of its priors; None if there is none."""

    epoch: int | None = None
    f1: float | None = None
    prior_mae: float | None = None


class EpochScores:
    """A listener that scores each epoch against (T, H, W) bool truth, before clicks are added and paths are found.

    superpixels: those of the run, None until they are reported. journal: a file of what was scored, a line of JSON per
    epoch, so that a run that goes on after it was killed has all of its epochs.
    """

    def __init__(self, truth: np.ndarray, journal: Path | None = None) -> None:
        self.superpixels: SuperpixelMap | None = None
        self._journal = journal
        self._truth = truth
        self._counts: RegionTruth | None = None
        self._scores: dict[int, EpochScore] = {}
        self._shown: dict[int, np.ndarray] = {}
        self._frame = int(truth.mean(axis=(1, 2)).argmax())
        if journal is not None and journal.exists():
            self._recall(journal.read_text(encoding="utf-8").splitlines())

    def __call__(self, event: Event) -> None:
        if isinstance(event, SuperpixelsReady):
            self.superpixels = event.superpixels
            self._counts = RegionTruth.count(event.superpixels, self._truth)
        elif isinstance(event, EpochPredicted):
            if self._counts is None:
                raise ValueError("superpixels must be reported before the first epoch")
            f1 = self._counts.score(event.probabilities >= 0.5).f1
            error = share_error(event.priors, self._counts.shares)
            self._scores[event.epoch] = EpochScore(event.epoch, f1, error)
            self._shown[event.epoch] = event.probabilities[self._frame]
            if self._journal is not None:
                self._write(self._journal, event.epoch)

    def find_best(self) -> EpochScore:
        """The epoch of the largest F1, the earliest of several; all None if no epoch was reported."""
        return max(self._scores.values(), key=lambda score: require(score.f1), default=EpochScore())

    def at(self, epoch: int) -> EpochScore:
        """The score of an epoch; all None if it was not reported, as for 0, which is no epoch."""
        return self._scores.get(epoch, EpochScore())

    def show(self) -> Shown | None:
        """The predictions on the frame where the object is largest; None if no epoch was reported."""
        if self.superpixels is None or not self._shown:
            return None
        labels = self.superpixels.labels[self._frame]
        regions = int(labels.max()) + 1
        epochs = np.array(sorted(self._shown))  # networks that learn side by side report theirs in turn
        return Shown(self._frame, labels, epochs, np.stack([self._shown[each] for each in epochs])[:, :regions])

    def _write(self, journal: Path, epoch: int) -> None:
        entry = {**asdict(self._scores[epoch]), "shown": self._shown[epoch].tolist()}
        journal.parent.mkdir(parents=True, exist_ok=True)
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _recall(self, lines: list[str]) -> None:
        """Take in what was written, but for a last line that a kill has cut."""
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            shown = np.array(entry.pop("shown"), np.float16)
            self._scores[entry["epoch"]], self._shown[entry["epoch"]] = EpochScore(**entry), shown
