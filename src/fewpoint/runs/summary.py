"""What a run found, in a few figures, a picture and a page."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint import __version__
from fewpoint.core import ObjectLabel, PointSet, Result, label_objects
from fewpoint.core.result import UNNAMED
from fewpoint.io.atomic import write_atomically, write_text
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.bounds import doubt_bound
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.task import Task
from fewpoint.report.figures import StoppingRule
from fewpoint.report.html import ReportContent, render_report
from fewpoint.report.judging import Judgement, judge
from fewpoint.report.measures import measure_areas_mm2, measure_volume_ml
from fewpoint.report.montage import draw_montage, encode_png
from fewpoint.report.objects import draw_overview, render_objects
from fewpoint.report.reliability import Reliability
from fewpoint.report.tiles import set_scene
from fewpoint.runs.provenance import ASKED, suggest_steps

SUMMARY_FILE = "summary.json"
TRAPPED_ASCENT = 0.9
SURE_CLICK = 0.5
SPECK_PIXELS, SPECK_SHARE = 50, 0.002


def summarise(result: Result, judged: tuple[Judgement, ...]) -> dict[str, Any]:
    """Plain values for the manifest and for machines: a list of objects, and the figures of a single one again.

    judged: what is thought of each object, as examine returns it. The health of all is that of the worst of them.
    """
    objects = []
    for number, (each, own) in enumerate(zip(result.split(), judged, strict=True), start=1):
        label = {"value": number, "name": each.only.name, "colour": list(each.only.label.colour)}
        thought = {
            "health": own.health.score,
            "look_first": list(own.suggested),
            "worth_a_look": [round(worth, 4) for worth in own.worths],
        }
        objects.append({**label, **_describe_object(each, own), **thought})
    health = asdict(min((each.health for each in judged), key=lambda each: each.score))
    if len(objects) == 1:
        return {**_describe_object(result, judged[0]), "objects": objects, "health": health}
    return {
        "frames": len(result.names),
        "objects": objects,
        "notes": [*_notes(result), *result.notes],
        "warnings": [f"{each['name']}: {warning}" for each in objects for warning in each["warnings"]],
        "health": health,
    }


def _describe_object(result: Result, judged: Judgement) -> dict[str, Any]:
    shares = result.shares
    history, areas = result.history, measure_areas_mm2(result)
    return {
        "frames": len(result.masks),
        "frames_with_object": int((shares > 0).sum()),
        "mean_share": float(shares.mean()),
        "largest_share": float(shares.max()),
        "volume_ml": measure_volume_ml(result),
        "areas_mm2": None if areas is None else areas.tolist(),
        "bound": result.bound.fraction,
        "bound_origin": result.bound.origin,
        "bound_doubt": result.bound.doubt,
        "epochs": len(history),
        "selected_epoch": history.selected_epoch,
        "selected_by": history.selected_by,
        "notes": list(_notes(result)),
        "warnings": [*find_warnings(result), *judged.doubts],
    }


def _notes(result: Result) -> tuple[str, ...]:
    """What the reader found odd about the input."""
    return () if result.source is None else result.source.notes


def find_warnings(result: Result) -> tuple[str, ...]:
    """What a user should know before trusting the masks, in plain words."""
    warnings = []
    if not result.areas.any():
        warnings.append("all masks are empty: check that the points lie on the object")
    marked = result.areas[result.areas > 0]
    if len(marked) and marked.mean() < SPECK_PIXELS and result.shares.max() < SPECK_SHARE:
        warnings.append(
            f"the masks are specks of {marked.mean():.0f} pixels: if the object is larger, click in several places of "
            "it, or give its largest size by --largest-box"
        )
    if len(result.masks) == 1:
        warnings.append("there is one frame only: nothing was tracked over time, the mask comes from the network alone")
    from_points = [record for record in result.history.records if not record.phase.startswith("round")]
    if from_points and from_points[-1].ascent_share > TRAPPED_ASCENT:
        warnings.append(
            f"{from_points[-1].ascent_share:.0%} of the last steps only undid earlier ones; "
            "the network may be trapped: try another --seed or a larger --max-fraction"
        )
    if result.history.records and result.history.records[-1].click_probability < SURE_CLICK:
        warnings.append(
            f"the network gives the clicked places a mean probability of "
            f"{result.history.records[-1].click_probability:.2f} only: the masks are likely too small"
        )
    estimation = [record for record in from_points if record.phase.startswith("estimation")]
    selects = result.history.selected_epoch > 0  # methods without a stopping rule select no epoch
    if selects and estimation and not any(record.stopped for record in estimation):
        warnings.append("the estimation of the object's share ended without its stopping rule: see the priors")
    if (result.shares >= result.bound.fraction).any():
        warnings.append("on some frames the mask reaches the size limit, which may be too small")
    return tuple(warnings)


def label_names(names: tuple[str, ...]) -> tuple[ObjectLabel, ...]:
    """What objects are called and drawn in; a single one without a name is "object"."""
    return (UNNAMED,) if names == ("",) else label_objects(names)


def examine(task: Task, result: Result) -> tuple[Judgement, ...]:
    """What is thought of each object."""
    return tuple(_judge(task, each) for each in result.split())


def _judge(task: Task, result: Result) -> Judgement:
    """What is thought of one object, its bound included."""
    points = _points_on(task, result)
    judged, doubt = judge(task.sequence, points, result), doubt_bound(result.bound, task.sequence, points)
    return judged if doubt is None else replace(judged, doubts=(doubt, *judged.doubts))


def _points_on(task: Task, result: Result) -> PointSet:
    """The points of a single object of the task."""
    several = len(task.points.object_names) > 1
    return task.points.of_object(result.only.name) if several else task.points


def write_report(
    task: Task,
    result: Result,
    run: RunFolder,
    log: StageLog,
    device: str,
    judged: tuple[Judgement, ...],
    reliability: tuple[Reliability | None, ...] = (),
) -> None:
    """Write overlay.png and report.html; of several objects those show all of them, and each has its own page.

    judged: as examine returns it. reliability: of the probabilities of each object, if it is known.
    """
    known = reliability or (None,) * len(result.objects)
    folder, asked = run.path, run.manifest.get(ASKED, {})
    if len(result.objects) == 1:
        facts = {"Bound": f"{result.bound.fraction:.2%} of a frame ({result.bound.origin})"}
        content = _gather(task, result, judged[0], folder.name, log, {**_list_facts(task, log, device), **facts})
        write_page(replace(_tell(content, asked, folder, task), reliability=known[0]), folder)
        return
    picture = draw_overview(task.sequence, task.points, result)
    _write_overlay(folder, picture)
    facts = _list_facts(task, log, device)
    for number, each in enumerate(result.split(), start=1):
        name, own = each.only.name, task.of_object(each.only.name)
        about = {**facts, "Object": f"{number}, {name}"}
        content = _gather(own, each, judged[number - 1], f"{folder.name}: {name}", log, about)
        content = replace(_tell(content, asked, folder, task), reliability=known[number - 1])
        write_text(folder / f"report-{number}.html", render_report(content))
    summary = summarise(result, judged)
    write_text(folder / "report.html", render_objects(folder.name, summary, picture, facts))


def _tell(content: ReportContent, asked: dict[str, str], folder: Path, task: Task) -> ReportContent:
    """The content with what was asked, and what to do next."""
    steps = () if content.judged is None else suggest_steps(asked, folder, content.judged, task.uses_pipeline)
    return replace(content, asked=asked, next_steps=steps)


def write_page(content: ReportContent, folder: Path) -> None:
    """Write overlay.png and report.html of a result."""
    _write_overlay(folder, draw_montage(content.scene))
    write_text(folder / "report.html", render_report(content))


def _write_overlay(folder: Path, image: np.ndarray) -> None:
    picture = encode_png(image)
    write_atomically(folder / "overlay.png", lambda file: file.write(picture))


def _list_facts(task: Task, log: StageLog, device: str) -> dict[str, str]:
    return {
        "Version": __version__,
        "Method": task.method,
        "Device": device,
        "Memory": f"at most {log.memory.describe()}",
        "Seed": str(task.seed),
    }


def _gather(
    task: Task, result: Result, judged: Judgement, title: str, log: StageLog, facts: dict[str, str]
) -> ReportContent:
    return ReportContent(
        title=title,
        scene=set_scene(task.sequence, task.points, result),
        timings=log.seconds,
        settings=task.settings_table(),
        facts=facts,
        warnings=(*_notes(result), *find_warnings(result), *judged.doubts),
        judged=judged,
        stopping=_find_rule(task),
    )


def _find_rule(task: Task) -> StoppingRule | None:
    """What ends the estimation of the priors, if there is one."""
    if not task.uses_pipeline or not task.plan.phases.estimation_epochs:
        return None
    stopping = task.plan.stopping
    return StoppingRule(stopping.variance, stopping.window, stopping.minimum)
