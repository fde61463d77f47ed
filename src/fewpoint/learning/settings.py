"""How the network learns, as values; free of torch so that the command line can show them."""

import math
from dataclasses import dataclass

from fewpoint.errors import SettingsError


def require(section: str, name: str, holds: bool, rule: str, given: object) -> None:
    """Raise SettingsError unless the rule holds for what was given."""
    if not holds:
        raise SettingsError(f"{section}.{name} must be {rule}, got {given}")


@dataclass(frozen=True)
class RiskSettings:
    """The PU risk (Kiryo et al., 2017) as one family.

    If the negative risk is at least -beta, the objective is R+ + R-. Below, it is keep * R+ - gamma * R-.
    beta = inf: unbiased. gamma = 0, keep = 1: clamped. gamma = 1, keep = 0: ascent alone, as in the paper's text.
    negatives: weight of the superpixels marked as not the object, relative to that of the clicked ones.
    frames: the "sum" over the frames of a batch, or their "mean", which weighs less against weight decay.
    samples: "superpixels", each with one logit, or "pixels", of which those of a clicked superpixel are positive.
    pooling: a superpixel's logit is the "mean" of its pixels' or their "max".
    unlabelled: the "others", or "all" samples, the positive ones among them.
    """

    beta: float = 0.0
    gamma: float = 1.0
    keep: float = 1.0
    negatives: float = 1.0
    frames: str = "sum"
    samples: str = "superpixels"
    pooling: str = "mean"
    unlabelled: str = "others"

    def __post_init__(self) -> None:
        require("risk", "frames", self.frames in ("sum", "mean"), "sum or mean", self.frames)
        require("risk", "samples", self.samples in ("superpixels", "pixels"), "superpixels or pixels", self.samples)
        require("risk", "pooling", self.pooling in ("mean", "max"), "mean or max", self.pooling)
        require("risk", "unlabelled", self.unlabelled in ("others", "all"), "others or all", self.unlabelled)
        for name in ("beta", "gamma", "keep", "negatives"):
            require("risk", name, getattr(self, name) >= 0, "0 or more", getattr(self, name))


@dataclass(frozen=True)
class ClickSettings:
    """What the points say besides what they lie on.

    carry: number of frames, before and after, to which points are carried along the motion.
    focus: only the surroundings of the points are segmented, within this many radii of a disc of the bound's area;
    0 takes whole frames.
    """

    carry: int = 0
    focus: float = 0.0

    def __post_init__(self) -> None:
        require("clicks", "carry", self.carry >= 0, "0 or more", self.carry)
        focused = 1 <= self.focus < math.inf
        require("clicks", "focus", self.focus == 0 or focused, "0 or at least 1 and finite", self.focus)


@dataclass(frozen=True)
class TrainingSettings:
    """What all phases share.

    max_side: frames are reduced, never enlarged, to this larger side in pixels.
    radius: they are reduced further, to three quarters of max_side at most, as long as a disc of the bound's area keeps
    this radius in pixels; 0 reduces no further.
    batch: frames per step. frames_per_epoch: an epoch has at least this many, repeating a short sequence.
    statistics: batch norm at prediction: "running" averages, or "sequence", measured again over all frames.
    mirrors: whether the last prediction is the mean over the frames and their mirror images.
    precision: "float32", or "bfloat16" if the device has instructions for it.
    threads: of the network on a CPU; 0 leaves it to torch. A small network gains nothing from more than one, and with
    a fixed number the masks do not depend on how many cores a machine has.
    parts: on a CPU, the number of chunks that a batch is divided into if a further round has one network: a core per
    chunk. Each chunk has its own batch statistics, however many cores there are.
    """

    max_side: int = 96
    radius: float = 0.0
    batch: int = 10
    frames_per_epoch: int = 100
    weight_decay: float = 0.01
    clip_norm: float = 5.0
    statistics: str = "running"
    mirrors: bool = False
    precision: str = "bfloat16"
    threads: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        require("training", "max_side", self.max_side >= 16, "16 or more", self.max_side)
        require("training", "radius", 0 <= self.radius < math.inf, "0 or more and finite", self.radius)
        require("training", "batch", self.batch >= 1, "1 or more", self.batch)
        require("training", "threads", self.threads >= 0, "0 (torch's own choice) or more", self.threads)
        require("training", "parts", self.parts >= 1, "1 or more", self.parts)
        require("training", "frames_per_epoch", self.frames_per_epoch >= 1, "1 or more", self.frames_per_epoch)
        require("training", "weight_decay", self.weight_decay >= 0, "0 or more", self.weight_decay)
        require("training", "clip_norm", self.clip_norm > 0, "above 0", self.clip_norm)
        require(
            "training", "statistics", self.statistics in ("running", "sequence"), "running or sequence", self.statistics
        )
        require(
            "training", "precision", self.precision in ("bfloat16", "float32"), "bfloat16 or float32", self.precision
        )


@dataclass(frozen=True)
class PhaseSettings:
    """The three phases: epochs, learning rates and the prior of the warm-up.

    schedule: "constant", or "one-cycle": up to the rate and down to zero within the warm-up.
    warmup_prior: prior of the warm-up, as a share of the bound.
    """

    warmup_epochs: int = 50
    warmup_rate: float = 1e-4
    warmup_prior: float = 0.5
    schedule: str = "constant"
    estimation_epochs: int = 100
    estimation_rate: float = 5e-5
    final_epochs: int = 100
    final_rate: float = 5e-5

    @classmethod
    def only_warm_up(cls, epochs: int, rate: float) -> "PhaseSettings":
        """One cycle of the learning rate and nothing after it."""
        return cls(warmup_epochs=epochs, warmup_rate=rate, schedule="one-cycle", estimation_epochs=0, final_epochs=0)

    def __post_init__(self) -> None:
        for name in ("warmup_epochs", "estimation_epochs", "final_epochs"):
            require("phases", name, getattr(self, name) >= 0, "0 or more", getattr(self, name))
        for name in ("warmup_rate", "estimation_rate", "final_rate"):
            require("phases", name, getattr(self, name) > 0, "above 0", getattr(self, name))
        require("phases", "warmup_prior", 0 < self.warmup_prior <= 1, "above 0 and at most 1", self.warmup_prior)
        require(
            "phases", "schedule", self.schedule in ("constant", "one-cycle"), "constant or one-cycle", self.schedule
        )


@dataclass(frozen=True)
class WarmUpSettings:
    """How networks of the default method learn from the points, in one cycle of the learning rate.

    epochs: of each network. rate: the peak of the learning rate. prior: of every frame, as a share of the bound.
    """

    epochs: int = 24
    rate: float = 1e-3
    prior: float = 0.4

    def __post_init__(self) -> None:
        require("warmup", "epochs", self.epochs >= 0, "0 or more", self.epochs)
        require("warmup", "rate", self.rate > 0, "above 0", self.rate)
        require("warmup", "prior", 0 < self.prior <= 1, "above 0 and at most 1", self.prior)


@dataclass(frozen=True)
class RoundSettings:
    """Networks that learn from the points, and further rounds of networks that learn from what these agree on.

    networks: trained on the points, each with its own seed; their probabilities are averaged.
    rounds: how often new networks learn from the last ones' probabilities, corrected by the clicks; the masks are made
    from all of them. sparse_rounds: the same if most frames between clicks have none, if it is more.
    surest: of several such networks, how far to go from the mean of their probabilities to the largest.
    round_networks, round_epochs, round_rate: networks of a round, their epochs, and the peak of their learning rate.
    heldout: how much the clicks that a network has not learnt from count for the object's size, relative to its own
    prediction; if it is above 0, each network that learns from the points holds out a third of the clicks. Clicks in
    the very middle of what is marked do not count.
    nearness: how much the distance to a click counts. floor: share of the nearness prior that is spread evenly over
    the frame, for long objects and those of several parts. doubt: factor on the probability of what is connected to no
    click.
    taper: how far the object's sizes on the frames are moved to those of slices of a whole object, if they follow them.
    outlines: by how much logits rise inside the parts of a frame with the clearest outlines, and fall elsewhere, if
    they do not. sizes: how much the sizes in the targets count, relative to those predicted by a network that has
    learnt from them.
    """

    networks: int = 3
    rounds: int = 1
    sparse_rounds: int = 2
    surest: float = 0.5
    round_networks: int = 1
    round_epochs: int = 24
    round_rate: float = 1e-3
    heldout: float = 0.7
    nearness: float = 0.5
    floor: float = 0.5
    doubt: float = 0.3
    taper: float = 1.0
    outlines: float = 1.0
    sizes: float = 0.5

    def __post_init__(self) -> None:
        for name in ("networks", "round_networks", "round_epochs"):
            require("rounds", name, getattr(self, name) >= 1, "1 or more", getattr(self, name))
        for name in ("rounds", "sparse_rounds"):
            require("rounds", name, getattr(self, name) >= 0, "0 or more", getattr(self, name))
        require("rounds", "round_rate", self.round_rate > 0, "above 0", self.round_rate)
        for name in ("nearness", "taper", "outlines"):
            require("rounds", name, 0 <= getattr(self, name) <= 2, "between 0 and 2", getattr(self, name))
        for name in ("heldout", "sizes", "surest"):
            require("rounds", name, 0 <= getattr(self, name) <= 1, "between 0 and 1", getattr(self, name))
        require("rounds", "floor", 0 < self.floor <= 1, "above 0 and at most 1", self.floor)
        require("rounds", "doubt", 0 <= self.doubt <= 1, "between 0 and 1", self.doubt)


@dataclass(frozen=True)
class RefineSettings:
    """A run that refines another: epochs of each of its networks, and the peak of their learning rate.

    emphasis: weight of superpixels that a person marked, where others weigh about 1: few words must be heard among all
    that networks have said themselves. first: share that what networks said before any word keeps in what they say.
    """

    epochs: int = 4
    rate: float = 1e-3
    emphasis: float = 20.0
    first: float = 0.5

    def __post_init__(self) -> None:
        require("refine", "epochs", self.epochs >= 1, "1 or more", self.epochs)
        require("refine", "rate", self.rate > 0, "above 0", self.rate)
        require("refine", "emphasis", self.emphasis >= 1, "1 or more", self.emphasis)
        require("refine", "first", 0 <= self.first < 1, "0 or above and below 1", self.first)


@dataclass(frozen=True)
class WarmStartSettings:
    """Networks that start from the weights of another run. share: of the usual epochs that they take."""

    share: float = 0.5

    def __post_init__(self) -> None:
        require("warm_start", "share", 0 < self.share <= 1, "above 0 and at most 1", self.share)


@dataclass(frozen=True)
class PriorSettings:
    """The filter that estimates the priors.

    filter: "kalman", whose mean is bounded, or the paper's "unscented", whose sigma points are.
    gamma: exponent of the observation, the mean of f(x) ** gamma.
    process_noise, observation_noise, initial_variance: variances Q, R and S.
    first_control, last_control: downward step of the prior at the first and last epoch, as shares of the bound.
    smoothing: length of the Hann window, as a share of the number of frames. hann_ends: whether it keeps its
    end points, which are zero.
    """

    filter: str = "kalman"
    gamma: float = 2.0
    process_noise: float = 0.5
    observation_noise: float = 50.0
    initial_variance: float = 0.03
    first_control: float = 0.002
    last_control: float = 0.04
    smoothing: float = 0.05
    hann_ends: bool = False

    def __post_init__(self) -> None:
        known = self.filter in ("kalman", "unscented")
        require("priors", "filter", known, "kalman or unscented", self.filter)
        for name in ("gamma", "process_noise", "observation_noise", "initial_variance"):
            require("priors", name, getattr(self, name) > 0, "above 0", getattr(self, name))
        for name in ("first_control", "last_control"):
            require("priors", name, 0 <= getattr(self, name) <= 1, "between 0 and 1", getattr(self, name))
        require("priors", "smoothing", 0 <= self.smoothing <= 1, "between 0 and 1", self.smoothing)


@dataclass(frozen=True)
class StoppingSettings:
    """Which epoch of the estimation of the priors is selected.

    variance: threshold tau on the variance of pseudo-negatives. window: epochs in a row. minimum: epochs before the
    window. halts: whether the estimation ends with the window; if not, it goes on to its last epoch, and only then
    returns to what the window selected, so that all curves are whole. Of several objects each halts by itself.
    """

    variance: float = 0.007
    window: int = 10
    minimum: int = 30
    halts: bool = False

    def __post_init__(self) -> None:
        require("stopping", "variance", self.variance > 0, "above 0", self.variance)
        require("stopping", "window", self.window >= 1, "1 or more", self.window)
        require("stopping", "minimum", self.minimum >= 0, "0 or more", self.minimum)


@dataclass(frozen=True)
class AugmentationSettings:
    """A random combination, each kind applied to a frame with the given probability.

    noise, blur, gamma: largest strengths: standard deviation on the scale 0 … 1 of the frames, range of the bilateral
    blur on the same scale (neighbours that differ by 3 of it hardly count; at half the scale, all count), and factor of
    the exponent. flips: mirror frames and superpixels along both axes.
    rotation, scale, shift: largest turn in degrees, largest factor of size, and largest move as a share of half the
    frame, of each frame together with its superpixels; 0, 1 and 0 leave frames as they are.
    """

    probability: float = 0.5
    noise: float = 0.1
    blur: float = 0.1
    gamma: float = 1.5
    flips: bool = False
    rotation: float = 0.0
    scale: float = 1.0
    shift: float = 0.0

    @property
    def warps(self) -> bool:
        return self.rotation > 0 or self.scale > 1 or self.shift > 0

    def __post_init__(self) -> None:
        require("augmentation", "probability", 0 <= self.probability <= 1, "between 0 and 1", self.probability)
        require("augmentation", "noise", self.noise >= 0, "0 or more", self.noise)
        require("augmentation", "blur", self.blur > 0, "above 0", self.blur)
        require("augmentation", "gamma", self.gamma >= 1, "1 or more", self.gamma)
        require("augmentation", "rotation", 0 <= self.rotation <= 180, "between 0 and 180", self.rotation)
        require("augmentation", "scale", self.scale >= 1, "1 or more", self.scale)
        require("augmentation", "shift", 0 <= self.shift <= 1, "between 0 and 1", self.shift)
