"""The folder of a batch, which the same command goes on with.

batch.json           whose folder it is
runs/NAME/           one run folder per sequence, as `fewpoint segment` makes it
logs/NAME.log        what its attempts said
summary.csv          one row per sequence;  index.html, one montage per sequence, worst health first
status.json          how far it all is;  progress/NAME.json, how far one item is
checks.json          what the check found, so that unchanged files are not read again
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fewpoint.errors import InputError, OutputError, RunConflictError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors, read_json, remove, write_json

MARK_FILE = "batch.json"
MARK = {"format": "fewpoint batch"}
LOCK_FILE = ".lock"
FOLDERS = ("runs", "logs", "progress")


@dataclass(frozen=True)
class BatchFolder:
    """Where the parts of a batch lie."""

    path: Path

    def run(self, name: str) -> Path:
        return self.path / "runs" / name

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"

    def progress(self, name: str) -> Path:
        return self.path / "progress" / f"{name}.json"

    @property
    def summary(self) -> Path:
        return self.path / "summary.csv"

    @property
    def index(self) -> Path:
        return self.path / "index.html"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def checks(self) -> Path:
        return self.path / "checks.json"

    def clean(self, name: str) -> None:
        """Remove what killed writes of an item left behind."""
        progress = self.progress(name)
        progress.unlink(missing_ok=True)
        in_progress = progress.parent.glob(f"{progress.name}.*{PARTIAL_SUFFIX}")
        for leftover in [*self.run(name).rglob(f"*{PARTIAL_SUFFIX}"), *in_progress]:
            remove(leftover)


@contextmanager
def open_batch(path: Path) -> Iterator[BatchFolder]:
    """Hold a folder that is new, empty, or of a batch, for its sequences to be run."""
    with hold_batch(path) as folder:
        for name in FOLDERS:
            (path / name).mkdir(exist_ok=True)
        yield folder


@contextmanager
def hold_batch(path: Path) -> Iterator[BatchFolder]:
    """Hold a folder that is new, empty, or of a batch."""
    import filelock

    refuse_foreign(path)
    with explaining_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / LOCK_FILE)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise RunConflictError(f"another process works in {path}; wait for it or give another --out") from None
    try:
        for leftover in path.glob(f"*{PARTIAL_SUFFIX}"):
            remove(leftover)
        write_json(path / MARK_FILE, MARK)
        yield BatchFolder(path)
    finally:
        lock.release()


def is_batch(path: Path) -> bool:
    try:
        return read_json(path / MARK_FILE) == MARK
    except InputError:
        return False


def is_held(path: Path) -> bool:
    """Whether a process works in the folder of a batch now; assumed if that cannot be found out."""
    import filelock

    lock = filelock.FileLock(path / LOCK_FILE)
    try:
        lock.acquire(blocking=False)
    except (filelock.Timeout, OSError):
        return True
    lock.release()
    return False


def refuse_foreign(path: Path) -> None:
    """Refuse a file, and a folder that is not empty and not of a batch."""
    with explaining_write_errors(path):
        if path.exists() and not path.is_dir():
            raise OutputError(f"the output must be a folder, {path} is a file; give another --out")
        entries = [entry.name for entry in path.iterdir()] if path.exists() else []
    strangers = [name for name in entries if name != LOCK_FILE and not name.endswith(PARTIAL_SUFFIX)]
    if strangers and not is_batch(path):
        raise RunConflictError(f"{path} is not empty and holds no batch; give another --out")
