"""Projects that are open: their log, their frames, and those who watch them."""

import hashlib
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fewpoint.core import Box, ImageSequence
from fewpoint.core.actions import Action
from fewpoint.core.project import NamedObject, Project
from fewpoint.core.source import Source
from fewpoint.errors import FewpointError, InputError, OutputError
from fewpoint.io.atomic import explaining_write_errors, read_json, write_json
from fewpoint.io.points import find_points
from fewpoint.io.projects import (
    ENDED,
    SUFFIX,
    Choice,
    Header,
    Look,
    ProjectLog,
    Review,
    RunRecord,
    Verdict,
    interrupt_runs,
    name_person,
    read_project,
    runs_folder,
)
from fewpoint.superpixels.intensity import IntensityWindow, find_window, window_of
from fewpoint.web import messages
from fewpoint.web.broadcast import Broadcast
from fewpoint.web.clips import choose_frames, write_clip
from fewpoint.web.faults import BusyError, MissingError, StaleError
from fewpoint.web.frames import Pixels, PixelStore, without_pixels
from fewpoint.web.orders import live_folder
from fewpoint.web.pictures import Picture, PictureCache, encode_frame
from fewpoint.web.places import Root, check_links
from fewpoint.web.said import find_spoken_of
from fewpoint.web.view import Preview, choose_view

CACHE_BYTES = 512 * 2**20
VIDEO = "video"
IN_PATIENT = ("nifti", "nrrd", "mha", "dicom")  # formats whose axes are a patient's; those of microscopes are not
MOST_OPEN, IDLE_SECONDS = 16, 600.0  # projects; how long one must have been left alone to be closed
MOST_OPEN_AT_ALL = 64  # of which those used longest ago are closed at once, unless somebody watches or something runs
NO_PROJECT = "there is no such project; open its input again"
KEPT_STATES = 8  # of a project as it was at earlier runs
NO_RESULTS: Mapping[int, RunRecord] = MappingProxyType({})
STANDING_FILE = "answered.json"


@dataclass(frozen=True)
class AnsweredView:
    """A frame whose masks are newer than those of all others. number: of the order. objects, rough: as LiveStanding."""

    frame: int
    number: int
    objects: frozenset[int]
    rough: frozenset[int]


@dataclass(frozen=True)
class LiveStanding:
    """What was last answered at once, and whether anything is. answered: numbers of the objects that it has masks of.

    rough: numbers of those of which nothing has been learnt yet. tried: numbers of those about which something is tried
    out that nobody has said yet. refused: the last order that could not be answered, for the reason in message. view:
    the frame that was answered since, before all others, if there is one. The other fields are those of LiveMessage.
    """

    on: bool = False
    state: messages.LiveState = "off"
    stamp: int = 0
    number: int = 0
    version: int = 0
    answered: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()
    rough: frozenset[int] = frozenset()
    partly: bool = False
    seconds: float = 0.0
    due: bool = False
    message: str = ""
    refused: int = 0
    view: AnsweredView | None = None


class Session:
    """One open project. Safe to use from several threads."""

    def __init__(
        self, log: ProjectLog, pixels: Pixels, root: Root, store: PixelStore, notes: tuple[str, ...] = ()
    ) -> None:
        self.id = project_id(log.path)
        self.log, self.notes = log, notes
        self.sequence = without_pixels(pixels.sequence)
        self._pixels = store
        store.keep(self.id, pixels)
        self.broadcast = Broadcast()
        self.used_at = time.monotonic()
        self.progress: dict[int, messages.RunMessage] = {}
        self.token = secrets.token_hex(4)  # what is counted from the beginning again has another one after a restart
        self.live = read_standing(self.runs_folder, log.history.version)
        self.preview: Preview | None = None
        self.kept: tuple[tuple[Any, ...], int] | None = None  # what is shown, and the number that it was kept under
        self.exporting: Counter[int] = Counter()  # how many exports of each result are at work
        self.past = 0  # runs up to this number are of objects that are gone, and nothing goes on from them
        self._earlier: dict[int, Project] = {}
        self.lock = threading.RLock()
        self._root = root

    @property
    def project(self) -> Project:
        return self.log.project

    @property
    def is_idle(self) -> bool:
        """Whether it is not busy, and nobody asked for anything lately."""
        return not self.is_busy and time.monotonic() - self.used_at > IDLE_SECONDS

    @property
    def is_busy(self) -> bool:
        """Whether somebody watches it, or something runs or is answered."""
        runs = any(run.state in ("waiting", "running") for run in self.progress.values())
        return runs or self.live.on or self.broadcast.is_heard

    @property
    def pixels(self) -> Pixels:
        """The frames themselves, which are read again if others took their place in memory."""
        return self._pixels.get(self.id, lambda: Pixels.read(Path(self.source.path)))

    @property
    def source(self) -> Source:
        """The file or folder of the frames."""
        if self.sequence.source is None:
            raise InputError("a project needs frames that were read from a file, these were not; save them first")
        return self.sequence.source

    @property
    def runs_folder(self) -> Path:
        return runs_folder(self.log.path)

    def do(self, action: Action, base_version: int | None = None, by: str = "") -> messages.ActionResult:
        """Change the project, and tell all who watch it."""
        with self.lock:
            version = self.log.history.version
            if base_version is not None and base_version != version:
                raise StaleError(f"the project is at version {version}, not {base_version}; look again first")
            self.log.do(action, by)
            self.live = replace(self.live, stamp=self.live.stamp + 1, tried=frozenset())
            described = self.describe()
            self.broadcast.tell(messages.ProjectEvent(project=described))
        return messages.ActionResult(version=described.version, project=described)

    def keep_look(self, look: messages.LookMessage) -> None:
        """Write down how the project is looked at, for the next time that it is opened."""
        if (look.low is None) != (look.high is None) or (look.low or 0) > (look.high or 0):
            raise InputError("a window must go from a value to a larger one")
        with self.lock:
            self.log.record_look(Look(look.low, look.high))

    def read_values(self, frame: int, y: int, x: int) -> list[float]:
        """The value of a pixel in each channel."""
        frames, height, width = self.sequence.shape[:3]
        if not (frame < frames and y < height and x < width):
            raise MissingError(f"there is no pixel at frame {frame}, y {y}, x {x}")
        return [float(value) for value in self.pixels.cut(0, frame)[y, x]]

    def cut_clip(self, frame: int, path: Path) -> None:
        """Leave the frames near one in a file, for what answers at once."""
        total = self.sequence.shape[0]
        chosen = choose_frames(min(frame, total - 1), total)
        frames = np.stack([self.pixels.cut(0, each) for each in chosen])
        write_clip(frames, self.window, (chosen.start, total), path)

    def project_at(self, version: int) -> Project:
        """The project as it was after so many actions."""
        with self.lock:
            if version not in self._earlier:
                while len(self._earlier) >= KEPT_STATES:
                    del self._earlier[next(iter(self._earlier))]
                self._earlier[version] = read_project(self.log.path, version).project
            return self._earlier[version]

    def find_object(self, view: messages.ObjectQuery) -> NamedObject:
        """The object that is asked for."""
        if view.number is None:
            return self.project.find(view.object)
        found = next((each for each in self.project.objects if each.id == view.number), None)
        if found is None:
            raise MissingError(f"there is no object with the number {view.number}; somebody may have removed it")
        return found

    def find_shown(self) -> RunRecord | None:
        """The run whose masks are shown."""
        runs, answers = (
            {number: run for number, run in each.items() if number > self.past}
            for each in (self.log.runs, self.log.answers)
        )
        return choose_shown(runs, self.log.choice, answers)

    def find_told(self) -> Project | None:
        """The project as the masks shown know it: at the start of their run, or when they were chosen."""
        version = self._find_told_version()
        return None if version is None else self.project_at(version)

    def _find_told_version(self) -> int | None:
        shown, choice = self.find_shown(), self.log.choice
        if shown is None:
            return None
        chosen = choice is not None and choice.run == shown.id
        return choice.version if choice is not None and chosen else shown.version

    def review(self, verdict: Verdict, by: str, result: int | None = None) -> messages.ProjectMessage:
        """Accept or reject the masks as they are now, or take that back. result: the number that they are kept under"""
        with self.lock:
            is_drawn = any(each.brushed for each in self.project.objects)
            if verdict and self.find_shown() is None and not self.find_live_objects() and not is_drawn:
                raise InputError("there are no masks to accept or reject yet; click on the object first")
            self.log.record_review(Review(verdict, by, self.log.history.version, result))
            described = self.describe()
            self.broadcast.tell(messages.ProjectEvent(project=described))
        return described

    def _describe_review(self) -> messages.ReviewMessage:
        review = self.log.review
        current = review.version == self.log.history.version
        return messages.ReviewMessage(verdict=review.verdict, by=name_person(review.by), current=current)

    def choose_run(self, number: int) -> messages.ProjectMessage:
        """Show the masks of another run from now on."""
        with self.lock:
            if not self.find_run(number).best:
                raise InputError(f"run {number} has no masks to show; choose another one")
            self.log.record_choice(Choice(number, max(self.log.results), self.log.history.version))
            self.live = replace(self.live, stamp=self.live.stamp + 1)
            described = self.describe()
            self.broadcast.tell(messages.ProjectEvent(project=described))
        return described

    def find_live_objects(self) -> frozenset[int]:
        """The numbers of the objects whose masks are those last answered: something was said since the run shown."""
        with self.lock:
            told = self._find_told_version()
            # In live mode another answer follows whatever changes; without it an older one gives way to a run for good.
            is_newer = self.live.on or told is None or self.live.version > told
            return self.live.answered & (self._find_following() if is_newer else self.live.tried)

    def find_viewed_objects(self) -> frozenset[int]:
        """The same of the frame that was answered before all others."""
        with self.lock:
            return frozenset() if self.live.view is None else self.live.view.objects & self._find_following()

    def _find_following(self) -> frozenset[int]:
        """The numbers of the objects whose masks follow what is said: something was said since the run shown."""
        return find_spoken_of(self.project, self.find_told()) | self.live.tried

    def change_live(self, **changes: Any) -> None:
        """Note what has changed about answers at once, and tell all who watch."""
        with self.lock:
            self.live = replace(self.live, **changes, stamp=self.live.stamp + 1)
            self.broadcast.tell(messages.LiveEvent(live=self.describe_live()))

    def end_answers(self, **changes: Any) -> None:
        """Note that nothing is answered at once any more; the masks that were stay as they are."""
        self.change_live(view=None, **changes)

    def keep_standing(self) -> None:
        """Write down what the masks last answered are of, for the next start."""
        with self.lock:
            write_standing(self.live, self.runs_folder)

    def note_preview(self, run: int, share: float) -> None:
        """A run that goes on has left new previews. share: of its learning that is done."""
        count = 1 if self.preview is None else self.preview.count + 1
        self.preview = Preview(run, count, share)
        self.change_live()
        self.broadcast.tell(messages.PreviewEvent(run=run))

    def record_answer(self, record: RunRecord) -> None:
        """Write down which masks are kept, and tell all who watch."""
        with self.lock:
            self.log.record_answer(record)
            self.broadcast.tell(messages.ProjectEvent(project=self.describe()))

    def record_run(self, record: RunRecord, shown: messages.RunMessage) -> None:
        """Write down how a run stands, and tell all who watch."""
        with self.lock:
            self.log.record_run(record)
            self.show_run(shown)
            if record.state in ENDED:  # other masks may be shown from now on
                self.broadcast.tell(messages.ProjectEvent(project=self.describe()))

    def show_run(self, shown: messages.RunMessage) -> None:
        """Tell all who watch how far a run is; not written down."""
        self.progress[shown.id] = shown
        self.broadcast.tell(messages.RunEvent(run=shown))

    def find_run(self, number: int) -> RunRecord:
        """A run, or a kept answer, by its number."""
        try:
            return self.log.results[number]
        except KeyError:
            raise MissingError(f"there is no run {number}") from None

    def describe_run(self, number: int) -> messages.RunMessage:
        record = self.find_run(number)
        return self.progress.get(number) or self.describe_record(record)

    def describe_record(self, record: RunRecord) -> messages.RunMessage:
        """A run as it was written down, without how far it is."""
        return messages.describe_run(record, {each.id: each.name for each in self.project.objects})

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
                partly=live.partly and bool(objects),
                seconds=live.seconds,
                newer=self._name(find_spoken_of(self.project, then)),
                due=live.due,
                message=live.message,
                view=self._describe_view(),
                shown=self._describe_shown(),
            )

    def _describe_shown(self) -> dict[str, messages.ShownMessage]:
        """Of each object that has masks, which they are."""
        view, names = choose_view(self), {each.id: each.name for each in self.project.objects}
        return {
            names[number]: messages.ShownMessage(stamp=each.stamp, rough=each.rough) for number, each in view.items()
        }

    def _describe_view(self) -> messages.ViewMessage | None:
        view, objects = self.live.view, self.find_viewed_objects()
        objects -= {number for number, each in choose_view(self).items() if each.is_preview}
        if view is None or not objects:
            return None
        return messages.ViewMessage(
            frame=view.frame,
            number=view.number,
            stamp=f"live {self.token} {view.number}",
            objects=self._name(objects),
            rough=self._name(objects & view.rough),
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
                directions=_directions_of(sequence),
                unit=self.source.unit,
                own_points=self._has_own_points,
                from_pacs=bool(self.source.origin),
                look=messages.LookMessage(low=self.log.look.low, high=self.log.look.high),
                frame_names=list(sequence.names),
                frames_key=self.frames_key,
                version=history.version,
                can_undo=list(history.undoers),
                can_redo=list(history.redoers),
                objects=[_describe_object(each, project) for each in project.objects],
                settings=messages.SettingsMessage(preset=project.preset, seed=project.seed),
                fraction=project.fraction,
                runs=[self.describe_run(number) for number in sorted(self.log.runs)],
                answers=[self.describe_record(each) for each in self.log.answers.values() if each.best],
                shown=None if (shown := self.find_shown()) is None else shown.id,
                review=self._describe_review(),
                live=self.describe_live(),
            )

    @cached_property
    def _has_own_points(self) -> bool:
        return find_points(self.source.path) is not None

    @cached_property
    def window(self) -> IntensityWindow:
        """The values shown as black and white; of a film all there can be, since most of it is not read yet."""
        if self.pixels.is_film:
            kind, channels = self.sequence.frames.dtype, self.sequence.shape[-1]
            return IntensityWindow(np.zeros(channels), np.full(channels, float(np.iinfo(kind).max)))
        return window_of(self.pixels.sequence)

    @cached_property
    def _window_message(self) -> messages.WindowMessage:
        full = self.window if self.pixels.is_film else find_window(self.pixels.sequence.frames, 0, 100)
        low, high = float(self.window.low[0]), float(self.window.high[0])
        high = high if high > low else low + 1  # all pixels have one value
        return messages.WindowMessage(
            low=low,
            high=high,
            full_low=min(float(full.low[0]), low),
            full_high=max(float(full.high[0]), high),
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
        return cache.get(key, lambda: encode_frame(self.pixels.cut(axis, index), shown))

    def close(self) -> None:
        self.log.close()


def choose_shown(
    runs: Mapping[int, RunRecord], choice: Choice | None, answers: Mapping[int, RunRecord] = NO_RESULTS
) -> RunRecord | None:
    """The run whose masks are shown: the one that was chosen, or the last one that has finished since.

    One that was stopped is shown by itself only as long as none has finished; a kept answer only if it was chosen.
    """
    kept = [record for record in runs.values() if record.best and record.state in ENDED]
    finished = [record for record in kept if record.state == "finished"]
    can_be_chosen = [*kept, *(record for record in answers.values() if record.best)]
    if choice is not None and (chosen := next((each for each in can_be_chosen if each.id == choice.run), None)):
        newer = [record for record in finished if record.id > choice.after]
        return max(newer, key=lambda record: record.id, default=chosen)
    return max(finished or kept, key=lambda record: record.id, default=None)


def write_standing(live: LiveStanding, runs: Path) -> None:
    """Write next to the masks last answered what they are of."""
    folder = live_folder(runs)
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    content = {name: sorted(getattr(live, name)) for name in ("answered", "rough")}
    write_json(folder / STANDING_FILE, {**content, "version": live.version, "partly": live.partly})


def read_standing(runs: Path, version: int) -> LiveStanding:
    """What write_standing wrote; nothing answered if it wrote nothing, or of another project. version: of this one."""
    try:
        content = read_json(live_folder(runs) / STANDING_FILE)
        answered, rough = (frozenset(map(int, content[name])) for name in ("answered", "rough"))
        known, partly = int(content["version"]), bool(content["partly"])
    except (FewpointError, OSError, AttributeError, KeyError, TypeError, ValueError):
        return LiveStanding()
    if known > version:
        return LiveStanding()
    return LiveStanding(version=known, answered=answered, rough=rough, partly=partly)


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
        note = f"the folder of the input cannot be written, so the project is kept in {elsewhere}"
        return elsewhere, (note,)


def default_store_folder() -> Path:
    """The user's own folder for what cannot lie next to its input."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fewpoint" / "projects"


class _Turn:
    """Held by whoever opens a project."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


class Headers:
    """What projects are about, by their files; each file is read again only when it has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int], Header | None]] = {}

    def find(self, path: Path) -> Header | None:
        """None for a file that cannot be read."""
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if path not in self._known or self._known[path][0] != stamp:
                self._known[path] = (stamp, _try_header(path))
            return self._known[path][1]
        except OSError:
            return None


def _try_header(path: Path) -> Header | None:
    try:
        return read_project(path).header
    except InputError:
        return None


class Workspace:
    """All projects that can be opened, and those that are open."""

    def __init__(self, root: Root, fallback: Path | None = None) -> None:
        self.root = root
        self.store = Store(root, fallback or default_store_folder())
        self.cache = PictureCache(CACHE_BYTES)
        self.pixels = PixelStore()
        self._sessions: dict[str, Session] = {}
        self._headers = Headers()
        self._lock = threading.RLock()
        self._opening: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    def open_input(self, path: Path) -> Session:
        """The project of an input, begun if there is none."""
        place, notes = self.store.place(path)
        with self._alone(project_id(place)):
            opened = self._find_open(project_id(place))
            if opened is not None:
                return opened
            if place.exists():
                return self._open(place, notes)
            pixels = self._read(path)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"a project cannot be kept in {place.parent}: {error.strerror}") from error
            log = ProjectLog.create(place, path, pixels.sequence.shape[:3])
            return self._keep(Session(log, pixels, self.root, self.pixels, notes))

    def open_project(self, path: Path) -> Session:
        with self._alone(project_id(path)):
            return self._find_open(project_id(path)) or self._open(path)

    def _find_open(self, number: str) -> Session | None:
        opened = self._sessions.get(number)
        if opened is not None:
            opened.used_at = time.monotonic()
        return opened

    def find(self, number: str) -> Session:
        """An open project by its id, or one that can be opened."""
        opened = self._find_open(number)
        if opened is not None:
            return opened
        path = self.find_file(number)
        with self._alone(number):
            return self._find_open(number) or self._open(path)

    @contextmanager
    def _alone(self, number: str) -> Iterator[None]:
        """Let nobody else open the same project meanwhile; others can be opened, however long this one takes."""
        with self._lock:
            turn = self._opening.get(number)
            if turn is None:
                turn = self._opening[number] = _Turn()
        with turn.lock:
            yield

    def find_file(self, number: str) -> Path:
        """The file of a project by its id."""
        for path in self.list_files():
            if project_id(path) == number:
                return path
        raise MissingError(NO_PROJECT)

    def list_projects(self) -> list[messages.ProjectEntry]:
        """All projects below the root or kept for it, changed last first."""
        entries = [entry for path in self.list_files() if (entry := self._describe(path)) is not None]
        return sorted(entries, key=lambda entry: entry.changed_at, reverse=True)

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self.pixels.close()

    def forget(self, session: Session) -> None:
        """Close a project; it is opened again if somebody asks for it."""
        with self._lock:
            self._sessions.pop(session.id, None)
            session.close()

    def list_files(self) -> list[Path]:
        kept = sorted(self.store.fallback.glob(f"*{SUFFIX}")) if self.store.fallback.is_dir() else []
        return list(dict.fromkeys([*self.root.find_projects(), *kept]))

    def _describe(self, path: Path) -> messages.ProjectEntry | None:
        session = self._sessions.get(project_id(path))
        header = self._headers.find(path) if session is None else session.log.header
        found = None if header is None else header.find_input(path)
        if found is None or not self.root.holds(found):
            return None
        running = session is not None and any(run.state in ("waiting", "running") for run in session.progress.values())
        return messages.ProjectEntry(
            id=project_id(path),
            name=path.name.removesuffix(SUFFIX),
            input=self.root.name(found),
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
            pixels = self._read(found)
            sequence = pixels.sequence
            if sequence.shape[:3] != log.header.shape:
                raise InputError(
                    f"{found.name} must be the input of {path.name}, frames of {log.header.shape}, "
                    f"it now has {sequence.shape[:3]}; put it back or move the project away"
                )
            interrupt_runs(log)
        except BaseException:
            log.close()
            raise
        return self._keep(Session(log, pixels, self.root, self.pixels, notes))

    def _read(self, path: Path) -> Pixels:
        self._check_room()
        self.root.check_input(path)
        return Pixels.read(path)

    def _check_room(self) -> None:
        """Raise BusyError if no further project can be opened."""
        with self._lock:
            opened = list(self._sessions.values())
        if len(opened) >= MOST_OPEN_AT_ALL and all(each.is_busy for each in opened):
            raise BusyError(f"{MOST_OPEN_AT_ALL} projects are open; close one, or try again later")

    def _keep(self, session: Session) -> Session:
        with self._lock:
            self._sessions[session.id] = session
            self._close_idle(session)
        return session

    def _close_idle(self, kept: Session) -> None:
        """Close projects that nobody looks at, those used longest ago first, while more are open than may be."""
        others = sorted((each for each in self._sessions.values() if each is not kept), key=lambda each: each.used_at)
        idle = [each for each in others if each.is_idle][: max(0, len(self._sessions) - MOST_OPEN)]
        unused = [each for each in others if not each.is_busy][: max(0, len(self._sessions) - MOST_OPEN_AT_ALL)]
        for session in {each.id: each for each in (*idle, *unused)}.values():
            self.forget(session)
            self.pixels.drop(session.id)


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


def _directions_of(sequence: ImageSequence) -> list[str] | None:
    """The sides of the patient that frames, rows and columns go to, if the file says so."""
    geometry, source = sequence.geometry, sequence.source
    is_placed = geometry is not None and not geometry.over_time and source is not None and source.format in IN_PATIENT
    return list(geometry.directions) if geometry is not None and is_placed else None


def _describe_object(target: NamedObject, project: Project) -> messages.ObjectMessage:
    box, bound = target.largest_box, project.bound_of(target.name)
    return messages.ObjectMessage(
        number=target.id,
        name=target.name,
        colour=target.colour,
        points=[messages.PointMessage(**vars(click)) for click in target.points],
        absent=list(target.absent),
        brushed=sorted(target.brushed),
        box=None if box is None else _describe_box(box, project),
        boxes=[_describe_box(each, project) for each in target.boxes],
        size=target.size,
        sizes={str(frame): size for frame, size in target.sizes.items()},
        bound=None if bound is None else bound.fraction,
        locked=target.locked,
    )


def _describe_box(box: Box, project: Project) -> messages.BoxMessage:
    return messages.BoxMessage(**vars(box), share=box.bound(project.size).fraction)
