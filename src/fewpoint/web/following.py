"""What happens by itself when something is said: masks at once, then learning in the background.

Only while somebody watches a project: a script that clicks starts its runs itself.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from fewpoint.core.job import PlainPoints
from fewpoint.core.project import Project
from fewpoint.errors import FewpointError
from fewpoint.io.projects import ENDED
from fewpoint.web.events import Answered, LiveNews, Prepared
from fewpoint.web.live import LiveProcess, Place
from fewpoint.web.orders import LiveOrder, live_folder, result_folder
from fewpoint.web.queueing import Asked, find_finished, find_stopped
from fewpoint.web.said import count_shown_frames, find_last_place, find_spoken_of, is_news
from fewpoint.web.sessions import AnsweredView, Session

PAUSE_S = 1.0  # without a word, before a refinement
FIRST_PAUSE_S = 3.0  # before the first run
FIRST_FRAMES = 2  # on which somebody must have shown an object by then
LEFT_S = 10.0  # after the last who watched has left, before what began by itself is ended
IDLE_S = 120.0  # after the last who watched has left, before what answers at once is ended
MOST_AT_ONCE = 16  # projects that are answered at once, each by a process
MOST_IDLE = 1  # that are kept for somebody who may come back: each holds its images in memory
TICK_S = 0.2

Step = Literal["run", "refine", "resume", "wait", "nothing"]


class Runs(Protocol):
    """Where runs are begun: web.queueing.RunQueue."""

    def add(self, session: Session, refine: bool, asked: Asked = Asked()) -> object: ...

    def resume(self, session: Session, number: int) -> object: ...

    def pause(self, session: Session) -> None: ...


class Process(Protocol):
    """What answers at once: web.live.LiveProcess."""

    def ask(self, order: LiveOrder) -> None: ...

    def close(self) -> None: ...


@dataclass(eq=False)
class Followed:
    """A project that somebody watches. said: its state when something was last said, at the time said_at; None once it
    is known that nothing is due. left_at: when the last who watched was seen. frame: the one last spoken of. view: the
    one that whoever spoke last looks at, None if that is not known."""

    session: Session
    said: Project
    said_at: float | None = None
    left_at: float = 0.0
    process: Process | None = None
    number: int = 0
    frame: int = 0
    view: int | None = None

    def look_at(self, view: int | None) -> None:
        """Note the frame that somebody who speaks looks at, if that is known."""
        if view is not None and view < self.session.project.shape[0]:
            self.view = view


class Following:
    """All projects that are watched. Whoever holds several locks has taken this one's first, then the queue's, then the
    session's."""

    def __init__(self, on: bool, clock: Callable[[], float] = time.monotonic, features: str = "") -> None:
        """features: a pretrained model whose features masks at once are made of, "" for none."""
        self._on, self._clock, self._features = on, clock, features
        self._runs: Runs | None = None
        self._followed: dict[str, Followed] = {}
        self._closed = False
        self._changed = threading.Condition(threading.RLock())
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self, runs: Runs) -> None:
        self._runs = runs
        self._thread.start()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for followed in self._followed.values():
                _end(followed)
            self._changed.notify_all()

    def watch(self, session: Session) -> None:
        """Somebody looks at a project: get ready to answer."""
        with self._changed:
            followed = self._followed.get(session.id)
            if followed is None:
                followed = self._followed[session.id] = Followed(session, session.project)
                if self._on if session.log.live.on is None else session.log.live.on:
                    session.change_live(on=True)
            followed.left_at = self._clock()
            if followed.said_at is None:  # what is due follows from the log
                followed.said_at = self._clock()
            if session.live.on:
                self._prepare(followed)
                self._show_due(followed)
            self._changed.notify_all()

    def turn(self, session: Session, on: bool) -> None:
        """Let masks follow what is said about a project, or no longer."""
        self.watch(session)
        with self._changed:
            followed = self._followed[session.id]
            if session.live.on == on and session.live.state != "failed":
                return
            _end(followed)
            followed.said_at = self._clock()
            with session.lock:
                session.log.record_live(replace(session.log.live, on=on))
                session.end_answers(on=on, state="off", due=False, message="")
            if on:
                self._prepare(followed)
                self._show_due(followed)
            elif self._runs is not None:
                self._runs.pause(session)
            self._changed.notify_all()

    def leave(self, session: Session) -> None:
        """A project is about to be closed: end what answers at once."""
        with self._changed:
            followed = self._followed.pop(session.id, None)
            if followed is not None:
                _end(followed)

    def hear(self, session: Session, view: int | None = None) -> int:
        """Something may have been said; returns the number of the order whose masks know it.

        view: the frame that the person looks at, which is answered first.
        """
        with self._changed:
            followed = self._followed.get(session.id)
            if followed is None or not session.live.on:
                return 0
            project = session.project
            if not is_news(project, followed.said) and not is_news(followed.said, project):
                return followed.number
            followed.frame = find_last_place(project, followed.said)
            followed.look_at(view)
            followed.said, followed.said_at = project, self._clock()
            self._ask(followed, project)
            self._show_due(followed)
            self._changed.notify_all()
            return followed.number

    def note_run(self, session: Session) -> None:
        """A person has begun a run: what is left to learn after it is another matter now."""
        with self._changed:
            followed = self._followed.get(session.id)
            if followed is not None and session.live.on:
                session.change_live(due=_is_due(followed))

    def follow_up(self, session: Session) -> None:
        """A run has ended: answer from it, and learn what was said since."""
        with self._changed:
            followed = self._followed.get(session.id)
            if followed is None or not session.live.on:
                return
            if followed.said_at is None:
                followed.said_at = self._clock() - FIRST_PAUSE_S
            self._show_due(followed)
            self._ask(followed, session.project)
            self._changed.notify_all()

    def rest(self, session: Session) -> None:
        """A person has stopped a run: none begins by itself before something else is said."""
        with self._changed:
            with session.lock:
                session.log.record_live(replace(session.log.live, stopped=session.log.history.version))
            followed = self._followed.get(session.id)
            if followed is not None:
                self._show_due(followed)

    def try_out(self, session: Session, project: Project, view: int | None = None) -> None:
        """Answer as if the project were another one, which has not been said yet. view: see hear."""
        with self._changed:
            followed = self._followed.get(session.id)
            if followed is not None and session.live.on:
                session.change_live(tried=find_spoken_of(project, session.project))
                followed.look_at(view)
                self._ask(followed, project)

    def look(self) -> None:
        """Begin what is due, and end what nobody needs."""
        with self._changed:
            for followed in self._followed.values():
                self._learn(followed)
                self._end_if_idle(followed)

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                busy = any(map(_is_busy, self._followed.values()))
                self._changed.wait(TICK_S if busy else None)
            self.look()

    def _learn(self, followed: Followed) -> None:
        session = followed.session
        can_begin = session.live.on and session.broadcast.is_heard
        if followed.said_at is None or self._runs is None or not can_begin:
            return
        step = choose_step(session, self._clock() - followed.said_at)
        if step == "wait":
            return
        followed.said_at = None
        message = ""
        if step != "nothing":
            try:
                self._begin(session, step)
            except FewpointError as error:
                message = " ".join(str(error).split())
        if step != "nothing" or session.live.due:
            session.change_live(due=False, message=message)

    def _begin(self, session: Session, step: Step) -> None:
        if self._runs is None:
            return
        if step == "resume":
            with suppress(FewpointError):  # it cannot go on, as if an object of it is gone: another one begins
                self._runs.resume(session, max(session.log.runs))
                return
            step = "refine" if find_finished(session) is not None else "run"
        self._runs.add(session, step == "refine", Asked(by_itself=True))

    def _end_if_idle(self, followed: Followed) -> None:
        now = self._clock()
        if followed.session.broadcast.is_heard:
            followed.left_at = now
            return
        if self._runs is not None and now - followed.left_at > LEFT_S:
            self._runs.pause(followed.session)
        if followed.process is not None and now - followed.left_at > IDLE_S:
            _end(followed)
            followed.session.end_answers(state="off")

    def _end_oldest(self) -> None:
        """End what nobody watches any more, but for those left last."""
        idle = [
            each for each in self._followed.values() if each.process is not None and not each.session.broadcast.is_heard
        ]
        for followed in sorted(idle, key=lambda each: each.left_at, reverse=True)[MOST_IDLE:]:
            _end(followed)
            followed.session.end_answers(state="off")

    def _prepare(self, followed: Followed) -> None:
        """Start what answers, if it is not there, and have it answer to what has been said already."""
        if followed.process is not None:
            return
        self._end_oldest()
        session = followed.session
        if sum(each.process is not None for each in self._followed.values()) >= MOST_AT_ONCE:
            reason = f"{MOST_AT_ONCE} projects have a live preview already; try again later, or press Run"
            session.end_answers(state="failed", message=reason)
            return

        def lost(reason: str) -> None:
            session.end_answers(state="failed", message=reason)

        place = Place(session.source.path, live_folder(session.runs_folder), self._features)
        followed.process = LiveProcess(place, lambda news: take_news(session, news), lost, session.cut_clip)
        session.change_live(state="starting", message="")
        followed.said, followed.frame = session.project, find_last_place(session.project, session.project)
        if not session.live.answered or session.live.partly or session.live.version != session.log.history.version:
            self._ask(followed, session.project)

    def _ask(self, followed: Followed, project: Project) -> None:
        if followed.process is None or not project.clicked:
            return
        followed.number += 1
        try:
            order = make_order(followed.session, project, followed.number)
            order = replace(order, frame=followed.frame, view=followed.view)
        except FewpointError as error:
            followed.session.change_live(message=" ".join(str(error).split()), refused=followed.number)
            return
        followed.process.ask(order)

    def _show_due(self, followed: Followed) -> None:
        if _is_due(followed) != followed.session.live.due:
            followed.session.change_live(due=_is_due(followed))


def choose_step(session: Session, quiet_s: float) -> Step:
    """What to begin by itself now. quiet_s: seconds since the last word."""
    with session.lock:
        if any(record.state not in ENDED for record in session.log.runs.values()):
            return "wait"
        step = choose_next(session)
    pause_s = {"run": FIRST_PAUSE_S, "refine": PAUSE_S}.get(step, 0.0)
    return step if quiet_s >= pause_s else "wait"


def choose_next(session: Session) -> Step:
    """What to begin once no run goes on, from the log alone: nothing if the last one, whatever became of it, knows all
    that was said, or if a person has stopped one since; one that was interrupted goes on first."""
    with session.lock:
        project, runs, stopped = session.project, session.log.runs, session.log.live.stopped
        last = runs[max(runs)] if runs else None
        finished = find_finished(session)
        known = [each.version for each in (last, finished) if each is not None] + ([stopped] if stopped else [])
        is_known = any(not is_news(project, session.project_at(version)) for version in known)
        if last is not None and last.state == "interrupted" and (last.by_itself or not is_known):
            return "resume"
        if not project.clicked or is_known:
            return "nothing"
        if finished is not None:
            return "refine"
        return "run" if count_shown_frames(project) >= min(FIRST_FRAMES, project.shape[0]) else "nothing"


def make_order(session: Session, project: Project, number: int) -> LiveOrder:
    """What is asked for: masks of the objects about which something was said since the run whose masks are shown."""
    with session.lock:
        finished = find_finished(session)
        spoken = find_spoken_of(project, session.find_told())
        return LiveOrder(
            number=number,
            version=session.log.history.version,
            run=None if finished is None else str(result_folder(session.runs_folder / str(finished.id))),
            points=PlainPoints.of(project.to_points()),
            words={each.name: project.words_of(each.name) for each in project.clicked},
            objects={each.name: each.id for each in project.clicked if each.id in spoken},
            stopped=None if (stopped := find_stopped(session)) is None else str(session.runs_folder / str(stopped.id)),
        )


def take_news(session: Session, news: LiveNews) -> None:
    """Tell those who watch a project what its process says."""
    if isinstance(news, Prepared):
        session.change_live(state="ready")
    elif isinstance(news, Answered):
        answered, stopped = frozenset(news.objects), find_stopped(session)
        known = stopped or (None if news.rough else find_finished(session))
        learnt = frozenset() if known is None else frozenset(known.objects)
        if news.view is not None:
            view = AnsweredView(news.view, news.number, answered, answered - learnt)
            session.change_live(state="ready", view=view, message=news.note)
            return
        session.change_live(
            state="starting" if news.partly else "ready",
            number=news.number,
            version=news.version,
            answered=answered,
            rough=answered - learnt,
            partly=news.partly,
            seconds=news.seconds,
            view=None,
            message=news.note,
        )
        with suppress(FewpointError):  # then it is answered anew after the next start
            session.keep_standing()
    else:
        session.change_live(message=news.error, refused=news.number)


def _is_due(followed: Followed) -> bool:
    """Whether a run will begin by itself."""
    return followed.session.live.on and choose_next(followed.session) in ("run", "refine", "resume")


def _is_busy(followed: Followed) -> bool:
    """Whether anything may have to be begun or ended."""
    goes_on = any(record.state not in ENDED for record in followed.session.log.runs.values())
    return followed.said_at is not None or followed.process is not None or goes_on


def _end(followed: Followed) -> None:
    if followed.process is not None:
        followed.process.close()
        followed.process = None
