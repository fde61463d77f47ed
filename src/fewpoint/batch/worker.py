"""One item of a batch, segmented in its own process."""

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.batch.progress import ItemListener, say
from fewpoint.core.job import Job
from fewpoint.errors import RunConflictError
from fewpoint.io.runs import RunFolder, RunIdentity, discard_other_run
from fewpoint.runs.jobs import run_job

WORK = "fewpoint.batch.worker:segment_item"
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class ItemOrder:
    """Run a job into the folder `run`, reporting how it goes in the files `progress` and `log`."""

    job: Job
    run: str
    progress: str
    log: str

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "job": self.job.as_table()}

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "ItemOrder":
        return cls(**{**table, "job": Job.from_table(table["job"])})


def segment_item(table: dict[str, Any]) -> None:
    """Segment as `fewpoint segment` does: what an earlier attempt left is continued, another run's is replaced."""
    order = ItemOrder.from_table(table)
    with saying_into(Path(order.log)):
        listener = ItemListener(Path(order.progress))
        run_job(order.job, Path(order.run), listener, open_patiently)
        say("finished")


def open_patiently(path: Path, identity: RunIdentity, patience: float = PATIENCE_SECONDS) -> RunFolder:
    """The run folder; if the process of an abandoned attempt still holds it, wait for its end."""
    deadline = time.monotonic() + patience
    while True:
        try:
            discard_other_run(path, identity)
            return RunFolder.open(path, identity)
        except RunConflictError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@contextmanager
def saying_into(path: Path) -> Iterator[None]:
    """Send to a file, after what it holds, all that this process says on standard error, libraries included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = os.dup(2)
    with open(path, "ab") as log:
        sys.stderr.flush()
        os.dup2(log.fileno(), 2)
        try:
            yield
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
