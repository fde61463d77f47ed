"""What was learnt about the object's share of each frame, and how training went."""

from dataclasses import dataclass

import numpy as np

from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Estimated share of each frame that shows the object.

    mean, deviation, observed: (T,) float64; the estimate, its standard deviation, and the share last seen in the
    network's prediction.
    """

    mean: np.ndarray
    deviation: np.ndarray
    observed: np.ndarray

    def __post_init__(self) -> None:
        shapes = {np.shape(self.mean), np.shape(self.deviation), np.shape(self.observed)}
        if len(shapes) != 1 or len(shapes.pop()) != 1:
            raise InputError("prior mean, deviation and observation must be vectors of one length")


@dataclass(frozen=True)
class EpochRecord:
    """One row of the training history; a figure that a phase does not have is NaN.

    The network is not looked at after every epoch: click_probability, negative_variance and largest_positive_share are
    NaN if it was not. After the last epoch of a network it always is.

    epoch: counts from 1 over all phases. phase: "warm-up", "estimation" or "final".
    loss, positive_risk, negative_risk: means over the steps of the epoch.
    ascent_share: share of the steps on which the negative risk was below its threshold.
    click_probability: mean probability of the superpixels that hold a point.
    mean_prior: mean over frames of the prior used in the epoch.
    negative_variance: variance of the probability over samples below 0.5.
    largest_positive_share: largest share of a frame at 0.5 or above.
    stop_streak: epochs in a row on which both stopping conditions held. stopped: the window was filled here.
    """

    epoch: int
    phase: str
    loss: float
    positive_risk: float
    negative_risk: float
    ascent_share: float
    click_probability: float
    mean_prior: float
    negative_variance: float
    largest_positive_share: float
    stop_streak: int = 0
    stopped: bool = False


@dataclass(frozen=True, eq=False)
class PriorHistory:
    """The course of training, one entry per epoch.

    records: one EpochRecord per epoch.
    priors, observed, positive_share: (E, T) float32, what each frame's prior, observation and predicted share were;
    observation and share are NaN for epochs after which the network was not looked at.
    selected_epoch: epoch whose priors were passed to the last phase; 0 if none was chosen, or several were.
    """

    records: tuple[EpochRecord, ...]
    priors: np.ndarray
    observed: np.ndarray
    positive_share: np.ndarray
    selected_epoch: int = 0

    def __post_init__(self) -> None:
        for values in (self.priors, self.observed, self.positive_share):
            if values.ndim != 2 or len(values) != len(self.records):
                raise InputError(
                    f"history needs one row of priors per epoch: {len(self.records)} epochs, {values.shape}"
                )

    @classmethod
    def empty(cls, n_frames: int) -> "PriorHistory":
        """The history of a method that trains nothing."""
        nothing = np.zeros((0, n_frames), np.float32)
        return cls((), nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def selected_by(self) -> str:
        """What decided which epoch was selected; empty if none was.

        "rule": its conditions began to hold there. "minimum": they had held before, and only the least number of epochs
        put the selection off. "neither": they did not hold long enough in time.
        """
        if not 0 < self.selected_epoch <= len(self.records):
            return ""
        if not any(record.stopped for record in self.records):
            return "neither"
        return "minimum" if self.records[self.selected_epoch - 1].stop_streak > 1 else "rule"
