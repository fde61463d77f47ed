"""What a cell leaves for figures."""

import numpy as np

from fewpoint.bench.records import Course, Record, Shown, read_record, write_record
from fewpoint.core import EpochRecord, PriorHistory


def make_history() -> PriorHistory:
    figures = {"loss": 0.5, "positive_risk": 0.1, "negative_risk": 0.4, "ascent_share": 0.0, "click_probability": 0.9}
    records = tuple(
        EpochRecord(epoch, phase, **figures, mean_prior=0.2, negative_variance=0.01 * epoch, largest_positive_share=0.3)
        for epoch, phase in enumerate(["warm-up", "estimation", "estimation", "final"], start=1)
    )
    rows = np.arange(8, dtype=np.float32).reshape(4, 2) / 10
    return PriorHistory(records, rows, rows + 1, rows + 2, selected_epoch=2)


def test_a_record_comes_back_as_it_was(tmp_path):
    masks = np.random.default_rng(0).random((2, 3, 5)) < 0.5
    shown = Shown(1, np.array([[0, 1, 1]], np.int32), np.array([1]), np.array([[0.25, 0.5]], np.float16))
    course = Course.of(make_history(), [0.1, 0.2, None, 0.4], [0.5, 0.6, None, 0.7])
    write_record(Record(masks, ~masks, course, shown), tmp_path / "r.npz")
    back = read_record(tmp_path / "r.npz")
    np.testing.assert_array_equal(back.masks, masks)
    np.testing.assert_array_equal(back.untracked, ~masks)
    assert back.course.phases.tolist() == ["warm-up", "estimation", "estimation", "final"]
    assert back.course.estimation.tolist() == [1, 2]
    assert back.course.selected == 2
    np.testing.assert_allclose(back.course.variance, [0.01, 0.02, 0.03, 0.04])
    np.testing.assert_allclose(back.course.errors, [0.1, 0.2, np.nan, 0.4])
    np.testing.assert_allclose(back.course.f1, [0.5, 0.6, np.nan, 0.7])
    np.testing.assert_array_equal(back.course.priors, make_history().priors)
    assert back.shown.paint(1).tolist() == [[0.25, 0.5, 0.5]]


def test_a_method_that_learns_nothing_leaves_masks_alone(tmp_path):
    masks = np.ones((1, 2, 2), bool)
    write_record(Record(masks, None, Course.of(PriorHistory.empty(1), []), None), tmp_path / "r.npz")
    back = read_record(tmp_path / "r.npz")
    assert back.untracked is None and back.shown is None
    assert len(back.course.phases) == len(back.course.estimation) == 0
