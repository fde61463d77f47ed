"""Masks that were answered live are results: kept, exported, chosen, and there after a restart."""

import numpy as np
import pytest

from fewpoint.core.actions import AddObject, AddPoint, Brush
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.masks import read_masks
from fewpoint.io.projects import RunRecord
from fewpoint.web import messages
from fewpoint.web.events import Answered
from fewpoint.web.exporting import export_masks
from fewpoint.web.following import take_news
from fewpoint.web.keeping import keep_answers, keep_view
from fewpoint.web.orders import live_folder, shown_folder
from fewpoint.web.places import Root
from fewpoint.web.results import find_present_masks
from fewpoint.web.sessions import Session, Workspace
from fewpoint.web.shown import write_answer
from fewpoint.web.view import choose_view

SHAPE = (6, 48, 40)


@pytest.fixture
def workspace(root):
    workspace = Workspace(Root.of(root), root.parent / "kept")
    yield workspace
    workspace.close()


@pytest.fixture
def session(workspace, root) -> Session:
    session = workspace.open_input(root / "frames")
    session.do(AddPoint("object", 0, 20, 20))
    return session


def make_masks(first_row: int) -> np.ndarray:
    masks = np.zeros(SHAPE, bool)
    masks[:, first_row : first_row + 10, 5:15] = True
    return masks


def answer(session: Session, masks: np.ndarray, number: int = 1, objects: tuple[int, ...] = (0,)) -> None:
    """What answers live leaves these masks of each object."""
    for target in objects:
        write_answer(masks, shown_folder(live_folder(session.runs_folder), target))
    version = session.log.history.version
    take_news(session, Answered(number=number, version=version, objects=list(objects), rough=True, seconds=0.1))


def finish_run(session: Session, masks: np.ndarray) -> RunRecord:
    number = max(session.log.results, default=0) + 1
    write_answer(masks, shown_folder(session.runs_folder / str(number), 0))
    record = RunRecord(number, session.log.history.version, (0,), "finished", best=True)
    session.log.record_run(record)
    return record


def find_shown(session: Session) -> np.ndarray:
    return find_present_masks(session, session.project.objects[0]).whole()


def test_what_was_answered_is_exported_before_anything_is_learnt(session):
    masks = make_masks(3)
    answer(session, masks)
    written = export_masks(session, keep_view(session), messages.ExportRequest(format="tiff"))
    assert np.array_equal(read_masks(f"{written.path}/{written.files[0]}"), masks)


def test_an_answer_of_later_words_is_exported_in_the_place_of_what_was_learnt(session):
    finish_run(session, make_masks(3))
    assert keep_view(session).id == 1
    session.do(AddPoint("object", 2, 30, 20))
    answer(session, make_masks(20))
    kept = keep_view(session)
    assert kept.id == 2 and list(session.log.runs) == [1] and session.describe().answers[0].id == 2
    written = export_masks(session, kept, messages.ExportRequest(format="tiff"))
    assert np.array_equal(read_masks(f"{written.path}/{written.files[0]}"), make_masks(20))


def test_the_same_masks_are_kept_once(session):
    answer(session, make_masks(3))
    assert keep_view(session).id == keep_view(session).id
    session.do(AddPoint("object", 2, 30, 20))
    answer(session, make_masks(4), number=2)
    assert [keep_view(session).id, len(session.log.answers)] == [2, 2]


def test_no_pixel_is_in_two_masks_that_are_kept_and_what_was_drawn_stays(session):
    answer(session, make_masks(3))
    session.do(AddObject("other"))
    session.do(AddPoint("other", 1, 40, 5))
    drawn = np.zeros(SHAPE[1:], bool)
    drawn[5:8, :10] = True
    session.do(Brush("other", 2, encode_mask(drawn)))
    other = session.project.find("other").id
    answer(session, make_masks(8), 2, (other,))
    answer(session, make_masks(3), 3, (0, other))
    kept = keep_view(session)
    session.choose_run(kept.id)
    one, two = (find_present_masks(session, each).whole() for each in session.project.objects)
    assert not (one & two).any() and np.array_equal(two[2], drawn)


def test_after_a_restart_the_masks_that_were_answered_are_shown_and_exported(workspace, session, root):
    answer(session, make_masks(3))
    workspace.forget(session)
    again = workspace.open_input(root / "frames")
    assert not again.live.on and np.array_equal(find_shown(again), make_masks(3))
    written = export_masks(again, keep_view(again), messages.ExportRequest(format="tiff"))
    assert np.array_equal(read_masks(f"{written.path}/{written.files[0]}"), make_masks(3))


def test_the_same_count_after_a_restart_is_not_taken_for_the_same_masks(workspace, session, root):
    answer(session, make_masks(3))
    before = session.describe_live().shown["object"].stamp
    workspace.forget(session)
    again = workspace.open_input(root / "frames")
    answer(again, make_masks(9))
    assert again.live.number == 1 and again.describe_live().shown["object"].stamp != before


def test_masks_that_a_run_takes_the_place_of_are_kept_and_can_be_shown_again(session):
    answer(session, make_masks(3))
    keep_answers(session)
    finish_run(session, make_masks(20))
    assert np.array_equal(find_shown(session), make_masks(20))
    (kept,) = session.log.answers
    session.choose_run(kept)
    assert np.array_equal(find_shown(session), make_masks(3))
    assert keep_view(session).id == kept


def test_of_masks_that_nobody_asked_for_the_last_are_kept(session):
    for number in range(1, 4):
        answer(session, make_masks(number), number)
        keep_answers(session)
        session.do(AddPoint("object", number, 30, 20))
    assert [record.best for record in session.log.answers.values()] == [False, False, True]
    answer(session, make_masks(9), 4)
    exported = keep_view(session)
    export_masks(session, exported, messages.ExportRequest(format="tiff"))
    session.do(AddPoint("object", 5, 30, 20))
    answer(session, make_masks(10), 5)
    keep_answers(session)
    assert [record.id for record in session.log.answers.values() if record.best] == [exported.id, exported.id + 1]
    assert not (session.runs_folder / "3").exists()


def test_without_a_mask_there_is_nothing_to_keep(workspace, root):
    session = workspace.open_input(root / "frames")
    with pytest.raises(InputError, match="no masks yet"):
        keep_view(session)


def test_the_masks_answered_stay_when_live_mode_is_left_until_a_run_has_others(session):
    answer(session, make_masks(3))
    session.end_answers(on=False, state="off")
    assert np.array_equal(find_shown(session), make_masks(3))
    session.do(AddPoint("object", 2, 30, 20))
    assert np.array_equal(find_shown(session), make_masks(3))
    finish_run(session, make_masks(20))
    session.do(AddPoint("object", 3, 30, 20))
    assert np.array_equal(find_shown(session), make_masks(20))
    assert {each.result for each in choose_view(session).values()} == {1}
