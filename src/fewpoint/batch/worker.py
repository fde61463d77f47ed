"""One item of a batch, segmented in a process of its own."""

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.batch.items import Item, read_task
from fewpoint.batch.progress import ItemListener, say
from fewpoint.core import Message
from fewpoint.errors import RunConflictError
from fewpoint.io.runs import RunFolder, RunIdentity, discard_other_run

WORK = "fewpoint.batch.worker:segment_item"
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class ItemOrder:
    """Segment an item into the folder `run`, telling how it goes in the files `progress` and `log`."""

    item: Item
    run: str
    progress: str
    log: str

    def as_table(self) -> dict[str, Any]:
        """Plain values; those of the settings are shared between items, for a study may have ten thousand."""
        return {**vars(self), "item": vars(self.item)}

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "ItemOrder":
        return cls(**{**table, "item": Item.from_table(table["item"])})


def segment_item(table: dict[str, Any]) -> None:
    """Segment as `fewpoint segment` does: what an earlier attempt left is taken up, another run's is replaced."""
    order = ItemOrder.from_table(table)
    with saying_into(Path(order.log)):
        listener = ItemListener(Path(order.progress))
        task = read_task(order.item)
        for note in task.sequence.source.notes:
            listener(Message(note, warning=True))
        from fewpoint.pipeline.run import run_task  # loads torch

        with open_patiently(Path(order.run), task.identity()) as folder:
            run_task(task, folder, listener)
        say("finished")


def open_patiently(path: Path, identity: RunIdentity, patience: float = PATIENCE_SECONDS) -> RunFolder:
    """The run folder; where the process of an attempt that was given up still holds it, wait for its end."""
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
