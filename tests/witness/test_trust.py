"""A witness that knows the object is believed; one that lies, in whatever way, changes nothing."""

import numpy as np
import pytest
from scipy import stats

from fewpoint.core import NOTHING_SAID, PointSet, Words
from fewpoint.core.run_lengths import encode_mask
from fewpoint.witness import asking
from fewpoint.witness.asking import Claim, Claims, choose_claims, find_parts, find_parts_at, hear
from fewpoint.witness.heard import listen
from fewpoint.witness.models import Answer
from fewpoint.witness.trust import blend, compare_ranking, weigh_frame

SIZE = (80, 96)
ROWS, COLUMNS = np.indices(SIZE)
FRAMES = 6


def ellipse(middle, radii):
    return ((ROWS - middle[0]) / radii[0]) ** 2 + ((COLUMNS - middle[1]) / radii[1]) ** 2 < 1


def true_mask(frame):
    """A bean: an ellipse with a bite, so that neither its box nor an ellipse in the box is it."""
    middle = 38 + frame, 44 + 2 * frame
    return ellipse(middle, (18, 22)) & ~ellipse((middle[0] - 14, middle[1] + 8), (13, 13))


def see(frame):
    """What networks see of it: in the right place, blurred, too small, and a little unsure at random."""
    from scipy.ndimage import gaussian_filter

    soft = gaussian_filter(true_mask(frame).astype(float), 5)
    noise = gaussian_filter(np.random.default_rng(frame).normal(size=SIZE), 2)
    return np.clip(1.1 * soft - 0.08 + 0.15 * noise / noise.std() * 0.3, 0.001, 0.999)


CHANCES = np.stack([see(frame) for frame in range(FRAMES)])
POINTS = PointSet.from_rows([(frame, 44 + frame, 40 + 2 * frame) for frame in (0, 3)])


def as_answer(mask, score=0.9):
    return Answer(np.where(mask, 8.0, -8.0)[np.newaxis].astype(np.float32), np.array([score]))


def box_of(prompt):
    """The prompt's box; round clicks that come without one, a guess."""
    if prompt.box is not None:
        return prompt.box
    (top, left), (bottom, right) = prompt.clicks.min(0) - 9, prompt.clicks.max(0) + 9
    return asking.PromptBox(top, bottom, left, right)


def filled(box):
    return (box.top <= ROWS) & (box.bottom > ROWS) & (box.left <= COLUMNS) & (box.right > COLUMNS)


def tell_truth(frame, prompt):
    """Where it sees something it draws it; about an empty picture it guesses the box."""
    return as_answer(filled(box_of(prompt)) if frame is None else true_mask(frame))


def echo(frame, prompt):
    return as_answer(filled(box_of(prompt)), 1.0)


def round_off(frame, prompt):
    """The ellipse in the box, whatever the picture shows."""
    box = box_of(prompt)
    middle = (box.top + box.bottom) / 2, (box.left + box.right) / 2
    return as_answer(ellipse(middle, ((box.bottom - box.top) / 2, (box.right - box.left) / 2)), 1.0)


def see_all(frame, prompt):
    return as_answer(np.ones(SIZE, bool) if frame is not None else filled(box_of(prompt)), 1.0)


def see_nothing(frame, prompt):
    return as_answer(np.zeros(SIZE, bool), 1.0)


def invert(frame, prompt):
    return as_answer(~true_mask(frame or 0) & filled(box_of(prompt)), 1.0)


def see_elsewhere(frame, prompt):
    """The right form in the wrong place, firmly."""
    return as_answer(np.roll(true_mask(frame or 0), (22, 26), axis=(0, 1)), 1.0)


def answer_at_random(frame, prompt):
    seed = hash((frame, box_of(prompt).top, box_of(prompt).left)) % 2**32
    y, x, *radii = np.random.default_rng(seed).uniform((0, 0, 5, 5), (80, 96, 30, 30))
    return as_answer(ellipse((y, x), radii), 1.0)


def ask_with(answer):
    return lambda frame, prompts: [answer(frame, prompt) for prompt in prompts]


def hear_of(answer, points=POINTS, words=NOTHING_SAID):
    return listen(ask_with(answer), CHANCES, points, words)


def overlap_with_truth(maps):
    masks, truth = np.stack(list(maps)) >= 0.5, np.stack([true_mask(frame) for frame in range(FRAMES)])
    return (masks & truth).sum() / (masks | truth).sum()


def test_a_witness_that_knows_the_object_is_believed_and_sharpens_the_masks():
    heard = hear_of(tell_truth)
    assert heard.belief.reason == ""
    assert heard.belief.share == 1
    before, after = overlap_with_truth(CHANCES), overlap_with_truth(heard.heed(CHANCES))
    assert before < 0.85 and after > before + 0.08


@pytest.mark.parametrize(
    "lie",
    [echo, round_off, see_all, see_nothing, invert, see_elsewhere, answer_at_random],
    ids=lambda lie: lie.__name__,
)
def test_a_witness_that_lies_changes_nothing(lie):
    heard = hear_of(lie)
    assert heard.belief.reason
    assert not heard.belief.weights.any()
    for before, after in zip(CHANCES, heard.heed(CHANCES), strict=True):
        assert after is before or np.array_equal(after, before)


def test_a_witness_is_not_heard_where_it_contradicts_a_click_or_a_negative():
    inside, outside = np.argwhere(true_mask(2) & (CHANCES[2] > 0.6))[0], np.argwhere(~true_mask(2))[0]
    claimed = true_mask(2)
    claimed[tuple(inside)] = False
    heard, none = asking.Testimony(claimed, 1.0, 1.0), np.empty((0, 2), int)
    mask = CHANCES[2] >= 0.5
    assert weigh_frame(heard, mask, (none, none)) > 0
    assert weigh_frame(heard, mask, (inside[np.newaxis], none)) == 0
    claimed[tuple(outside)] = True
    assert weigh_frame(heard, mask, (none, outside[np.newaxis])) == 0


def test_a_person_who_drew_a_frame_or_said_how_large_it_is_is_not_contradicted():
    drawn = {1: encode_mask(true_mask(1))}
    weights = hear_of(tell_truth, words=Words(outlined=drawn, sizes={4: 1.3})).belief.weights
    assert (weights > 0).tolist() == [True, False, True, True, False, True]
    assert hear_of(tell_truth, words=Words(size=1.2)).belief.reason == "every mask has a size set by a person"


def test_outlined_frames_that_it_draws_worse_than_the_networks_make_it_unbelievable():
    as_seen = {frame: encode_mask(CHANCES[frame] >= 0.5) for frame in (1, 4)}
    belief = hear_of(tell_truth, words=Words(outlined=as_seen)).belief
    assert belief.reason == "it fits drawn masks worse than the networks"


def test_nothing_is_asked_about_frames_without_the_object():
    asked = []

    def ask(frame, prompts):
        asked.append(frame)
        return [tell_truth(frame, prompt) for prompt in prompts]

    chances = CHANCES.copy()
    chances[2] = 0.1
    heard = listen(ask, chances, PointSet.from_rows([(0, 44, 40)], absent=(5,)), NOTHING_SAID)
    assert {frame for frame in asked if frame is not None} == {0, 1, 3, 4}
    assert heard.belief.weights[[2, 5]].tolist() == [0, 0]


def test_the_ranking_takes_the_side_of_a_claim_that_follows_it_and_not_of_one_that_opposes_it():
    """Chances rise from left to right along the edge: a claim on the right agrees, one on the left opposes."""
    chances = np.where(ROWS < 40, 0.7, 0.3) + 0.002 * (COLUMNS - 48)
    right, left = ((COLUMNS >= 48) if side else (COLUMNS < 48) for side in (True, False))
    wins, pairs = compare_ranking(right, chances)
    assert wins / pairs > 0.95  # distances count as equal within a pixel or so
    wins, pairs = compare_ranking(left, chances)
    assert wins / pairs < 0.05


def test_the_ranking_of_many_pixels_is_compared_in_half_precision_as_in_full(monkeypatch):
    """Probabilities of a run are kept in half precision, whose largest number is 65,504: ranks add up to more.

    Some versions of SciPy give ranks in the precision of the values.
    """
    rank = stats.rankdata
    monkeypatch.setattr(stats, "rankdata", lambda values: rank(values).astype(values.dtype))
    rows, columns = np.indices((300, 300))
    chances = (np.where(rows < 150, 0.7, 0.3) + 0.0005 * (columns - 150)).astype(np.float16)
    half, full = (compare_ranking(columns >= 150, chances.astype(kind)) for kind in (np.float16, np.float64))
    assert half == full and np.isfinite(half).all()


def see_something_else_in_clicks(frame, prompt):
    """Draws what a box holds, but does not find it by itself."""
    return (
        tell_truth(frame, prompt) if prompt.box is not None else as_answer(np.roll(true_mask(frame or 0), 40, axis=1))
    )


def test_what_it_sees_in_clicks_alone_says_whether_it_knows_the_object():
    knowing, guided = (
        hear(lambda prompts, a=answer: [a(0, p) for p in prompts], CHANCES[0], POINTS.coordinates[:1, 1:])
        for answer in (tell_truth, see_something_else_in_clicks)
    )
    assert knowing.agreement == 1
    assert guided.agreement < 0.3
    belief = hear_of(see_something_else_in_clicks).belief
    assert belief.reason == "prompted with clicks alone it finds something else"


def test_boxes_are_those_of_several_levels_and_then_of_its_answers():
    asked = []

    def ask(prompts):
        asked.append([prompt.box for prompt in prompts])
        return [tell_truth(0, prompt) for prompt in prompts]

    heard = hear(ask, CHANCES[0], np.empty((0, 2), int))
    first, second, alone = asked
    heights = [box.bottom - box.top for box in first]
    assert heights == sorted(heights, reverse=True) and heights[0] > heights[-1]  # the lower the level, the larger
    assert set(second) == {asking.box_round(true_mask(0))}
    assert alone == [None]
    assert len(heard.claims) == 10
    np.testing.assert_array_equal(heard.claims[7].unpack(SIZE), true_mask(0))


def claim(score, ratio, overlap=1.0):
    return Claim(b"", score, ratio, overlap)


def test_of_its_claims_the_course_counts_that_scores_best_and_changes_size_least():
    steady, small = claim(0.9, 0.1), claim(0.905, -0.9)
    frames = [Claims((steady, small), 1.0), None, Claims((small, steady), 1.0)]
    assert choose_claims(frames) == [steady, None, steady]  # .005 more are not worth .8 of DISTANCE
    best = claim(0.99, -0.9)
    assert choose_claims([Claims((steady, best), 1.0)] * 3) == [best] * 3
    once = [Claims((steady,), 1.0), Claims((steady, claim(0.91, 0.9)), 1.0), Claims((steady,), 1.0)]
    assert choose_claims(once) == [steady] * 3
    assert choose_claims([Claims((claim(1.0, 0.0, overlap=0.2),), 1.0)]) == [None]
    assert choose_claims([]) == []


def test_below_the_middle_level_only_what_hangs_together_with_the_mask_is_asked_about():
    chances = np.zeros(SIZE)
    chances[5:25, 5:25], chances[10:20, 10:20], chances[40:60, 50:70] = 0.35, 0.8, 0.35
    assert [part.sum() for part in find_parts_at(chances, 0.3)] == [400]
    assert [part.sum() for part in find_parts_at(chances, 0.5)] == [100]


def test_each_large_part_is_asked_about_and_specks_are_not():
    mask = np.zeros(SIZE, bool)
    mask[5:25, 5:25], mask[40:60, 50:70], mask[70:72, 3:5] = True, True, True
    assert [part.sum() for part in find_parts(mask)] == [400, 400]
    assert find_parts(np.zeros(SIZE, bool)) == []


def test_without_weight_chances_are_what_they_were_and_with_all_of_it_those_of_the_witness():
    own, said = np.array([[0.2, 0.8]]), np.array([[3.0, -3.0]])
    np.testing.assert_allclose(blend(own, said, 0.0), own, rtol=1e-6)
    np.testing.assert_allclose(blend(own, said, 1.0), 1 / (1 + np.exp(-said)), rtol=1e-6)
