"""What a run costs: seconds of each stage, and memory."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from fewpoint.core import Listener, StageFinished, StageStarted
from fewpoint.core.progress import Event
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.memory import PeakMemory, measure_peak
from fewpoint.io.runs import COSTS_FILE, RunFolder
from fewpoint.pipeline.artefacts import load_or_none

Result = TypeVar("Result")
PREPARING = "preparing"  # the seconds between stages: files are read and libraries loaded, points followed
BEAT_SECONDS = 10.0  # after which the seconds so far are written, for a run that is killed


@dataclass(eq=False)
class StageLog:
    """Times stages, measures memory and reports both to the listener.

    In a folder, seconds add up over the starts of one run, also over those that were killed or stopped, and memory is
    the largest of them. began: when this start began, by time.perf_counter.
    """

    folder: RunFolder | None
    listener: Listener
    seconds: dict[str, float] = field(default_factory=dict)
    memory: PeakMemory = PeakMemory()
    began: float = field(default_factory=time.perf_counter)
    _earlier: float = 0.0
    _known: float = 0.0
    _stage: tuple[str, float] | None = None
    _written: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        listener = self.listener

        def beat(event: Event) -> None:
            if time.perf_counter() - self._written >= BEAT_SECONDS:
                self._write()
            listener(event)

        self.listener = beat
        path = self._path()
        stored = None if path is None else load_or_none(path, _read_costs)
        if stored is not None:
            self.seconds, self.memory = stored
            self._earlier = self._known = sum(self.seconds.values())

    def run(self, stage: str, steps: int, work: Callable[[], tuple[Result, bool]]) -> Result:
        """Do the work, which returns its result and whether it was finished before."""
        self.listener(StageStarted(stage, steps))
        started = time.perf_counter()
        self._stage = stage, started
        try:
            result, reused = work()
        finally:
            self._settle()
        self.listener(StageFinished(stage, time.perf_counter() - started, reused))
        return result

    def _settle(self) -> None:
        """Count the seconds of the stage that is over, or was stopped, and write them down."""
        self.seconds, self._stage = self._count(), None
        self._known = sum(self.seconds.values())
        self._write()

    def _count(self) -> dict[str, float]:
        """Seconds by stage until now, those between stages first."""
        name, started = self._stage or (PREPARING, time.perf_counter())
        own = time.perf_counter() - started
        between = max(0.0, self._earlier + time.perf_counter() - self.began - self._known - own)
        counted = {PREPARING: 0.0, **self.seconds}
        counted[PREPARING] += between
        return {**counted, name: counted.get(name, 0.0) + own}

    def _write(self) -> None:
        self.memory = self.memory.or_more(measure_peak())
        self._written = time.perf_counter()
        path = self._path()
        if path is not None:
            write_json(path, {"seconds": self._count(), "memory": asdict(self.memory)})

    def as_table(self) -> dict[str, object]:
        """Plain values for the manifest and the summary."""
        memory = self.memory
        return {"seconds": self._count(), "memory_mb": memory.process_mb, "cuda_mb": memory.cuda_mb}

    def _path(self) -> Path | None:
        return None if self.folder is None else self.folder.artefact(COSTS_FILE)


def _read_costs(path: Path) -> tuple[dict[str, float], PeakMemory]:
    stored = read_json(path)
    return {str(name): float(value) for name, value in stored["seconds"].items()}, PeakMemory(**stored["memory"])
