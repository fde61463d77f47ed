"""What a run costs: seconds of each stage, and memory."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from fewpoint.core import Listener, StageFinished, StageStarted
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.memory import PeakMemory, measure_peak
from fewpoint.io.runs import COSTS_FILE, RunFolder
from fewpoint.pipeline.artefacts import load_or_none

Result = TypeVar("Result")


@dataclass(eq=False)
class StageLog:
    """Times stages, measures memory and reports both to the listener.

    In a folder, seconds add up over the starts of one run, and memory is the largest of them.
    """

    folder: RunFolder | None
    listener: Listener
    seconds: dict[str, float] = field(default_factory=dict)
    memory: PeakMemory = PeakMemory()

    def __post_init__(self) -> None:
        path = self._path()
        stored = None if path is None else load_or_none(path, _read_costs)
        if stored is not None:
            self.seconds, self.memory = stored

    def run(self, stage: str, steps: int, work: Callable[[], tuple[Result, bool]]) -> Result:
        """Do the work, which returns its result and whether it was finished before."""
        self.listener(StageStarted(stage, steps))
        started = time.perf_counter()
        result, reused = work()
        seconds = time.perf_counter() - started
        if not reused or stage not in self.seconds:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        self.memory = self.memory.or_more(measure_peak())
        path = self._path()
        if path is not None:
            write_json(path, {"seconds": self.seconds, "memory": asdict(self.memory)})
        self.listener(StageFinished(stage, seconds, reused))
        return result

    def as_table(self) -> dict[str, object]:
        """Plain values for the manifest and the summary."""
        memory = self.memory
        return {"seconds": self.seconds, "memory_mb": memory.process_mb, "cuda_mb": memory.cuda_mb}

    def _path(self) -> Path | None:
        return None if self.folder is None else self.folder.artefact(COSTS_FILE)


def _read_costs(path: Path) -> tuple[dict[str, float], PeakMemory]:
    stored = read_json(path)
    return {str(name): float(value) for name, value in stored["seconds"].items()}, PeakMemory(**stored["memory"])
