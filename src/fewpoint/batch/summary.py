"""One row per sequence: what became of it, what it cost, and how far it can be trusted."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Any, TypedDict

from fewpoint.io.atomic import read_json, write_text
from fewpoint.io.runs import MANIFEST_FILE, PRIORS_FILE
from fewpoint.io.schema import expecting_ours
from fewpoint.io.tables import read_priors
from fewpoint.report.health import FIGURES, Health


class State(StrEnum):
    """Bad: the row cannot be run and was left out."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    BAD = "bad"


@dataclass(frozen=True)
class Entry:
    """A row of the summary; None if it is not known, or not yet.

    seconds: of all stages and attempts. mean_prior, largest_prior: estimated shares of a frame over all frames;
    prior_deviation: mean of their standard deviations. warnings: sentences. error: one line.
    """

    name: str
    state: State = State.WAITING
    attempts: int = 0
    seconds: float | None = None
    memory_mb: float | None = None
    cuda_mb: float | None = None
    device: str = ""
    frames: int | None = None
    frames_with_object: int | None = None
    mean_share: float | None = None
    largest_share: float | None = None
    bound: float | None = None
    mean_prior: float | None = None
    largest_prior: float | None = None
    prior_deviation: float | None = None
    health: Health | None = None
    warnings: tuple[str, ...] = ()
    error: str = ""
    input: str = ""

    @property
    def rank(self) -> tuple[int, float]:
        """What sorts the worst first: what failed, then by health, then what is not there yet."""
        order = (State.FAILED, State.BAD, State.FINISHED, State.RUNNING, State.WAITING)
        return order.index(self.state), 0.0 if self.health is None else self.health.score


class _Sizes(TypedDict):
    frames_with_object: int
    mean_share: float
    largest_share: float
    bound: float


class _Priors(TypedDict, total=False):
    mean_prior: float
    largest_prior: float
    prior_deviation: float


def read_finished(name: str, run: Path, attempts: int, source: str) -> Entry:
    """The row of a finished run folder."""
    with expecting_ours(run / MANIFEST_FILE):
        return _read_finished(name, run, attempts, source)


def _read_finished(name: str, run: Path, attempts: int, source: str) -> Entry:
    manifest = read_json(run / MANIFEST_FILE)
    result = manifest["result"]
    return Entry(
        name=name,
        state=State.FINISHED,
        attempts=attempts,
        seconds=sum(manifest["seconds"].values()),
        memory_mb=manifest["memory_mb"],
        cuda_mb=manifest["cuda_mb"],
        device=manifest["device"],
        health=Health.from_table(result.get("health")),
        warnings=(*result["notes"], *result["warnings"]),
        input=source,
        frames=result["frames"],
        **_sum_up(result.get("objects", [result])),
        **_describe_priors(run / PRIORS_FILE),
    )


def _sum_up(objects: list[dict[str, Any]]) -> _Sizes:
    """Figures of one object, or of several together: those of the largest, and what all cover."""
    return {
        "frames_with_object": max(each["frames_with_object"] for each in objects),
        "mean_share": sum(each["mean_share"] for each in objects),
        "largest_share": max(each["largest_share"] for each in objects),
        "bound": max(each["bound"] for each in objects),
    }


def _describe_priors(path: Path) -> _Priors:
    """Nothing for several objects, which have a file each."""
    if not path.exists():
        return {}
    priors = read_priors(path)
    return {
        "mean_prior": float(priors.mean.mean()),
        "largest_prior": float(priors.mean.max()),
        "prior_deviation": float(priors.deviation.mean()),
    }


def write_summary(entries: Iterable[Entry], path: Path) -> None:
    """Write a CSV, one row per sequence, health_FIGURE for each figure of health; what is not known stays empty."""
    stream = StringIO()
    names = [field.name for field in fields(Entry)]
    place = names.index("health")
    columns = [*names[:place], *(f"health_{figure}" for figure in FIGURES), *names[place + 1 :]]
    writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        figures = {} if entry.health is None else asdict(entry.health)
        health = {f"health_{figure}": value for figure, value in figures.items()}
        writer.writerow({**vars(entry), **health, "warnings": "; ".join(entry.warnings)})
    write_text(path, stream.getvalue())
