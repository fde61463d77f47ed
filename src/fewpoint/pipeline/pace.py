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
from fewpoint.pipeline.config import Settings, override
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.members import count_at_once
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.slic import segment_frames

FIRST_STEPS, TIMED_STEPS = 2, 2  # the first ones find and fill memory, and on a GPU record the step
TRIES = 3  # of which the fastest counts: memory is still being found, and other work comes and goes
SAFETY = 1.15  # what is measured in seconds may be wrong by this factor over minutes
FEWEST_SHARE = 0.5  # of the epochs: with fewer, a network less is trained instead


@dataclass(frozen=True)
class Pace:
    """Seconds on this machine: of a training step, of one network on all frames once, and of the last masks.

    steps: training steps of an epoch. at_once: networks of a round that learn side by side at full speed; more share
    what there is. alone: of a step of the only network of a further round, which may use more cores; None where it
    takes as long as any.
    """

    step: float
    look: float
    masks: float
    steps: int
    at_once: int = 1
    alone: float | None = None

    def later_step(self, networks: int) -> float:
        """Seconds of a training step in a further round of so many networks."""
        return self.step if networks > 1 or self.alone is None else self.alone


SCHEDULE = {
    "phases.warmup_epochs": "warm-up epochs",
    "phases.estimation_epochs": "estimation epochs",
    "phases.final_epochs": "final epochs",
    "refinement.networks": "networks",
    "refinement.round_networks": "networks of a further round",
    "refinement.round_epochs": "epochs of a further round",
}


@dataclass(frozen=True)
class Fitted:
    """Settings whose schedule fits, and what was done to it in a few words; empty where all of it fits."""

    settings: Settings
    note: str = ""

    def as_table(self) -> dict[str, object]:
        """Plain values to keep in a run folder."""
        return {"epochs": {key: _value(self.settings, key) for key in SCHEDULE}, "note": self.note}

    @classmethod
    def from_table(cls, settings: Settings, table: dict[str, Any]) -> "Fitted":
        """The settings with the schedule that was kept."""
        for key, value in table["epochs"].items():
            settings = override(settings, key, value)
        return cls(settings, table["note"])


def measure_pace(task: Task, samples: SampleSet, superpixels: SuperpixelMap, smoother: stages.Smoother | None) -> Pace:
    """Rehearse with networks that are thrown away, as many as will learn at once: some steps, a prediction, masks."""

    def choose(logits: Tensor) -> None:
        maps = stages.enlarge_maps([logits.half().cpu().numpy()], samples, surest=0.0)
        stages.choose_masks(task, superpixels, maps, smoother)

    # On a GPU networks side by side take longer than one, and are counted as if they took turns.
    at_once = count_at_once(task, samples) if samples.frames.device.type == "cpu" else 1
    together = min(at_once, task.settings.refinement.networks)
    trainers = [stages.prepare_learning(task, samples, task.seed).trainer for _ in range(together)]
    return replace(rehearse(trainers, choose), at_once=at_once, alone=_clock_alone(task, samples))


def _clock_alone(task: Task, samples: SampleSet) -> float | None:
    """Seconds of a step on divided batches, where the settings divide them; what it descends hardly matters."""
    if task.settings.training.parts == 1 or samples.frames.device.type != "cpu":
        return None
    plain = stages.prepare_learning(task, samples, task.seed).trainer
    recipe = replace(plain.recipe, training=task.settings.training)
    return _clock_steps([Trainer(plain.network, samples, recipe, task.seed)])


def rehearse(trainers: list[Trainer], choose: Callable[[Tensor], None]) -> Pace:
    """Clock trainers that are thrown away, their steps side by side; choose: makes masks from logits of all frames."""
    trainer, step = trainers[0], _clock_steps(trainers)
    samples = trainer.samples
    once = replace(trainer.recipe.training, statistics="running", mirrors=False)
    predicted = []
    look = _clock(lambda: predicted.append(predict_logits(trainer.network, samples, once)), samples)
    masks = _clock(lambda: choose(predicted[0]), samples)
    return Pace(step, look, masks, trainer.steps_per_epoch)


def _clock_steps(trainers: list[Trainer]) -> float:
    """Seconds of a step of each of some trainers at once, which share more of a CPU than its cores."""
    if len(trainers) == 1:  # on a GPU, in a thread of its own, libraries would have to prepare anew
        return _clock_fastest(trainers[0].try_steps, trainers[0].samples)
    with start_threads(len(trainers)) as pool:
        return _clock_fastest(
            lambda count: list(pool.map(lambda trainer: trainer.try_steps(count), trainers)), trainers[0].samples
        )


def _clock_fastest(take: Callable[[int], object], samples: SampleSet) -> float:
    """Seconds of a step; take: takes so many of them."""
    take(FIRST_STEPS)
    return min(_clock(lambda: take(TIMED_STEPS), samples) for _ in range(TRIES)) / TIMED_STEPS


def refuse_hopeless(task: Task, folder: RunFolder | None, log: StageLog, device: torch.device) -> None:
    """Raise SettingsError before the superpixels are cut where a time limit is surely too short.

    One clicked frame is cut and learnt from. What it tells is taken favourably: nothing is added for safety, nor for
    what follows the networks. A run that was started before is let go on.
    """
    limit_s = task.time_limit_s
    if limit_s is None or (folder is not None and "schedule" in folder.manifest):
        return
    cutting, pace = _glance(task, device)
    before, least = log.spent() + cutting, estimate_seconds(_shortest(task.settings), pace)
    if before + least > limit_s:
        raise _too_short(limit_s, before + SAFETY * least)


def _glance(task: Task, device: torch.device) -> tuple[float, Pace]:
    """Seconds that all superpixels take at least, and the pace, from one clicked frame."""
    n_frames, clicks = len(task.sequence), task.points.coordinates
    frame = clicks[0, 0]
    single = ImageSequence.from_array(task.sequence.frames[frame : frame + 1])
    points = PointSet.from_rows([(0, y, x) for each, y, x in clicks.tolist() if each == frame])
    cut: list[SuperpixelMap] = []
    # The first time, libraries are loaded.
    seconds = min(_seconds(lambda: cut.append(segment_frames(single, task.settings.superpixels))) for _ in range(2))
    samples = build_samples(single, cut[0], points, stages.fit_size(task), device)
    trainer = stages.prepare_learning(task, samples, task.seed).trainer
    step = min(_clock(lambda: trainer.try_steps(1), samples) for _ in range(2))
    once = replace(task.settings.training, statistics="running", mirrors=False)
    look = n_frames * _clock(lambda: predict_logits(trainer.network, samples, once), samples)
    steps = count_steps(n_frames, task.settings.training)
    cores = min(n_frames, os.cpu_count() or 1)
    return n_frames * seconds / cores, Pace(step, look, 0.0, steps, count_at_once(task, samples))


def settle_schedule(
    settings: Settings, limit_s: float | None, folder: RunFolder | None, log: StageLog, measure: Callable[[], Pace]
) -> Fitted:
    """The schedule that a time limit leaves; settled at the first start of a run and kept in its manifest."""
    if limit_s is None:
        return Fitted(settings)
    if folder is not None and "schedule" in folder.manifest:
        fitted = Fitted.from_table(settings, folder.manifest["schedule"])
    else:
        pace = measure()
        fitted = fit_into_limit(settings, pace, limit_s, log.spent_on_turns(), log.turns)
        if folder is not None:
            folder.write_manifest("running", {"schedule": fitted.as_table()})
    log.note = fitted.note
    log.listener(Message(f"time limit: {fitted.note or 'the whole schedule fits'}"))
    return fitted


def estimate_seconds(settings: Settings, pace: Pace) -> float:
    """From the first epoch to the last mask: the most, where a stopping rule may end a phase early."""
    refinement, phases = settings.refinement, settings.phases
    passes = _passes(settings.training)
    first = phases.warmup_epochs + phases.estimation_epochs + phases.final_epochs
    looks = _looks(phases.warmup_epochs) + passes * phases.estimation_epochs + _looks(phases.final_epochs)
    later = refinement.round_epochs
    # The look after its last epoch is a network's prediction.
    later_step = pace.later_step(refinement.round_networks)
    one_first = first * pace.steps * pace.step + (looks + passes) * pace.look
    one_later = later * pace.steps * later_step + (_looks(later) + passes) * pace.look
    turns, later_turns = (
        max(1.0, networks / pace.at_once) for networks in (refinement.networks, refinement.round_networks)
    )
    return turns * one_first + refinement.rounds * (later_turns * one_later + pace.masks) + pace.masks


def fit_schedule(settings: Settings, pace: Pace, seconds: float) -> Fitted | None:
    """The schedule as it is where it fits into these seconds, else a shorter one; None where nothing fits.

    All epochs are shortened alike. Where less than half of them would fit, a network less is trained, down to one a
    round; of one network a round as many epochs as fit, at least one a phase.
    """
    if _fits(settings, pace, seconds):
        return Fitted(settings)
    for fewer in _with_fewer_networks(settings):
        share = _largest_share(fewer, pace, seconds)
        if share >= FEWEST_SHARE:
            break
    fitted = shorten(fewer, share)
    return Fitted(fitted, _describe(settings, fitted)) if _fits(fitted, pace, seconds) else None


def fit_into_limit(settings: Settings, pace: Pace, limit_s: float, spent_s: float, turns: int = 1) -> Fitted:
    """fit_schedule for what a limit leaves after the seconds spent; SettingsError tells the least that would do.

    turns: how many such schedules, one after another, share what is left.
    """
    fitted = fit_schedule(settings, pace, (limit_s - spent_s) / turns)
    if fitted is None:
        raise _too_short(limit_s, spent_s + turns * SAFETY * estimate_seconds(_shortest(settings), pace))
    return fitted


def _shortest(settings: Settings) -> Settings:
    """One network a round, with one epoch a phase."""
    *_, fewest = _with_fewer_networks(settings)
    return shorten(fewest, 0.0)


def _too_short(limit_s: float, least_s: float) -> SettingsError:
    return SettingsError(
        f"--time-limit must be at least {math.ceil(least_s / 6) / 10:g} minutes here for one epoch a network, "
        f"got {limit_s / 60:g}; give more time, or a smaller training.max_side"
    )


def shorten(settings: Settings, share: float) -> Settings:
    """Each number of epochs times the share, rounded down; at least one where there was any."""

    def fewer(epochs: int) -> int:
        return min(epochs, max(1, math.floor(share * epochs)))

    phases, refinement = settings.phases, settings.refinement
    names = ("warmup_epochs", "estimation_epochs", "final_epochs")
    return replace(
        settings,
        phases=replace(phases, **{name: fewer(getattr(phases, name)) for name in names}),
        refinement=replace(refinement, round_epochs=fewer(refinement.round_epochs)),
    )


def _with_fewer_networks(settings: Settings) -> Iterator[Settings]:
    """The settings, then with a network less from the points until there is one, those of a round in proportion."""
    refinement = settings.refinement
    for networks in range(refinement.networks, 0, -1):
        later = math.ceil(refinement.round_networks * networks / refinement.networks) if networks > 1 else 1
        yield replace(settings, refinement=replace(refinement, networks=networks, round_networks=later))


def _largest_share(settings: Settings, pace: Pace, seconds: float) -> float:
    """The largest share in whole per cent whose schedule fits; 0 where not even one epoch a phase does."""
    fitting = (percent / 100 for percent in range(100, 0, -1) if _fits(shorten(settings, percent / 100), pace, seconds))
    return next(fitting, 0.0)


def _fits(settings: Settings, pace: Pace, seconds: float) -> bool:
    return SAFETY * estimate_seconds(settings, pace) <= seconds


def _passes(training: TrainingSettings) -> int:
    """How often a prediction that counts goes over all frames."""
    return (training.statistics == "sequence") + (len(MIRRORS) if training.mirrors else 1)


def _looks(epochs: int) -> int:
    """How often a network is looked at before the last of these epochs, where nothing depends on it."""
    return max(0, epochs - 1) // OBSERVED_EVERY


def _describe(asked: Settings, fitted: Settings) -> str:
    """What was shortened, in a few words."""
    rounds = asked.refinement.rounds
    changed = [
        f"{_value(fitted, key)} of {_value(asked, key)} {name}"
        for key, name in SCHEDULE.items()
        if _value(fitted, key) != _value(asked, key) and (rounds or not key.startswith("refinement.round"))
    ]
    return "shortened to " + ", ".join(changed)


def _value(settings: Settings, key: str) -> int:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def _clock(work: Callable[[], object], samples: SampleSet) -> float:
    """Seconds of the work, with what it leaves to a GPU and without what was left before."""
    finish = torch.cuda.synchronize if samples.frames.is_cuda else lambda: None
    finish()
    return _seconds(lambda: (work(), finish()))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
