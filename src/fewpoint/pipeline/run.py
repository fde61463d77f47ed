"""One run from frames and points to masks, in memory or in a folder that it can be resumed from."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from fewpoint.core import (
    AnySegmentation,
    AreaBound,
    ImageSequence,
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
from fewpoint.io.atomic import write_json
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
from fewpoint.pipeline.members import Learnt, Rounds, count_epochs, estimate_priors
from fewpoint.pipeline.objects import run_objects
from fewpoint.pipeline.pace import Pace, measure_pace, settle_schedule
from fewpoint.pipeline.summary import SUMMARY_FILE, summarise, write_report
from fewpoint.pipeline.task import Task


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


def run_task(task: Task, folder: RunFolder | None = None, listener: Listener = ignore) -> AnySegmentation:
    """Focus, superpixels, learning, prediction, masks; in a folder, finished stages are kept and taken up again."""
    with cpu_threads(task.settings.training.threads):
        return _run_stages(task, folder, listener)


def _run_stages(task: Task, folder: RunFolder | None, listener: Listener) -> AnySegmentation:
    device = choose_device(task.device)
    log = StageLog(folder, listener)
    run = _run_one_object if len(task.points.object_names) <= 1 else run_objects
    result, settings = run(task, folder, log, device)
    if folder is not None and not folder.finished:
        _finish(replace(task, settings=settings), folder, result, log, describe_device(device))
    elif folder is not None:
        write_missing(task.sequence, result, task.outputs, folder.path)
    return result


def _run_one_object(
    task: Task, folder: RunFolder | None, log: StageLog, device: torch.device
) -> tuple[Segmentation, Settings]:
    """The result, and the settings as a time limit left them."""
    bound = estimate_bound(task.sequence.size, task.points) if task.bound is None else task.bound
    focus = Focus.find(task.points, task.sequence.size, bound, task.settings.clicks.focus)
    inside, told = focus.narrow(task), focus.tell(log.listener)
    superpixels = log.run("superpixels", len(task.sequence), lambda: _superpixels(inside, folder, told))
    told(SuperpixelsReady(superpixels))
    if task.bound is None:
        bound = raise_bound(bound, superpixels, inside.points, focus.share)
        log.listener(Message(f"bound: {bound.origin}"))
    else:
        check_bound(bound, superpixels, inside.points, focus.share)
    inside = replace(inside, bound=focus.narrow_bound(bound))
    ground = _prepare(inside, superpixels, device)

    def measure() -> Pace:
        return measure_pace(inside, ground.samples, superpixels, ground.smoother)

    settings = settle_schedule(task.settings, task.time_limit_s, folder, log, measure).settings
    result = _run_inside(replace(inside, settings=settings), ground, folder, told, log)
    return focus.widen(result, task, bound), settings


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
) -> Segmentation:
    """From superpixels to masks, on the part of the frames that matters."""
    samples, smoother = ground.samples, ground.smoother
    clues = Clues(task.points, ground.carried, even_out=smoother.even_out if smoother else None)
    rounds = Rounds(task, samples, clues, folder, listener)
    learnt, history = log.run("learning", count_epochs(task.settings), lambda: _learn(rounds))
    probabilities = log.run("prediction", 0, lambda: _predict(learnt, samples, folder))
    masks = log.run("masks", 0, lambda: _masks(task, ground.superpixels, probabilities, smoother, folder))
    priors = estimate_priors(learnt, samples)
    return Segmentation(masks, probabilities, priors, history, task.bound, task.sequence.names, task.sequence.source)


def _superpixels(task: Task, folder: RunFolder | None, listener: Listener) -> tuple[SuperpixelMap, bool]:
    return keep_superpixels(folder, lambda: stages.cut_superpixels(task, listener))


def _learn(rounds: Rounds) -> tuple[tuple[tuple[Learnt, ...], PriorHistory], bool]:
    learnt, history, reused = rounds.run()
    return (learnt, history), reused


def _predict(learnt: tuple[Learnt, ...], samples: SampleSet, folder: RunFolder | None) -> tuple[ProbabilityMaps, bool]:
    return keep(
        folder,
        "probabilities.npy",
        lambda: stages.enlarge_maps([member.logits for member in learnt], samples),
        lambda maps, file: np.save(file, maps.values),
        lambda path: ProbabilityMaps(np.load(path)),
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
        lambda masks, file: np.save(file, masks),
        np.load,
    )


def _finish(task: Task, folder: RunFolder, result: AnySegmentation, log: StageLog, device: str) -> None:
    """Write what the user came for; the manifest last, so that a finished manifest means a finished run."""
    summary = summarise(result)

    def write() -> tuple[None, bool]:
        write_result(result, folder.path, task.outputs)
        if task.outputs.film:
            write_film(task.sequence, result, folder.path)
        write_report(task, result, folder.path, log, device)
        return None, False

    log.run("report", 0, write)
    write_json(folder.path / SUMMARY_FILE, {**summary, **log.as_table()})
    folder.write_manifest(
        "finished",
        {
            "settings": as_table(task.settings),
            "device": device,
            "torch": torch.__version__,
            **log.as_table(),
            "result": summary,
        },
    )
