"""What a run found, in a few figures, a picture and a page."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fewpoint import __version__
from fewpoint.core import AnySegmentation, LabelledSegmentation, Segmentation
from fewpoint.io.atomic import write_atomically, write_text
from fewpoint.pipeline.config import as_table
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.task import Task
from fewpoint.report.figures import StoppingRule
from fewpoint.report.health import Health, measure_health
from fewpoint.report.html import ReportContent, render_report
from fewpoint.report.measures import measure_areas_mm2, measure_volume_ml
from fewpoint.report.montage import draw_montage, encode_png
from fewpoint.report.objects import draw_overview, render_objects
from fewpoint.report.tiles import set_scene

SUMMARY_FILE = "summary.json"
TRAPPED_ASCENT = 0.9
SURE_CLICK = 0.5


def summarise(result: AnySegmentation) -> dict[str, object]:
    """Plain values for the manifest and for machines; of several objects, those of each by its number and name."""
    return _summarise_objects(result) if isinstance(result, LabelledSegmentation) else _summarise_one(result)


def _summarise_objects(result: LabelledSegmentation) -> dict[str, object]:
    objects = [
        {"value": number, "name": label.name, "colour": list(label.colour), **_summarise_one(part)}
        for number, (label, part) in enumerate(zip(result.objects, result.parts, strict=True), start=1)
    ]
    return {
        "frames": len(result.parts[0].masks),
        "objects": objects,
        "notes": [*_notes(result), *result.notes],
        "warnings": [f"{each['name']}: {warning}" for each in objects for warning in each["warnings"]],
    }


def _summarise_one(result: Segmentation) -> dict[str, object]:
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
        "epochs": len(history),
        "selected_epoch": history.selected_epoch,
        "notes": list(_notes(result)),
        "warnings": list(find_warnings(result)),
    }


def _notes(result: AnySegmentation) -> tuple[str, ...]:
    """What the reader found odd about the input."""
    return () if result.source is None else result.source.notes


def find_warnings(result: Segmentation) -> tuple[str, ...]:
    """What a user should know before trusting the masks, in plain words."""
    warnings = []
    if not result.areas.any():
        warnings.append("no pixel was marked on any frame: check that the points lie on the object")
    if len(result.masks) == 1:
        warnings.append("there is one frame only: nothing was tracked over time, the mask rests on the network alone")
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
    if estimation and not any(record.stopped for record in estimation):
        warnings.append("the estimation of the object's share ended without its stopping rule holding: see the priors")
    if (result.shares >= result.bound.fraction).any():
        warnings.append("on some frames the mask is as large as the bound: the bound may be too small")
    return tuple(warnings)


def examine(task: Task, result: AnySegmentation) -> tuple[Health, ...]:
    """The health of the result, one an object where there are several."""
    if isinstance(result, Segmentation):
        return (measure_health(result, task.points),)
    parts = zip(result.objects, result.parts, strict=True)
    return tuple(measure_health(part, task.of_object(label.name).points) for label, part in parts)


def write_report(
    task: Task, result: AnySegmentation, folder: Path, log: StageLog, device: str, health: tuple[Health, ...]
) -> None:
    """Write overlay.png and report.html; of several objects those show all of them, and each has a page of its own.

    health: as examine tells it.
    """
    if isinstance(result, Segmentation):
        facts = {"Bound": f"{result.bound.fraction:.4g} of a frame ({result.bound.origin})"}
        content = _gather(task, result, folder.name, log, {**_list_facts(task, log, device), **facts})
        write_page(replace(content, health=health[0]), folder)
        return
    picture = draw_overview(task.sequence, task.points, result)
    _write_overlay(folder, picture)
    facts = _list_facts(task, log, device)
    for number, (label, part) in enumerate(zip(result.objects, result.parts, strict=True), start=1):
        own = task.of_object(label.name)
        content = _gather(
            own, part, f"{folder.name}: {label.name}", log, {**facts, "Object": f"{number}, {label.name}"}
        )
        write_text(folder / f"report-{number}.html", render_report(replace(content, health=health[number - 1])))
    summary = summarise(result)
    write_text(folder / "report.html", render_objects(folder.name, summary, picture, facts))


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
        "Device": device,
        "Memory": f"at most {log.memory.describe()}",
        "Seed": str(task.seed),
        "Time limit": log.note or "kept, with the whole schedule" if task.time_limit_s else "none",
    }


def _gather(task: Task, result: Segmentation, title: str, log: StageLog, facts: dict[str, str]) -> ReportContent:
    stopping = task.settings.stopping
    rule = StoppingRule(stopping.variance, stopping.window, stopping.minimum)
    return ReportContent(
        title=title,
        scene=set_scene(task.sequence, task.points, result),
        timings=log.seconds,
        settings=as_table(task.settings),
        facts=facts,
        warnings=(*_notes(result), *find_warnings(result)),
        stopping=rule if task.settings.phases.estimation_epochs else None,
    )
