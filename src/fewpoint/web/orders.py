"""What the process of a run is to do, and where it leaves what."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.core.job import Job
from fewpoint.errors import InputError
from fewpoint.io.jobs import load_job

JOB_FILE = "job.json"
OLD_ORDER_FILE = "order.json"  # of runs from before there were jobs
LOG_FILE = "worker.log"


@dataclass(frozen=True)
class Order:
    """A job of a project, the folder that belongs to the run, and the number of each object by its name."""

    job: Job
    folder: str
    objects: dict[str, int]

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Order":
        return cls(Job.from_table(table["job"]), table["folder"], table["objects"])

    def as_table(self) -> dict[str, Any]:
        return {**vars(self), "job": self.job.as_table()}


def find_job(run: Path) -> Job:
    """The job that a run of a project was given, to go on with it."""
    if not (run / JOB_FILE).exists() and (run / OLD_ORDER_FILE).exists():
        raise InputError(
            f"run {run.name} was begun by an earlier version of fewpoint and cannot go on; start a new one"
        )
    return load_job(run / JOB_FILE)


def result_folder(run: Path) -> Path:
    """The run folder, as fewpoint segment makes it, of a run of a project."""
    return run / "result"


def shown_folder(run: Path, number: int) -> Path:
    """What the page shows of one object of a run."""
    return run / f"shown-{number}"
