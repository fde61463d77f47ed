"""What the processes of a project are to do, and where they leave what."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.core import Words
from fewpoint.core.job import Job, PlainPoints
from fewpoint.errors import InputError
from fewpoint.io.atomic import read_json
from fewpoint.io.jobs import load_job
from fewpoint.io.runs import MANIFEST_FILE

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
            f"run {run.name} was started by an earlier version of fewpoint and cannot continue; start a new one"
        )
    return load_job(run / JOB_FILE)


def result_folder(run: Path) -> Path:
    """The run folder, as fewpoint segment makes it, of a run of a project."""
    return run / "result"


def has_result(run: Path) -> bool:
    """Whether a run of a project wrote all of its result: a kept answer did not, nor a run that was ended."""
    path = result_folder(run) / MANIFEST_FILE
    return path.exists() and read_json(path).get("state") == "finished"


def shown_folder(run: Path, number: int) -> Path:
    """What the page shows of one object of a run."""
    return run / f"shown-{number}"


@dataclass(frozen=True)
class LiveOrder:
    """What masks are asked for at once.

    number: grows with every order. version: of the project. run: the run folder to answer from, None as long as no run
    has finished. stopped: then the folder of a run whose masks are shown although it was stopped, if there is one.
    points, words: of all objects. objects: the numbers of those whose masks are wanted, by their names. frame: the one
    that a word was last said about. clip: a file with the frames near it, see web/clips.py, for an answer before all
    frames are read; "" for none. view: the frame that a person looks at, whose masks come before those of all; None if
    nobody does.
    """

    number: int
    version: int
    run: str | None
    points: PlainPoints
    words: dict[str, Words]
    objects: dict[str, int]
    frame: int = 0
    clip: str = ""
    stopped: str | None = None
    view: int | None = None

    @classmethod
    def from_table(cls, table: Any) -> "LiveOrder":
        try:
            points = Job.from_table(table["job"]).points
            if not isinstance(points, PlainPoints):
                raise InputError("an order for masks must have the points themselves, it has the name of a file")
            return cls(
                int(table["number"]),
                int(table["version"]),
                table["run"],
                points,
                {name: Words.from_table(each) for name, each in table["words"].items()},
                {name: int(number) for name, number in table["objects"].items()},
                int(table.get("frame", 0)),
                str(table.get("clip", "")),
                table.get("stopped"),
                None if (view := table.get("view")) is None else int(view),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError("an order for masks must have number, version, run, job, words and objects") from error

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON; points travel as those of a job, which knows how to read them."""
        return {
            "number": self.number,
            "version": self.version,
            "run": self.run,
            "job": Job(points=self.points).as_table(),
            "words": {name: each.as_table() for name, each in self.words.items()},
            "objects": self.objects,
            "frame": self.frame,
            "clip": self.clip,
            "stopped": self.stopped,
            "view": self.view,
        }


def live_folder(runs: Path) -> Path:
    """Where masks that are answered at once lie, given the folder of all runs."""
    return runs / "live"
