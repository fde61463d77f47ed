"""What is known of a run's masks once it is over: sizes, health, and what a person should be told."""

from pathlib import Path
from typing import Any

from fewpoint.core.project import Project
from fewpoint.errors import FewpointError
from fewpoint.io.atomic import read_json
from fewpoint.web.orders import result_folder, shown_folder
from fewpoint.web.shown import MASKS, count_pixels
from fewpoint.web.wording import word_for_page

SUMMARY_FILE = "summary.json"

Figures = dict[str, dict[str, Any]]


def gather_figures(run: Path, objects: dict[str, int]) -> tuple[Figures, tuple[str, ...]]:
    """Figures by the number of each object of a run that has masks, and what to know before trusting them.

    objects: numbers by name. run: the run's own folder.
    """
    summary = _read_summary(run)
    told = dict(zip(sorted(objects), summary.get("objects", []), strict=False))
    figures = {}
    for name, number in objects.items():
        areas = count_pixels(shown_folder(run, number) / MASKS)
        if areas is not None:
            own = told.get(name, {})
            figures[str(number)] = {
                "pixels": int(areas.sum()),
                "largest": int(areas.argmax()),
                "volume_ml": own.get("volume_ml"),
                "bound": own.get("bound"),
                "bound_origin": word_for_page(own.get("bound_origin", "")),
                "health": own.get("health"),
            }
    notes = [*summary.get("notes", []), *summary.get("warnings", []), *_note_assumed(told)] if figures else []
    return figures, tuple(filter(None, map(word_for_page, notes)))


def count_words(project: Project) -> str:
    """What was said about all objects, in a few words.

    >>> count_words(Project((4, 10, 10)))
    'nothing'
    """
    counts = {
        "click": sum(len(each.positives) for each in project.objects),
        "background click": sum(len(each.negatives) for each in project.objects),
        "box": sum(len(each.boxes) for each in project.objects),
        "drawn mask": sum(len(each.brushed) for each in project.objects),
        "frame without it": sum(len(each.absent) for each in project.objects),
        "size": sum((each.size != 1) + len(each.sizes) for each in project.objects),
    }
    parts = [f"{count} {_plural(name) if count != 1 else name}" for name, count in counts.items() if count]
    return ", ".join(parts) or "nothing"


def _note_assumed(told: dict[str, dict[str, Any]]) -> list[str]:
    """That a bound is but an assumption, which the command line prints when it is made."""
    origins = {name: str(each.get("bound_origin", "")) for name, each in told.items()}
    return [
        f"{f'{name}: ' if len(told) > 1 else ''}the largest size is {origin}"
        for name, origin in origins.items()
        if origin.startswith("assumed")
    ]


def _plural(name: str) -> str:
    first, *rest = name.split(" without")
    return " without".join([f"{first}{'es' if first.endswith('x') else 's'}", *rest])


def _read_summary(run: Path) -> dict[str, Any]:
    path = result_folder(run) / SUMMARY_FILE
    try:
        return read_json(path) if path.exists() else {}
    except FewpointError:
        return {}
