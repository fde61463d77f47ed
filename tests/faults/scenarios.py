"""What is swept: each scenario is made ready once, tried with writes that fail, tried again without, and compared."""

import io
import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from commands import snapshot
from fewpoint.cli.main import run as run_command
from fewpoint.engines import processes
from fewpoint.engines.worker import REFUSED, find_work
from fewpoint.errors import InputError, SettingsError
from fewpoint.evaluation.phantom import make_phantom
from synthetic import save_phantom, save_settings
from tiny_runs import TINY

# A few epochs of a network and of one of a further round.
SETTINGS = replace(
    TINY,
    network=replace(TINY.network, base_width=2, levels=2),
    warmup=replace(TINY.warmup, epochs=2),
    rounds=replace(TINY.rounds, round_epochs=2),
)
# What differs from one run to the next: times, and where a run was made.
TOLD_ONCE = ("seconds", "memory_mb", "cuda_mb", "asked", "stages", "refined_from")

Snapshot = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """prepare: makes inputs in a folder. act: in a process of its own, writes into `root` below that folder and returns
    an exit code. read: what a user takes from the root, of whatever is whole. protected: what no fault may change."""

    name: str
    prepare: Callable[[Path], None]
    act: Callable[[Path], int]
    root: str
    read: Callable[[Path], Snapshot]
    protected: tuple[str, ...] = ()


def prepare_frames(folder: Path) -> None:
    save_phantom(make_phantom(n_frames=3, size=(24, 32)), folder)
    save_settings(SETTINGS, folder / "tiny.toml")


def segment(folder: Path, *more: object) -> int:
    given = ["segment", folder / "frames", "--points", folder / "points.csv", "--out", folder / "out"]
    given += ["--preset", "fast", "--config", folder / "tiny.toml", "--max-fraction", "0.4", "--device", "cpu"]
    return run_command([*map(str, (*given, *more)), "-q"])


def prepare_refinement(folder: Path) -> None:
    prepare_frames(folder)
    if segment(folder) != 0:
        raise RuntimeError("the run to be refined failed")
    (folder / "out").rename(folder / "before")
    table = (folder / "points.csv").read_text().replace("frame,y,x", "frame,y,x,label")
    (folder / "points.csv").write_text(table + "1,1,1,0\n")


def refine(folder: Path) -> int:
    given = ["segment", folder / "frames", "--points", folder / "points.csv", "--out", folder / "out"]
    given += ["--refine", folder / "before", "--device", "cpu", "--set", "refine.epochs=2", "-q"]
    return run_command([*map(str, given)])


def read_run(folder: Path) -> Snapshot:
    """What a finished run holds; nothing of one that does not say that it is finished."""
    manifest = folder / "manifest.json"
    if not manifest.exists() or json.loads(manifest.read_text())["state"] != "finished":
        return {}
    return {name: _comparable(name, data) for name, data in snapshot(folder).items() if _is_result(name)}


def _is_result(name: str) -> bool:
    return not name.startswith(("stages/", ".lock")) and not name.endswith(".html")


def _comparable(name: str, data: bytes) -> Any:
    if name.endswith(".json"):
        return {key: each for key, each in json.loads(data).items() if key not in TOLD_ONCE}
    return data


def prepare_study(folder: Path) -> None:
    prepare_frames(folder / "p0")
    prepare_frames(folder / "p1")
    rows = [f"case{number},p{number}/frames,p{number}/points.csv,0.4" for number in range(2)]
    (folder / "study.csv").write_text("\n".join(["name,input,points,max_fraction", *rows]) + "\n")


def run_study(folder: Path) -> int:
    processes.WorkerProcess = ForkedWorker
    given = ["batch", folder / "study.csv", "--out", folder / "out", "--method", "half-disc", "--device", "cpu", "-q"]
    return run_command([*map(str, given)])


def read_study(folder: Path) -> Snapshot:
    runs = {path.name: read_run(path) for path in sorted((folder / "runs").glob("*"))}
    return {f"{name}/{part}": data for name, run in runs.items() for part, data in run.items()}


class ForkedWorker:
    """A worker of the local engine that is a fork of this process, which has loaded all that it needs."""

    def __init__(self, work: str, order: dict[str, Any], environment: Any) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._code: int | None = None
        self._child = os.fork()
        if self._child == 0:
            os.dup2(self._errors.fileno(), 2)
            os._exit(leave_as_told(lambda: find_work(work)(order), (InputError, SettingsError)))

    @property
    def ended(self) -> bool:
        if self._code is None and (found := os.waitpid(self._child, os.WNOHANG))[0]:
            self._code = os.waitstatus_to_exitcode(found[1])
        return self._code is not None

    seconds = 1.0

    def collect(self) -> tuple[str, bool]:
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        return processes.explain_exit(self._code or 0, text), self._code == REFUSED

    def kill(self) -> None:
        os.kill(self._child, 9)
        os.waitpid(self._child, 0)


def leave_as_told(work: Callable[[], object], refusals: tuple[type[Exception], ...]) -> int:
    """The exit code of a worker, which prints what went wrong."""
    import traceback

    try:
        work()
    except refusals:
        traceback.print_exc()
        return REFUSED
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stderr.flush()
    return 0


def find_broken(folder: Path) -> list[str]:
    """Files by their final names that are not whole."""
    whole = {".json": json.loads, ".npy": _load, ".npz": _unpack, ".png": _look, ".csv": bytes.decode}
    broken = []
    for name, data in snapshot(folder).items():
        check = whole.get(Path(name).suffix)
        if check is None or ".partial" in name:
            continue
        try:
            check(data)
        except Exception as error:
            broken.append(f"{name}: {error!r}")
    return broken


def _load(data: bytes) -> None:
    np.load(io.BytesIO(data))


def _unpack(data: bytes) -> None:
    if zipfile.ZipFile(io.BytesIO(data)).testzip() is not None:
        raise ValueError("a part is damaged")


def _look(data: bytes) -> None:
    from PIL import Image

    Image.open(io.BytesIO(data)).load()


RUN = Scenario("run", prepare_frames, segment, "out", read_run)
REFINEMENT = Scenario("refinement", prepare_refinement, refine, "out", read_run, ("before",))
BATCH = Scenario("batch", prepare_study, run_study, "out", read_study)
