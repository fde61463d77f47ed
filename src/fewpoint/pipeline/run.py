"""One run from frames and points to masks, in memory or in a folder that it can be resumed from."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from fewpoint.core import (
    AnySegmentation,
    AreaBound,
    ImageSequence,
    LabelledSegmentation,
    Listener,
    Message,
    PointSet,
    PriorHistory,
    ProbabilityMaps,
    Segmentation,
    SuperpixelMap,
    SuperpixelsReady,
    ignore,
)
from fewpoint.errors import InputError
from fewpoint.io.atomic import save_array, write_atomically, write_json
from fewpoint.io.decoding import load_array
from fewpoint.io.images import hash_sequence
from fewpoint.io.runs import RunFolder, write_result
from fewpoint.learning.devices import choose_device, cpu_threads, describe_device
from fewpoint.learning.motion import carry_points
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.targets import Clues
from fewpoint.pipeline import stages
from fewpoint.pipeline.artefacts import keep, keep_superpixels
from fewpoint.pipeline.bounds import check_bound, estimate_bound, raise_bound
from fewpoint.pipeline.config import Settings, as_table, preset
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.exports import write_film, write_missing
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.groups import group_objects, run_groups
from fewpoint.pipeline.members import Learnt, Rounds, count_epochs, estimate_priors, kept_of, suit_clicks
from fewpoint.pipeline.model import MODEL_FILE, Model, save_model
from fewpoint.pipeline.objects import run_objects
from fewpoint.pipeline.pace import Pace, measure_pace, refuse_hopeless, settle_schedule, shorten
from fewpoint.pipeline.previous import PreviousRun, load_previous
from fewpoint.pipeline.summary import SUMMARY_FILE, examine, summarise, write_report
from fewpoint.pipeline.task import Task
from fewpoint.pipeline.waking import wake


def segment(
    sequence: ImageSequence,
    points: PointSet,
    bound: AreaBound | float | dict[str, float] | None = None,
    *,
    settings: Settings | str = "auto",
    seed: int = 0,
    listener: Listener = ignore,
) -> AnySegmentation:
    """Masks of the clicked object on every frame; of several, where the points name several.

    bound: largest share of a frame that the object covers, a generous guess; estimated where it is None. Of several
    objects it holds for each, or by name for some.
    settings: a preset's name or a Settings. Computes on a GPU where there is one; see run_task for more control.
    """
    if isinstance(settings, str):
        settings = preset(settings, choose_device("auto").type)
    own = tuple((name, AreaBound(float(each))) for name, each in bound.items()) if isinstance(bound, dict) else ()
    if bound is not None and not isinstance(bound, AreaBound):
        bound = None if own else AreaBound(float(bound))
    return run_task(Task(sequence, points, bound, settings, seed, own_bounds=own), listener=listener)


def refine(
    previous: str | Path | PreviousRun,
    sequence: ImageSequence,
    points: PointSet,
    *,
    out: str | Path | None = None,
    seed: int = 0,
    listener: Listener = ignore,
) -> Segmentation:
    """Masks of a finished run, put right by changed points in a fraction of its time.

    previous: the run's folder, or what run_and_keep returned beside its result. points: all of them, not only new ones.
    out: a run folder for the result, which can be refined in its turn; None for no files.
    """
    if not isinstance(previous, PreviousRun):
        previous = load_previous(previous)
    task = Task(sequence, points, None, previous.settings, seed, previous=previous)
    task.check_previous()
    if out is None:
        return run_task(task, listener=listener)
    with RunFolder.open(out, task.identity()) as folder:
        return run_task(task, folder, listener)


def run_task(task: Task, folder: RunFolder | None = None, listener: Listener = ignore) -> AnySegmentation:
    """Focus, superpixels, learning, prediction, masks; in a folder, finished stages are kept and taken up again."""
    return _run_stages(task, folder, listener).result


def run_and_keep(
    task: Task, folder: RunFolder | None = None, listener: Listener = ignore
) -> tuple[Segmentation, PreviousRun]:
    """run_task on one object, and what another run needs to refine this one or to start from its networks."""
    names = task.points.object_names
    if len(names) > 1:
        raise InputError(
            f"only a run on one object can be refined for now, the points are on {len(names)}: {', '.join(names)}; "
            "use run_task"
        )
    done = _run_stages(task, folder, listener)
    previous = PreviousRun(
        name="" if folder is None else str(folder.path),
        sequence=hash_sequence(task.sequence),
        settings=task.settings,
        bound=done.result.bound,
        box=done.focus.box,
        model=_keep_model(task, done.learnt),
        superpixels=done.superpixels,
        logits=tuple(member.logits for member in done.learnt),
    )
    return done.result, previous


@dataclass(frozen=True, eq=False)
class Done:
    """A result, the settings as used, and what led to it; of several objects, of which no run can go on, only those."""

    result: AnySegmentation
    settings: Settings
    focus: Focus | None = None
    superpixels: SuperpixelMap | None = None
    learnt: tuple[Learnt, ...] = ()


def _run_stages(task: Task, folder: RunFolder | None, listener: Listener) -> Done:
    with cpu_threads(task.settings.training.threads):
        return _run_shortened(_shorten_warm(task), folder, listener)


def _shorten_warm(task: Task) -> Task:
    """With a warm start, the phases in the share of their epochs that the settings leave them."""
    if task.warm_start is None:
        return task
    shorter = shorten(task.settings, task.settings.reuse.warm_share)
    return replace(task, settings=replace(task.settings, phases=shorter.phases))


def _run_shortened(task: Task, folder: RunFolder | None, listener: Listener) -> Done:
    device = choose_device(task.device)
    log = StageLog(folder, listener)
    if len(task.points.object_names) > 1:
        done = Done(*_run_objects(task, folder, log, device))
    else:
        done = _run_one_object(task, folder, log, device)
    if folder is not None and not folder.finished:
        _finish(replace(task, settings=done.settings), folder, done, log, describe_device(device))
    elif folder is not None:
        write_missing(task.sequence, done.result, task.outputs, folder.path)
    return done


def _run_objects(
    task: Task, folder: RunFolder | None, log: StageLog, device: torch.device
) -> tuple[LabelledSegmentation, Settings]:
    """All objects together where they lie close enough, else one group of them after another."""

    def run(own: Task, part: RunFolder | None) -> tuple[AnySegmentation, Settings]:
        if len(own.points.object_names) > 1:
            return run_objects(own, part, log, device)
        done = _run_one_object(own, part, log, device)
        return done.result, done.settings

    groups = group_objects(task)
    return run(task, folder) if len(groups) == 1 else run_groups(task, groups, folder, log, run)


def _run_one_object(task: Task, folder: RunFolder | None, log: StageLog, device: torch.device) -> Done:
    if task.own_bounds:  # of the only object, by its name
        task = replace(task, bound=task.own_bounds[0][1], own_bounds=())
    task = replace(task, settings=suit_clicks(task.settings, task.points, len(task.sequence)))
    bound = _first_bound(task)
    focus = _find_focus(task, bound)
    inside, told = _forget_elsewhere(focus.narrow(task), focus), focus.tell(log.listener)
    bounded = replace(inside, bound=focus.narrow_bound(bound))
    refuse_hopeless(bounded, folder, log, device)
    await_gpu = wake(bounded, folder, device)
    superpixels = log.run("superpixels", len(task.sequence), lambda: _superpixels(inside, folder, told))
    told(SuperpixelsReady(superpixels))
    if task.bound is None:
        bound = raise_bound(bound, superpixels, inside.points, focus.share)
        log.listener(Message(f"bound: {bound.origin}"))
    else:
        check_bound(bound, superpixels, inside.points, focus.share)
    inside = replace(inside, bound=focus.narrow_bound(bound))
    ground = _prepare(inside, superpixels, device)
    await_gpu()

    def measure() -> Pace:
        return measure_pace(inside, ground.samples, superpixels, ground.smoother)

    settings = settle_schedule(task.settings, task.time_limit_s, folder, log, measure).settings
    result, learnt = _run_inside(replace(inside, settings=settings), ground, folder, told, log)
    return Done(focus.widen(result, task, bound), settings, focus, superpixels, learnt)


def _first_bound(task: Task) -> AreaBound:
    """The bound given, or that of the run to be refined, or one estimated from the points."""
    if task.bound is not None:
        return task.bound
    return estimate_bound(task.sequence, task.points) if task.previous is None else task.previous.bound


def _find_focus(task: Task, bound: AreaBound) -> Focus:
    """The part of the frames to work on: that of the run to be refined, where its points still lie in it."""
    found = Focus.find(task.points, task.sequence.size, bound, task.settings.clicks.focus)
    return found if task.previous is None else Focus(task.sequence.size, *task.previous.box).reach(task.points, found)


def _forget_elsewhere(task: Task, focus: Focus) -> Task:
    """The task without what the run to be refined says of other superpixels or of another part of the frames."""
    previous = task.previous
    if previous is None:
        return task
    if previous.box != focus.box:
        previous = replace(previous, superpixels=None, logits=())
    elif previous.settings.superpixels != task.settings.superpixels:
        previous = replace(previous, superpixels=None)
    return replace(task, previous=previous)


@dataclass(frozen=True, eq=False)
class Ground:
    """What learning and masks stand on, made anew at every start."""

    superpixels: SuperpixelMap
    carried: PointSet
    smoother: stages.Smoother | None
    samples: SampleSet


def _prepare(task: Task, superpixels: SuperpixelMap, device: torch.device) -> Ground:
    carried = carry_points(task.sequence, task.points, task.settings.clicks.carry)
    smoother = stages.prepare_smoother(task, superpixels, carried)
    return Ground(superpixels, carried, smoother, stages.prepare_samples(task, superpixels, carried, device))


def _run_inside(
    task: Task, ground: Ground, folder: RunFolder | None, listener: Listener, log: StageLog
) -> tuple[Segmentation, tuple[Learnt, ...]]:
    """From superpixels to masks, on the part of the frames that matters, and the last networks."""
    samples, smoother = ground.samples, ground.smoother
    rounds = Rounds(task, samples, _gather_clues(task, ground), folder, listener)
    learnt, history = log.run("learning", count_epochs(task.settings, task.refining), lambda: _learn(rounds))
    surest = task.settings.refinement.surest
    probabilities = log.run("prediction", 0, lambda: _predict(learnt, samples, surest, folder))
    masks = log.run("masks", 0, lambda: _masks(task, ground.superpixels, probabilities, smoother, folder))
    priors = estimate_priors(learnt, samples)
    sequence = task.sequence
    return Segmentation(masks, probabilities, priors, history, task.bound, sequence.names, sequence.source), learnt


def _gather_clues(task: Task, ground: Ground) -> Clues:
    smoother = ground.smoother
    clues = Clues(task.points, ground.carried, even_out=smoother.even_out if smoother else None)
    if task.previous is None:
        return clues
    corrector = smoother or stages.build_smoother(task, ground.superpixels, ground.carried)
    return replace(clues, correct=corrector.correct)


def _superpixels(task: Task, folder: RunFolder | None, listener: Listener) -> tuple[SuperpixelMap, bool]:
    def cut() -> SuperpixelMap:
        kept = None if task.previous is None else task.previous.superpixels
        return stages.cut_superpixels(task, listener) if kept is None else kept

    return keep_superpixels(folder, cut)


def _learn(rounds: Rounds) -> tuple[tuple[tuple[Learnt, ...], PriorHistory], bool]:
    learnt, history, reused = rounds.run()
    return (learnt, history), reused


def _predict(
    learnt: tuple[Learnt, ...], samples: SampleSet, surest: float, folder: RunFolder | None
) -> tuple[ProbabilityMaps, bool]:
    return keep(
        folder,
        "probabilities.npy",
        lambda: stages.enlarge_maps([member.logits for member in learnt], samples, surest),
        lambda maps, file: save_array(maps.values, file),
        lambda path: ProbabilityMaps(load_array(path, "probabilities")),
    )


def _masks(
    task: Task,
    superpixels: SuperpixelMap,
    probabilities: ProbabilityMaps,
    smoother: stages.Smoother | None,
    folder: RunFolder | None,
) -> tuple[np.ndarray, bool]:
    return keep(
        folder,
        "masks.npy",
        lambda: stages.choose_masks(task, superpixels, probabilities, smoother),
        save_array,
        lambda path: load_array(path, "masks"),
    )


def _keep_model(task: Task, learnt: tuple[Learnt, ...]) -> Model:
    return Model(task.settings.network, task.sequence.shape[-1], tuple(member.weights for member in learnt))


def _finish(task: Task, folder: RunFolder, done: Done, log: StageLog, device: str) -> None:
    """Write what the user came for; the manifest last, so that a finished manifest means a finished run."""
    result = done.result
    health = examine(task, result)
    summary = {**summarise(result), "health": asdict(min(health, key=lambda each: each.score))}

    def write_masks() -> None:
        write_result(result, folder.path, task.outputs)
        if done.learnt:
            write_atomically(folder.path / MODEL_FILE, lambda file: save_model(_keep_model(task, done.learnt), file))

    def write() -> tuple[None, bool]:
        with ThreadPoolExecutor(1) as other:  # compresses while the report is drawn
            masks = other.submit(write_masks)
            if task.outputs.film:
                write_film(task.sequence, result, folder.path)
            if task.outputs.report:
                write_report(task, result, folder.path, log, device, health)
            masks.result()
        return None, False

    log.run("report", 0, write)
    write_json(folder.path / SUMMARY_FILE, {**summary, **log.as_table()})
    folder.write_manifest(
        "finished",
        {
            "settings": as_table(task.settings),
            "device": device,
            "torch": torch.__version__,
            **_describe_start(task, done),
            **log.as_table(),
            "result": summary,
        },
    )


def _describe_start(task: Task, done: Done) -> dict[str, object]:
    """What a run that refines this one must know; nothing of several objects, which cannot be refined."""
    if done.focus is None:
        return {}
    return {
        "refined_from": None if task.previous is None else task.previous.name,
        "focus": list(done.focus.box),
        "networks": [member.name for member in kept_of(task)],
    }
