"""Values that flow along the image: against a dense solve, and where edges, seeds and frames must stop or hold them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.errors import SettingsError
from fewpoint.superpixels.diffusion import (
    LEAST_FLOW,
    TOLERANCE,
    DiffusionSettings,
    _find_threads,
    diffuse,
    link_regions,
)

NONE = np.array([], int)
SETTINGS = DiffusionSettings()


def make_bands(greys: list[list[int]], height: int = 4, width: int = 3) -> tuple[ImageSequence, SuperpixelMap]:
    """Upright bands, each a superpixel, with a grey value a band for each frame."""
    bands = np.repeat(np.array(greys), width, axis=1)[:, np.newaxis].repeat(height, axis=1)
    labels = np.repeat(np.arange(len(greys[0])), width)[np.newaxis, np.newaxis].repeat(len(greys), 0).repeat(height, 1)
    return ImageSequence.from_array(bands.astype(np.uint8)), SuperpixelMap(labels.astype(np.int32))


def make_noise(seed: int) -> tuple[ImageSequence, SuperpixelMap]:
    """Three frames of colour noise, cut into cells that differ from frame to frame, as many as it happens."""
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (3, 12, 10, 3)).astype(np.uint8)
    cells = []
    for count in (7, 1, 9):
        seeds = rng.uniform(0, 1, (count, 2)) * (12, 10)
        nearest = np.linalg.norm(np.stack(np.indices((12, 10)), -1)[:, :, None] - seeds, axis=-1).argmin(-1)
        cells.append(np.unique(nearest, return_inverse=True)[1].reshape(12, 10))
    return ImageSequence.from_array(frames), SuperpixelMap(np.array(cells, np.int32))


def link_slowly(sequence: ImageSequence, superpixels: SuperpixelMap, contrast: float) -> tuple[np.ndarray, ...]:
    """(n, n) flows within frames and across them, and (n,) masses, pixel by pixel; the frames' window is 0.5 … 99.5."""
    low, high = np.percentile(sequence.frames, [0.5, 99.5])
    scaled = ((sequence.frames.astype(float) - low) / (high - low)).clip(0, 1)
    regions = np.stack([superpixels.global_labels(frame) for frame in range(len(sequence))])
    colours = np.array([scaled[regions == region].mean(0) for region in range(superpixels.total)])
    areas = np.bincount(regions.ravel()).astype(float)
    borders, overlaps = np.zeros((2, superpixels.total, superpixels.total))
    for t, y, x in np.ndindex(regions.shape):
        for there, counts in (((t, y + 1, x), borders), ((t, y, x + 1), borders), ((t + 1, y, x), overlaps)):
            if all(at < side for at, side in zip(there, regions.shape, strict=True)):
                counts[regions[t, y, x], regions[there]] += 1
    borders = np.triu(borders + borders.T, 1)
    differences = ((colours[:, np.newaxis] - colours) ** 2).sum(-1)
    likeness = np.exp(-contrast * differences / differences[borders > 0].mean())
    width = np.sqrt(areas.mean())
    return borders * (likeness + LEAST_FLOW), overlaps / width * likeness, areas / width


@pytest.mark.parametrize("seed", range(3))
def test_links_and_values_are_those_of_a_dense_solve(seed):
    sequence, superpixels = make_noise(seed)
    chosen = DiffusionSettings(contrast=2.0, through_time=0.7, seed=5.0)
    within, across, masses = link_slowly(sequence, superpixels, chosen.contrast)
    links = link_regions(sequence, superpixels, chosen.contrast)
    found = np.zeros((2, superpixels.total, superpixels.total))
    np.add.at(found, (links.across.astype(int), links.first, links.second), links.flow)
    np.testing.assert_allclose(found, [within, across], rtol=1e-4, atol=1e-6)  # colours are means of float32
    np.testing.assert_allclose(links.masses, masses)

    values = np.random.default_rng(seed).uniform(size=superpixels.total)
    seeds, pull = np.array([2, 9]), 0.3
    flow = within + pull * chosen.through_time * across
    flow = flow + flow.T
    held, wanted = pull * masses, values.copy()
    held[seeds] *= chosen.seed
    wanted[seeds] = 1
    system = np.diag(flow.sum(1) + held) - flow
    result = diffuse(links, values, seeds, pull, chosen)
    # What is left of each equation, all of them together, is at most the solver's share of the right side.
    assert np.linalg.norm(system @ result - held * wanted) <= 1.1 * TOLERANCE * np.linalg.norm(held * wanted)
    np.testing.assert_allclose(result, np.linalg.solve(system, held * wanted), atol=0.01)


def test_along_like_bands_a_value_flows_and_a_strong_edge_stops_it():
    sequence, superpixels = make_bands([[10, 12, 14, 200, 202, 204]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    values = np.array([1.0, 0, 0, 0, 0, 0])
    flown = diffuse(links, values, NONE, 0.1, SETTINGS)
    assert flown[2] > 0.1
    # The edge leaves LEAST_FLOW of its border of four pixel sides open, against the border itself elsewhere.
    assert flown[3] < 0.02 * flown[2]
    even, _ = make_bands([[10] * 6])
    assert diffuse(link_regions(even, superpixels, 10.0), values, NONE, 0.1, SETTINGS)[3] > 0.1


def test_a_strong_pull_keeps_every_value_and_a_weak_one_the_mean():
    sequence, superpixels = make_bands([[50, 50, 50, 50]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    values = np.array([0.9, 0.1, 0.4, 0.2])
    np.testing.assert_allclose(diffuse(links, values, NONE, 1e6, SETTINGS), values, atol=1e-3)
    np.testing.assert_allclose(diffuse(links, values, NONE, 1e-6, SETTINGS), 0.4, atol=1e-2)


def test_a_seed_is_the_object_whatever_its_value_and_draws_its_like():
    sequence, superpixels = make_bands([[50, 50, 200]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    without = diffuse(links, np.zeros(3), NONE, 0.3, SETTINGS)
    drawn = diffuse(links, np.zeros(3), np.array([0]), 0.3, SETTINGS)
    np.testing.assert_array_equal(without, np.zeros(3))
    assert drawn[0] > 0.9
    assert drawn[1] > 0.5
    assert drawn[2] < 0.02


def test_values_flow_to_the_next_frame_only_where_links_through_time_count():
    sequence, superpixels = make_bands([[50, 200], [50, 200]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    values = np.array([1.0, 0, 0, 0])
    flown = diffuse(links, values, NONE, 0.3, SETTINGS)
    assert flown[2] > 0.2 > flown[3]
    apart = diffuse(links, values, NONE, 0.3, replace(SETTINGS, through_time=0.0))
    np.testing.assert_allclose(apart[2:], 0, atol=1e-6)


def test_overlaps_are_counted_whatever_the_number_of_regions_of_a_frame():
    labels = np.array([[[0, 0, 1, 1]], [[0, 1, 2, 2]]], np.int32)
    sequence = ImageSequence.from_array(np.full((2, 1, 4), 9, np.uint8))
    links = link_regions(sequence, SuperpixelMap(labels), contrast=10.0)
    pairs = zip(links.first.tolist(), links.second.tolist(), links.across.tolist(), strict=True)
    assert set(pairs) == {(0, 1, False), (2, 3, False), (3, 4, False), (0, 2, True), (0, 3, True), (1, 4, True)}
    width = np.sqrt(8 / 5)
    np.testing.assert_allclose(links.flow[links.across], np.array([1, 1, 2]) / width)
    np.testing.assert_allclose(links.flow[~links.across], 1 + LEAST_FLOW)
    np.testing.assert_allclose(links.masses, np.array([2, 2, 1, 1, 2]) / width)


@pytest.mark.parametrize("n_frames", [1, 3])
def test_frames_of_a_single_region_each_keep_their_values_where_they_do_not_look_alike(n_frames):
    greys = np.arange(n_frames) * 100
    sequence = ImageSequence.from_array(np.broadcast_to(greys[:, None, None], (n_frames, 4, 4)).astype(np.uint8))
    superpixels = SuperpixelMap(np.zeros((n_frames, 4, 4), np.int32))
    values = np.linspace(0.2, 0.8, n_frames)
    links = link_regions(sequence, superpixels, contrast=10.0)
    np.testing.assert_allclose(diffuse(links, values, NONE, 0.3, SETTINGS), values, atol=1e-3)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-3, 10), st.booleans())
def test_values_stay_between_the_least_and_the_most_that_is_wanted(seed, pull, seeded):
    sequence, superpixels = make_noise(seed)
    values = np.random.default_rng(seed).uniform(0.2, 0.7, superpixels.total)
    seeds = np.array([0]) if seeded else NONE
    result = diffuse(link_regions(sequence, superpixels, 3.0), values, seeds, pull, SETTINGS)
    largest = 1.0 if seeded else values.max()
    # The exact solution is a mean of what is wanted; the solver's residual lets it stray a little.
    assert values.min() - 0.05 <= result.min() <= result.max() <= min(1.0, largest + 0.05)


def test_what_is_given_stays_as_it_was():
    sequence, superpixels = make_bands([[50, 60, 200]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    values, masses = np.array([0.1, 0.2, 0.3]), links.masses.copy()
    diffuse(links, values, np.array([1]), 0.3, SETTINGS)
    assert values.tolist() == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(links.masses, masses)


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        ({"pull": 0.0}, "above 0 and finite, got 0"),
        ({"last_pull": float("inf")}, "above 0 and finite, got inf"),
        ({"contrast": -1.0}, "0 or more and finite, got -1"),
        ({"through_time": float("nan")}, "0 or more and finite, got nan"),
        ({"seed": -0.5}, "0 or more and finite, got -0.5"),
    ],
)
def test_meaningless_settings_are_refused_by_name(wrong, wanted):
    with pytest.raises(SettingsError, match=f"diffusion.{next(iter(wrong))} must be {wanted}"):
        DiffusionSettings(**wrong)


def test_a_refused_region_is_not_the_object_whatever_its_value_and_draws_its_like():
    sequence, superpixels = make_bands([[50, 50, 200]])
    links = link_regions(sequence, superpixels, contrast=10.0)
    drawn = diffuse(links, np.ones(3), NONE, 0.3, SETTINGS, refused=np.array([0]))
    assert drawn[0] < 0.1
    assert drawn[1] < 0.5
    assert drawn[2] > 0.98


def test_products_of_vectors_are_left_to_one_thread(monkeypatch):
    original, threads = scipy.sparse.linalg.cg, []

    def solve(*given, **options):
        threads.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return original(*given, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "cg", solve)
    _find_threads.cache_clear()  # other tests may have loaded libraries since
    sequence, superpixels = make_bands([[10, 200]])
    diffuse(link_regions(sequence, superpixels, 1.0), np.array([0.2, 0.8]), NONE, 0.1, SETTINGS)
    assert threads and set(threads) == {1}
