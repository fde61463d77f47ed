"""What begins by itself, and what does not: with a clock that a test moves, and runs that end when it says so."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from fewpoint.core.actions import AddObject, AddPoint, Brush, RecolourObject, RenameObject, SetFraction, Undo
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.projects import RunRecord
from fewpoint.web import following as following_module
from fewpoint.web.broadcast import Broadcast
from fewpoint.web.events import Answered, Refused
from fewpoint.web.following import FIRST_PAUSE_S, IDLE_S, LEFT_S, PAUSE_S, Following, take_news
from fewpoint.web.orders import live_folder, result_folder, shown_folder
from fewpoint.web.places import Root
from fewpoint.web.queueing import Asked
from fewpoint.web.results import find_present_masks, measure_uncertainty
from fewpoint.web.said import find_spoken_frames
from fewpoint.web.sessions import Session, Workspace
from fewpoint.web.shown import write_answer, write_view

FIRST, SECOND, THIRD = AddPoint("object", 0, 20, 20), AddPoint("object", 2, 21, 20), AddPoint("object", 4, 22, 20)


class Watched(Broadcast):
    """Somebody listens, unless they have left."""

    left = False

    @property
    def is_heard(self) -> bool:
        return not self.left


class Orders:
    """Stands for the process that answers."""

    made: ClassVar[list["Orders"]] = []

    def __init__(self, place, hear, lost, clip) -> None:
        self.hear, self.lost = hear, lost
        self.asked, self.closed = [], False
        self.made.append(self)

    def ask(self, order) -> None:
        self.asked.append(order)

    def close(self) -> None:
        self.closed = True


class Desk:
    """A project that a person works on, second by second."""

    def __init__(self, session: Session, workspace: Workspace) -> None:
        self.session, self.workspace, self.now = session, workspace, 0.0
        self.refusal: str | None = None
        self.following = Following(True, lambda: self.now)
        self.following._runs = self
        session.broadcast = Watched()
        self.following.watch(session)

    @property
    def process(self) -> Orders:
        return Orders.made[-1]

    @property
    def runs(self) -> list[tuple[str, int | None]]:
        """State and basis of each run."""
        return [(record.state, record.refined_from) for record in self.session.log.runs.values()]

    def restart(self) -> "Desk":
        """The same project on a server that was started anew."""
        path = Path(self.session.source.path)
        self.workspace.forget(self.session)
        return Desk(self.workspace.open_input(path), self.workspace)

    def resume(self, session: Session, number: int) -> None:
        """Go on with a run, as the queue does."""
        session.log.record_run(replace(session.find_run(number), state="running"))

    def pause(self, session: Session) -> None:
        """End what began by itself, as the queue does."""
        for record in session.log.runs.values():
            if record.by_itself and record.state == "running":
                session.log.record_run(replace(record, state="interrupted"))

    def add(self, session: Session, refine: bool, asked: Asked = Asked()) -> None:
        """Begin a run, as the queue does."""
        if self.refusal:
            raise InputError(self.refusal)
        number = len(session.log.runs) + 1
        basis = number - 1 if refine else None
        objects = tuple(each.id for each in session.project.clicked)
        version, by_itself = session.log.history.version, asked.by_itself
        session.log.record_run(RunRecord(number, version, objects, "running", basis, by_itself=by_itself))

    def end(self, state="finished") -> None:
        """The run that goes on comes to its end."""
        record = max(self.session.log.runs.values(), key=lambda record: record.id)
        folder = result_folder(self.session.runs_folder / str(record.id))
        folder.mkdir(parents=True, exist_ok=True)
        if state == "finished":
            (folder / "model.npz").touch()
        self.session.log.record_run(replace(record, state=state, best=state == "finished"))
        if state == "cancelled":
            self.following.rest(self.session)
        self.following.follow_up(self.session)

    def say(self, *actions) -> None:
        for action in actions:
            self.session.do(action)
            self.following.hear(self.session)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.following.look()

    def learn_first(self) -> None:
        self.say(FIRST, SECOND)
        self.wait(FIRST_PAUSE_S)
        self.end()


@pytest.fixture
def desk(root, monkeypatch) -> Iterator[Desk]:
    monkeypatch.setattr(following_module, "LiveProcess", Orders)
    monkeypatch.setattr(Orders, "made", [])
    workspace = Workspace(Root.of(root), root.parent / "kept")
    yield Desk(workspace.open_input(root / "frames"), workspace)
    workspace.close()


def test_the_first_run_begins_after_clicks_on_two_frames_and_three_seconds_without_another(desk):
    desk.say(FIRST)
    desk.wait(60)
    assert desk.runs == [] and not desk.session.live.due
    desk.say(AddPoint("object", 0, 30, 20))
    desk.wait(60)
    assert desk.runs == []
    desk.say(SECOND)
    assert desk.session.live.due
    desk.wait(FIRST_PAUSE_S - 0.5)
    desk.say(THIRD)
    desk.wait(FIRST_PAUSE_S - 0.5)
    assert desk.runs == []
    desk.wait(0.5)
    assert desk.runs == [("running", None)] and not desk.session.live.due


def test_only_so_many_projects_are_answered_at_once(desk, monkeypatch):
    monkeypatch.setattr(following_module, "MOST_AT_ONCE", 1)
    desk.following.turn(desk.session, False)
    desk.following.turn(desk.session, True)
    assert desk.session.live.state == "starting" and len(Orders.made) == 2
    monkeypatch.setattr(following_module, "MOST_AT_ONCE", 0)
    desk.following.turn(desk.session, False)
    desk.following.turn(desk.session, True)
    assert desk.session.live.state == "failed" and "try again later" in desk.session.live.message
    assert len(Orders.made) == 2


def test_a_refinement_begins_a_second_after_the_last_word(desk):
    desk.learn_first()
    desk.wait(60)
    assert desk.runs == [("finished", None)]
    desk.say(THIRD)
    desk.wait(PAUSE_S / 2)
    assert len(desk.runs) == 1
    desk.wait(PAUSE_S / 2)
    assert desk.runs == [("finished", None), ("running", 1)]


def test_what_is_said_during_a_run_is_learnt_after_it_and_stops_nothing(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.say(THIRD)
    desk.wait(60)
    assert desk.runs == [("running", None)]
    desk.end()
    desk.wait(0)
    assert desk.runs == [("finished", None), ("running", 1)]
    desk.end()
    desk.wait(60)
    assert desk.runs == [("finished", None), ("finished", 1)]


def test_nothing_begins_if_what_was_said_is_taken_back(desk):
    desk.learn_first()
    desk.say(THIRD, Undo())
    desk.wait(60)
    assert desk.runs == [("finished", None)]
    desk.say(THIRD)
    desk.wait(PAUSE_S)
    desk.end()
    desk.say(Undo())  # now it is news that it no longer holds
    desk.wait(PAUSE_S)
    assert desk.runs[-1] == ("running", 2)


def test_names_and_colours_are_not_learnt_from_but_a_bound_is(desk):
    desk.learn_first()
    asked = len(desk.process.asked)
    desk.say(RenameObject("object", "liver"), RecolourObject("liver", "#00ff00"))
    desk.wait(60)
    assert len(desk.runs) == 1 and len(desk.process.asked) == asked
    desk.say(SetFraction(0.2))
    desk.wait(PAUSE_S)
    assert len(desk.runs) == 2


def test_a_run_that_failed_or_was_stopped_is_not_begun_again_before_something_is_said(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.say(THIRD)
    desk.end("cancelled")
    desk.wait(60)
    assert desk.runs == [("cancelled", None)]
    desk.say(AddPoint("object", 5, 1, 1))
    desk.wait(FIRST_PAUSE_S)
    desk.end("failed")
    desk.wait(60)
    assert desk.runs == [("cancelled", None), ("failed", None)]


def test_a_run_begun_by_hand_leaves_nothing_to_begin_by_itself(desk):
    desk.say(FIRST, SECOND)
    desk.add(desk.session, refine=False)
    desk.following.note_run(desk.session)
    shown = desk.session.describe_live()
    assert not shown.due and shown.newer == []
    desk.end()
    desk.wait(60)
    assert desk.runs == [("finished", None)]


def test_a_run_that_cannot_begin_is_told_once(desk):
    desk.learn_first()
    desk.refusal = "b was called c"
    desk.say(THIRD)
    desk.wait(PAUSE_S)
    desk.wait(60)
    assert desk.session.live.message == "b was called c" and len(desk.runs) == 1


def test_turned_off_nothing_is_asked_and_nothing_begins(desk):
    desk.following.turn(desk.session, False)
    desk.say(FIRST, SECOND)
    desk.wait(60)
    assert desk.runs == [] and desk.process.closed and desk.process.asked == []
    assert desk.session.describe_live().state == "off"
    desk.following.turn(desk.session, True)
    assert len(desk.process.asked) == 1 and not desk.process.closed


def test_without_anybody_who_watches_nothing_begins_and_the_process_ends(desk):
    desk.session.broadcast.left = True
    desk.say(FIRST, SECOND)
    desk.wait(60)
    assert desk.runs == []
    desk.wait(IDLE_S)
    assert desk.process.closed
    desk.session.broadcast.left = False
    desk.following.watch(desk.session)
    desk.wait(0)
    assert desk.runs == [("running", None)] and not desk.process.closed


def test_what_was_marked_while_a_run_went_is_learnt_after_a_restart(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.say(THIRD)
    again = desk.restart()
    assert again.runs == [("interrupted", None)]
    again.wait(FIRST_PAUSE_S)
    assert again.runs == [("running", None)]
    again.end()
    again.wait(PAUSE_S)
    assert again.runs == [("finished", None), ("running", 1)]


def test_what_was_marked_after_a_run_is_learnt_after_a_restart(desk):
    desk.learn_first()
    desk.say(THIRD)
    again = desk.restart()
    again.wait(PAUSE_S)
    assert again.runs == [("finished", None), ("running", 1)]
    again.end()
    once_more = again.restart()
    once_more.wait(60)
    assert once_more.runs == [("finished", None), ("finished", 1)]


def test_a_run_that_a_person_goes_on_with_after_a_restart_is_followed_by_what_was_marked_since(desk):
    desk.say(FIRST, SECOND)
    desk.add(desk.session, refine=False)
    again = desk.restart()
    again.wait(60)
    assert again.runs == [("interrupted", None)]  # it is for the person to go on with
    again.resume(again.session, 1)
    again.say(THIRD)
    last = again.restart()
    last.resume(last.session, 1)
    last.end()
    last.wait(PAUSE_S)
    assert last.runs == [("finished", None), ("running", 1)]


def test_what_a_person_stopped_is_not_begun_again_by_a_restart(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.say(THIRD)
    desk.end("cancelled")
    again = desk.restart()
    again.wait(60)
    assert again.runs == [("cancelled", None)]
    again.say(AddPoint("object", 5, 1, 1))
    again.wait(FIRST_PAUSE_S)
    assert again.runs[-1] == ("running", None)


def test_live_mode_that_was_turned_off_is_off_after_a_restart(desk):
    desk.following.turn(desk.session, False)
    desk.say(FIRST, SECOND)
    again = desk.restart()
    again.wait(60)
    assert again.runs == [] and not again.session.live.on
    again.following.turn(again.session, True)
    again.wait(FIRST_PAUSE_S)
    assert again.runs == [("running", None)]  # what was marked meanwhile is due


def test_a_run_that_began_by_itself_ends_with_live_mode_and_goes_on_with_it(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.following.turn(desk.session, False)
    desk.wait(60)
    assert desk.runs == [("interrupted", None)]
    desk.following.turn(desk.session, True)
    desk.wait(0)
    assert desk.runs == [("running", None)]


def test_a_run_that_began_by_itself_ends_with_the_last_page_but_not_while_it_is_read_again(desk):
    desk.say(FIRST, SECOND)
    desk.wait(FIRST_PAUSE_S)
    desk.session.broadcast.left = True
    desk.wait(0)
    desk.wait(LEFT_S / 2)
    assert desk.runs == [("running", None)]
    desk.wait(LEFT_S)
    assert desk.runs == [("interrupted", None)]
    desk.session.broadcast.left = False
    desk.following.watch(desk.session)
    desk.wait(0)
    assert desk.runs == [("running", None)]


def test_a_run_that_a_person_began_goes_on_without_live_mode_and_without_a_page(desk):
    desk.say(FIRST, SECOND)
    desk.add(desk.session, refine=False)
    desk.following.turn(desk.session, False)
    desk.session.broadcast.left = True
    desk.wait(0)
    desk.wait(10 * LEFT_S)
    assert desk.runs == [("running", None)]


def test_every_word_is_asked_about_at_once_and_again_when_a_run_has_finished(desk):
    desk.say(FIRST, SECOND)
    assert [order.run for order in desk.process.asked] == [None, None]
    desk.wait(FIRST_PAUSE_S)
    desk.say(THIRD)
    desk.end()
    last = desk.process.asked[-1]
    assert last.run == str(result_folder(desk.session.runs_folder / "1"))
    assert len(last.points.rows) == 3 and last.number == len(desk.process.asked)


def test_masks_are_asked_for_of_those_objects_only_about_which_something_was_said(desk):
    desk.say(FIRST, SECOND, AddObject("other"), AddPoint("other", 1, 40, 5))
    desk.wait(FIRST_PAUSE_S)
    desk.end()
    assert desk.process.asked[-1].objects == {}
    desk.say(AddPoint("other", 3, 41, 5))
    other = desk.session.project.find("other").id
    assert desk.process.asked[-1].objects == {"other": other}
    desk.process.hear(Answered(number=9, version=6, objects=[other], rough=False, seconds=0.1))
    assert desk.session.describe_live().objects == ["other"]
    desk.say(Undo())
    assert desk.session.describe_live().objects == []


def test_an_outlined_frame_is_a_word_and_is_shown_as_drawn_before_any_run(desk):
    mask = np.zeros((48, 40), bool)
    mask[3:9, 4:7] = True
    desk.say(Brush("object", 3, encode_mask(mask)))
    assert np.array_equal(find_present_masks(desk.session, desk.session.project.objects[0]).cut(0, 3), mask)
    assert not find_present_masks(desk.session, desk.session.project.objects[0]).cut(0, 2).any()
    desk.say(FIRST)
    assert desk.process.asked[-1].words["object"].outlined == {3: encode_mask(mask)}
    desk.wait(FIRST_PAUSE_S)
    assert desk.runs == [("running", None)]


def test_masks_of_an_object_that_the_last_run_did_not_have_are_rough(desk):
    desk.learn_first()
    desk.say(THIRD, AddObject("late"), AddPoint("late", 1, 40, 5))
    number = desk.session.project.find("late").id
    take_news(desk.session, Answered(number=1, version=5, objects=[0, number], rough=False, seconds=0.1))
    shown = desk.session.describe_live()
    assert (shown.objects, shown.rough) == (["object", "late"], ["late"])


def test_an_order_that_was_refused_is_told_and_the_masks_before_it_stay(desk):
    desk.say(FIRST)
    take_news(desk.session, Answered(number=1, version=1, objects=[0], rough=True, seconds=0.1))
    take_news(desk.session, Refused(number=2, error="too much"))
    shown = desk.session.describe_live()
    assert (shown.message, shown.objects, shown.number) == ("too much", ["object"], 1)


def test_the_frame_that_a_person_looks_at_is_asked_for_first_until_they_look_at_another(desk):
    desk.say(FIRST)
    assert desk.process.asked[-1].view is None
    desk.session.do(SECOND)
    desk.following.hear(desk.session, view=3)
    desk.following.try_out(desk.session, desk.session.project)
    assert [order.view for order in desk.process.asked[-2:]] == [3, 3]
    desk.following.try_out(desk.session, desk.session.project, view=5)
    assert desk.process.asked[-1].view == 5
    desk.following.try_out(desk.session, desk.session.project, view=10**6)  # there is none
    assert desk.process.asked[-1].view == 5


def test_a_frame_that_is_answered_before_all_is_shown_among_the_masks_before(desk):
    desk.say(FIRST)
    session, (target,) = desk.session, desk.session.project.objects
    folder, shape = shown_folder(live_folder(session.runs_folder), target.id), session.project.shape
    old, new = np.zeros(shape, bool), np.zeros(shape, bool)
    old[:, :5], new[:, 5:9] = True, True
    write_answer(old, folder)
    take_news(session, Answered(number=1, version=1, objects=[0], rough=True, seconds=0.1))
    write_view(new[2], folder, 2)
    take_news(session, Answered(number=2, version=2, objects=[0], rough=True, seconds=0.1, partly=True, view=2))
    live = session.describe_live()
    assert (live.state, live.number, live.version, live.partly) == ("ready", 1, 1, False)
    assert live.view is not None
    told = live.view.model_dump(exclude={"stamp"})
    assert told == {"frame": 2, "number": 2, "objects": ["object"], "rough": ["object"]}
    expected = old.copy()
    expected[2] = new[2]
    np.testing.assert_array_equal(find_present_masks(session, target).whole(), expected)
    write_answer(new, folder)
    take_news(session, Answered(number=2, version=2, objects=[0], rough=True, seconds=0.1))
    assert session.describe_live().view is None
    np.testing.assert_array_equal(find_present_masks(session, target).whole(), new)


def test_the_first_frame_answered_since_a_run_is_shown_among_the_masks_of_the_run(desk):
    desk.learn_first()
    session, (target,) = desk.session, desk.session.project.objects
    shape = session.project.shape
    old, new = np.zeros(shape, bool), np.ones(shape[1:], bool)
    old[:, :5] = True
    write_answer(old, shown_folder(session.runs_folder / "1", target.id))
    desk.say(THIRD)
    write_view(new, shown_folder(live_folder(session.runs_folder), target.id), 1)
    take_news(session, Answered(number=2, version=4, objects=[0], rough=False, seconds=0.1, partly=True, view=1))
    masks = find_present_masks(session, target).whole()
    assert masks[1].all() and np.array_equal(np.delete(masks, 1, 0), np.delete(old, 1, 0))
    view = session.describe_live().view
    assert view is not None and view.rough == []
    desk.following.turn(session, False)
    assert session.describe_live().view is None
    np.testing.assert_array_equal(find_present_masks(session, target).whole(), old)


def test_frames_with_a_word_since_the_run_are_not_worth_a_look(desk):
    desk.learn_first()
    folder = desk.session.runs_folder / "1" / "shown-0"
    folder.mkdir()
    (folder / "uncertainty.json").write_text('{"frames": [0.1, 0.2, 0.9, 0.3, 0.8, 0.4]}')
    assert measure_uncertainty(desk.session, 1).next == 2
    then = desk.session.project
    desk.say(AddPoint("object", 2, 1, 1, positive=False), THIRD)
    assert find_spoken_frames(desk.session.project, then) == {2, 4}
    doubts = measure_uncertainty(desk.session, 1)
    assert doubts.frames == [0.1, 0.2, 0, 0.3, 0, 0.4] and doubts.next == 5


def test_of_several_projects_that_were_left_only_the_last_keeps_its_process(desk, root):
    workspace = Workspace(Root.of(root), root.parent / "kept")
    processes = [desk.process]
    desk.session.broadcast.left = True
    for name in ("second", "third", "fourth"):
        shutil.copytree(root / "frames", root / name)
        session = workspace.open_input(root / name)
        session.broadcast = Watched()
        desk.now += 1
        desk.following.watch(session)
        session.broadcast.left = True
        processes.append(desk.process)
    # The first and second were ended when the third and fourth were looked at; the third is kept, the fourth is new.
    assert [process.closed for process in processes] == [True, True, False, False]
    workspace.close()
