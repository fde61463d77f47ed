"""A volume on a server: what was said about it, its runs, and its masks.

Whatever takes long is a generator that gives a Step between one request and the next, so that a panel stays alive
without threads: it goes on when the time that the step asks for is over.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from FewpointLib.connection import Connection, LostError, ServerError
from FewpointLib.grid import Grid, PlaceError, Point, encode_nrrd

PRESETS = ("auto", "accurate", "fast", "paper")
NEGATIVE, JOINTS = "negative", " _-"
FIRST_OBJECT = "object"  # that every project begins with
POLL_S, LOST_S, ANSWER_LIMIT_S = 0.5, 2.0, 120.0
AT_ONCE = 16  # frames between two signs of life
LONGEST_NAME = 60
SAME_PLACE_MM = 1e-3

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """How far something is. share: done, None if it is not known. pause_s: to wait before going on."""

    text: str
    share: float | None = None
    pause_s: float = 0.0


Steps = Generator[Step, None, T]


@dataclass(frozen=True, eq=False)
class Volume:
    """array: (K, J, I) or (K, J, I, C), as Slicer has it."""

    name: str
    array: np.ndarray
    ijk_to_ras: np.ndarray

    @property
    def grid(self) -> Grid:
        return Grid.of(self.array.shape[2::-1], self.ijk_to_ras)

    @property
    def digest(self) -> str:
        """Changes with the voxels."""
        facts = (self.array.shape, self.array.dtype.str)
        found = hashlib.sha256(repr(facts).encode())
        for plane in self.array:
            found.update(np.ascontiguousarray(plane).data)
        return found.hexdigest()


@dataclass(frozen=True)
class Clicks:
    """What was clicked for an object."""

    name: str
    on: tuple[Point, ...]
    off: tuple[Point, ...] = ()


@dataclass(frozen=True, eq=False)
class ObjectMask:
    """colour: red, green and blue from 0 to 1. array: (K, J, I) uint8, 1 on the object."""

    name: str
    colour: tuple[float, float, float]
    array: np.ndarray


@dataclass(frozen=True)
class Memory:
    """What is kept with a volume, so that later clicks refine. said: by object, the clicks sent so far."""

    address: str
    project: str
    digest: str
    ijk_to_ras: list[list[float]]
    said: dict[str, list[list[int]]] = field(default_factory=dict)

    def is_about(self, volume: Volume, digest: str) -> bool:
        """Whether a volume is still the one that was sent; a scene that was saved gives its place back rounded."""
        matrix = np.array(self.ijk_to_ras, np.float64)
        return self.digest == digest and np.allclose(matrix, volume.ijk_to_ras, rtol=0, atol=SAME_PLACE_MM)

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str | None) -> Memory | None:
        try:
            return cls(**json.loads(text or ""))
        except (ValueError, TypeError):
            return None


class Study:
    """A volume that a server has."""

    def __init__(self, connection: Connection, grid: Grid, memory: Memory) -> None:
        self.connection, self.grid, self.memory = connection, grid, memory
        self._path = f"/projects/{memory.project}"
        self._version = 0  # of the project when something was last said here
        self.run: int | None = None

    @property
    def can_refine(self) -> bool:
        """Whether a run has finished, from which a refinement goes on."""
        return any(run["state"] == "finished" for run in self._state()["runs"])

    def say(self, clicks: Clicks) -> None:
        """Make the clicks on an object those given; what others clicked on the server's page stays."""
        wanted = self._place(clicks)
        state = self._name_object(clicks.name)
        points = next(each["points"] for each in state["objects"] if each["name"] == clicks.name)
        there = {(each["frame"], each["y"], each["x"], each["positive"]): each["id"] for each in points}
        before = {(frame, y, x, bool(on)) for frame, y, x, on in self.memory.said.get(clicks.name, [])}
        for gone in sorted((before - wanted) & set(there)):
            state = self._do("remove_point", point=there[gone])
        for positive in (True, False):
            new = [list(each[:3]) for each in sorted(wanted - set(there)) if each[3] == positive]
            if new:
                state = self._do("add_points", object=clicks.name, places=new, positive=positive)
        said = {**self.memory.said, clicks.name: sorted(map(list, wanted))}
        self.memory = replace(self.memory, said=said)
        self._version = state["version"]

    def choose(self, preset: str) -> None:
        state = self._state()
        if state["settings"]["preset"] != preset:
            self._do("set_settings", preset=preset, seed=state["settings"]["seed"])

    def segment(self, refine: bool = False) -> Steps[list[ObjectMask]]:
        """Learn what was said, unless a run has done so or is at it; the generator's value is the masks."""
        state = self._state()
        runs = [run for run in state["runs"] if run["state"] in ("waiting", "running", "finished")]
        if runs and runs[-1]["version"] == state["version"]:
            number = runs[-1]["id"]
        else:
            number = self.connection.post(f"{self._path}/runs", {"refine": refine})["id"]
        self.run = number
        run = yield from self._follow(number)
        return (yield from self._fetch(run["objects"], f"/runs/{run['id']}/masks"))

    def stop(self) -> None:
        """Have the run end now; what it has found becomes its result."""
        if self.run is not None:
            try:
                self.connection.post(f"{self._path}/runs/{self.run}/cancel")
            except LostError:
                raise
            except ServerError:
                pass  # it is over already, as whoever follows it sees

    def listen(self, on: bool) -> None:
        """Let masks follow what is said at once, or no longer; the server forgets it after two minutes of silence."""
        self.connection.post(f"{self._path}/live", {"on": on})

    def answer(self) -> Steps[list[ObjectMask]]:
        """The masks as they follow from what was just said, before anything is learnt of it."""
        self.listen(True)
        until = time.monotonic() + ANSWER_LIMIT_S
        while True:
            live = self._state()["live"]
            if live["message"] or live["state"] == "failed":
                raise ServerError(live["message"] or "masks cannot be answered at once; segment instead")
            if live["version"] >= self._version and not live["partly"]:
                break
            if time.monotonic() > until:
                raise ServerError("masks were not answered in time; segment instead")
            yield Step("Answering at once", pause_s=POLL_S / 2)
        return (yield from self._fetch(live["objects"], "/masks"))

    def _follow(self, number: int) -> Steps[dict[str, Any]]:
        """Wait for the end of a run, however often the connection is lost or the server started again."""
        while True:
            run = yield from self._get(f"/runs/{number}")
            if run["state"] == "interrupted":
                self.connection.post(f"{self._path}/runs/{number}/resume")
            elif run["state"] == "failed":
                raise ServerError(run["error"] or "the run failed")
            elif run["state"] == "cancelled" and not run["best"]:
                raise ServerError("stopped before there was anything to show")
            elif run["state"] in ("finished", "cancelled"):
                return run
            yield Step(word_run(run), run["epoch"] / run["epochs"] if run["epochs"] else None, POLL_S)

    def _get(self, path: str, **query: Any) -> Steps[Any]:
        """What is at a path below the project, asked for again and again while the server cannot be reached."""
        while True:
            try:
                return self.connection.get(self._path + path, **query)
            except LostError as error:
                yield Step(f"{error}. Runs go on there; trying again", pause_s=LOST_S)

    def _fetch(self, names: Sequence[str], path: str) -> Steps[list[ObjectMask]]:
        """Masks of objects, frame by frame."""
        state = yield from self._get("")
        colours = {each["name"]: each["colour"] for each in state["objects"]}
        found, total = [], len(names) * self.grid.frames_shape[0]
        for name in (each for each in names if each in colours):
            frames = np.zeros(self.grid.frames_shape, np.uint8)
            for number, frame in enumerate(frames):
                mask = yield from self._get(f"{path}/{number}", object=name)
                paint(frame, mask["runs"])
                if number % AT_ONCE == 0:
                    yield Step(f"Fetching {name}", (len(found) * len(frames) + number) / total)
            array = np.ascontiguousarray(self.grid.to_array(frames))
            found.append(ObjectMask(name, read_colour(colours[name]), array))
        return found

    def _place(self, clicks: Clicks) -> set[tuple[int, int, int, bool]]:
        on, off = (set(self.grid.find_pixels(points)) for points in (clicks.on, clicks.off))
        if not on:
            raise PlaceError(f"{clicks.name} needs at least one point on it; place one")
        if on & off:
            raise PlaceError(f"{clicks.name} has a click and a negative on one voxel; remove one of the two")
        return {(*place, True) for place in on} | {(*place, False) for place in off}

    def _name_object(self, name: str) -> dict[str, Any]:
        """The project with an object of this name, which may be the one that it began with."""
        state = self._state()
        names = [each["name"] for each in state["objects"]]
        if name in names:
            return state
        first = state["objects"][0] if names == [FIRST_OBJECT] else None
        if first is not None and not (first["points"] or first["brushed"] or first["boxes"] or state["runs"]):
            return self._do("rename_object", object=FIRST_OBJECT, name=name)
        return self._do("add_object", name=name)

    def _state(self) -> dict[str, Any]:
        return self.connection.get(self._path)

    def _do(self, kind: str, **fields: Any) -> dict[str, Any]:
        body = {"action": {"kind": kind, **fields}, "by": "3D Slicer"}
        return self.connection.post(f"{self._path}/actions", body)["project"]


def open_study(connection: Connection, volume: Volume, memory: Memory | None = None) -> Steps[Study]:
    """The study of a volume: the one remembered if it is still there, or else a new one, for which it is sent."""
    grid, digest = volume.grid, volume.digest
    connection.get("/health")  # the address and the token are right before anything large is sent
    if memory is not None and memory.address == connection.address and memory.is_about(volume, digest):
        try:
            check_grid(connection.get(f"/projects/{memory.project}"), grid)
            return Study(connection, grid, memory)
        except ServerError as error:
            if error.status != 404:
                raise
    yield Step("Sending the volume", 0.0)
    sending = connection.send(f"{clean_name(volume.name)}.nrrd", encode_nrrd(volume.array, grid))
    path = yield from _show(sending, "Sending the volume")
    yield Step("The server reads the volume")
    state = connection.post("/projects", {"input": path})
    check_grid(state, grid)
    return Study(connection, grid, Memory(connection.address, state["id"], digest, volume.ijk_to_ras.tolist()))


def _show(shares: Generator[float, None, T], text: str) -> Steps[T]:
    while True:
        try:
            share = next(shares)
        except StopIteration as stop:
            return stop.value
        yield Step(text, share)


def check_grid(state: dict[str, Any], grid: Grid) -> None:
    """Raise ServerError unless the server's frames are the grid's, so that no mask lies elsewhere than it should."""
    shape = (state["frames"], state["height"], state["width"])
    spacing_mm = state["spacing_mm"] or (0.0, 0.0, 0.0)
    if shape != grid.frames_shape or not np.allclose(spacing_mm, grid.spacing_mm, rtol=1e-4):
        raise ServerError(
            f"the server must cut the volume into frames of {grid.frames_shape}, {grid.spacing_mm} mm apart, "
            f"it has {shape}, {tuple(spacing_mm)} mm; use the module that came with the server's version"
        )


def paint(frame: np.ndarray, stretches: Iterable[Sequence[int]]) -> None:
    """Set the pixels of a (H, W) frame that lie in stretches of start and length, counted row by row."""
    flat = frame.reshape(-1)
    for start, length in stretches:
        flat[start : start + length] = 1


def is_negative(label: str) -> bool:
    """Whether a control point says where the object is not: its label ends in the word "negative".

    >>> [is_negative(label) for label in ("F-1", "F-2 negative", "Negative", "seronegative")]
    [False, True, True, False]
    """
    head, ending = label[: -len(NEGATIVE)], label[-len(NEGATIVE) :]
    return ending.lower() == NEGATIVE and (not head or head.endswith(tuple(JOINTS)))


def sort_points(name: str, points: Iterable[Point], negatives: Iterable[Point] = ()) -> Clicks:
    """Clicks on an object, of one list whose labels may say `negative`, and of another that has only negatives."""
    points = tuple(points)
    off = tuple(point for point in points if is_negative(point.label))
    return Clicks(name, tuple(point for point in points if point not in off), (*off, *negatives))


def clean_name(name: str) -> str:
    """A volume's name as a file may have it.

    >>> clean_name("3: CT Abdomen/Thorax"), clean_name("..")
    ('3 CT Abdomen Thorax', 'volume')
    """
    return " ".join(re.sub(r"[^A-Za-z0-9_-]+", " ", name).split())[:LONGEST_NAME].strip() or "volume"


def read_colour(text: str) -> tuple[float, float, float]:
    """
    >>> read_colour("#ff0033")
    (1.0, 0.0, 0.2)
    """
    red, green, blue = (value / 255 for value in bytes.fromhex(text[1:]))
    return red, green, blue


def word_run(run: dict[str, Any]) -> str:
    """How a run stands, in a few words.

    >>> word_run({"state": "waiting", "ahead": 2, "message": "", "phase": "", "seconds_left": None})
    'Waiting, 2 ahead'
    """
    if run["state"] == "waiting":
        return f"Waiting, {run['ahead']} ahead" if run["ahead"] else "Waiting"
    left = run["seconds_left"]
    words = run["message"] or run["phase"] or "Learning"
    return words if left is None else f"{words}, about {max(1, round(left))} s left"
