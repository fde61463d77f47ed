"""The three phases of learning: warm-up, estimation of the priors, and training with the priors found."""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    Listener,
    Message,
    PriorEstimate,
    PriorHistory,
    StepsTaken,
    ignore,
)
from fewpoint.errors import FewpointError
from fewpoint.learning.devices import start_threads
from fewpoint.learning.prediction import pool_probabilities, predict_logits
from fewpoint.learning.priors import estimate_from, initial_state, update_priors
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import PhaseSettings, PriorSettings, StoppingSettings
from fewpoint.learning.stopping import StopState, update_stop
from fewpoint.learning.training import StepMeans, Trainer, alternate, finish
from fewpoint.learning.unscented import Gaussian

WARM_UP, ESTIMATION, FINAL, DONE = "warm-up", "estimation", "final", "done"
OBSERVED_EVERY = 4  # epochs, where nothing depends on what is observed: each time is a prediction of all frames


@dataclass(frozen=True)
class Schedule:
    """The settings that the phases need."""

    phases: PhaseSettings
    priors: PriorSettings
    stopping: StoppingSettings

    @property
    def most_epochs(self) -> int:
        return self.phases.warmup_epochs + self.phases.estimation_epochs + self.phases.final_epochs

    def epochs_of(self, phase: str) -> int:
        """The most epochs of a phase."""
        phases = self.phases
        return {WARM_UP: phases.warmup_epochs, ESTIMATION: phases.estimation_epochs, FINAL: phases.final_epochs}[phase]

    def observes(self, phase: str, epoch: int) -> bool:
        """Whether the network is looked at after an epoch of a phase, counted from 1.

        After every epoch of the estimation, else after every fourth and the last of a phase.
        """
        return phase == ESTIMATION or is_looked_at(epoch, self.epochs_of(phase))


@dataclass(frozen=True, eq=False)
class Observation:
    """What the network, after an epoch, says of the frames: one prediction of all superpixels, summed up.

    observed: (T,) mean of f ** gamma. share: (T,) share of the frame at 0.5 or above.
    probabilities: see EpochPredicted. logits: (T, h, w), on the device.
    """

    observed: np.ndarray
    share: np.ndarray
    negative_variance: float
    click_probability: float
    probabilities: np.ndarray | None
    logits: Tensor | None = None

    @classmethod
    def none(cls, n_frames: int) -> "Observation":
        """Stands for the epochs after which nobody looked: NaN, and no probabilities."""
        nothing = np.full(n_frames, np.nan)
        return cls(nothing, nothing, math.nan, math.nan, None)


@dataclass(frozen=True, eq=False)
class Progress:
    """How far learning has come after some epoch; with the trainer's state, all that is needed to go on.

    phase, phase_epoch: the phase the next epoch belongs to, and how many of its epochs are over.
    state: of the prior filter. priors: (T,) those of the next epoch. selected_epoch: see PriorHistory.
    rows: the (T,) priors, observations and shares of each finished epoch; the last two NaN where nobody looked.
    """

    phase: str
    phase_epoch: int
    state: Gaussian
    priors: np.ndarray
    stop: StopState
    selected_epoch: int
    records: tuple[EpochRecord, ...]
    rows: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]

    @property
    def epoch(self) -> int:
        return len(self.records)

    def history(self, n_frames: int) -> PriorHistory:
        if not self.rows:
            return PriorHistory.empty(n_frames)
        priors, observed, share = (np.array(column, np.float32) for column in zip(*self.rows, strict=True))
        return PriorHistory(self.records, priors, observed, share, self.selected_epoch)


@dataclass(eq=False)
class Learning:
    """A trainer with the progress it made and the state remembered from the start of the stopping window.

    seen: (T, h, w) logits of the last observation, where it was exact and the weights are still those observed.
    number: which of the trainer's objects it learns; see JointLearning where there are several.
    """

    trainer: Trainer
    bound: AreaBound
    schedule: Schedule
    progress: Progress
    remembered: dict | None = None
    seen: Tensor | None = None
    number: int = 0

    @classmethod
    def start(cls, trainer: Trainer, bound: AreaBound, schedule: Schedule, number: int = 0) -> "Learning":
        n_frames = trainer.samples.n_frames
        state = initial_state(n_frames, bound, schedule.priors)
        progress = Progress(DONE, 0, state, state.mean, StopState(), 0, (), ())
        learning = cls(trainer, bound, schedule, progress, number=number)
        learning._enter(WARM_UP)
        return learning

    @property
    def samples(self) -> SampleSet:
        return (self.trainer.samples, *self.trainer.others)[self.number]

    @property
    def done(self) -> bool:
        return self.progress.phase == DONE

    def show_priors(self, priors: np.ndarray) -> None:
        """Record these (T,) priors from now on, where the objective has its own and does not use them."""
        self.progress = replace(self.progress, priors=priors)

    def run(self, listener: Listener, save: Callable[["Learning"], None]) -> None:
        """Learn to the end, telling the listener and saving after each epoch."""
        while not self.done:
            self.tell(self.run_epoch(listener), listener)
            save(self)

    def tell(self, predicted: EpochPredicted | None, listener: Listener) -> None:
        """Tell of the epoch just over, and of what was seen after it."""
        if predicted is not None:
            listener(predicted)
        listener(EpochFinished(self.progress.records[-1], self.schedule.most_epochs))
        if self._never_stopped():
            listener(Message(f"priors: the stopping rule did not hold within {self.progress.epoch} epochs", True))

    def run_epoch(self, listener: Listener = ignore) -> EpochPredicted | None:
        """Train one epoch, observe if it is time to, take the steps of the phase, and return what was seen."""
        return finish(self.take_steps(listener))

    def take_steps(self, listener: Listener = ignore) -> Generator[None, None, EpochPredicted | None]:
        """run_epoch with a pause after each training step, in which others may take theirs."""
        progress = self.progress
        priors = torch.from_numpy(self.usable_priors()).float()
        rates = self.rates()

        def tell(steps: int) -> None:
            listener(StepsTaken(progress.epoch + 1, steps, len(rates), self.schedule.most_epochs))

        self.seen = None
        means = yield from self.trainer.take_steps(priors, rates, tell)
        self.refuse_divergence(means)
        return self.take_in(means, self._observe())

    def take_in(self, means: StepMeans, observation: Observation) -> EpochPredicted | None:
        """Record an epoch that was trained, take the steps of the phase, and return what was seen."""
        phase = self.progress.phase
        self._append(means, observation)
        if phase == ESTIMATION:
            self._estimate(observation)
        priors = self._usable(self.progress.priors if phase == ESTIMATION else observation.share)
        self._advance()
        if observation.probabilities is None:
            return None
        return EpochPredicted(self.progress.epoch, observation.probabilities, priors)

    def predict(self) -> Tensor:
        """(T, h, w) logits of every frame as the weights now stand; not predicted anew where just observed."""
        if self.seen is not None:
            return self.seen
        return predict_logits(self.trainer.network, self.trainer.samples, self.trainer.recipe.training)

    def priors(self) -> PriorEstimate:
        """The estimate for the user: the filter's where it ran, the prediction's own share otherwise."""
        samples = self.samples
        observed = self.progress.rows[-1][1] if self.progress.rows else self.progress.priors
        if self.schedule.phases.estimation_epochs:
            return estimate_from(self.progress.state, observed, samples.absent, self.bound)
        share = self.progress.rows[-1][2] if self.progress.rows else self.progress.priors
        deviation = np.abs(share - observed)
        absent = samples.absent
        return PriorEstimate(np.where(absent, 0.0, share), np.where(absent, 0.0, deviation), observed)

    def usable_priors(self) -> np.ndarray:
        """(T,) the priors of the coming epoch, 0 on frames marked absent."""
        return self._usable(self.progress.priors)

    def _usable(self, priors: np.ndarray) -> np.ndarray:
        return np.where(self.samples.absent, 0.0, priors)

    def rates(self) -> list[float]:
        """The learning rate of each step of the coming epoch."""
        phases, steps = self.schedule.phases, self.trainer.steps_per_epoch
        rates = {WARM_UP: phases.warmup_rate, ESTIMATION: phases.estimation_rate, FINAL: phases.final_rate}
        rate = rates[self.progress.phase]
        if self.progress.phase != WARM_UP or phases.schedule == "constant":
            return [rate] * steps
        first, total = self.progress.phase_epoch * steps, phases.warmup_epochs * steps
        return [one_cycle(rate, first + step, total) for step in range(steps)]

    def _observe(self) -> Observation:
        """What the network says after the epoch just trained, where the schedule wants to know."""
        if not self.observes():
            return Observation.none(self.trainer.samples.n_frames)
        exact = self.counts()
        observation = observe(self.trainer, self.schedule.priors.gamma, exact)
        self.seen = observation.logits if exact else None
        return observation

    def observes(self) -> bool:
        """Whether the network is looked at after the coming epoch."""
        return self.schedule.observes(self.progress.phase, self.progress.phase_epoch + 1)

    def counts(self) -> bool:
        """Whether the coming observation decides something: in the estimation, and after the very last epoch."""
        progress, phases = self.progress, self.schedule.phases
        left = {WARM_UP: phases.estimation_epochs + phases.final_epochs, FINAL: 0}.get(progress.phase, 1)
        epochs = {WARM_UP: phases.warmup_epochs, FINAL: phases.final_epochs}.get(progress.phase, 0)
        return progress.phase == ESTIMATION or (left == 0 and progress.phase_epoch + 1 == epochs)

    def refuse_divergence(self, means: StepMeans) -> None:
        """Raise before the epoch counts, so that the last checkpoint is of a sound network."""
        if not (math.isfinite(means.loss) and self.trainer.is_finite()):
            phase, epoch = self.progress.phase, self.progress.epoch + 1
            raise FewpointError(
                f"training must stay finite, it diverged in epoch {epoch} ({phase}, loss {means.loss:g}); "
                f"lower phases.{phase.replace('-', '')}_rate or training.clip_norm, or try another --seed"
            )

    def _append(self, means: StepMeans, observation: Observation) -> None:
        progress = self.progress
        used = self._usable(progress.priors)
        record = EpochRecord(
            epoch=progress.epoch + 1,
            phase=progress.phase,
            loss=means.loss,
            positive_risk=means.positive_risk,
            negative_risk=means.negative_risk,
            ascent_share=means.ascent_share,
            click_probability=observation.click_probability,
            mean_prior=float(used.mean()),
            negative_variance=observation.negative_variance,
            largest_positive_share=float(observation.share.max()),
        )
        self.progress = replace(
            progress,
            phase_epoch=progress.phase_epoch + 1,
            records=(*progress.records, record),
            rows=(*progress.rows, (used, observation.observed, observation.share)),
        )

    def _estimate(self, observation: Observation) -> None:
        """Update the filter and the stopping rule; remember the state where a streak begins."""
        progress, schedule = self.progress, self.schedule
        epoch = progress.phase_epoch
        state = update_priors(
            progress.state,
            observation.observed,
            epoch - 1,
            schedule.phases.estimation_epochs,
            self.bound,
            schedule.priors,
        )
        record = progress.records[-1]
        stop = update_stop(
            progress.stop,
            epoch,
            record.negative_variance,
            record.largest_positive_share,
            self.bound.fraction,
            schedule.stopping,
        )
        record = replace(record, stop_streak=stop.streak, stopped=stop.halted)
        self.progress = replace(
            progress, state=state, priors=state.mean, stop=stop, records=(*progress.records[:-1], record)
        )
        if stop.streak == 1:
            self._remember()

    def _remember(self) -> None:
        # The weights of a network that learns other objects too cannot go back for one of them.
        kept = {} if self.trainer.others else self.trainer.network.state_dict()
        weights = {name: value.clone() for name, value in kept.items()}
        state = self.progress.state
        self.remembered = {
            "weights": weights,
            "mean": torch.from_numpy(state.mean),
            "covariance": torch.from_numpy(state.covariance),
            "epoch": self.progress.epoch,
        }

    def _advance(self) -> None:
        """Enter the next phase when this one is over."""
        progress, phases = self.progress, self.schedule.phases
        if progress.phase == WARM_UP and progress.phase_epoch == phases.warmup_epochs:
            self._enter(ESTIMATION)
        elif progress.phase == ESTIMATION and progress.stop.halted:
            self._return_to_remembered()
            self._enter(FINAL)
        elif progress.phase == ESTIMATION and progress.phase_epoch == phases.estimation_epochs:
            self.progress = replace(progress, selected_epoch=progress.epoch)
            self._enter(FINAL)
        elif progress.phase == FINAL and progress.phase_epoch == phases.final_epochs:
            self._enter(DONE)

    def _return_to_remembered(self) -> None:
        remembered, self.seen = self.remembered, None
        if remembered["weights"]:
            self.trainer.network.load_state_dict(remembered["weights"])
        state = Gaussian(remembered["mean"].numpy(), remembered["covariance"].numpy())
        self.progress = replace(self.progress, state=state, priors=state.mean, selected_epoch=int(remembered["epoch"]))
        self.remembered = None

    def _enter(self, phase: str) -> None:
        """Enter a phase, or the first after it that has epochs."""
        phases = self.schedule.phases
        following = {WARM_UP: ESTIMATION, ESTIMATION: FINAL, FINAL: DONE}
        while phase != DONE and self.schedule.epochs_of(phase) == 0:
            phase = following[phase]
        constant = np.full(self.samples.n_frames, self.bound.fraction * phases.warmup_prior)
        estimated = phases.estimation_epochs > 0
        priors = constant if phase == WARM_UP or not estimated else self.progress.state.mean
        self.progress = replace(self.progress, phase=phase, phase_epoch=0, priors=priors)

    def _never_stopped(self) -> bool:
        """Whether the epoch just over was the last of an estimation that its rule did not halt."""
        record = self.progress.records[-1]
        return record.phase == ESTIMATION and self.progress.phase != ESTIMATION and not record.stopped


def learn_side_by_side(
    learnings: Sequence[Learning], listeners: Sequence[Listener], saves: Sequence[Callable[[Learning], None]]
) -> None:
    """Run each to its end as Learning.run does, all at once; they keep step epoch by epoch.

    On a CPU each has a thread. On a GPU one thread asks for a step of each in turn: what the libraries prepare for a
    shape of data they prepare for every thread anew. Listeners are called one at a time; of the steps within an epoch
    only the first network's are told.
    """
    if len(learnings) == 1:
        learnings[0].run(listeners[0], saves[0])
        return
    with _run_together(learnings) as run_epochs:
        while going := [number for number, each in enumerate(learnings) if not each.done]:
            told = [listeners[number] if number == going[0] else ignore for number in going]
            seen = run_epochs([learnings[number] for number in going], told)
            for number, predicted in zip(going, seen, strict=True):
                learnings[number].tell(predicted, listeners[number])
                saves[number](learnings[number])


@contextmanager
def _run_together(learnings: Sequence[Learning]) -> Iterator[Callable[..., list[EpochPredicted | None]]]:
    """A function that runs an epoch of each of some learnings, given with their listeners."""
    if learnings[0].samples.frames.device.type == "cuda":
        yield lambda some, told: alternate(list(map(Learning.take_steps, some, told)))
        return
    with start_threads(len(learnings)) as pool:
        yield lambda some, told: list(pool.map(Learning.run_epoch, some, told))


def is_looked_at(epoch: int, epochs: int) -> bool:
    """Whether, of so many epochs on whose observation nothing depends, this one is observed, counted from 1.

    >>> [epoch for epoch in range(1, 11) if is_looked_at(epoch, 10)]
    [4, 8, 10]
    """
    return epoch == epochs or epoch % OBSERVED_EVERY == 0


def observe(trainer: Trainer, gamma: float, exact: bool = True) -> Observation:
    """Predict all frames and sum up what the filter, the stopping rule and the user want to know.

    Where nothing depends on it, running averages of the batch norms do: exact=False halves the time.
    """
    return sum_up(look_at(trainer, exact), trainer.samples, gamma)


def look_at(trainer: Trainer, exact: bool) -> Tensor:
    """The logits of all frames; exact or by running averages, see observe."""
    settings = trainer.recipe.training
    if not exact:
        settings = replace(settings, statistics="running", mirrors=False)
    return predict_logits(trainer.network, trainer.samples, settings, trainer.looks)


def sum_up(logits: Tensor, samples: SampleSet, gamma: float) -> Observation:
    """What (T, h, w) logits say of the samples."""
    probabilities = pool_probabilities(logits, samples)
    valid = samples.areas > 0
    negatives = probabilities[valid & (probabilities < 0.5)]
    clicked = probabilities[samples.positive > 0]
    return Observation(
        observed=(samples.areas * probabilities**gamma).sum(1).cpu().double().numpy(),
        share=(samples.areas * (probabilities >= 0.5)).sum(1).cpu().double().numpy(),
        negative_variance=float(negatives.var(correction=0)) if len(negatives) else 0.0,
        click_probability=float(clicked.mean()),
        probabilities=_describe_samples(probabilities, samples),
        logits=logits,
    )


def _describe_samples(probabilities: Tensor, samples: SampleSet) -> np.ndarray:
    """(T, regions) float16, zero where there is no sample: no pixel at the working size, or a frame marked absent."""
    values = probabilities.where(samples.areas > 0, 0.0).half().cpu().numpy()
    values[samples.absent] = 0
    return values


def one_cycle(peak: float, step: int, total: int) -> float:
    """Rise linearly from a tenth of the peak over the first 30 % of the steps, then fall to zero along a cosine.

    >>> one_cycle(1.0, 30, 100), one_cycle(1.0, 100, 100)
    (1.0, 0.0)
    """
    rise = 0.3 * total
    if step < rise:
        return peak * (0.1 + 0.9 * step / rise)
    return peak * 0.5 * (1 + math.cos(math.pi * (step - rise) / (total - rise)))
