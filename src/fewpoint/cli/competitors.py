"""A run of another method than fewpoint's own, in the same folder, with the same files."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewpoint import __version__
from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Segmentation, StageFinished, StageStarted
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.formats import Outputs

if TYPE_CHECKING:
    from fewpoint.io.runs import RunFolder, RunIdentity
    from fewpoint.report.health import Health

STAGE = "segmentation"


@dataclass(frozen=True, eq=False)
class CompetitorTask:
    """What a competitor is asked to do. settings: its own, None where it has none. bound: None where none was given."""

    method: str
    sequence: ImageSequence
    points: PointSet
    bound: AreaBound | None
    settings: Any
    seed: int = 0
    device: str = "auto"
    outputs: Outputs = Outputs()

    def __post_init__(self) -> None:
        self.points.check_inside(len(self.sequence), self.sequence.size)
        self.outputs.check(self.sequence.source)
        names = self.points.object_names
        if len(names) > 1:
            raise InputError(
                f"{self.method} segments one object, the points are on {len(names)}: {', '.join(names)}; "
                "leave out --method, or give each object its own points file and run"
            )

    def identity(self) -> "RunIdentity":
        """What a run folder must hold to belong to this task; the device may change between starts."""
        from fewpoint.io.images import hash_sequence
        from fewpoint.io.points import hash_points
        from fewpoint.io.runs import RunIdentity

        settings = json.dumps(self.settings_table(), sort_keys=True)
        return RunIdentity(
            version=__version__,
            method=self.method,
            sequence=hash_sequence(self.sequence),
            points=hash_points(self.points),
            bound="none" if self.bound is None else repr(self.bound.fraction),
            settings=hashlib.sha256(settings.encode()).hexdigest(),
            seed=self.seed,
        )

    def settings_table(self) -> dict[str, Any]:
        from fewpoint.pipeline.config import as_table

        return {} if self.settings is None else as_table(self.settings)


def is_competitor(method: str | None) -> bool:
    """Whether a method is not the pipeline under some name; None is the pipeline."""
    from fewpoint.bench.methods import runs_pipeline

    return method is not None and not runs_pipeline(method)


def choose_settings(method: str, config: Path | None, assignments: list[str]) -> Any:
    """The settings of a method that needs no truth, changed by a file and then by assignments."""
    from fewpoint.bench.methods import check_method, find_settings
    from fewpoint.bench.oracles import ORACLES
    from fewpoint.pipeline.config import override_from_text, override_from_toml

    check_method(method)
    if method in ORACLES:
        raise SettingsError(f"{method} is told something of the truth, which only fewpoint bench knows; take another")
    settings = find_settings(method)
    if settings is None and (config is not None or assignments):
        raise SettingsError(f"{method} has no settings to change; leave out --set, --config and --no-tracking")
    if config is not None:
        settings = override_from_toml(settings, config)
    return override_from_text(settings, assignments)


def run_competitor(task: CompetitorTask, folder: "RunFolder", listener: Listener) -> None:
    """Segment and write what a user came for; a finished folder is left as it is, a stopped run starts anew."""
    from fewpoint.baselines.registry import build_competitor
    from fewpoint.io.atomic import write_json
    from fewpoint.io.memory import measure_peak
    from fewpoint.io.runs import load_result, write_result
    from fewpoint.pipeline.exports import write_film, write_missing
    from fewpoint.pipeline.summary import SUMMARY_FILE, summarise
    from fewpoint.report.health import measure_health

    if folder.finished:
        write_missing(task.sequence, load_result(folder.path), task.outputs, folder.path)
        return

    listener(StageStarted(STAGE))
    started = time.perf_counter()
    method = build_competitor(task.method, task.settings, task.device, listener)
    result = method.segment(task.sequence, task.points, task.bound, seed=task.seed)
    seconds = {STAGE: time.perf_counter() - started}
    listener(StageFinished(STAGE, seconds[STAGE]))
    health = measure_health(result, task.points)
    summary = {**summarise(result), "health": asdict(health)}
    write_result(result, folder.path, task.outputs)
    if task.outputs.film:
        write_film(task.sequence, result, folder.path)
    _write_report(task, result, folder.path, seconds, health)
    peak = measure_peak()
    costs = {"seconds": seconds, "memory_mb": peak.process_mb, "cuda_mb": peak.cuda_mb, "time_limit": ""}
    write_json(folder.path / SUMMARY_FILE, {**summary, **costs})
    folder.write_manifest(
        "finished",
        {
            "settings": task.settings_table(),
            "device": _describe_device(task),
            **costs,
            "result": summary,
        },
    )


def _write_report(
    task: CompetitorTask, result: Segmentation, folder: Path, seconds: dict[str, float], health: "Health"
) -> None:
    """Write overlay.png and report.html."""
    from fewpoint.pipeline.summary import find_warnings, write_page
    from fewpoint.report.html import ReportContent
    from fewpoint.report.tiles import set_scene

    content = ReportContent(
        title=folder.name,
        scene=set_scene(task.sequence, task.points, result),
        timings=seconds,
        settings=task.settings_table(),
        facts={
            "Version": __version__,
            "Method": task.method,
            "Device": _describe_device(task),
            "Seed": str(task.seed),
            "Bound": f"{result.bound.fraction:.4g} of a frame ({result.bound.origin})",
        },
        warnings=find_warnings(result),
        health=health,
    )
    write_page(content, folder)


def _describe_device(task: CompetitorTask) -> str:
    """Methods without settings learn nothing and use the processor alone."""
    if task.settings is None:
        return "cpu"
    from fewpoint.learning.devices import choose_device, describe_device

    return describe_device(choose_device(task.device))
