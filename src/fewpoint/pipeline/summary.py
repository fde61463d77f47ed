"""What a run found, in a few figures, a picture and a page."""

from pathlib import Path

from fewpoint import __version__
from fewpoint.core import Segmentation
from fewpoint.io.atomic import write_atomically, write_text
from fewpoint.pipeline.config import as_table
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.task import Task
from fewpoint.report.health import Health
from fewpoint.report.measures import measure_areas_mm2, measure_volume_ml

SUMMARY_FILE = "summary.json"
TRAPPED_ASCENT = 0.9
SURE_CLICK = 0.5


def summarise(result: Segmentation) -> dict[str, object]:
    """Plain values for the manifest and for machines."""
    shares = result.masks.mean(axis=(1, 2))
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


def _notes(result: Segmentation) -> tuple[str, ...]:
    """What the reader found odd about the input."""
    return () if result.source is None else result.source.notes


def find_warnings(result: Segmentation) -> tuple[str, ...]:
    """What a user should know before trusting the masks, in plain words."""
    warnings = []
    if not result.masks.any():
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
    if (result.masks.mean(axis=(1, 2)) >= result.bound.fraction).any():
        warnings.append("on some frames the mask is as large as the bound: the bound may be too small")
    return tuple(warnings)


def write_report(task: Task, result: Segmentation, folder: Path, log: StageLog, device: str, health: Health) -> None:
    """Write overlay.png and report.html."""
    from fewpoint.report.figures import StoppingRule
    from fewpoint.report.html import ReportContent, render_report
    from fewpoint.report.montage import draw_montage, encode_png

    picture = encode_png(draw_montage(task.sequence, task.points, result))
    write_atomically(folder / "overlay.png", lambda file: file.write(picture))
    stopping = task.settings.stopping
    rule = StoppingRule(stopping.variance, stopping.window, stopping.minimum)
    content = ReportContent(
        title=folder.name,
        sequence=task.sequence,
        points=task.points,
        segmentation=result,
        timings=log.seconds,
        settings=as_table(task.settings),
        facts={
            "Version": __version__,
            "Device": device,
            "Memory": f"at most {log.memory.describe()}",
            "Seed": str(task.seed),
            "Time limit": log.note or "kept, with the whole schedule" if task.time_limit_s else "none",
            "Bound": f"{result.bound.fraction:.4g} of a frame ({result.bound.origin})",
        },
        warnings=(*_notes(result), *find_warnings(result)),
        health=health,
        stopping=rule if task.settings.phases.estimation_epochs else None,
    )
    write_text(folder / "report.html", render_report(content))
