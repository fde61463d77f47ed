"""What a run of a project is told to do, and where it leaves what."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ORDER_FILE = "order.json"
LOG_FILE = "worker.log"


@dataclass(frozen=True)
class Order:
    """All that a run depends on; kept in its folder, so that it can go on later.

    project: its file. version: of the project. objects: their numbers, in the order in which they are segmented.
    input: the frames. folder: of the run. refined_from: folder of the run whose networks to go on from.
    changes, config: of the settings, as the options --set and --config have them.
    """

    project: str
    version: int
    objects: tuple[int, ...]
    input: str
    folder: str
    refined_from: str | None = None
    device: str = "auto"
    changes: tuple[str, ...] = ()
    config: str | None = None

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Order":
        return cls(**{**table, "objects": tuple(table["objects"]), "changes": tuple(table["changes"])})

    def as_table(self) -> dict[str, Any]:
        return asdict(self)


def result_folder(run: Path, number: int) -> Path:
    """The run folder of one object of a run, by the object's number."""
    return run / f"object-{number}"


def shown_folder(run: Path, number: int) -> Path:
    """What the page shows of one object of a run."""
    return run / f"shown-{number}"
