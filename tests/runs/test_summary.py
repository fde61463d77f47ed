"""What a user is warned of, and the figures for machines."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from fewpoint.core import (
    AreaBound,
    EpochRecord,
    Geometry,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
    Source,
)
from fewpoint.report.health import FIGURES, Health
from fewpoint.report.judging import Judgement
from fewpoint.report.uncertainty import FrameWorth
from fewpoint.runs.summary import find_warnings, summarise

SOUND = EpochRecord(2, "final", 0.5, 0.2, 0.3, 0.1, 0.9, 0.1, 0.01, 0.2)


def make_result(record: EpochRecord | None = SOUND, filled: int = 2, bound: float = 0.5) -> Result:
    """Four frames of 10 pixels, the first two with `filled` pixels of object."""
    masks = np.zeros((4, 2, 5), bool)
    masks[:2].reshape(2, 10)[:, :filled] = True
    rows = np.zeros((0 if record is None else 1, 4), np.float32)
    history = PriorHistory(() if record is None else (record,), rows, rows, rows, selected_epoch=1)
    priors = PriorEstimate(np.zeros(4), np.zeros(4), np.zeros(4))
    return Result.single(
        masks, ProbabilityMaps(masks.astype(np.float32)), priors, history, AreaBound(bound), tuple("abcd")
    )


@pytest.fixture
def judged() -> Judgement:
    """What may be thought of make_result."""
    worths = {1: 1.0, 0: 0.5, 2: 0.0, 3: 0.0}
    ranking = tuple(FrameWorth(frame, "abcd"[frame], worth, 0.2, 0.2) for frame, worth in worths.items())
    return Judgement(Health(*[0.5] * len(FIGURES)), ranking)


def test_figures_by_hand(judged):
    figures = {
        "frames": 4,
        "frames_with_object": 2,
        "mean_share": pytest.approx(0.1),
        "largest_share": 0.2,
        "volume_ml": None,
        "areas_mm2": None,
        "bound": 0.5,
        "bound_origin": "given",
        "bound_doubt": 0.0,
        "epochs": 1,
        "selected_epoch": 1,
        "selected_by": "neither",
        "notes": [],
        "warnings": [],
    }
    thought = {"health": judged.health.score, "look_first": [1], "worth_a_look": [0.5, 1.0, 0.0, 0.0]}
    entry = {"value": 1, "name": "object", "colour": [0, 210, 255], **figures, **thought}
    assert summarise(make_result(), (judged,)) == {**figures, "objects": [entry], "health": asdict(judged.health)}


def test_doubts_are_warnings(judged):
    doubted = replace(judged, doubts=("x and y may be exchanged",))
    assert summarise(make_result(), (doubted,))["warnings"] == ["x and y may be exchanged"]


@pytest.mark.parametrize("over_time", [False, True])
def test_volume_and_areas_by_hand(over_time, judged):
    """Four frames of 2 x 5 pixels, 0.5 x 2 mm each, 10 mm apart; two pixels on two of them."""
    geometry = Geometry((5, 2, 4), (2.0, 0.5, 10.0), np.eye(3), (0.0, 0.0, 0.0), over_time=over_time)
    summary = summarise(replace(make_result(), source=Source("", "nifti", geometry, notes=("tilted",))), (judged,))
    assert summary["areas_mm2"] == [2, 2, 0, 0]
    assert summary["volume_ml"] == (None if over_time else pytest.approx(4 * 0.5 * 2 * 10 / 1000))
    assert summary["notes"] == ["tilted"]


@pytest.mark.parametrize(
    ("result", "fragments"),
    [
        (make_result(), []),
        (make_result(None), []),
        (make_result(filled=0), ["all masks are empty"]),
        (make_result(replace(SOUND, ascent_share=0.95)), ["95% of the last steps only undid"]),
        (make_result(replace(SOUND, ascent_share=0.9)), []),
        (make_result(replace(SOUND, click_probability=0.4)), ["mean probability of 0.40 only"]),
        (make_result(replace(SOUND, phase="estimation")), ["without its stopping rule"]),
        (make_result(replace(SOUND, phase="estimation", stopped=True)), []),
        (make_result(replace(SOUND, phase="round 1", ascent_share=0.95)), []),
        (make_result(bound=0.2), ["reaches the size limit"]),
        (make_result(replace(SOUND, click_probability=0.1), filled=0), ["all masks are empty", "0.10 only"]),
    ],
)
def test_warnings_say_what_is_wrong_and_nothing_else(result, fragments):
    warnings = find_warnings(result)
    assert len(warnings) == len(fragments)
    assert all(fragment in warning for fragment, warning in zip(fragments, warnings, strict=True))


def test_a_single_frame_is_told_what_cannot_work():
    result = make_result()
    (warning,) = find_warnings(
        Result.single(
            result.masks[:1],
            ProbabilityMaps(result.probabilities.values[:1]),
            PriorEstimate(np.zeros(1), np.zeros(1), np.zeros(1)),
            PriorHistory.empty(1),
            result.bound,
            ("a",),
        )
    )
    assert "nothing was tracked over time" in warning
