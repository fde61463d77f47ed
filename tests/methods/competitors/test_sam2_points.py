"""SAM 2 alone: what it is asked with, and what it could do with true boxes."""

import numpy as np

from fewpoint.bench.oracles import TrueBox
from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.methods.competitors.sam2_points import ask_with
from fewpoint.methods.competitors.sam_points import SamPoints, take_largest_allowed
from fewpoint.witness.models import Answer

SEQUENCE = ImageSequence.from_array(np.zeros((3, 6, 8), np.uint8))


class Filling:
    """Offers a quarter, half and all of a frame for clicks, and what lies in the box for a box."""

    identity = "filling"

    def __init__(self):
        self.asked = []

    def encode(self, picture):
        return {"shape": np.array(picture.shape)}

    def ask(self, encoded, size, prompts):
        self.asked += prompts
        columns = np.arange(size[1]) * np.ones((size[0], 1))
        if prompts[0].box is None:
            masks = np.stack([np.where(columns < size[1] * share, 1.0, -1.0) for share in (0.25, 0.5, 1.0)])
            return [Answer(masks, np.array([0.2, 0.3, 0.9]))]
        box, rows = prompts[0].box, np.arange(size[0])[:, np.newaxis]
        inside = (rows >= box.top) & (rows < box.bottom) & (columns >= box.left) & (columns < box.right)
        return [Answer(np.where(inside, 1.0, -1.0)[np.newaxis], np.ones(1))]


def test_clicks_are_the_prompt_and_the_bound_chooses_among_its_masks():
    model = Filling()
    method = SamPoints("sam2-points-bound", take_largest_allowed, ask_with(model))
    points = PointSet.from_rows([(0, 1, 2), (0, 3, 4), (2, 5, 6)])
    masks = method.segment(SEQUENCE, points, AreaBound(0.6), seed=0).masks
    assert [prompt.clicks.tolist() for prompt in model.asked] == [[[1, 2], [3, 4]], [[5, 6]]]
    assert masks.mean(axis=(1, 2)).tolist() == [0.5, 0, 0.5]


def test_the_true_box_is_that_of_each_frame_s_truth():
    truth = np.zeros((3, 6, 8), bool)
    truth[0, 1:4, 2:5], truth[2, 0, 0] = True, True
    points = PointSet.from_rows([(0, 2, 3)])
    masks = TrueBox(truth, Filling()).segment(SEQUENCE, points, None, seed=0).masks
    np.testing.assert_array_equal(masks, truth)
