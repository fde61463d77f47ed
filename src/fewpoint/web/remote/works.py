"""One image of a client: a project with one object, of which the client hears masks."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from fewpoint.core.actions import Action, AddObject, RemoveObject, SetSettings, Undo
from fewpoint.core.project import NamedObject, Project
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.projects import ENDED
from fewpoint.web.faults import GoneError, UnansweredError
from fewpoint.web.following import Following
from fewpoint.web.queueing import RunQueue
from fewpoint.web.remote.grid import Grid
from fewpoint.web.results import find_present_masks
from fewpoint.web.sessions import Session
from fewpoint.web.worklist import delete_run

ANSWER_S = 50.0  # within which a client hears a mask or why there is none; it waits for 60
READY_S = 120.0  # that an image may be prepared before the client goes on; it waits for 600
Bounds = list[list[int]]  # first and after the last along each of the client's axes
Plan = Callable[[Project, NamedObject], list[Action]]


@dataclass(frozen=True)
class Answer:
    """A part of the client's mask. bounds: where it lies, None if nothing was ever marked. part: uint8."""

    bounds: Bounds | None
    part: np.ndarray


class Work:
    """What is said about an image, and masks in answer. Used by one thread at a time."""

    def __init__(self, session: Session, following: Following, queue: RunQueue, preset: str) -> None:
        if session.sequence.geometry is None:
            raise InputError("an image needs a spacing; send it")
        self.session, self.grid = session, Grid.of(session.sequence.geometry)
        self._following, self._queue = following, queue
        self._news = threading.Event()
        self._stopped = False
        self._steps: list[int] = []  # how many actions each thing marked became
        self._reach: Bounds | None = None
        if preset != session.project.preset:
            session.do(SetSettings(preset))
        self._hang_up = session.broadcast.subscribe(lambda event: self._news.set())
        following.turn(session, True)

    @property
    def target(self) -> NamedObject:
        """The object that is being annotated."""
        return self.session.project.objects[0]

    def get_ready(self) -> None:
        """Wait until clicks are answered at once: clients show that they wait for an image, but not for a click."""
        self._wait(time.monotonic() + READY_S, lambda: self.session.live.state in ("ready", "failed"))

    def say(self, plan: Plan) -> None:
        """Say what a plan makes of something marked."""
        with self.session.lock:
            actions = plan(self.session.project, self.target)
            for done, action in enumerate(actions):
                try:
                    self.session.do(action)
                except FewpointError:
                    self._take_back(done)
                    raise
        self._steps.append(len(actions))
        self._following.hear(self.session)

    def undo(self) -> bool:
        """Take back what was marked last; returns whether there was anything."""
        if not self._steps:
            return False
        self._take_back(self._steps.pop())
        self._following.hear(self.session)
        return True

    def reset(self) -> None:
        """Begin with another object; nothing of the last one is kept."""
        session, old = self.session, self.target
        self._steps, self._reach = [], None
        if not (old.points or old.boxes or old.brushed):
            return
        with session.lock:
            session.do(AddObject(f"object {session.log.history.version}"))
            session.do(RemoveObject(old.name))
        self._queue.abandon(session)
        with session.lock:
            over = [number for number, run in session.log.runs.items() if run.state in ENDED and number > session.past]
            session.past = max(session.log.runs, default=0)
        for number in over:
            with suppress(FewpointError):
                delete_run(session, number)
        self._following.hear(session)

    def take_buffer(self, mask: np.ndarray) -> None:
        """The client's own mask is this now, in its axes."""
        self._reach = join_bounds(self._reach, find_bounds(mask))

    def answer(self, learn: bool = False) -> Answer:
        """The mask as it is now, wherever it ever was something; learn: wait for what is being learnt."""
        if self._is_clicked:
            self._wait_for_masks(time.monotonic() + ANSWER_S, learn)
        mask = self._find_mask()
        self._reach = join_bounds(self._reach, find_bounds(mask))
        if self._reach is None:
            return Answer(None, np.zeros((0, 0, 0), np.uint8))
        part = mask[tuple(slice(low, high) for low, high in self._reach)]
        return Answer([list(side) for side in self._reach], part.astype(np.uint8))

    def stop(self) -> None:
        """Let whoever waits for a mask go without."""
        self._stopped = True
        self._news.set()

    def close(self) -> None:
        """End all that works for this image."""
        self._hang_up()
        self._following.leave(self.session)
        self._queue.abandon(self.session)

    @property
    def _is_clicked(self) -> bool:
        return bool(self.session.project.clicked)

    def _take_back(self, steps: int) -> None:
        for _ in range(steps):
            self.session.do(Undo())

    def _find_mask(self) -> np.ndarray:
        """In the client's axes."""
        if not self._is_clicked:
            return np.zeros(self.grid.shape, bool)
        return self.grid.from_frames(find_present_masks(self.session, self.target).whole())

    def _wait_for_masks(self, deadline: float, learn: bool) -> None:
        self._following.turn(self.session, True)  # begins anew what has failed
        order = self._following.hear(self.session)
        self._wait(deadline, lambda: self._has_answered(order))
        if self.session.live.number < order:
            raise UnansweredError(f"no mask was found within {ANSWER_S:.0f} s; ask again, or send a smaller image")
        if learn:
            self._wait(deadline, self._has_learnt)

    def _wait(self, deadline: float, is_done: Callable[[], bool]) -> None:
        """Wait until something is the case, as long as there is time."""
        while True:
            self._news.clear()
            if self._stopped:
                raise GoneError("the session was ended meanwhile; connect again")
            if is_done() or (left := deadline - time.monotonic()) <= 0:
                return
            self._news.wait(min(left, 1.0))

    def _has_answered(self, order: int) -> bool:
        live = self.session.live
        if live.state == "failed" or live.refused >= max(1, order):
            raise UnansweredError(live.message or "the live preview has ended; try again")
        return live.number >= order and not live.partly

    def _has_learnt(self) -> bool:
        session = self.session
        return not session.live.due and all(run.state in ENDED for run in session.log.runs.values())


def find_bounds(mask: np.ndarray) -> Bounds | None:
    """The smallest box round a mask, None if it is empty.

    >>> find_bounds(np.array([[[0, 1, 1, 0]]], bool))
    [[0, 1], [0, 1], [1, 3]]
    """
    found = []
    for axis in range(3):
        marked = np.flatnonzero(mask.any(axis=tuple({0, 1, 2} - {axis})))
        if not len(marked):
            return None
        found.append([int(marked[0]), int(marked[-1]) + 1])
    return found


def join_bounds(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """The smallest box round two."""
    if one is None or other is None:
        return one or other
    return [[min(a[0], b[0]), max(a[1], b[1])] for a, b in zip(one, other, strict=True)]
