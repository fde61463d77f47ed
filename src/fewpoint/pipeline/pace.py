"""How long a run will take, and how much of its schedule fits into a time limit."""

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fewpoint.core import ImageSequence, Message, PointSet, SuperpixelMap
from fewpoint.errors import SettingsError
from fewpoint.io.runs import RunFolder
from fewpoint.learning.devices import start_threads
from fewpoint.learning.phases import OBSERVED_EVERY
from fewpoint.learning.prediction import MIRRORS, predict_logits
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import TrainingSettings
from fewpoint.learning.training import Trainer, count_steps
from fewpoint.pipeline import stages
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.masks import choose_labels
from fewpoint.pipeline.members import ObjectInputs, count_at_once
from fewpoint.pipeline.plan import Plan
from fewpoint.superpixels.slic import segment_frames

FIRST_STEPS, TIMED_STEPS = 2, 2  # the first ones allocate memory, and on a GPU record the step
TRIES = 3  # of which the fastest counts: memory is still being allocated, and other work comes and goes
SAFETY = 1.15  # what is measured in seconds may be wrong by this factor over minutes
FEWEST_SHARE = 0.5  # of the epochs: rather than fewer, one network less is trained


@dataclass(frozen=True)
class Pace:
    """Seconds on this machine: of a training step, of one network on all frames once, and of the last masks.

    steps: training steps per epoch. at_once: networks of a round that learn side by side at full speed; more of them
    share it. alone: of a step of the only network of a further round, which may use more cores; None if it takes as
    long as any.
    """

    step: float
    look: float
    masks: float
    steps: int
    at_once: int = 1
    alone: float | None = None

    def later_step(self, networks: int) -> float:
        """Seconds per training step in a further round with this number of networks."""
        return self.step if networks > 1 or self.alone is None else self.alone


SCHEDULE = {
    "phases.warmup_epochs": "warm-up epochs",
    "phases.estimation_epochs": "estimation epochs",
    "phases.final_epochs": "final epochs",
    "rounds.networks": "networks",
    "rounds.round_networks": "networks of a further round",
    "rounds.round_epochs": "epochs of a further round",
}


@dataclass(frozen=True)
class Fitted:
    """A plan whose schedule fits, and in a few words what was shortened; empty if all of it fits."""

    plan: Plan
    note: str = ""

    def as_table(self) -> dict[str, object]:
        """Plain values to keep in a run folder."""
        return {"epochs": {key: _value(self.plan, key) for key in SCHEDULE}, "note": self.note}

    @classmethod
    def from_table(cls, plan: Plan, table: dict[str, Any]) -> "Fitted":
        """The plan with the schedule that was kept."""
        for key, value in table["epochs"].items():
            plan = _set_value(plan, key, int(value))
        return cls(plan, table["note"])


def measure_pace(inputs: dict[str, ObjectInputs], superpixels: SuperpixelMap) -> Pace:
    """Rehearse with networks that are thrown away, as many as will learn at once: some steps, a prediction, masks."""
    tasks, samples = {name: own.task for name, own in inputs.items()}, tuple(own.samples for own in inputs.values())
    smoothers, task = tuple(own.smoother for own in inputs.values()), next(iter(tasks.values()))

    def choose(logits: Tensor) -> None:
        values = [each.half().cpu().numpy() for each in logits.unbind(1)]
        maps = tuple(stages.enlarge_maps([each], own, surest=0.0) for each, own in zip(values, samples, strict=True))
        choose_labels(tasks, superpixels, maps, smoothers)

    def prepare() -> Trainer:
        return stages.prepare_learning(tasks, samples, task.seed).trainer

    # On a GPU networks side by side take longer than one, and are counted as if they took turns.
    at_once = count_at_once(task, samples[0]) if samples[0].frames.device.type == "cpu" else 1
    together = min(at_once, task.plan.rounds.networks)
    pace = rehearse([prepare() for _ in range(together)], choose)
    return replace(pace, at_once=at_once, alone=_clock_alone(prepare, task.plan.training, task.seed))


def _clock_alone(prepare: Callable[[], Trainer], training: TrainingSettings, seed: int) -> float | None:
    """Seconds per step on divided batches, if the settings divide them; which loss it descends hardly matters."""
    if training.parts == 1:
        return None
    plain = prepare()
    if plain.samples.frames.device.type != "cpu":
        return None
    return _clock_steps([Trainer(plain.network, plain.objects, replace(plain.recipe, training=training), seed)])


def rehearse(trainers: list[Trainer], choose: Callable[[Tensor], None]) -> Pace:
    """Time trainers that are thrown away, their steps side by side; choose: makes masks from logits of all frames."""
    trainer, step = trainers[0], _clock_steps(trainers)
    samples = trainer.samples
    once = replace(trainer.recipe.training, statistics="running", mirrors=False)
    predicted = []
    look = _clock(lambda: predicted.append(predict_logits(trainer.network, samples, once)), samples)
    masks = _clock(lambda: choose(predicted[0]), samples)
    return Pace(step, look, masks, trainer.steps_per_epoch)


def _clock_steps(trainers: list[Trainer]) -> float:
    """Seconds per step of trainers that run at once, which share more of a CPU than its cores."""
    if len(trainers) == 1:  # on a GPU, libraries would have to prepare again in another thread
        return _clock_fastest(trainers[0].try_steps, trainers[0].samples)
    with start_threads(len(trainers)) as pool:
        return _clock_fastest(
            lambda count: list(pool.map(lambda trainer: trainer.try_steps(count), trainers)), trainers[0].samples
        )


def _clock_fastest(take: Callable[[int], object], samples: SampleSet) -> float:
    """Seconds per step; take: takes a given number of steps."""
    take(FIRST_STEPS)
    return min(_clock(lambda: take(TIMED_STEPS), samples) for _ in range(TRIES)) / TIMED_STEPS


def refuse_hopeless(tasks: stages.Tasks, folder: RunFolder | None, log: StageLog, device: torch.device) -> None:
    """Raise SettingsError before the superpixels are cut if a time limit is surely too short.

    One clicked frame is cut and learnt from. The estimate is optimistic: nothing is added for safety, nor for what
    follows the networks. A run that was started before may continue.
    """
    task = next(iter(tasks.values()))
    limit_s = task.time_limit_s
    if limit_s is None or (folder is not None and "schedule" in folder.manifest):
        return
    cutting, pace = _glance(tasks, device)
    before, least = log.spent() + cutting, estimate_seconds(_shortest(task.plan), pace)
    if before + least > limit_s:
        raise _too_short(limit_s, before + SAFETY * least)


def _glance(tasks: stages.Tasks, device: torch.device) -> tuple[float, Pace]:
    """Seconds that all superpixels take at least, and the pace, from one frame on which the first object is clicked."""
    name, task = next(iter(tasks.items()))
    n_frames, clicks = len(task.sequence), task.points.coordinates
    frame = clicks[0, 0]
    single = ImageSequence.from_array(task.sequence.frames[frame : frame + 1])
    points = PointSet.from_rows([(0, y, x) for each, y, x in clicks.tolist() if each == frame])
    cut: list[SuperpixelMap] = []
    # The first time, libraries are loaded.
    seconds = min(_seconds(lambda: cut.append(segment_frames(single, task.plan.superpixels))) for _ in range(2))
    (samples,) = build_samples(single, cut[0], [points], stages.fit_size(tasks), device)
    trainer = stages.prepare_learning({name: task}, (samples,), task.seed).trainer
    step = min(_clock(lambda: trainer.try_steps(1), samples) for _ in range(2))
    once = replace(task.plan.training, statistics="running", mirrors=False)
    look = n_frames * _clock(lambda: predict_logits(trainer.network, samples, once), samples)
    steps = count_steps(n_frames, task.plan.training)
    cores = min(n_frames, os.cpu_count() or 1)
    return n_frames * seconds / cores, Pace(step, look, 0.0, steps, count_at_once(task, samples))


def settle_schedule(
    plan: Plan, limit_s: float | None, folder: RunFolder | None, log: StageLog, measure: Callable[[], Pace]
) -> Fitted:
    """The schedule that a time limit leaves; settled at the first start of a run and kept in its manifest."""
    if limit_s is None:
        return Fitted(plan)
    if folder is not None and "schedule" in folder.manifest:
        fitted = Fitted.from_table(plan, folder.manifest["schedule"])
    else:
        pace = measure()
        fitted = fit_into_limit(plan, pace, limit_s, log.spent_on_turns(), log.turns)
        if folder is not None:
            folder.write_manifest("running", {"schedule": fitted.as_table()})
    log.note = fitted.note
    log.listener(Message(f"time limit: {fitted.note or 'the whole schedule fits'}"))
    return fitted


def estimate_seconds(plan: Plan, pace: Pace) -> float:
    """From the first epoch to the last mask: the most, if a stopping rule may end a phase early."""
    rounds, phases = plan.rounds, plan.phases
    passes = _passes(plan.training)
    first = phases.warmup_epochs + phases.estimation_epochs + phases.final_epochs
    looks = _looks(phases.warmup_epochs) + passes * phases.estimation_epochs + _looks(phases.final_epochs)
    later = rounds.round_epochs
    # The look after its last epoch is a network's prediction.
    later_step = pace.later_step(rounds.round_networks)
    one_first = first * pace.steps * pace.step + (looks + passes) * pace.look
    one_later = later * pace.steps * later_step + (_looks(later) + passes) * pace.look
    turns, later_turns = (max(1.0, networks / pace.at_once) for networks in (rounds.networks, rounds.round_networks))
    return turns * one_first + rounds.rounds * (later_turns * one_later + pace.masks) + pace.masks


def fit_schedule(plan: Plan, pace: Pace, seconds: float) -> Fitted | None:
    """The schedule as it is if it fits into these seconds, else a shorter one; None if nothing fits.

    All phases are shortened alike. If less than half of them would fit, one network less is trained, down to one per
    round; with one network per round as many epochs as fit, at least one per phase.
    """
    if _fits(plan, pace, seconds):
        return Fitted(plan)
    choices = [(fewer, _largest_share(fewer, pace, seconds)) for fewer in _with_fewer_networks(plan)]
    fewer, share = next((choice for choice in choices if choice[1] >= FEWEST_SHARE), choices[-1])
    fitted = fewer.shorten(share)
    return Fitted(fitted, _describe(plan, fitted)) if _fits(fitted, pace, seconds) else None


def fit_into_limit(plan: Plan, pace: Pace, limit_s: float, spent_s: float, turns: int = 1) -> Fitted:
    """fit_schedule for what a limit leaves after the seconds spent; SettingsError gives the least that would do.

    turns: how many such schedules, one after another, share what is left.
    """
    fitted = fit_schedule(plan, pace, (limit_s - spent_s) / turns)
    if fitted is None:
        raise _too_short(limit_s, spent_s + turns * SAFETY * estimate_seconds(_shortest(plan), pace))
    return fitted


def _shortest(plan: Plan) -> Plan:
    """One network per round, with one epoch per phase."""
    *_, fewest = _with_fewer_networks(plan)
    return fewest.shorten(0.0)


def _too_short(limit_s: float, least_s: float) -> SettingsError:
    return SettingsError(
        f"--time-limit must be at least {math.ceil(least_s / 6) / 10:g} minutes here for one epoch per network, "
        f"got {limit_s / 60:g}; give more time, or a smaller training.max_side"
    )


def _with_fewer_networks(plan: Plan) -> Iterator[Plan]:
    """The plan, then with ever fewer networks from the points, down to one; those of a round in proportion."""
    rounds = plan.rounds
    for networks in range(rounds.networks, 0, -1):
        later = math.ceil(rounds.round_networks * networks / rounds.networks) if networks > 1 else 1
        yield replace(plan, rounds=replace(rounds, networks=networks, round_networks=later))


def _largest_share(plan: Plan, pace: Pace, seconds: float) -> float:
    """The largest share in whole per cent whose schedule fits; 0 if not even one epoch per phase does."""
    fitting = (percent / 100 for percent in range(100, 0, -1) if _fits(plan.shorten(percent / 100), pace, seconds))
    return next(fitting, 0.0)


def _fits(plan: Plan, pace: Pace, seconds: float) -> bool:
    return SAFETY * estimate_seconds(plan, pace) <= seconds


def _passes(training: TrainingSettings) -> int:
    """How often a prediction that counts goes over all frames."""
    return (training.statistics == "sequence") + (len(MIRRORS) if training.mirrors else 1)


def _looks(epochs: int) -> int:
    """How often a network is looked at before the last of these epochs, if nothing depends on it."""
    return max(0, epochs - 1) // OBSERVED_EVERY


def _describe(asked: Plan, fitted: Plan) -> str:
    """What was shortened, in a few words."""
    rounds = asked.rounds.rounds
    changed = [
        f"{_value(fitted, key)} of {_value(asked, key)} {name}"
        for key, name in SCHEDULE.items()
        if _value(fitted, key) != _value(asked, key) and (rounds or not key.startswith("rounds.round"))
    ]
    return "shortened to " + ", ".join(changed)


def _value(plan: Plan, key: str) -> int:
    section, _, name = key.partition(".")
    return getattr(getattr(plan, section), name)


def _set_value(plan: Plan, key: str, value: int) -> Plan:
    section, _, name = key.partition(".")
    changed: Any = {section: replace(getattr(plan, section), **{name: value})}
    return replace(plan, **changed)


def _clock(work: Callable[[], object], samples: SampleSet) -> float:
    """Seconds of the work, including what it queues on a GPU but not what was queued before."""
    finish = torch.cuda.synchronize if samples.frames.is_cuda else lambda: None
    finish()
    return _seconds(lambda: (work(), finish()))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
