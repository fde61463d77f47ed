"""Priors and history keep every digit."""

import math
from dataclasses import fields

import numpy as np
import pytest

from fewpoint.core import EpochRecord, PriorEstimate, PriorHistory
from fewpoint.errors import InputError
from fewpoint.io.tables import read_history_records, read_priors, write_history, write_priors


def make_history() -> PriorHistory:
    figures = np.random.default_rng(0).random((2, 8))
    records = (
        EpochRecord(1, "warm-up", *figures[0].tolist()),
        EpochRecord(2, "estimation", *figures[1].astype(np.float32), stop_streak=3, stopped=True),
    )
    nothing = np.zeros((2, 4), np.float32)
    return PriorHistory(records, nothing, nothing, nothing)


def test_priors_round_trip_exactly(tmp_path):
    mean, deviation, observed = np.random.default_rng(0).random((3, 5)) / 3
    write_priors(PriorEstimate(mean, deviation, observed), tmp_path / "p.csv")
    again = read_priors(tmp_path / "p.csv")
    for values, expected in ((again.mean, mean), (again.deviation, deviation), (again.observed, observed)):
        np.testing.assert_array_equal(values, expected)


def test_the_priors_table_is_what_a_spreadsheet_shows(tmp_path):
    write_priors(PriorEstimate(np.array([0.1]), np.array([0.02]), np.array([np.nan])), tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "frame,prior,standard_deviation,observed\n0,0.1,0.02,nan\n"


def test_history_round_trips_exactly(tmp_path):
    history = make_history()
    write_history(history, tmp_path / "h.csv")
    assert read_history_records(tmp_path / "h.csv") == history.records
    header = (tmp_path / "h.csv").read_text().splitlines()[0]
    assert header.split(",") == [field.name for field in fields(EpochRecord)]


def test_a_figure_that_a_phase_does_not_have_stays_nan(tmp_path):
    record = EpochRecord(1, "final", *[math.nan] * 8)
    nothing = np.zeros((1, 1), np.float32)
    write_history(PriorHistory((record,), nothing, nothing, nothing), tmp_path / "h.csv")
    (again,) = read_history_records(tmp_path / "h.csv")
    assert (again.epoch, again.phase, again.stopped) == (1, "final", False)
    assert math.isnan(again.loss)
    assert math.isnan(again.largest_positive_share)


def test_an_empty_history_round_trips(tmp_path):
    write_history(PriorHistory.empty(3), tmp_path / "h.csv")
    assert read_history_records(tmp_path / "h.csv") == ()


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "header"),
        ("frame,prior\n0,1\n", "header"),
        ("frame,prior,standard_deviation,observed\n0,0.1,0.1,0.1\n1,x,0,0\n", "line 3"),
        ("frame,prior,standard_deviation,observed\n0,0.1\n", "line 2"),
    ],
)
def test_a_damaged_table_is_refused_by_name(tmp_path, text, fragment):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(InputError, match=fragment) as caught:
        read_priors(tmp_path / "p.csv")
    assert "p.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_table_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        read_history_records(tmp_path / "nowhere.csv")
