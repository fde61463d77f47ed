"""The phases of learning: warm-up, estimation of the priors, and training with the priors found."""

import math
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

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
from fewpoint.core.progress import Event, WorkGoesOn
from fewpoint.core.stopping import stoppable
from fewpoint.errors import FewpointError
from fewpoint.learning.devices import start_threads
from fewpoint.learning.estimators import FilteredPriors, PriorEstimator, Sighting
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.prediction import pool_probabilities, predict_logits
from fewpoint.learning.priors import estimate_from
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import PhaseSettings
from fewpoint.learning.stopping import StopState
from fewpoint.learning.training import StepMeans, Trainer, alternate, finish

WARM_UP, ESTIMATION, FINAL, DONE = "warm-up", "estimation", "final", "done"
FOLLOWING = {WARM_UP: ESTIMATION, ESTIMATION: FINAL, FINAL: DONE}
OBSERVED_EVERY = 4  # epochs, if nothing depends on the observation: each one predicts all frames


@dataclass(frozen=True)
class Schedule:
    """Epochs and rates of the phases, and how priors are estimated in the second."""

    phases: PhaseSettings
    estimator: PriorEstimator = FilteredPriors()

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
    """What the network says about one object after an epoch: a prediction of all superpixels, summarised.

    observed: (T,) mean of f ** gamma. share: (T,) share of the frame at 0.5 or above.
    probabilities: see EpochPredicted; None if nobody looked.
    """

    observed: np.ndarray
    share: np.ndarray
    negative_variance: float
    click_probability: float
    probabilities: np.ndarray | None

    @classmethod
    def none(cls, n_frames: int) -> "Observation":
        """For epochs after which nobody looked: NaN, and no probabilities."""
        nothing = np.full(n_frames, np.nan)
        return cls(nothing, nothing, math.nan, math.nan, None)


@dataclass(frozen=True, eq=False)
class Progress:
    """How far learning has got with one object after some epoch.

    phase, phase_epoch: the phase the next epoch belongs to, and how many of its epochs are over.
    state: of the prior estimate. priors: (T,), of the next epoch. selected_epoch: see PriorHistory.
    rows: the (T,) priors, observations and shares of each finished epoch; the last two NaN if nobody looked.
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
class Course:
    """One object on its way through the phases.

    name, number: of the object, among those that the network learns. remembered: the priors of the epoch that
    the stopping rule would select.
    """

    name: str
    number: int
    samples: SampleSet
    bound: AreaBound
    schedule: Schedule
    progress: Progress
    remembered: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        return self.progress.phase == DONE

    def show_priors(self, priors: np.ndarray) -> None:
        """Record these (T,) priors from now on, if the objective has its own and does not use them."""
        self.progress = replace(self.progress, priors=priors)

    def take_in(self, means: StepMeans, observation: Observation) -> EpochPredicted | None:
        """Record a trained epoch, take the steps of the phase, and return what was observed."""
        phase = self.progress.phase
        self._append(means, observation)
        if phase == ESTIMATION:
            self._estimate(observation)
        priors = self._usable(self.progress.priors if phase == ESTIMATION else observation.share)
        self._advance()
        if observation.probabilities is None:
            return None
        return EpochPredicted(self.progress.epoch, observation.probabilities, priors, self.name)

    def priors(self) -> PriorEstimate:
        """The estimate for the user: the filter's if it ran, the prediction's own share otherwise."""
        progress, absent = self.progress, self.samples.absent
        observed = progress.rows[-1][1] if progress.rows else progress.priors
        if self.schedule.phases.estimation_epochs and self.schedule.estimator.has_rule:
            return estimate_from(progress.state, observed, absent, self.bound)
        share = progress.rows[-1][2] if progress.rows else progress.priors
        deviation = np.abs(share - observed)
        return PriorEstimate(np.where(absent, 0.0, share), np.where(absent, 0.0, deviation), observed)

    def usable_priors(self) -> np.ndarray:
        """(T,) the priors of the coming epoch, 0 on frames marked absent, the known ones on outlined frames."""
        return self._usable(self.progress.priors)

    def rates(self, steps: int) -> list[float]:
        """The learning rate of each of the coming epoch's steps."""
        phases = self.schedule.phases
        rates = {WARM_UP: phases.warmup_rate, ESTIMATION: phases.estimation_rate, FINAL: phases.final_rate}
        rate = rates[self.progress.phase]
        if self.progress.phase != WARM_UP or phases.schedule == "constant":
            return [rate] * steps
        first, total = self.progress.phase_epoch * steps, phases.warmup_epochs * steps
        return [one_cycle(rate, first + step, total) for step in range(steps)]

    def observes(self) -> bool:
        """Whether the network is looked at after the coming epoch."""
        return self.schedule.observes(self.progress.phase, self.progress.phase_epoch + 1)

    def counts(self) -> bool:
        """Whether the coming observation decides something: in the estimation, and after the very last epoch."""
        progress, phases = self.progress, self.schedule.phases
        left = {WARM_UP: phases.estimation_epochs + phases.final_epochs, FINAL: 0}.get(progress.phase, 1)
        epochs = {WARM_UP: phases.warmup_epochs, FINAL: phases.final_epochs}.get(progress.phase, 0)
        return progress.phase == ESTIMATION or (left == 0 and progress.phase_epoch + 1 == epochs)

    def never_stopped(self) -> bool:
        """Whether the epoch just over was the last of an estimation whose rule did not hold in time."""
        stop = self.progress.stop
        return self.just_estimated() and (stop.overdue or not stop.held) and self.schedule.estimator.has_rule

    def just_estimated(self) -> bool:
        """Whether the epoch just over was the last of the estimation."""
        return self.progress.records[-1].phase == ESTIMATION and self.progress.phase != ESTIMATION

    def _usable(self, priors: np.ndarray) -> np.ndarray:
        known = self.samples.known
        if known is not None:
            priors = np.where(np.isnan(known), priors, known)
        return np.where(self.samples.absent, 0.0, priors)

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
        """Update the priors and the stopping rule; remember the state if it may be returned to."""
        progress, estimator = self.progress, self.schedule.estimator
        epoch, horizon = progress.phase_epoch, self.schedule.phases.estimation_epochs
        seen = Sighting(observation.observed, self.samples.absent, epoch - 1, horizon)
        state = estimator.update(progress.state, seen, self.bound)
        stop = estimator.judge(progress.stop, seen, progress.records[-1], self.bound)
        stopped = stop.held and not stop.overdue and not progress.stop.held
        record = replace(progress.records[-1], stop_streak=stop.calm, stopped=stopped)
        self.progress = replace(
            progress, state=state, priors=state.mean, stop=stop, records=(*progress.records[:-1], record)
        )
        if stop.promising:
            self.remembered = {
                "mean": torch.from_numpy(state.mean),
                "covariance": torch.from_numpy(state.covariance),
                "epoch": self.progress.epoch,
            }

    def _advance(self) -> None:
        """Enter the next phase when this one is over."""
        progress = self.progress
        halts = progress.phase == ESTIMATION and progress.stop.halted
        if not halts and progress.phase_epoch < self.schedule.epochs_of(progress.phase):
            return
        if progress.phase == ESTIMATION:
            self._select_epoch()
        self.enter(FOLLOWING[progress.phase])

    def _select_epoch(self) -> None:
        """The start of the stopping window, or what stands for it; the last epoch if nothing does."""
        if self.progress.stop.held:
            self._return_to_remembered()
        elif self.schedule.estimator.has_rule:
            self.progress = replace(self.progress, selected_epoch=self.progress.epoch)

    def _return_to_remembered(self) -> None:
        remembered, self.remembered = self.remembered, None
        if remembered is None:
            raise FewpointError("a stopping rule held without a window; this is a bug in fewpoint")
        state = Gaussian(remembered["mean"].numpy(), remembered["covariance"].numpy())
        self.progress = replace(self.progress, state=state, priors=state.mean, selected_epoch=int(remembered["epoch"]))

    def enter(self, phase: str) -> None:
        """Enter a phase, or the first after it that has epochs."""
        phases, estimator = self.schedule.phases, self.schedule.estimator
        while phase != DONE and self.schedule.epochs_of(phase) == 0:
            phase = FOLLOWING[phase]
        constant = estimator.constant(self.samples.n_frames, self.bound.fraction * phases.warmup_prior)
        estimated = phases.estimation_epochs > 0
        priors = constant if phase == WARM_UP or not estimated else self.progress.state.mean
        self.progress = replace(self.progress, phase=phase, phase_epoch=0, priors=priors)


def start_course(name: str, number: int, samples: SampleSet, bound: AreaBound, schedule: Schedule) -> Course:
    """An object before its first epoch."""
    state = schedule.estimator.start(samples.n_frames, bound)
    nothing = Progress(DONE, 0, state, state.mean, StopState(), 0, (), ())
    course = Course(name, number, samples, bound, schedule, nothing)
    course.enter(WARM_UP)
    return course


@dataclass(eq=False)
class Learning:
    """A trainer, and each of its objects on its way through the phases.

    Each object ends its estimation by its own rule and continues with its own priors. The weights return to the
    start of the stopping window only if there is one object: several objects share them.

    seen: (T, K, h, w) logits of the last observation if it was exact and the weights are still those observed.
    window: weights and Adam's moments of the epoch that the stopping rule would select.
    """

    trainer: Trainer
    courses: tuple[Course, ...]
    seen: Tensor | None = None
    window: dict[str, Any] | None = None

    @classmethod
    def start(cls, trainer: Trainer, bounds: dict[str, AreaBound], schedule: Schedule) -> "Learning":
        """bounds: of the trainer's objects, in order, by name."""
        given = zip(bounds.items(), trainer.objects, strict=True)
        courses = (
            start_course(name, number, samples, bound, schedule)
            for number, ((name, bound), samples) in enumerate(given)
        )
        return cls(trainer, tuple(courses))

    @property
    def schedule(self) -> Schedule:
        return self.courses[0].schedule

    @property
    def done(self) -> bool:
        return all(course.done for course in self.courses)

    def run(self, listener: Listener, save: Callable[["Learning"], None]) -> None:
        """Learn to the end, notifying the listener and saving after each epoch."""
        while not self.done:
            self.tell(self.run_epoch(listener), listener)
            save(self)

    def tell(self, predicted: Sequence[EpochPredicted], listener: Listener) -> None:
        """Report the epoch just finished, and what was observed of each object after it."""
        for each in predicted:
            listener(each)
        records = [course.progress.records[-1] for course in self.courses]
        listener(EpochFinished(mean_record(records), self.schedule.most_epochs))
        for course, record in zip(self.courses, records, strict=True):
            if record.epoch == max(each.epoch for each in records) and course.never_stopped():
                of = f" of {course.name}" if len(self.courses) > 1 else ""
                listener(Message(f"priors{of}: the stopping rule did not hold within {record.epoch} epochs", True))

    def run_epoch(self, listener: Listener = ignore) -> tuple[EpochPredicted, ...]:
        """Train one epoch, observe if it is time to, take the steps of each object, and return what was observed."""
        return finish(self.take_steps(listener))

    def take_steps(self, listener: Listener = ignore) -> Generator[None, None, tuple[EpochPredicted, ...]]:
        """run_epoch with a pause after each training step, in which others may take theirs."""
        going = [course for course in self.courses if not course.done]
        steps = self.trainer.steps_per_epoch
        rates = [max(each) for each in zip(*(course.rates(steps) for course in going), strict=True)]
        epoch = max(course.progress.epoch for course in going) + 1

        def tell(done: int) -> None:
            listener(StepsTaken(epoch, done, len(rates), self.schedule.most_epochs))

        self.seen = None
        priors = np.stack([course.usable_priors() for course in self.courses], axis=1)
        means = yield from self.trainer.take_steps(torch.from_numpy(priors).float(), rates, tell)
        for course in going:
            self._refuse_divergence(course, means[course.number])
        observations = self._observe(going)
        predicted = [
            course.take_in(means[course.number], observation)
            for course, observation in zip(going, observations, strict=True)
        ]
        self._settle_weights()
        return tuple(each for each in predicted if each is not None)

    def predict(self) -> Tensor:
        """(T, K, h, w) logits of every frame with the current weights; reused if just observed."""
        if self.seen is not None:
            return self.seen
        return predict_logits(self.trainer.network, self.trainer.samples, self.trainer.recipe.training)

    def _observe(self, going: list[Course]) -> list[Observation]:
        """What the network says about each object whose schedule asks for it; predicted once for all of them."""
        if not any(course.observes() for course in going):
            return [Observation.none(course.samples.n_frames) for course in going]
        exact = any(course.counts() for course in going)
        logits = look_at(self.trainer, exact)
        self.seen = logits if exact else None
        return [
            sum_up(logits[:, course.number], course.samples, course.schedule.estimator.gamma)
            if course.observes()
            else Observation.none(course.samples.n_frames)
            for course in going
        ]

    def _refuse_divergence(self, course: Course, means: StepMeans) -> None:
        """Raise before the epoch counts, so that the last checkpoint holds a sound network."""
        if not (math.isfinite(means.loss) and self.trainer.is_finite()):
            phase, epoch = course.progress.phase, course.progress.epoch + 1
            raise FewpointError(
                f"training must stay finite, it diverged in epoch {epoch} ({phase}, loss {means.loss:g}); "
                "lower the learning rate or training.clip_norm, or try another --seed"
            )

    def _settle_weights(self) -> None:
        """With one object, remember weights and moments that may be returned to, and return after the estimation."""
        course, *others = self.courses
        if others:
            return
        if course.progress.records[-1].phase == ESTIMATION and course.progress.stop.promising:
            self.window = self.trainer.copy_learnt()
        if course.just_estimated() and course.progress.stop.held and self.window is not None:
            self.trainer.return_to(self.window)
            self.window, self.seen = None, None


def mean_record(records: Sequence[EpochRecord]) -> EpochRecord:
    """One record for all objects: the means of theirs; epoch and phase of the one that learns longest."""
    if len(records) == 1:
        return records[0]
    last = max(records, key=lambda record: record.epoch)
    names = [field.name for field in fields(EpochRecord) if field.type is float]
    return replace(last, **{name: float(np.mean([getattr(each, name) for each in records])) for name in names})


def learn_side_by_side(
    learnings: Sequence[Learning], listeners: Sequence[Listener], saves: Sequence[Callable[[Learning], None]]
) -> None:
    """Run each to its end as Learning.run does, all at once; they keep step epoch by epoch.

    On a CPU each has a thread. On a GPU one thread launches a step of each in turn: what libraries prepare for a shape
    of data they prepare again for every thread. Listeners are called one at a time; of the steps within an epoch
    only the first network's are reported.
    """
    if len(learnings) == 1:
        learnings[0].run(listeners[0], saves[0])
        return
    halt = Halt()
    with _run_together(learnings, halt) as run_epochs:
        while going := [number for number, each in enumerate(learnings) if not each.done]:
            heard = [halt.guard(listeners[number] if number == going[0] else ignore) for number in going]
            seen = run_epochs([learnings[number] for number in going], heard)
            for number, predicted in zip(going, seen, strict=True):
                learnings[number].tell(predicted, listeners[number])
                saves[number](learnings[number])


@contextmanager
def _run_together(
    learnings: Sequence[Learning], halt: "Halt"
) -> Iterator[Callable[..., list[tuple[EpochPredicted, ...]]]]:
    """A function that runs an epoch of some learnings, given them and their listeners."""
    if learnings[0].trainer.samples.frames.device.type == "cuda":
        yield lambda some, heard: alternate(list(map(Learning.take_steps, some, heard)))
        return

    def run(learning: Learning, listener: Listener) -> tuple[EpochPredicted, ...]:
        with stoppable(lambda: listener(WorkGoesOn())):
            return learning.run_epoch(listener)

    with start_threads(len(learnings)) as pool:

        def run_all(some: Sequence[Learning], heard: Sequence[Listener]) -> list[tuple[EpochPredicted, ...]]:
            with halt.after_error():
                return list(pool.map(run, some, heard))

        yield run_all


class HaltedError(Exception):
    """Raised in the threads of networks that learn side by side once the run has been stopped elsewhere."""


class Halt:
    """Stops networks that learn side by side in threads together: none goes on with its epoch if one was stopped."""

    def __init__(self) -> None:
        self._halted = threading.Event()

    def guard(self, listener: Listener) -> Listener:
        """The listener; what it raises stops the others, too."""

        def tell(event: Event) -> None:
            if self._halted.is_set():
                raise HaltedError
            with self.after_error():
                listener(event)

        return tell

    @contextmanager
    def after_error(self) -> Iterator[None]:
        """Stop them all if an error comes out of this."""
        try:
            yield
        except BaseException:
            self._halted.set()
            raise


def is_looked_at(epoch: int, epochs: int) -> bool:
    """Whether this epoch, counted from 1, is observed in a phase of `epochs` in which nothing depends on it.

    >>> [epoch for epoch in range(1, 11) if is_looked_at(epoch, 10)]
    [4, 8, 10]
    """
    return epoch == epochs or epoch % OBSERVED_EVERY == 0


def look_at(trainer: Trainer, exact: bool) -> Tensor:
    """(T, K, h, w) logits of all frames.

    exact=False uses the running averages of the batch norms: half the time, for when nothing depends on the logits.
    """
    settings = trainer.recipe.training
    if not exact:
        settings = replace(settings, statistics="running", mirrors=False)
    return predict_logits(trainer.network, trainer.samples, settings)


def sum_up(logits: Tensor, samples: SampleSet, gamma: float) -> Observation:
    """What (T, h, w) logits say about an object: all that the estimator, the stopping rule and the user need."""
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
    )


def _describe_samples(probabilities: Tensor, samples: SampleSet) -> np.ndarray:
    """(T, regions) float16, zero if there is no sample: no pixel at the working size, or a frame marked absent."""
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
