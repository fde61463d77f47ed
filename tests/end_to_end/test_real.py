"""From clicks to masks on a few slices of a real brain, with the tumour's outline known."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.api.segmenting import segment
from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.evaluation import paper_bound, score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from real_data import data_root
from synthetic import SMALL

SLICES = range(20, 52, 4)
SETTINGS = replace(SMALL, training=replace(SMALL.training, max_side=64))


@pytest.mark.skipif(data_root() is None, reason="the real sequences are not there; FEWPOINT_DATA names their folder")
def test_a_tumour_in_a_real_brain_is_found_far_better_than_by_discs_round_the_clicks():
    sequence, points, truth = read_slices()
    bound = paper_bound(truth)
    result = segment(sequence, points, bound, settings=SETTINGS)
    found = score_masks(result.masks, truth).pooled.f1
    guessed = score_masks(draw_discs(points, bound, truth.shape), truth).pooled.f1
    assert guessed < 0.6
    assert found > 0.7


def read_slices() -> tuple[ImageSequence, PointSet, np.ndarray]:
    """Eight slices through the tumour, the click on each, and the truth."""
    folder = data_root() / "brain" / "brats_flair_pat1"
    whole = read_sequence(folder)
    sequence = ImageSequence(whole.frames[SLICES], tuple(whole.names[index] for index in SLICES))
    rows = read_points(folder, whole).coordinates.tolist()
    points = PointSet.from_rows([(SLICES.index(frame), y, x) for frame, y, x in rows if frame in SLICES])
    return sequence, points, read_masks(folder / "ground_truth-frames")[SLICES]


def draw_discs(points: PointSet, bound: AreaBound, shape: tuple[int, int, int]) -> np.ndarray:
    """The trivial guess: a disc of half the size limit's area around each click."""
    rows, columns = np.indices(shape[1:])
    squared_radius = bound.fraction / 2 * rows.size / np.pi
    discs = np.zeros(shape, bool)
    for frame, y, x in points.coordinates:
        discs[frame] |= (rows - y) ** 2 + (columns - x) ** 2 <= squared_radius
    return discs
