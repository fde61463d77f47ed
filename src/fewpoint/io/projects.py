"""The project file NAME.fewpoint: what a person did, one line an action, safe on disk before it counts.

The first line says which input the project is about; every other one holds an action, or how a run now stands:

    {"format": "fewpoint project", "version": 1, "input": "frames", "input_absolute": "/data/frames", "shape": …}
    {"at": "2026-11-15T12:00:00+00:00", "action": {"object": "object", "frame": 0, "y": 31, "kind": "add_point", …}}
    {"at": "2026-11-15T12:01:00+00:00", "run": {"id": 1, "state": "running", …}}

Lines are only ever added. The project is what comes out when all are done again in order. A last line that was cut
short by a crash is dropped. What runs leave lies in the folder NAME.fewpoint.runs next to the file.
"""

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from fewpoint.core.actions import Action, Redo, Undo, from_table, to_table
from fewpoint.core.project import Project, apply_action
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.decoding import check_exists, explaining_read_errors

SUFFIX = ".fewpoint"
RUNS_SUFFIX = ".runs"
FORMAT = "fewpoint project"
VERSION = 1
LOCK_FILE = ".lock"

RunState = Literal["waiting", "running", "finished", "failed", "cancelled", "interrupted"]
ENDED = ("finished", "failed", "cancelled", "interrupted")


@dataclass(frozen=True)
class RunRecord:
    """How one run of a project stands.

    version: of the project that it works on. refined_from: the run whose networks it went on from, if any.
    state: waiting, running, finished, failed, cancelled, or interrupted if the server was stopped meanwhile.
    best: there are masks, of the whole run or of as much of it as there was. objects: the numbers of
    those that it segments.
    """

    id: int
    version: int
    objects: tuple[int, ...] = ()
    state: RunState = "waiting"
    refined_from: int | None = None
    started_at: str | None = None
    seconds: float = 0.0
    message: str = ""
    error: str = ""
    best: bool = False


@dataclass(frozen=True)
class Header:
    """Which input a project is about. input: relative to the project's folder, in POSIX form."""

    input: str
    input_absolute: str
    shape: tuple[int, int, int]

    def find_input(self, path: Path) -> Path:
        """Where the input is, given the project's file: next to it as it was, or where it was before."""
        relative = Path(os.path.normpath(path.absolute().parent / self.input))
        return relative if relative.exists() else Path(self.input_absolute)


class History:
    """All states that a project has had, with one place among them, moved by undo and redo."""

    def __init__(self, first: Project) -> None:
        self.version = 0
        self._done, self._undone = [first], []

    @property
    def project(self) -> Project:
        return self._done[-1]

    @property
    def can_undo(self) -> bool:
        return len(self._done) > 1

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    def do(self, action: Action) -> None:
        """Change the project; InputError, and no change, for an action that has no meaning here."""
        if isinstance(action, Undo):
            if not self.can_undo:
                raise InputError("there is nothing to undo")
            self._undone.append(self._done.pop())
        elif isinstance(action, Redo):
            if not self._undone:
                raise InputError("there is nothing to redo")
            self._done.append(self._undone.pop())
        else:
            self._done.append(apply_action(action, self.project, self.version + 1))
            self._undone.clear()
        self.version += 1

    def check(self, action: Action) -> None:
        """Raise InputError for an action that `do` would refuse."""
        if isinstance(action, Undo | Redo):
            if not (self.can_undo if isinstance(action, Undo) else self.can_redo):
                raise InputError(f"there is nothing to {action.kind}")
        else:
            apply_action(action, self.project, self.version + 1)


@dataclass(frozen=True, eq=False)
class ProjectFile:
    """A project as its file has it. length: bytes of the lines that are whole."""

    path: Path
    header: Header
    history: History
    runs: dict[int, RunRecord]
    length: int

    @property
    def project(self) -> Project:
        return self.history.project

    @property
    def input(self) -> Path:
        return self.header.find_input(self.path)


def is_project(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIX) and path.is_file()


def runs_folder(path: Path) -> Path:
    """The folder next to a project's file for what its runs leave."""
    return path.with_name(path.name + RUNS_SUFFIX)


def read_project(path: str | Path, version: int | None = None) -> ProjectFile:
    """Read a project, or as it was after so many actions."""
    path = Path(path)
    check_exists(path)
    with explaining_read_errors(path):
        data = path.read_bytes()
    lines, length = _split_whole(data)
    if not lines:
        raise InputError(f"{path} is not a fewpoint project; give a file that ends in {SUFFIX}")
    header = _read_header(lines[0], path)
    history, runs = History(Project(header.shape)), {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            if "run" in line:
                record = _read_run(line["run"])
                runs[record.id] = record
            elif version is None or history.version < version:
                history.do(from_table(line.get("action")))
        except InputError as error:
            raise InputError(f"line {number} of {path} cannot be read: {error}") from error
    return ProjectFile(path, header, history, runs, length)


class ProjectLog:
    """A project open for writing, by one process at a time; nothing counts before it is on disk."""

    def __init__(self, file: ProjectFile, stream: BinaryIO, lock: Any) -> None:
        self.path, self.header = file.path, file.header
        self.history, self.runs = file.history, dict(file.runs)
        self._stream, self._length, self._lock = stream, file.length, lock

    @classmethod
    def create(cls, path: Path, input_path: Path, shape: tuple[int, int, int]) -> "ProjectLog":
        """Begin a project of an input; the file must not be there yet."""
        path, absolute = path.absolute(), input_path.absolute()
        relative = Path(os.path.relpath(absolute, path.parent)).as_posix()
        header = {"format": FORMAT, "version": VERSION, "input": relative, "input_absolute": str(absolute)}
        with explaining_write_errors(path):
            with open(path, "xb") as stream:
                stream.write(_to_line({**header, "shape": list(shape)}))
                stream.flush()
                os.fsync(stream.fileno())
            _sync_folder(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> "ProjectLog":
        """Go on with a project; what was cut short at its end is removed."""
        lock = _acquire(path)
        try:
            file = read_project(path)
            with explaining_write_errors(path):
                stream = open(path, "r+b")  # noqa: SIM115 - closed in close
                stream.truncate(file.length)
                stream.seek(file.length)
            return cls(file, stream, lock)
        except BaseException:
            lock.release()
            raise

    @property
    def project(self) -> Project:
        return self.history.project

    def do(self, action: Action) -> None:
        """Check an action, write it down, then let it count."""
        self.history.check(action)
        self._append({"action": to_table(action)})
        self.history.do(action)

    def record_run(self, record: RunRecord) -> None:
        """Write down how a run now stands."""
        self._append({"run": asdict(record)})
        self.runs[record.id] = record

    def read_bytes(self) -> bytes:
        """The whole file as it is now."""
        with explaining_read_errors(self.path):
            return self.path.read_bytes()[: self._length]

    def close(self) -> None:
        self._stream.close()
        self._lock.release()

    def _append(self, entry: dict[str, Any]) -> None:
        line = _to_line({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
        with explaining_write_errors(self.path):
            try:
                self._stream.write(line)
                self._stream.flush()
                os.fsync(self._stream.fileno())
            except OSError:
                self._stream.seek(self._length)
                self._stream.truncate()  # no half of a line before the next
                raise
        self._length += len(line)


def interrupt_runs(log: ProjectLog) -> None:
    """Say of each run that a stopped server left that it was interrupted."""
    for record in list(log.runs.values()):
        if record.state not in ENDED:
            log.record_run(replace(record, state="interrupted", message="the server was stopped during this run"))


def _split_whole(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The lines as JSON and how many bytes they take; a last one that is not whole is left out."""
    lines, length = [], 0
    pieces = data.split(b"\n")
    for number, piece in enumerate(pieces[:-1]):
        try:
            entry = json.loads(piece)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            if number == len(pieces) - 2:
                break
            raise InputError(
                f"line {number + 1} of a project must be a JSON object; the file is damaged, restore a copy"
            )
        lines.append(entry)
        length += len(piece) + 1
    return lines, length


def _read_header(line: dict[str, Any], path: Path) -> Header:
    try:
        is_ours, version = line["format"] == FORMAT, line["version"]
        frames, height, width = map(int, line["shape"])
        header = Header(str(line["input"]), str(line["input_absolute"]), (frames, height, width))
    except (KeyError, TypeError, ValueError):
        is_ours, version, header = False, 0, None
    if not is_ours or header is None or min(header.shape) < 1:
        raise InputError(f"{path} is not a fewpoint project; give a file that ends in {SUFFIX}")
    if version != VERSION:
        raise InputError(f"{path} was written by another version of fewpoint (format {version}); update fewpoint")
    return header


def _read_run(table: Any) -> RunRecord:
    names = {field.name for field in fields(RunRecord)}
    try:
        known = {name: value for name, value in table.items() if name in names}
        record = RunRecord(**{**known, "objects": tuple(known.get("objects", ()))})
    except (AttributeError, TypeError):
        raise InputError("a run must have a number and a version") from None
    if type(record.id) is not int or record.id < 1:
        raise InputError("the number of a run must be a whole number above 0")
    return record


def _to_line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file's name is on disk too, if the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _acquire(path: Path) -> Any:
    import filelock

    folder = runs_folder(path)
    with explaining_write_errors(folder):
        folder.mkdir(exist_ok=True)
        lock = filelock.FileLock(folder / LOCK_FILE, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise RunConflictError(f"another fewpoint has {path} open; close that one first") from None
    return lock
