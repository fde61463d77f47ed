"""Projects that are open: their log, their frames, and those who watch them."""

import hashlib
import os
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import Box, ImageSequence
from fewpoint.core.actions import Action
from fewpoint.core.project import NamedObject, Project
from fewpoint.core.source import Source
from fewpoint.errors import InputError, OutputError
from fewpoint.io.images import read_sequence
from fewpoint.io.projects import ENDED, SUFFIX, ProjectLog, RunRecord, interrupt_runs, read_project, runs_folder
from fewpoint.superpixels.intensity import IntensityWindow, find_window, window_of
from fewpoint.web import messages
from fewpoint.web.broadcast import Broadcast
from fewpoint.web.faults import MissingError, StaleError
from fewpoint.web.pictures import Picture, PictureCache, cut_plane, encode_frame
from fewpoint.web.places import Root, check_links
from fewpoint.web.said import find_spoken_of

CACHE_BYTES = 512 * 2**20
VIDEO = "video"
KEPT_STATES = 4  # of a project as it was at earlier runs


@dataclass(frozen=True)
class LiveStanding:
    """What was last answered at once, and whether anything is. answered: numbers of the objects that it has masks of.

    rough: numbers of those of which nothing has been learnt yet. tried: numbers of those about which something is tried
    out that nobody has said yet. The other fields are those of LiveMessage.
    """

    on: bool = False
    state: messages.LiveState = "off"
    stamp: int = 0
    number: int = 0
    version: int = 0
    answered: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()
    rough: frozenset[int] = frozenset()
    seconds: float = 0.0
    due: bool = False
    message: str = ""


class Session:
    """One open project. Safe to use from several threads."""

    def __init__(self, log: ProjectLog, sequence: ImageSequence, root: Root, notes: tuple[str, ...] = ()) -> None:
        self.id = project_id(log.path)
        self.log, self.sequence, self.notes = log, sequence, notes
        self.broadcast = Broadcast()
        self.progress: dict[int, messages.RunMessage] = {}
        self.live = LiveStanding()
        self._earlier: dict[int, Project] = {}
        self.lock = threading.RLock()
        self._root = root

    @property
    def project(self) -> Project:
        return self.log.project

    @property
    def source(self) -> Source:
        """The file or folder of the frames."""
        if self.sequence.source is None:
            raise InputError("a project needs frames that were read from a file, these were not; save them first")
        return self.sequence.source

    @property
    def runs_folder(self) -> Path:
        return runs_folder(self.log.path)

    def do(self, action: Action, base_version: int | None = None) -> messages.ActionResult:
        """Change the project, and tell all who watch it."""
        with self.lock:
            version = self.log.history.version
            if base_version is not None and base_version != version:
                raise StaleError(f"the project is at version {version}, not {base_version}; look again first")
            self.log.do(action)
            self.live = replace(self.live, stamp=self.live.stamp + 1, tried=frozenset())
            described = self.describe()
            self.broadcast.tell(messages.ProjectEvent(project=described))
        return messages.ActionResult(version=described.version, project=described)

    def project_at(self, version: int) -> Project:
        """The project as it was after so many actions."""
        with self.lock:
            if version not in self._earlier:
                while len(self._earlier) >= KEPT_STATES:
                    del self._earlier[next(iter(self._earlier))]
                self._earlier[version] = read_project(self.log.path, version).project
            return self._earlier[version]

    def find_shown(self) -> RunRecord | None:
        """The run whose masks are shown: the last one that is over and has any."""
        return max(
            (record for record in self.log.runs.values() if record.best and record.state in ENDED),
            key=lambda record: record.id,
            default=None,
        )

    def find_live_objects(self) -> frozenset[int]:
        """The numbers of the objects whose masks are those last answered: something was said since the run shown."""
        with self.lock:
            shown = self.find_shown()
            then = None if shown is None else self.project_at(shown.version)
            spoken = find_spoken_of(self.project, then) | self.live.tried
            return self.live.answered & spoken if self.live.on else frozenset()

    def change_live(self, **changes: Any) -> None:
        """Note what has changed about answers at once, and tell all who watch."""
        with self.lock:
            self.live = replace(self.live, **changes, stamp=self.live.stamp + 1)
            self.broadcast.tell(messages.LiveEvent(live=self.describe_live()))

    def record_run(self, record: RunRecord, shown: messages.RunMessage) -> None:
        """Write down how a run stands, and tell all who watch."""
        with self.lock:
            self.log.record_run(record)
            self.show_run(shown)

    def show_run(self, shown: messages.RunMessage) -> None:
        """Tell all who watch how far a run is; not written down."""
        self.progress[shown.id] = shown
        self.broadcast.tell(messages.RunEvent(run=shown))

    def find_run(self, number: int) -> RunRecord:
        try:
            return self.log.runs[number]
        except KeyError:
            raise MissingError(f"there is no run {number}") from None

    def describe_run(self, number: int) -> messages.RunMessage:
        record = self.find_run(number)
        return self.progress.get(number) or self.describe_record(record)

    def describe_record(self, record: RunRecord) -> messages.RunMessage:
        """A run as it was written down, without how far it is."""
        names = {each.id: each.name for each in self.project.objects}
        objects = [names.get(number, f"removed object {number}") for number in record.objects]
        return messages.describe_run(record, objects)

    def describe_live(self) -> messages.LiveMessage:
        with self.lock:
            live, objects = self.live, self.find_live_objects()
            last = max(self.log.runs, default=None)
            then = None if last is None else self.project_at(self.log.runs[last].version)
            return messages.LiveMessage(
                on=live.on,
                state=live.state,
                stamp=live.stamp,
                number=live.number,
                version=live.version,
                objects=self._name(objects),
                rough=self._name(objects & live.rough),
                seconds=live.seconds,
                newer=self._name(find_spoken_of(self.project, then)),
                due=live.due,
                message=live.message,
            )

    def _name(self, numbers: frozenset[int]) -> list[str]:
        return [each.name for each in self.project.objects if each.id in numbers]

    def describe(self) -> messages.ProjectMessage:
        """All that the page shows, but for the pictures."""
        with self.lock:
            history, project, sequence = self.log.history, self.project, self.sequence
            frames, height, width, channels = sequence.shape
            return messages.ProjectMessage(
                id=self.id,
                name=self.log.path.name.removesuffix(SUFFIX),
                input=self._root.name(Path(self.source.path)),
                path=str(self.log.path),
                notes=[*self.source.notes, *self.notes],
                frames=frames,
                height=height,
                width=width,
                channels=channels,
                kind=_kind_of(sequence),
                is_grey=channels != 3,
                window=self._window_message,
                spacing_mm=_spacing_of(sequence),
                frame_names=list(sequence.names),
                frames_key=self.frames_key,
                version=history.version,
                can_undo=history.can_undo,
                can_redo=history.can_redo,
                objects=[_describe_object(each, project) for each in project.objects],
                settings=messages.SettingsMessage(preset=project.preset, seed=project.seed),
                bound=_describe_bound(project),
                runs=[self.describe_run(number) for number in sorted(self.log.runs)],
                live=self.describe_live(),
            )

    @cached_property
    def window(self) -> IntensityWindow:
        return window_of(self.sequence)

    @cached_property
    def _window_message(self) -> messages.WindowMessage:
        full = find_window(self.sequence.frames, 0, 100)
        return messages.WindowMessage(
            low=float(self.window.low[0]),
            high=float(self.window.high[0]),
            full_low=float(min(full.low[0], self.window.low[0])),
            full_high=float(max(full.high[0], self.window.high[0])),
        )

    @cached_property
    def frames_key(self) -> str:
        """Changes when the input does."""
        path = Path(self.source.path)
        stat = path.stat()
        facts = (str(path), stat.st_size, stat.st_mtime_ns, self.sequence.shape)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]

    def draw(self, cache: PictureCache, axis: int, index: int, window: tuple[float, float] | None) -> Picture:
        """A frame, or a plane across the frames, as an image; window: values shown as black and white."""
        if window is None:
            shown = self.window
        elif window[0] < window[1]:
            shown = IntensityWindow(*(np.full(self.sequence.shape[-1], value, np.float64) for value in window))
        else:
            raise InputError(f"a window must go from a value to a larger one, got {window[0]:g} to {window[1]:g}")
        key = (self.id, self.frames_key, axis, index, window)
        return cache.get(key, lambda: encode_frame(cut_plane(self.sequence, axis, index), shown))

    def close(self) -> None:
        self.log.close()


@dataclass(frozen=True)
class Store:
    """Where projects are kept: next to their input or, if that cannot be written to, in a folder of the user's."""

    root: Root
    fallback: Path

    def place(self, input_path: Path) -> tuple[Path, tuple[str, ...]]:
        """The project file of an input, and what the user should know about its place."""
        path = input_path.with_name(input_path.name + SUFFIX)
        if self.root.holds(path) and (path.exists() or os.access(path.parent, os.W_OK)):
            return path, ()
        digest = hashlib.sha256(str(input_path).encode()).hexdigest()[:8]
        elsewhere = self.fallback / f"{input_path.name}-{digest}{SUFFIX}"
        note = f"the folder of the input cannot be written, so that the project is kept in {elsewhere}"
        return elsewhere, (note,)


def default_store_folder() -> Path:
    """The user's own folder for what cannot lie next to its input."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fewpoint" / "projects"


class Workspace:
    """All projects that can be opened, and those that are open."""

    def __init__(self, root: Root, fallback: Path | None = None) -> None:
        self.root = root
        self.store = Store(root, fallback or default_store_folder())
        self.cache = PictureCache(CACHE_BYTES)
        self._sessions: dict[str, Session] = {}
        self._lock = threading.RLock()

    def open_input(self, path: Path) -> Session:
        """The project of an input, begun if there is none."""
        place, notes = self.store.place(path)
        with self._lock:
            opened = self._sessions.get(project_id(place))
            if opened is not None:
                return opened
            if place.exists():
                return self._open(place, notes)
            sequence = self._read(path)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"a project cannot be kept in {place.parent}: {error.strerror}") from error
            log = ProjectLog.create(place, path, sequence.shape[:3])
            return self._keep(Session(log, sequence, self.root, notes))

    def open_project(self, path: Path) -> Session:
        with self._lock:
            return self._sessions.get(project_id(path)) or self._open(path)

    def find(self, number: str) -> Session:
        """An open project by its id, or one that can be opened."""
        opened = self._sessions.get(number)
        if opened is not None:  # without the lock, which somebody who opens a large input holds for long
            return opened
        with self._lock:
            for path in self._list_files():
                if project_id(path) == number:
                    return self._sessions.get(number) or self._open(path)
        raise MissingError("there is no such project; open its input again")

    def list_projects(self) -> list[messages.ProjectEntry]:
        """All projects below the root or kept for it, changed last first."""
        entries = [entry for path in self._list_files() if (entry := self._describe(path)) is not None]
        return sorted(entries, key=lambda entry: entry.changed_at, reverse=True)

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _list_files(self) -> list[Path]:
        kept = sorted(self.store.fallback.glob(f"*{SUFFIX}")) if self.store.fallback.is_dir() else []
        return list(dict.fromkeys([*self.root.find_projects(), *kept]))

    def _describe(self, path: Path) -> messages.ProjectEntry | None:
        session = self._sessions.get(project_id(path))
        try:
            file = read_project(path)
        except InputError:
            return None
        if not self.root.holds(file.input):
            return None
        running = session is not None and any(run.state in ("waiting", "running") for run in session.progress.values())
        return messages.ProjectEntry(
            id=project_id(path),
            name=path.name.removesuffix(SUFFIX),
            input=self.root.name(file.input),
            changed_at=_changed_at(path),
            running=running,
        )

    def _open(self, path: Path, notes: tuple[str, ...] = ()) -> Session:
        check_links(runs_folder(path), Root(runs_folder(path).resolve()))
        log = ProjectLog.open(path)
        try:
            found = log.header.find_input(path)
            if not self.root.holds(found):
                raise InputError(
                    f"the input of {path.name} is not below the root; start fewpoint annotate with another --root"
                )
            sequence = self._read(found)
            if sequence.shape[:3] != log.header.shape:
                raise InputError(
                    f"{found.name} must be what {path.name} was begun with, frames of {log.header.shape}, "
                    f"it now has {sequence.shape[:3]}; put it back or move the project away"
                )
            interrupt_runs(log)
        except BaseException:
            log.close()
            raise
        return self._keep(Session(log, sequence, self.root, notes))

    def _read(self, path: Path) -> ImageSequence:
        self.root.check_input(path)
        return read_sequence(path)

    def _keep(self, session: Session) -> Session:
        self._sessions[session.id] = session
        return session


def project_id(path: Path) -> str:
    """A name for a project's file that can stand in an address."""
    return hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]


def _changed_at(path: Path) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")


def _kind_of(sequence: ImageSequence) -> messages.SequenceKind:
    geometry, source = sequence.geometry, sequence.source
    if geometry is not None and not geometry.over_time:
        return "volume"
    is_video = source is not None and source.format == VIDEO
    return "video" if geometry is not None or is_video else "frames"


def _spacing_of(sequence: ImageSequence) -> list[float] | None:
    geometry = sequence.geometry
    return None if geometry is None else [geometry.spacing_mm[axis] for axis in geometry.axes]


def _describe_object(target: NamedObject, project: Project) -> messages.ObjectMessage:
    box = target.largest_box
    return messages.ObjectMessage(
        name=target.name,
        colour=target.colour,
        points=[messages.PointMessage(**vars(click)) for click in target.points],
        absent=list(target.absent),
        brushed=sorted(target.brushed),
        box=None if box is None else _describe_box(box, project),
        boxes=[_describe_box(each, project) for each in target.boxes],
        size=target.size,
        sizes={str(frame): size for frame, size in target.sizes.items()},
    )


def _describe_box(box: Box, project: Project) -> messages.BoxMessage:
    return messages.BoxMessage(**vars(box), share=box.bound(project.size).fraction)


def _describe_bound(project: Project) -> messages.BoundMessage:
    boxed = next((each.name for each in project.objects if each.boxes), None)
    bound = None if boxed is None else project.bound_of(boxed)
    if bound is not None:
        return messages.BoundMessage(fraction=bound.fraction, origin=f"box round {boxed} where it is largest")
    if project.fraction is not None:
        return messages.BoundMessage(fraction=project.fraction, origin="given")
    return messages.BoundMessage(fraction=None, origin="estimated from the clicks")
