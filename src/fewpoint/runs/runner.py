"""One run from frames and points to masks, in memory or in a folder that it can be resumed from."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from fewpoint.core import Listener, Message, ObjectResult, Result, ignore
from fewpoint.core.job import PlainPoints
from fewpoint.core.labels import describe_ties
from fewpoint.core.obeying import leave_out_missing
from fewpoint.core.progress import WorkGoesOn
from fewpoint.core.settings import as_table
from fewpoint.core.stopping import stoppable
from fewpoint.core.words import NOTHING_SAID
from fewpoint.io.atomic import read_json, write_atomically, write_json
from fewpoint.io.runs import GROUPS, RunFolder, load_result, write_result, write_told
from fewpoint.learning.devices import choose_device, cpu_threads, describe_device
from fewpoint.methods.competitors.registry import build_competitor
from fewpoint.pipeline.calibration import calibrate, sharpen
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.group import GroupOutcome, run_group
from fewpoint.pipeline.groups import describe_groups, group_objects, run_groups
from fewpoint.pipeline.masks import find_touched
from fewpoint.pipeline.members import kept_of
from fewpoint.pipeline.model import MODEL_FILE, join_models, save_model
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.report.reliability import Reliability, count_reliability
from fewpoint.runs.exports import join_objects, write_film, write_missing
from fewpoint.runs.previous import load_previous
from fewpoint.runs.summary import SUMMARY_FILE, examine, label_names, summarise, write_report
from fewpoint.runs.words import obey_words
from fewpoint.tracking.min_cost_flow import check_solver

SEGMENTATION = "segmentation"  # the only stage of methods that do not go through the pipeline


def run_task(
    task: Task, folder: RunFolder | None = None, listener: Listener = ignore, began: float | None = None
) -> Result:
    """Segment by the task's method; in a folder, finished stages are kept and reused at the next start.

    began: by time.perf_counter, from when on its time counts, such as before its files were read; None for now.
    """
    return _run(task, folder, listener, began).result


def run_and_keep(
    task: Task, folder: RunFolder | None = None, listener: Listener = ignore
) -> tuple[Result, PreviousRun]:
    """run_task, and what another run needs to refine this one or to start from its networks."""
    done = _run(task, folder, listener, None)
    if folder is not None and not done.groups:
        return done.result, load_previous(folder.path)
    name = "" if folder is None else str(folder.path)
    groups = tuple(group.to_previous() for group in done.groups)
    model = join_models([group.to_model() for group in done.groups])
    told = task.points, task.words, task.started
    return done.result, PreviousRun(name, task.sequence_hash, task.settings, groups, model, *told)


@dataclass(frozen=True, eq=False)
class Done:
    """A result, and what the groups of objects that learnt together found on the way; none for other methods.

    reliability: of each object's probabilities on its outlined frames; none where there are none.
    """

    result: Result
    groups: list[GroupOutcome]
    reliability: tuple[Reliability | None, ...] = ()


def _run(task: Task, folder: RunFolder | None, listener: Listener, began: float | None) -> Done:
    if folder is not None and folder.finished:
        result = _call_as_told(task, folder, load_result(folder.path))
        write_missing(task.sequence, result, task.outputs, folder.path)
        listener(Message("already finished, nothing to do"))
        return Done(result, [])
    log = StageLog(folder, listener, began=time.perf_counter() if began is None else began)
    with stoppable(lambda: log.listener(WorkGoesOn())):
        done = _run_pipeline(task, folder, log) if task.uses_pipeline else _run_competitor(task, log)
    if folder is not None:
        _finish(task, folder, done, log)
    return done


def _call_as_told(task: Task, folder: RunFolder, result: Result) -> Result:
    """The result of a finished run by the name that its only object has now, in its files too; names train nothing."""
    told = task.object_names[0]
    if len(result.objects) > 1 or told in ("", result.only.name):
        return result
    renamed = replace(result, objects=(replace(result.only, label=replace(result.only.label, name=told)),))
    described = folder.manifest["result"]
    table = {**described, "objects": [{**described["objects"][0], "name": told}]}
    task.outputs.write(renamed, folder.path)
    write_json(folder.path / SUMMARY_FILE, {**read_json(folder.path / SUMMARY_FILE), **table})
    folder.write_manifest("finished", {"result": table})
    return renamed


def _run_competitor(task: Task, log: StageLog) -> Done:
    """Another method, one object after another; each pixel goes to the object with the largest claim."""
    method = build_competitor(task.method, task.settings, task.device, log.listener)

    def segment_all() -> tuple[list[ObjectResult], bool]:
        tasks = [task.of_object(name) for name in task.object_names]
        given = ((each.sequence, each.points, each.bound) for each in tasks)
        return [method.segment(*each, seed=task.seed).only for each in given], False

    return Done(_assemble(task, dict(zip(task.object_names, log.run(SEGMENTATION, 0, segment_all), strict=True))), [])


def _run_pipeline(task: Task, folder: RunFolder | None, log: StageLog) -> Done:
    """All objects together if they lie close enough, else one group of them after another."""
    if task.plan.tracking is not None:
        check_solver()
    if task.warm_start is not None:
        task = replace(task, adapted=task.plan.suit_warm_start())
    with cpu_threads(task.plan.training.threads):
        device, touched = choose_device(task.device), find_touched(task)

        def run(names: tuple[str, ...], own: Task, own_folder: RunFolder | None) -> GroupOutcome:
            return run_group(names, own, own_folder, log, device, touched)

        groups, names = group_objects(task), task.object_names
        if len(groups) > 1:
            outcomes = run_groups(task, groups, folder, log, run)
        else:
            outcomes = [run(names, task.of_objects(names), folder)]
    found = {name: each for outcome in outcomes for name, each in outcome.objects.items()}
    notes = tuple(note for outcome in outcomes for note in describe_ties(outcome.ties))
    if len(groups) == 1:
        result = _name_objects(task, found, notes)
    else:
        result = _assemble(task, found)
        result = replace(result, notes=(describe_groups(groups), *notes, *result.notes))
    if task.plan.diffusion is None:  # paths through time are not cut from probabilities
        return Done(result, outcomes)
    reliability = tuple(_ask_outlines(task, *each) for each in zip(names, result.objects, strict=True))
    return Done(replace(result, objects=tuple(map(calibrate, result.objects))), outcomes, reliability)


def _ask_outlines(task: Task, name: str, found: ObjectResult) -> Reliability | None:
    """How probabilities, before outlines are obeyed in them, agree with the outlined frames of an object."""
    outlined = dict(task.words).get(name, NOTHING_SAID).outlined
    return count_reliability((sharpen(found.probabilities.values[frame]), found.masks[frame]) for frame in outlined)


def _name_objects(task: Task, found: dict[str, ObjectResult], notes: tuple[str, ...] = ()) -> Result:
    """A result of objects that share no pixel, labelled in the order of their names."""
    labels = zip(task.object_names, label_names(task.object_names), strict=True)
    missing = task.sequence.missing
    objects = tuple(replace(leave_out_missing(found[name], missing), label=label) for name, label in labels)
    return Result(objects, task.sequence.names, task.sequence.source, notes, task.sequence)


def _assemble(task: Task, found: dict[str, ObjectResult]) -> Result:
    """A result of objects that were segmented separately, and may claim the same pixels."""
    found = {name: obey_words(each, task, name) for name, each in found.items()}
    if len(found) == 1:
        return _name_objects(task, found)
    names, touched = task.object_names, find_touched(task)
    clicks, kept = tuple(map(task.points.of_object, names)), tuple(name not in touched.words for name in names)
    objects, notes = join_objects(tuple(found[name] for name in names), clicks, kept)
    return _name_objects(task, dict(zip(task.object_names, objects, strict=True)), notes)


def _plain_start(task: Task) -> dict[str, Any] | None:
    """The points that a refinement's networks learnt from scratch from; None if it is none, or they are not known."""
    if task.previous is None or task.started is None:
        return None
    return PlainPoints.of(task.started).as_table()


def _finish(task: Task, folder: RunFolder, done: Done, log: StageLog) -> None:
    """Write what the user came for; the manifest last, so that a finished manifest means a finished run."""
    result, device = done.result, _describe_device(task)

    def write_masks() -> None:
        write_result(result, folder.path, task.outputs)
        if done.groups:
            model = join_models([group.to_model() for group in done.groups])
            write_atomically(folder.path / MODEL_FILE, lambda file: save_model(model, file))

    def write() -> tuple[dict[str, Any], bool]:
        with ThreadPoolExecutor(1) as other:  # compresses while masks are judged and the report is drawn
            masks = other.submit(write_masks)
            judged = examine(task, result)
            if task.outputs.film:
                write_film(task.sequence, result, folder.path)
            if task.outputs.report:
                write_report(task, result, folder, log, device, judged, done.reliability)
            masks.result()
        return summarise(result, judged), False

    summary = log.run("report", 0, write)
    write_told(task.points, task.words, folder.path)
    costs = log.as_table()
    write_json(folder.path / SUMMARY_FILE, {**summary, **costs})
    folder.write_manifest(
        "finished",
        {
            "settings": task.settings_table(),
            "device": device,
            "torch": str(torch.__version__),
            "refined_from": None if task.previous is None else task.previous.name,
            "started": _plain_start(task),
            GROUPS: _describe_groups(task, folder, done.groups),
            **costs,
            "result": summary,
        },
    )


def _describe_groups(task: Task, folder: RunFolder, groups: list[GroupOutcome]) -> dict[str, dict[str, Any]]:
    """What a run that refines this one must know about each group, and the plan that the group followed."""
    known = folder.manifest.get(GROUPS, {})
    described = {}
    for number, group in enumerate(groups, start=1):
        own = task.of_objects(group.names)
        entry = {
            "objects": list(group.names),
            "focus": list(group.focus.box),
            "networks": [member.name for member in kept_of(replace(own, adapted=group.plan))],
            "plan": as_table(group.plan),
            "cuts": [asdict(cut) for cut in group.labels.cuts],
        }
        described[f"group-{number}"] = {**known.get(f"group-{number}", {}), **entry}
    return described


def _describe_device(task: Task) -> str:
    """Methods without settings learn nothing and use the CPU only."""
    return "cpu" if task.settings is None else describe_device(choose_device(task.device))
