"""What the network learns from: every click on its superpixel, at whatever size."""

import numpy as np
import pytest
import torch

from fewpoint.core import Box, ImageSequence, PointSet, SuperpixelMap, Words
from fewpoint.learning.risk import pu_risk
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import RiskSettings
from fewpoint.learning.working import WorkingSize
from learning.conftest import build_all_samples, outline


def random_superpixels(n_frames: int, size: tuple[int, int], seed: int = 0) -> SuperpixelMap:
    """The cells of random seeds: about one in forty pixels is a seed, so that a few cells are tiny."""
    rng = np.random.default_rng(seed)
    frames = []
    for _ in range(n_frames):
        seeds = rng.uniform(0, 1, (size[0] * size[1] // 40, 2)) * size
        places = np.stack(np.indices(size), axis=-1)[:, :, np.newaxis]
        nearest = np.linalg.norm(places - seeds, axis=-1).argmin(-1)
        frames.append(np.unique(nearest, return_inverse=True)[1].reshape(size))
    return SuperpixelMap(np.array(frames, np.int32))


def build(
    superpixels: SuperpixelMap,
    points: PointSet,
    max_side: int = 64,
    multiple: int = 4,
    carried: PointSet | None = None,
) -> SampleSet:
    n_frames, *size = superpixels.labels.shape
    frames = np.random.default_rng(1).integers(0, 256, (n_frames, *size, 3)).astype(np.uint8)
    fitted = WorkingSize.fit(tuple(size), max_side, multiple)
    sequence = ImageSequence.from_array(frames)
    others = None if carried is None else [carried]
    (samples,) = build_samples(sequence, superpixels, [points], fitted, torch.device("cpu"), carried=others)
    return samples


@pytest.mark.parametrize("max_side", [64, 40, 16])
def test_positives_are_the_superpixels_under_the_clicks_at_every_size(max_side):
    superpixels = random_superpixels(3, (50, 64))
    rng = np.random.default_rng(2)
    rows = [(t, int(y), int(x)) for t in range(3) for y, x in rng.integers(0, (50, 64), (6, 2))]
    samples = build(superpixels, PointSet.from_rows(rows), max_side)
    clicked = {(t, int(superpixels.labels[t, y, x])) for t, y, x in rows}
    positive = {tuple(pair) for pair in samples.positive.nonzero().tolist()}
    assert positive <= clicked
    if max_side > 16:  # at a third of the size no two clicks share a pixel
        assert positive == clicked
    for frame, region in positive:
        assert (samples.labels[frame] == region).any()


def test_a_reduced_click_lies_on_its_superpixel():
    superpixels = random_superpixels(1, (48, 48))
    for y, x in [(3, 7), (24, 24), (47, 0)]:
        samples = build(superpixels, PointSet.from_rows([(0, y, x)]), 24)
        region = int(superpixels.labels[0, y, x])
        rows, columns = (samples.labels[0] == region).nonzero(as_tuple=True)
        assert samples.positive[0].nonzero().tolist() == [[region]]
        # Some pixel of it is within one reduced pixel's diagonal, 2 * sqrt(2), of the click.
        assert torch.hypot(2 * rows + 0.5 - y, 2 * columns + 0.5 - x).min() <= 2 * np.sqrt(2)


def test_a_clicked_superpixel_that_falls_between_the_reduced_pixels_comes_back_at_its_click():
    # One superpixel of a single pixel, at (1, 2): reducing 16 to 4 looks at rows and columns 2, 6, 10, 14.
    labels = np.zeros((1, 16, 16), np.int32)
    labels[0, 1, 2] = 1
    samples = build(SuperpixelMap(labels), PointSet.from_rows([(0, 1, 2)]), max_side=4, multiple=2)
    assert samples.labels[0, 0].tolist() == [1, 0, 0, 0]
    assert samples.positive.tolist() == [[0, 1]]
    assert samples.unlabelled.tolist() == [[1, 0]]
    assert samples.areas.tolist() == [[15 / 16, 1 / 16]]
    assert samples.has_point.tolist() == [True]


def test_of_two_clicked_superpixels_at_one_reduced_pixel_one_is_left():
    labels = np.zeros((1, 16, 16), np.int32)
    labels[0, 0, 0], labels[0, 1, 1] = 1, 2
    samples = build(SuperpixelMap(labels), PointSet.from_rows([(0, 0, 0), (0, 1, 1)]), max_side=4, multiple=2)
    assert samples.positive.sum() == 1
    assert samples.unlabelled.tolist() == [[1, 0, 0]]


def test_samples_are_positive_or_unlabelled_and_their_areas_fill_the_frame(samples):
    given = samples(4)
    assert ((given.positive + given.unlabelled) == (given.areas > 0)).all()
    torch.testing.assert_close(given.areas.sum(1), torch.ones(4))
    assert given.positive.nonzero().tolist() == [[0, 5], [1, 5], [2, 5], [3, 5]]


def test_regions_that_a_frame_does_not_have_are_no_samples():
    labels = np.zeros((2, 8, 8), np.int32)
    labels[1] = np.arange(8)
    samples = build(SuperpixelMap(labels), PointSet.from_rows([(1, 0, 3)]), multiple=4)
    assert samples.regions == 8
    assert samples.unlabelled[0].tolist() == [1] + 7 * [0]
    assert samples.unlabelled[1].tolist() == [1, 1, 1, 0, 1, 1, 1, 1]


def test_padding_is_no_part_of_any_sample():
    labels = np.arange(25, dtype=np.int32).reshape(1, 5, 5)
    samples = build(SuperpixelMap(labels), PointSet.from_rows([(0, 2, 2)]))
    assert samples.labels.shape == (1, 8, 8)
    assert (samples.labels[:, 5:] == 25).all()
    torch.testing.assert_close(samples.areas, torch.full((1, 25), 1 / 25))


def test_frames_without_a_click_and_absent_frames_are_told_apart(samples):
    points = PointSet.from_rows([(1, 5, 6), (3, 5, 6)], absent=[2])
    given = samples(5, points)
    assert given.has_point.tolist() == [False, True, False, True, False]
    assert given.absent.tolist() == [False, False, True, False, False]
    assert given.positive[[0, 2, 4]].sum() == 0
    assert (given.unlabelled[[0, 2, 4]] == 1).all()


def test_frames_are_standardised_over_the_sequence(samples):
    given = samples(4)
    assert given.frames.min() >= 0
    assert given.frames.max() <= 1
    standard = given.standardise(given.frames)
    torch.testing.assert_close(standard.mean((0, 2, 3)), torch.zeros(1), atol=1e-5, rtol=0)
    torch.testing.assert_close(standard.std((0, 2, 3)), torch.ones(1), atol=1e-4, rtol=0)


def test_frames_of_one_colour_become_zero_and_stay_finite():
    flat = ImageSequence.from_array(np.full((2, 8, 8), 7, np.uint8))
    superpixels = SuperpixelMap(np.zeros((2, 8, 8), np.int32))
    size = WorkingSize.fit((8, 8), 16, 4)
    (given,) = build_samples(flat, superpixels, [PointSet.from_rows([(0, 1, 1)])], size, torch.device("cpu"))
    assert (given.standardise(given.frames) == 0).all()


def test_carried_points_are_positive_but_not_clicked():
    labels = np.tile(np.repeat(np.arange(4, dtype=np.int32), 4), (3, 16, 1))
    points = PointSet.from_rows([(0, 3, 1)], absent=[2])
    carried = PointSet.from_rows([(0, 3, 1), (1, 3, 6)], absent=[2])
    samples = build(SuperpixelMap(labels), points, carried=carried)
    assert samples.positive.nonzero().tolist() == [[0, 0], [1, 1]]
    assert samples.clicked.nonzero().tolist() == [[0, 0]]
    assert samples.unlabelled.sum() == 3 * 4 - 2
    assert samples.has_point.tolist() == [True, True, False]
    assert samples.absent.tolist() == [False, False, True]


def test_a_carried_point_too_brings_a_superpixel_back_that_fell_between_the_reduced_pixels():
    labels = np.zeros((2, 16, 16), np.int32)
    labels[:, 1, 2] = 1
    points = PointSet.from_rows([(0, 9, 9)])
    carried = PointSet.from_rows([(0, 9, 9), (1, 1, 2)])
    samples = build(SuperpixelMap(labels), points, max_side=4, multiple=2, carried=carried)
    assert samples.labels[1, 0].tolist() == [1, 0, 0, 0]
    assert samples.positive.tolist() == [[1, 0], [0, 1]]
    assert samples.clicked.tolist() == [[True, False], [False, False]]


def test_without_carried_points_every_positive_is_clicked(samples):
    given = samples(4)
    assert (given.clicked == (given.positive > 0)).all()


def test_a_superpixel_under_a_negative_is_negative_and_no_longer_unlabelled(samples):
    # Blocks of 4 x 4, four in a row: y 9, x 1 is block 8.
    given = samples(3, PointSet.from_rows([(0, 5, 6)], negatives=[(0, 9, 1), (2, 9, 1)]))
    assert given.negative.nonzero().tolist() == [[0, 8], [2, 8]]
    assert given.positive.nonzero().tolist() == [[0, 5]]
    assert ((given.positive + given.unlabelled + given.negative) == (given.areas > 0)).all()
    assert given.has_point.tolist() == [True, False, False]
    assert samples(3).negative is None


def test_in_one_superpixel_the_point_wins_and_a_persons_own_over_one_carried_there():
    superpixels = SuperpixelMap(np.arange(4, dtype=np.int32).repeat(4)[np.newaxis, np.newaxis].repeat(16, 1))
    points = PointSet.from_rows([(0, 0, 0)], negatives=[(0, 5, 0), (0, 5, 4)])
    # Carried: a point to region 1, which holds a negative of the person's; both kinds to region 2; a negative to 3.
    carried = PointSet.from_rows(
        [(0, 0, 0), (0, 9, 4), (0, 9, 8)], negatives=[(0, 5, 0), (0, 5, 4), (0, 2, 8), (0, 2, 12)]
    )
    samples = build(superpixels, points, carried=carried)
    assert samples.positive.tolist() == [[1, 0, 1, 0]]
    assert samples.negative.tolist() == [[0, 1, 0, 1]]
    assert samples.unlabelled.sum() == 0


def test_a_negative_superpixel_that_falls_between_reduced_pixels_comes_back_but_hides_no_clicked_one():
    labels = np.zeros((1, 16, 16), np.int32)
    labels[0, 1, 2], labels[0, 0, 0], labels[0, 9, 9] = 1, 2, 3
    points = PointSet.from_rows([(0, 1, 2)], negatives=[(0, 0, 0), (0, 9, 9)])
    samples = build(SuperpixelMap(labels), points, max_side=4, multiple=2)
    assert samples.positive.tolist() == [[0, 1, 0, 0]]
    assert samples.negative.tolist() == [[0, 0, 0, 1]]


def test_samples_of_several_objects_share_frames_and_refuse_each_others_points():
    points = PointSet.from_rows([(0, 5, 6), (1, 13, 14)], objects=["a", "b"])
    apart = [points.of_object(name) for name in "ab"]
    first, second = build_all_samples(2, apart)
    assert first.frames is second.frames and first.labels is second.labels
    assert first.positive.nonzero().tolist() == second.negative.nonzero().tolist() == [[0, 5]]  # the clicked blocks
    assert first.negative.nonzero().tolist() == second.positive.nonzero().tolist() == [[1, 15]]
    (own,) = build_all_samples(2, apart[:1])
    for name in ("frames", "labels", "positive", "negative", "unlabelled", "areas", "clicked", "center", "scale"):
        assert torch.equal(getattr(first, name), getattr(own, name)), name


def test_of_several_objects_too_a_negative_hides_no_clicked_superpixel():
    # Superpixels 1 and 2 fall between the reduced pixels, and would both come back at the first of them.
    labels = np.zeros((1, 16, 16), np.int32)
    labels[0, 1, 2], labels[0, 0, 0], labels[0, 9, 9] = 1, 2, 3
    points = [PointSet.from_rows([(0, 1, 2)]), PointSet.from_rows([(0, 9, 9)], negatives=[(0, 0, 0)])]
    sequence = ImageSequence.from_array(np.random.default_rng(1).integers(0, 256, (1, 16, 16)).astype(np.uint8))
    size = WorkingSize.fit((16, 16), 4, 2)
    first, second = build_samples(sequence, SuperpixelMap(labels), points, size, torch.device("cpu"))
    assert first.positive.tolist() == [[0, 1, 0, 0]]
    assert second.positive.tolist() == [[0, 0, 0, 1]]
    assert second.negative is None


def test_all_samples_of_an_outlined_frame_are_unlabelled_and_those_inside_positive_too(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6)], negatives=[(1, 9, 1), (2, 9, 1)])
    given = samples(3, points, Words.of({1: outline(5, 6, 10)}))
    assert given.positive.nonzero().tolist() == [[0, 5], [1, 5], [1, 6], [1, 10]]
    assert given.unlabelled.sum(1).tolist() == [15, 16, 15]
    assert given.negative.nonzero().tolist() == [[2, 8]]  # on the outlined frame the outline says it all
    assert given.known[1] == 3 / 16 and np.isnan(given.known[[0, 2]]).all()
    assert given.drawn.shape == (3, 16, 16)
    np.testing.assert_array_equal(given.drawn[1].numpy(), outline(5, 6, 10))
    assert given.drawn[[0, 2]].sum() == 0
    plain = samples(3)
    assert (plain.drawn, plain.known) == (None, None)


def test_the_pu_risk_of_an_outlined_frame_with_its_known_prior_is_that_of_its_labels(samples):
    given = samples(1, None, Words.of({0: outline(5, 6)}))
    logits = torch.linspace(-3, 2, 16)[None]
    prior = torch.tensor(given.known, dtype=torch.float32)
    risk = pu_risk(logits, given.positive, given.unlabelled, prior, RiskSettings())
    right = np.where(np.isin(np.arange(16), (5, 6)), 1, -1)
    by_hand = np.log1p(np.exp(-right * logits[0].double().numpy())).mean()
    assert float(risk.positive + risk.negative) == pytest.approx(by_hand, rel=1e-5)


def test_a_frame_outlined_as_empty_has_no_positive_and_its_risk_is_that_of_background(samples):
    points = PointSet.from_rows([(1, 5, 6)])
    given = samples(2, points, Words.of({0: outline()}))
    assert (given.positive[0].sum(), given.known[0], given.has_point.tolist()) == (0, 0, [False, True])
    logits = torch.linspace(-3, 2, 16)[None]
    risk = pu_risk(logits, given.positive[:1], given.unlabelled[:1], torch.zeros(1), RiskSettings())
    by_hand = np.log1p(np.exp(logits.double().numpy())).mean()
    assert float(risk.positive + risk.negative) == pytest.approx(by_hand, rel=1e-5)


def test_what_lies_outside_a_box_is_negative_on_its_frame(samples):
    given = samples(2, None, Words(boxes=(Box(1, 4, 4, 12, 12),)))
    inside = {5, 6, 9, 10}
    assert given.negative.nonzero().tolist() == [[1, block] for block in range(16) if block not in inside]
    assert given.positive.nonzero().tolist() == [[0, 5], [1, 5]]
    assert given.known is None
