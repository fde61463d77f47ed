"""The part of the frames that a run works on: what goes in, what comes out, and what is told meanwhile."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dicom_series import save_series
from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    ImageSequence,
    Message,
    ObjectResult,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    SuperpixelMap,
    SuperpixelsReady,
    Words,
    ignore,
)
from fewpoint.core.settings import override_from_text
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.focus import LARGEST_BOUND, Focus
from fewpoint.pipeline.model import GroupModel, Model
from fewpoint.pipeline.previous import PreviousGroup, PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as run_module
from fewpoint.runs.runner import run_task
from tiny_runs import TINY

FOCUS = Focus((10, 20), 2, 7, 5, 15)  # a quarter of the frame: 5 x 10 of 10 x 20
WHOLE = Focus((10, 20), 0, 10, 0, 20)
BOUND = AreaBound(0.1)
RECORD = EpochRecord(1, "warm-up", 0.5, 0.2, 0.3, 0.1, 0.9, 0.4, 0.01, 0.8)


def make_task() -> Task:
    frames = np.arange(3 * 10 * 20 * 2, dtype=np.uint16).reshape(3, 10, 20, 2)
    points = PointSet.from_rows([(0, 4, 6), (1, 5, 12)], absent=[2])
    return Task(ImageSequence(frames, ("a", "b", "c")), points, BOUND, TINY, seed=4, device="cpu")


def make_result(size: tuple[int, int] = (5, 10)) -> ObjectResult:
    """Three frames, full in the first, with figures that are easy to take a quarter of."""
    masks = np.zeros((3, *size), bool)
    masks[0] = True
    history = PriorHistory((RECORD,), *(np.full((1, 3), share, np.float32) for share in (0.4, 0.8, 0.2)), 1)
    priors = PriorEstimate(np.full(3, 0.4), np.full(3, 0.2), np.full(3, 0.8))
    return ObjectResult(masks, ProbabilityMaps(masks.astype(np.float16)), priors, history, AreaBound(0.4))


def test_the_box_reaches_so_many_radii_beyond_the_points_and_ends_with_the_frame():
    # A disc of 0.0314159 of 100 x 100 pixels has a radius of 10.
    points, bound = PointSet.from_rows([(0, 50, 5), (4, 60, 20)]), AreaBound(0.0314159)
    assert Focus.find(points, (100, 100), bound, 2.0) == Focus((100, 100), 30, 81, 0, 41)
    assert Focus.find(points, (100, 100), bound, 1.0) == Focus((100, 100), 40, 71, 0, 31)
    assert Focus.find(points, (100, 100), AreaBound(0.9), 2.0).whole


def test_no_radii_are_whole_frames_and_leave_everything_untouched():
    task, result = make_task(), make_result((10, 20))
    assert Focus.find(task.points, (10, 20), BOUND, 0.0) == WHOLE
    assert WHOLE.whole and WHOLE.share == 1
    assert not FOCUS.whole and FOCUS.share == 0.25
    assert WHOLE.narrow(task) is task
    assert WHOLE.narrow_bound(BOUND) is BOUND
    assert WHOLE.widen(result, BOUND) is result
    assert WHOLE.tell(ignore) is ignore


def test_a_narrowed_task_holds_the_same_pixels_under_the_same_points():
    task = make_task()
    inside = FOCUS.narrow(task)
    np.testing.assert_array_equal(inside.sequence.frames, task.sequence.frames[:, 2:7, 5:15])
    assert inside.points.coordinates.tolist() == [[0, 2, 1], [1, 3, 7]]
    assert (inside.points.absent, inside.sequence.names) == ((2,), ("a", "b", "c"))
    assert (inside.settings, inside.seed, inside.device, inside.bound) == (TINY, 4, "cpu", BOUND)
    for (frame, y, x), (_, row, column) in zip(task.points.coordinates, inside.points.coordinates, strict=True):
        np.testing.assert_array_equal(inside.sequence.frames[frame, row, column], task.sequence.frames[frame, y, x])


def test_what_a_run_before_was_told_is_narrowed_as_well():
    task = make_task()
    model = GroupModel(("",), ())
    group = PreviousGroup((BOUND,), (0, 10, 0, 20), model)
    previous = PreviousRun("", "", TINY, (group,), Model(TINY.network, 2, (model,)), task.points)
    inside = FOCUS.narrow(replace(task, previous=previous)).previous
    assert inside.points.coordinates.tolist() == [[0, 2, 1], [1, 3, 7]]
    assert inside.started is None
    inside = FOCUS.narrow(replace(task, previous=replace(previous, points=None, started=task.points))).previous
    assert inside.points is None and inside.started.coordinates.tolist() == [[0, 2, 1], [1, 3, 7]]


def test_a_series_that_no_segmentation_can_refer_to_is_still_segmented_into_another_format(tmp_path):
    series = save_series(tmp_path / "series", SeriesInstanceUID="", StudyInstanceUID="")
    sequence = read_sequence(series)
    points = PointSet.from_rows([(frame, 1, 1) for frame in range(len(sequence))])
    with pytest.raises(InputError, match="choose another --format"):
        Task(sequence, points, AreaBound(0.1), TINY)
    task = Task(sequence, points, AreaBound(0.1), TINY, outputs=Outputs.of(["nifti"]))
    focus = Focus(sequence.size, 0, sequence.size[0] - 1, 0, sequence.size[1])
    assert focus.narrow(task).sequence.size == (sequence.size[0] - 1, sequence.size[1])


def test_the_bound_inside_is_the_same_area_and_less_than_all_of_the_box():
    assert FOCUS.narrow_bound(AreaBound(0.1, "box")) == AreaBound(0.4, "box")
    assert FOCUS.narrow_bound(AreaBound(0.3)).fraction == LARGEST_BOUND


def test_a_widened_result_lies_where_it_was_cut_and_is_empty_outside():
    result, wide = make_result(), FOCUS.widen(make_result(), BOUND)
    assert (wide.masks.dtype, wide.masks.shape) == (bool, (3, 10, 20))
    np.testing.assert_array_equal(wide.masks[:, 2:7, 5:15], result.masks)
    np.testing.assert_array_equal(wide.probabilities.values[:, 2:7, 5:15], result.probabilities.values)
    assert wide.masks.sum() == result.masks.sum()
    assert wide.probabilities.values.sum() == result.probabilities.values.sum()
    assert wide.probabilities.values.dtype == np.float16
    assert wide.bound == BOUND


def test_shares_of_the_box_become_shares_of_the_frame():
    wide = FOCUS.widen(make_result(), BOUND)
    for name, share in (("mean", 0.1), ("deviation", 0.05), ("observed", 0.2)):
        np.testing.assert_allclose(getattr(wide.priors, name), share)
    history = wide.history
    for name, share in (("priors", 0.1), ("observed", 0.2), ("positive_share", 0.05)):
        np.testing.assert_allclose(getattr(history, name), share, rtol=1e-6)
        assert getattr(history, name).dtype == np.float32
    assert history.selected_epoch == 1
    # The record's shares are quartered; what is no share of the frame stays.
    assert history.records == (replace(RECORD, mean_prior=0.1, largest_positive_share=0.2),)


def test_superpixels_of_whole_frames_have_one_more_region_outside_the_box():
    labels = np.zeros((2, 5, 10), np.int32)
    labels[0, :, 5:], labels[1, 2:, 3:], labels[1, 4:, 3:] = 1, 1, 2
    wide = FOCUS.widen_superpixels(SuperpixelMap(labels))
    np.testing.assert_array_equal(wide.labels[:, 2:7, 5:15], labels)
    outside = np.ones((10, 20), bool)
    outside[2:7, 5:15] = False
    assert set(wide.labels[0][outside]) == {2}
    assert set(wide.labels[1][outside]) == {3}
    assert wide.counts.tolist() == [3, 4]


def test_who_listens_hears_of_whole_frames():
    heard = []
    tell = FOCUS.tell(heard.append)
    labels = np.zeros((2, 5, 10), np.int32)
    labels[1, 0, 0] = 1
    probabilities = np.array([[0.5, 0.0], [0.25, 0.75]], np.float16)
    message = Message("a word")
    tell(SuperpixelsReady(SuperpixelMap(labels)))
    tell(EpochPredicted(7, probabilities, np.array([0.4, 0.8])))
    tell(EpochFinished(RECORD, 9))
    tell(message)
    ready, predicted, finished, passed = heard
    assert ready.superpixels.counts.tolist() == [2, 3]
    # A column for the outside; on the first frame, of one region fewer, it is the second, which was empty.
    assert predicted.probabilities.tolist() == [[0.5, 0, 0], [0.25, 0.75, 0]]
    assert (predicted.epoch, predicted.probabilities.dtype) == (7, np.float16)
    np.testing.assert_allclose(predicted.priors, [0.1, 0.2])
    assert (finished.record.mean_prior, finished.record.largest_positive_share) == (0.1, 0.2)
    assert (finished.record.epoch, finished.total) == (1, 9)
    assert passed is message


# From here on, whole runs: a small object in a corner of a large frame, with all that the presets switch on.
ALL = override_from_text(
    TINY,
    [
        *("clicks.focus=2", "clicks.carry=1", "training.mirrors=true", "training.threads=1"),
        *("diffusion.enabled=true", "rounds.heldout=0.5", "rounds.round_epochs=3", "warmup.epochs=3"),
    ],
)


def make_corner(bound: float | None = 0.02, absent: tuple[int, ...] = ()) -> Task:
    """A phantom of 9 frames of 40 x 40 pixels, in the lower right of dark noise; clicks on each frame not absent."""
    phantom = make_phantom(n_frames=9, size=(40, 40))
    frames = np.random.default_rng(0).integers(0, 30, (9, 100, 120)).astype(np.uint8)
    frames[:, 55:95, 75:115] = phantom.sequence.frames[..., 0]
    rows = [(t, y + 55, x + 75) for t, y, x in phantom.points.coordinates.tolist() if t not in absent]
    points = PointSet.from_rows(rows, absent)
    return Task(ImageSequence.from_array(frames), points, bound and AreaBound(bound), ALL, device="cpu")


def find_focus(task: Task) -> Focus:
    return Focus.find(task.points, task.sequence.size, task.bound, task.settings.clicks.focus)


def run_in(path: Path, task: Task, listener=ignore) -> ObjectResult:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder, listener)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Iterator[tuple[Path, ObjectResult, list]]:
    """A run that was never stopped, without a report, which takes longer than all the rest."""
    path, events = tmp_path_factory.mktemp("focus") / "run", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "write_report", lambda *given: None)
        yield path, run_in(path, make_corner(), events.append), events


def test_a_run_in_a_corner_has_the_input_s_shape_and_nothing_outside_the_focus(finished):
    path, result, _ = finished
    focus = find_focus(make_corner())
    assert 0.1 < focus.share < 0.5
    assert result.masks.shape == result.probabilities.values.shape == (9, 100, 120)
    outside = np.ones((100, 120), bool)
    outside[focus.top : focus.bottom, focus.left : focus.right] = False
    assert not result.masks[:, outside].any()
    assert (result.probabilities.values[:, outside] == 0).all()
    frames, rows, columns = make_corner().points.coordinates.T
    assert result.masks[frames, rows, columns].all()
    np.testing.assert_array_equal(read_masks(path), result.masks)
    assert (result.bound, result.names) == (make_corner().bound, make_corner().sequence.names)
    # Shares of the frame, of which the focus is the most that can be marked.
    assert np.nanmax(result.history.positive_share) <= focus.share
    assert (result.priors.mean <= focus.share).all()


def test_what_is_told_on_the_way_fits_whole_frames(finished):
    _, result, events = finished
    (superpixels,) = [event.superpixels for event in events if isinstance(event, SuperpixelsReady)]
    assert superpixels.labels.shape == (9, 100, 120)
    predicted = [event for event in events if isinstance(event, EpochPredicted)]
    assert {event.probabilities.shape for event in predicted} == {(9, superpixels.counts.max())}
    told = tuple(event.record for event in events if isinstance(event, EpochFinished))
    assert repr(told) == repr(result.history.records)


def test_memory_and_folder_give_the_same_result(finished):
    _, kept, _ = finished
    result = run_task(make_corner())
    np.testing.assert_array_equal(result.masks, kept.masks)
    np.testing.assert_array_equal(result.priors.mean, kept.priors.mean)


def test_absent_frames_stay_empty_with_all_that_fills_in_from_neighbours():
    result = run_task(make_corner(absent=(3, 8)))
    assert not result.masks[[3, 8]].any()
    assert result.masks[[2, 4, 7]].any(axis=(1, 2)).all()
    assert (result.probabilities.values[[3, 8]] == 0).all()
    assert (result.priors.mean[[3, 8]] == 0).all()


def test_an_estimated_bound_is_told_as_a_share_of_the_whole_frame():
    events = []
    task = replace(make_corner(None), settings=override_from_text(ALL, ["superpixels.count=20"]))
    result = run_task(task, listener=events.append)
    (told,) = [event.text for event in events if isinstance(event, Message)]
    assert told == f"size limit: {result.bound.origin}"
    assert f"{result.bound.fraction:.1%}" in told
    assert result.bound.fraction < 0.5


def test_a_bound_that_the_clicks_fill_is_refused_in_shares_of_the_whole_frame():
    with pytest.raises(InputError, match=r"the object may cover 0\.02% of a frame"):
        run_task(make_corner(0.0002))


@pytest.mark.parametrize(("size", "place"), [((16, 16), (0, 0)), ((200, 17), (199, 16)), ((64, 64), (30, 1))])
def test_boxes_of_a_few_pixels_are_segmented(size, place):
    frames = np.random.default_rng(1).integers(0, 255, (2, *size)).astype(np.uint8)
    task = Task(ImageSequence.from_array(frames), PointSet.from_rows([(0, *place)]), AreaBound(0.05), ALL, device="cpu")
    assert run_task(task).masks.shape == (2, *size)


def test_negatives_move_with_the_box_and_those_outside_it_are_left_out():
    points = PointSet.from_rows(
        [(0, 20, 20)], negatives=[(0, 5, 5), (1, 18, 22), (1, 24, 19)], negative_objects=["a", "b", "c"]
    )
    narrowed = Focus((40, 40), 16, 24, 15, 30).narrow_points(points)
    assert narrowed.coordinates.tolist() == [[0, 4, 5]]
    assert narrowed.negatives.tolist() == [[1, 2, 7]]
    assert narrowed.negative_objects == ("b",)


def test_a_box_is_kept_while_all_points_lie_in_it_and_else_grows():
    box, other = Focus((40, 40), 10, 20, 10, 20), Focus((40, 40), 12, 30, 5, 18)
    assert box.reach(PointSet.from_rows([(0, 10, 19)]), other) is box
    assert box.reach(PointSet.from_rows([(0, 20, 19)]), other) == Focus((40, 40), 10, 30, 5, 20)


def draw(size: tuple[int, int], top: int, bottom: int, left: int, right: int) -> np.ndarray:
    mask = np.zeros(size, bool)
    mask[top:bottom, left:right] = True
    return mask


def test_a_focus_holds_all_that_was_outlined_and_no_more():
    focus, size = Focus((40, 50), 10, 20, 10, 20), (40, 50)
    words = Words.of({0: draw(size, 12, 15, 12, 15)}), Words.of({2: draw(size, 5, 8, 30, 33), 3: np.zeros(size, bool)})
    assert focus.hold(()) == focus.hold(words[:1]) == focus.hold((Words(size=2.0),)) == focus
    assert focus.hold(words) == Focus(size, 5, 20, 10, 33)
    assert focus.hold((Words.of({1: draw(size, 25, 40, 0, 50)}),)) == Focus(size, 10, 40, 0, 50)


def test_points_outside_a_focus_are_dropped_with_their_names_unless_none_is_left():
    focus = Focus((40, 50), 10, 20, 10, 20)
    points = PointSet.from_rows([(0, 10, 19), (1, 9, 15), (2, 15, 20), (3, 19, 10)], objects=["a"] * 4)
    kept = focus.drop_outside(points)
    assert (kept.coordinates.tolist(), kept.objects) == ([[0, 10, 19], [3, 19, 10]], ("a", "a"))
    nameless = focus.drop_outside(PointSet.from_rows([(0, 10, 19), (1, 0, 0)], absent=[2], negatives=[(0, 0, 0)]))
    assert (nameless.coordinates.tolist(), nameless.absent) == ([[0, 10, 19]], (2,))
    assert nameless.negatives.tolist() == [[0, 0, 0]]
    outside = PointSet.from_rows([(0, 0, 0)])
    assert focus.drop_outside(outside) is outside


def test_what_was_found_in_one_box_moves_to_a_larger_one():
    small, large = Focus((40, 50), 10, 20, 12, 20), Focus((40, 50), 8, 25, 12, 30)
    values = np.random.default_rng(0).integers(1, 9, (2, 10, 8)).astype(np.uint8)
    np.testing.assert_array_equal(large.paste(large.move(values, small.box)), small.paste(values))
    np.testing.assert_array_equal(small.move(values, small.box), values)
