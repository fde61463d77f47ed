"""The project file NAME.fewpoint: what a person did, one line an action, safe on disk before it counts.

The first line says which input the project is about; every other one holds an action, how a run now stands, how the
project was last looked at, which run's masks are wanted, whether they were accepted, which masks that were answered
live are kept, or whether live mode is on. "by" says who did an action:

    {"format": "fewpoint project", "version": 1, "input": "frames", "shape": …}
    {"at": "2026-11-15T12:00:00+00:00", "action": {"object": "object", "frame": 0, "y": 31, "kind": "add_point", …}}
    {"at": "2026-11-15T12:01:00+00:00", "run": {"id": 1, "state": "running", …}}
    {"at": "2026-11-15T12:02:00+00:00", "look": {"low": -160, "high": 240}}
    {"at": "2026-11-15T12:03:00+00:00", "choice": {"run": 1, "after": 2, "version": 7}}
    {"at": "2026-11-15T12:04:00+00:00", "answer": {"id": 3, "state": "finished", "refined_from": 2, …}}
    {"at": "2026-11-15T12:04:01+00:00", "review": {"verdict": "accepted", "by": "Anna.x1/t1", "version": 7, …}}
    {"at": "2026-11-15T12:05:00+00:00", "live": {"on": true, "stopped": 7}}

Lines are only ever added. The project is what comes out when all are done again in order. A last line that was cut
short by a crash is dropped. What runs leave lies in the folder NAME.fewpoint.runs next to the file.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Literal, get_args

from fewpoint.core.actions import Action, Redo, Undo, from_table, to_table
from fewpoint.core.project import Project, apply_action
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import explaining_write_errors, place_file, read_json, remove_partial
from fewpoint.io.atomic import write_json as write_small_json
from fewpoint.io.decoding import check_exists, explaining_read_errors
from fewpoint.io.large_json import write_json
from fewpoint.io.schema import expecting_ours

SUFFIX = ".fewpoint"
RUNS_SUFFIX = ".runs"
FORMAT = "fewpoint project"
VERSION = 1
LOCK_FILE = ".lock"
SECONDS_FILE = "seconds.json"
LAST_STATES, FAR_STATES = 32, 32  # how many states of a project are kept: the last ones, and at most so many before

RunState = Literal["waiting", "running", "finished", "failed", "cancelled", "interrupted", "deleted"]
ENDED = ("finished", "failed", "cancelled", "interrupted", "deleted")
Verdict = Literal["", "accepted", "rejected"]


@dataclass(frozen=True)
class RunRecord:
    """How one run of a project stands.

    version: of the project that it works on. refined_from: the run whose networks it went on from, if any.
    state: waiting, running, finished, failed, cancelled, interrupted if the server was stopped meanwhile, or deleted.
    best: there are masks, of the whole run or of as much of it as there was. objects: the numbers of
    those that it segments. words: what it was told, in a few words. notes: what a person should know before trusting
    its masks. figures: by the number of an object as text, what is known of its masks. by_itself: live mode began it.
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
    words: str = ""
    notes: tuple[str, ...] = ()
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_itself: bool = False


@dataclass(frozen=True)
class LiveMode:
    """on: whether live mode is on; None if nobody said so. stopped: the version of the project at which a person last
    stopped a run; 0 for never."""

    on: bool | None = None
    stopped: int = 0


@dataclass(frozen=True)
class Choice:
    """The run whose masks a person wants to see, as long as no run that began later has finished.

    after: the last run at the time. version: of the project at the time; what was said before it changes nothing.
    """

    run: int
    after: int
    version: int


@dataclass(frozen=True)
class Review:
    """Whether somebody who checked the masks accepts them. version: of the project at the time.

    result: the number of the run or answer whose masks were accepted, None if it is not known.
    """

    verdict: Verdict = ""
    by: str = ""
    version: int = 0
    result: int | None = None


@dataclass(frozen=True)
class Look:
    """How a project was last looked at; it changes no mask and cannot be undone.

    low, high: the pixel values shown as black and white, None for those of the file.
    """

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Header:
    """Which input a project is about. input: relative to the project's folder, in POSIX form.

    before: where it was, as projects of version 0.2 say; others tell nobody how the folders of a machine are called.
    """

    input: str
    shape: tuple[int, int, int]
    before: str = ""

    def find_input(self, path: Path) -> Path:
        """Where the input is, given the project's file: next to it as it was, or where it was before."""
        relative = Path(os.path.normpath(path.absolute().parent / self.input))
        return Path(self.before) if self.before and not relative.exists() else relative


@dataclass(frozen=True)
class Deed:
    """An action that counts. by: who did it. number: its place in the whole log."""

    action: Action
    by: str
    number: int


class History:
    """What was done to a project, in order. Undo takes back the last thing that the same person did.

    What others did since stays. A person is named by a text of the form NAME.BROWSER/TAB: who has nothing left of their
    own to undo may undo what the same browser did before, and what nobody signed.

    The project is kept as it was after the last deeds and, further back, after ever fewer of them; from there it is
    made again. Each holds all its clicks, so that keeping it after every deed would take memory by the square of them.
    """

    def __init__(self, first: Project) -> None:
        self.version = 0
        self._done: list[Deed] = []
        self._undone: list[Deed] = []
        self._states = {0: first}  # the project after so many of the deeds that count

    @property
    def project(self) -> Project:
        return self._states[len(self._done)]

    @property
    def last_by(self) -> str:
        """Who did the last thing that counts, empty if nobody did."""
        return self._done[-1].by if self._done else ""

    def can_undo(self, by: str = "") -> bool:
        return _find_last(self._done, by) is not None

    def can_redo(self, by: str = "") -> bool:
        return _find_last(self._undone, by) is not None

    @property
    def undoers(self) -> tuple[str, ...]:
        """All who did something that counts."""
        return tuple(dict.fromkeys(deed.by for deed in self._done))

    @property
    def redoers(self) -> tuple[str, ...]:
        """All who took something back that can be done again."""
        return tuple(dict.fromkeys(deed.by for deed in self._undone))

    def do(self, action: Action, by: str = "") -> None:
        """Change the project; InputError, and no change, for an action that has no meaning here."""
        self.plan(action, by)()

    def plan(self, action: Action, by: str = "") -> Callable[[], None]:
        """Check an action, with InputError for one that `do` would refuse; what is returned lets it count."""
        if isinstance(action, Undo):
            taken = _find_last(self._done, by)
            if taken is None:
                raise InputError("there is nothing to undo that you did")
            return lambda: self._take_back(taken)
        if isinstance(action, Redo):
            deed = _find_last(self._undone, by)
            if deed is None:
                raise InputError("there is nothing to redo")
            undone = [each for each in self._undone if each is not deed]
        else:
            deed = Deed(action, by, self.version + 1)
            undone = [each for each in self._undone if each.by != by]
        after = apply_action(deed.action, self.project, deed.number)
        return lambda: self._add(deed, after, undone)

    def _add(self, deed: Deed, after: Project, undone: list[Deed]) -> None:
        self._done.append(deed)
        self._undone = undone
        self._keep(len(self._done), after)
        self.version += 1

    def _take_back(self, taken: Deed) -> None:
        """Let a deed no longer count; a later one that rested on it has no effect any more."""
        place = next(index for index in reversed(range(len(self._done))) if self._done[index] is taken)
        del self._done[place]
        self._undone.append(taken)
        self._states = {count: state for count, state in self._states.items() if count <= place}
        reached = max(self._states)
        project = self._states[reached]
        for count, deed in enumerate(self._done[reached:], start=reached + 1):
            with suppress(InputError):
                project = apply_action(deed.action, project, deed.number)
            self._keep(count, project)
        self.version += 1

    def _keep(self, count: int, state: Project) -> None:
        """Keep the project as it is after the first so many deeds, and let go of those that lie too close."""
        self._states[count] = state
        apart = 1 << (count // FAR_STATES).bit_length()
        dropped = [each for each in self._states if count - each >= LAST_STATES and each % apart]
        for each in dropped:
            del self._states[each]


def _find_last(deeds: list[Deed], by: str) -> Deed | None:
    """The last deed of a person, else of the same browser or of nobody."""
    own = next((deed for deed in reversed(deeds) if deed.by == by), None)
    return own or next((deed for deed in reversed(deeds) if _browser(deed.by) in (_browser(by), "")), None)


def _browser(by: str) -> str:
    """The browser of a person, who may have another name there by now: BROWSER of NAME.BROWSER/TAB."""
    return by.partition("/")[0].rpartition(".")[2]


def name_person(by: str) -> str:
    """What a person calls themselves, empty if they do not say.

    >>> name_person("Anna.x7/t1"), name_person("x7/t1")
    ('Anna', '')
    """
    return by.partition("/")[0].rpartition(".")[0]


@dataclass(frozen=True, eq=False)
class ProjectFile:
    """A project as its file has it. length: bytes of the lines that are whole.

    answers: masks that were answered live and are kept, which have their numbers from the same count as runs.
    """

    path: Path
    header: Header
    history: History
    runs: dict[int, RunRecord]
    length: int
    look: Look = Look()
    choice: Choice | None = None
    review: Review = Review()
    answers: dict[int, RunRecord] = field(default_factory=dict)
    live: LiveMode = LiveMode()

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
    with expecting_ours(path):
        return _read_project(path, version)


def _read_project(path: Path, version: int | None) -> ProjectFile:
    with explaining_read_errors(path):
        data = path.read_bytes()
    lines, length = _split_whole(data)
    if not lines:
        raise InputError(f"{path} is not a fewpoint project; give a file that ends in {SUFFIX}")
    header = _read_header(lines[0], path)
    history, look, choice, review = History(Project(header.shape)), Look(), None, Review()
    live = LiveMode()
    results: dict[str, dict[int, RunRecord]] = {"run": {}, "answer": {}}
    for number, line in enumerate(lines[1:], start=2):
        try:
            kind = next((each for each in results if each in line), None)
            if kind is not None:
                record = _read_run(line[kind])
                results[kind][record.id] = record
            elif "look" in line:
                look = _read_look(line["look"])
            elif "choice" in line:
                choice = _read_choice(line["choice"])
            elif "review" in line:
                review = _read_review(line["review"])
            elif "live" in line:
                live = _read_live(line["live"])
            elif version is None or history.version < version:
                history.do(from_table(line.get("action")), str(line.get("by", "")))
        except InputError as error:
            raise InputError(f"line {number} of {path} cannot be read: {error}") from error
    return ProjectFile(path, header, history, results["run"], length, look, choice, review, results["answer"], live)


class ProjectLog:
    """A project open for writing, by one process at a time; nothing counts before it is on disk."""

    def __init__(self, file: ProjectFile, stream: FileIO, lock: Any) -> None:
        self.path, self.header = file.path, file.header
        self.history, self.runs, self.look = file.history, dict(file.runs), file.look
        self.choice, self.review, self.answers = file.choice, file.review, dict(file.answers)
        self.live = file.live
        self._stream, self._length, self._lock = stream, file.length, lock

    @classmethod
    def create(cls, path: Path, input_path: Path, shape: tuple[int, int, int]) -> "ProjectLog":
        """Begin a project of an input; the file must not be there yet."""
        path, absolute = path.absolute(), input_path.absolute()
        relative = Path(os.path.relpath(absolute, path.parent)).as_posix()
        header = {"format": FORMAT, "version": VERSION, "input": relative}
        line = _to_line({**header, "shape": list(shape)})
        place_file(path, lambda stream: stream.write(line))
        _sync_folder(path.parent)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> "ProjectLog":
        """Go on with a project; what was cut short at its end is removed."""
        lock = _acquire(path)
        try:
            file = read_project(path)
            with explaining_write_errors(path):
                # Without a buffer, in which a line that could not be written would wait to be written later after all.
                stream = open(path, "r+b", buffering=0)  # noqa: SIM115 - closed in close
                stream.truncate(file.length)
                remove_partial(path)
            return cls(file, stream, lock)
        except BaseException:
            lock.release()
            raise

    @property
    def project(self) -> Project:
        return self.history.project

    @property
    def results(self) -> dict[int, RunRecord]:
        """Runs and kept answers by their numbers, in order."""
        return dict(sorted({**self.runs, **self.answers}.items()))

    def do(self, action: Action, by: str = "") -> None:
        """Check an action, write it down, then let it count."""
        let_count = self.history.plan(action, by)
        self._append({**({"by": by} if by else {}), "action": to_table(action)})
        let_count()

    def record_run(self, record: RunRecord) -> None:
        """Write down how a run now stands."""
        self._append({"run": asdict(record)})
        self.runs[record.id] = record

    def record_answer(self, record: RunRecord) -> None:
        """Write down which masks that were answered live are kept."""
        self._append({"answer": asdict(record)})
        self.answers[record.id] = record

    def record_look(self, look: Look) -> None:
        """Write down how the project is looked at."""
        if look != self.look:
            self._append({"look": asdict(look)})
            self.look = look

    def record_choice(self, choice: Choice) -> None:
        """Write down which run's masks are wanted."""
        self._append({"choice": asdict(choice)})
        self.choice = choice

    def record_review(self, review: Review) -> None:
        """Write down whether the masks are accepted."""
        self._append({"review": asdict(review)})
        self.review = review

    def record_live(self, live: LiveMode) -> None:
        """Write down whether live mode is on."""
        if live != self.live:
            self._append({"live": asdict(live)})
            self.live = live

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
                self._stream.truncate(self._length)  # of an earlier line that failed, and could not be removed then
                self._stream.seek(self._length)
                left = memoryview(line)
                while left:
                    left = left[self._stream.write(left) :]
                os.fsync(self._stream.fileno())
            except OSError:
                with suppress(OSError):
                    self._stream.truncate(self._length)
                raise
        self._length += len(line)


def interrupt_runs(log: ProjectLog) -> None:
    """Say of each run that a stopped server left that it was interrupted, and how long it had gone on."""
    for record in list(log.runs.values()):
        if record.state not in ENDED:
            seconds = max(record.seconds, read_seconds(runs_folder(log.path) / str(record.id)))
            message = "the server was stopped during this run"
            log.record_run(replace(record, state="interrupted", message=message, seconds=seconds))


def write_seconds(seconds: float, run: Path) -> None:
    """Write down how long a run has gone on, in all its starts, for the case that the server is killed."""
    write_small_json(run / SECONDS_FILE, {"seconds": seconds})


def read_seconds(run: Path) -> float:
    """What write_seconds last wrote; 0 if it wrote nothing."""
    try:
        return float(read_json(run / SECONDS_FILE)["seconds"])
    except (InputError, KeyError, OSError, TypeError, ValueError):
        return 0.0


def _split_whole(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The lines as JSON and how many bytes they take; a last one that is not whole is left out."""
    lines, length = [], 0
    pieces = data.split(b"\n")
    for number, piece in enumerate(pieces[:-1]):
        try:
            entry = json.loads(piece)
        except (ValueError, RecursionError):
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
        header = Header(str(line["input"]), (frames, height, width), str(line.get("input_absolute", "")))
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
        lists = {name: tuple(known.get(name, ())) for name in ("objects", "notes")}
        record = RunRecord(**{**known, **lists})
    except (AttributeError, TypeError):
        raise InputError("a run must have a number and a version") from None
    if type(record.id) is not int or record.id < 1:
        raise InputError("the number of a run must be a whole number above 0")
    return record


def _read_look(table: Any) -> Look:
    names = {field.name for field in fields(Look)}
    known = {name: value for name, value in table.items() if name in names} if isinstance(table, dict) else {}
    if not all(value is None or isinstance(value, int | float) for value in known.values()):
        raise InputError("a window must have numbers")
    return Look(**known)


def _read_choice(table: Any) -> Choice:
    try:
        return Choice(int(table["run"]), int(table["after"]), int(table["version"]))
    except (KeyError, TypeError, ValueError):
        raise InputError("a choice must name a run") from None


def _read_review(table: Any) -> Review:
    try:
        verdict, by, version = table["verdict"], str(table["by"]), int(table["version"])
        result = None if table.get("result") is None else int(table["result"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError("a review must have a verdict") from None
    if verdict not in get_args(Verdict):
        raise InputError("a verdict must be accepted, rejected or empty")
    return Review(verdict, by, version, result)


def _read_live(table: Any) -> LiveMode:
    try:
        on, stopped = table["on"], int(table["stopped"])
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError("live mode must be on or off") from None
    return LiveMode(None if on is None else bool(on), stopped)


def _to_line(entry: dict[str, Any]) -> bytes:
    return write_json(entry).encode("utf-8") + b"\n"


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
