"""What a person is told to doubt, and what not."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.report.health import SCORED
from fewpoint.report.judging import judge

T, SIZE, RADIUS = 20, 72, 7


def draw(centres) -> np.ndarray:
    y, x = np.mgrid[:SIZE, :SIZE]
    return np.stack([np.hypot(y - row, x - column) < RADIUS for row, column in centres])


@pytest.fixture(scope="module")
def scene() -> tuple[ImageSequence, np.ndarray, np.ndarray]:
    """Frames with a bright disc that wanders below the diagonal, on ground of several shades; its masks and centres."""
    random = np.random.default_rng(0)
    centres = np.column_stack([np.linspace(44, 56, T), np.linspace(14, 24, T)]).round().astype(int)
    masks = draw(centres)
    shades = 60 + 50 * ((np.arange(SIZE) // 9 % 2)[:, None] ^ (np.arange(SIZE) // 12 % 2))
    frames = np.where(masks, 220, shades) + random.normal(0, 8, masks.shape)
    return ImageSequence.from_array(frames.clip(0, 255).astype(np.uint8)), masks, centres


def judge_masks(sequence, masks, rows):
    return judge_all(sequence, masks, rows).doubts


def judge_all(sequence, masks, rows):
    nothing, names = PriorEstimate(*[np.zeros(T)] * 3), sequence.names
    maps = ProbabilityMaps(masks.astype(np.float16))
    result = Result.single(masks, maps, nothing, PriorHistory.empty(T), AreaBound(0.3), names)
    return judge(sequence, PointSet.from_rows(rows), result)


def click(centres) -> list[tuple[int, int, int]]:
    return [(frame, int(y), int(x)) for frame, (y, x) in enumerate(centres)]


def test_right_clicks_and_masks_are_not_doubted(scene):
    sequence, masks, centres = scene
    assert judge_masks(sequence, masks, click(centres)) == ()


def test_clicks_with_x_and_y_exchanged_are_called_out(scene):
    sequence, _, centres = scene
    exchanged = centres[:, ::-1]
    doubts = judge_masks(sequence, draw(exchanged), click(exchanged))
    assert "x and y of the points may be exchanged" in doubts[0]


def test_clicks_that_may_not_lie_on_the_object_lower_health(scene):
    sequence, masks, centres = scene
    exchanged = centres[:, ::-1]
    right = judge_all(sequence, masks, click(centres)).health
    wrong = judge_all(sequence, draw(exchanged), click(exchanged)).health
    assert right.score == pytest.approx(np.mean([getattr(right, name) for name in SCORED]))
    assert wrong.score == pytest.approx(0.9 * np.mean([getattr(wrong, name) for name in SCORED]))


def test_clicks_on_background_are_called_out():
    noise = np.random.default_rng(1).integers(0, 255, (T, SIZE, SIZE)).astype(np.uint8)
    places = np.random.default_rng(2).integers(15, SIZE - 15, (T, 2))
    places[:, 1] = places[:, 0]  # so that x and y cannot be exchanged
    doubts = judge_masks(ImageSequence.from_array(noise), draw(places), click(places))
    assert any("not on background" in doubt for doubt in doubts)


def test_masks_along_the_border_are_called_out(scene):
    sequence, _, _ = scene
    masks = np.zeros((T, SIZE, SIZE), bool)
    masks[:, :6] = True
    doubts = judge_masks(sequence, masks, [(frame, 3, 3) for frame in range(T)])
    assert any("run along the border of the frames" in doubt for doubt in doubts)


def test_a_part_without_a_click_is_called_out_with_its_frames(scene):
    sequence, masks, centres = scene
    leaked = masks.copy()
    leaked[4:9, 5:15, 50:60] = True
    (doubt,) = judge_masks(sequence, leaked, click(centres))
    assert "review frames 4-8" in doubt and "background click" in doubt


def test_few_clicks_are_enough_for_parts_and_too_few_for_the_rest(scene):
    sequence, masks, centres = scene
    assert judge_masks(sequence, masks, click(centres)[:2]) == ()


def test_clicks_scattered_over_structured_background_are_called_out(scene):
    sequence, masks, _ = scene
    random = np.random.default_rng(3)
    places = np.array([random.choice(np.argwhere(~mask)) for mask in masks])
    doubts = judge_masks(sequence, draw(places), click(places))
    assert any("hardly more alike than the rest of their frames" in doubt for doubt in doubts)


def test_single_clicks_on_background_are_named(scene):
    sequence, masks, centres = scene
    clicks = click(centres)
    clicks[6], clicks[13] = (6, 10, 60), (13, 8, 50)
    (doubt,) = [each for each in judge_masks(sequence, masks, clicks) if "unlike the others" in each]
    assert "frame 6 at y 10, x 60, frame 13 at y 8, x 50;" in doubt
