"""The result at a glance."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from fewpoint.errors import InputError
from fewpoint.report import draw_montage, encode_png
from fewpoint.report.montage import LEGEND_SIZE, choose_frames, plan_layout
from fewpoint.report.tiles import CONTOUR_COLOUR, REFERENCE_COLOUR, RING_COLOUR, set_scene


def find_colour(picture, colour):
    return (picture == np.array(colour, np.uint8)).all(axis=-1)


def cut_tile(montage, layout, place):
    y, x = layout.corner(place)
    return montage[y : y + layout.tile[0], x : x + layout.tile[1]]


@pytest.mark.parametrize("size", [(40, 40), (40, 48), (600, 500), (90, 700), (700, 90)])
@pytest.mark.parametrize("n_frames", [4, 8, 30])
def test_the_picture_has_the_planned_size(result, n_frames, size):
    sequence, points, segmentation = result(n_frames, size)
    scene = set_scene(sequence, points, segmentation)
    montage = draw_montage(scene)
    layout = plan_layout(scene.square_size, min(n_frames, 16), 8)
    assert montage.dtype == np.uint8 and montage.shape == (*layout.size, 3)


@pytest.mark.parametrize("columns", [4, 6, 8, 12])
@pytest.mark.parametrize("size", [(40, 40), (480, 640), (2000, 2000)])
def test_the_picture_is_about_1800_pixels_wide(columns, size):
    assert 1600 <= plan_layout(size, columns, columns).size[1] <= 2000


def test_tiles_keep_the_proportions_of_the_frame():
    height, width = plan_layout((480, 640), 8, 8).tile
    assert height / width == pytest.approx(480 / 640, abs=1 / width)


def test_each_column_shows_the_contour_of_its_mask(result):
    sequence, points, segmentation = result(4)
    montage = draw_montage(set_scene(sequence, points, segmentation))
    layout = plan_layout(sequence.size, 4, 8)
    scale = layout.tile[1] / 48
    for place in range(3):
        rows, columns = np.nonzero(find_colour(cut_tile(montage, layout, place), CONTOUR_COLOUR))
        edges = np.array([rows.min(), rows.max(), columns.min(), columns.max()])
        np.testing.assert_allclose(edges, np.array([10, 20, 12, 24]) * scale, atol=2)
    assert not find_colour(cut_tile(montage, layout, 3), CONTOUR_COLOUR).any()


def test_the_ring_stands_on_the_clicked_frame_only(result):
    sequence, points, segmentation = result(4)
    montage = draw_montage(set_scene(sequence, points, segmentation))
    layout = plan_layout(sequence.size, 4, 8)
    ring = np.argwhere(find_colour(cut_tile(montage, layout, 0), RING_COLOUR))
    expected = (points.coordinates[0, 1:] + 0.5) * layout.tile[1] / 48 - 0.5
    np.testing.assert_allclose(ring.mean(axis=0), expected, atol=1)
    assert not any(find_colour(cut_tile(montage, layout, place), RING_COLOUR).any() for place in (1, 2, 3))


def test_one_frame_is_enough(result):
    assert draw_montage(set_scene(*result(1))).shape[1] >= LEGEND_SIZE[1]


def test_an_unknown_prior_and_a_long_name_are_labelled(result):
    sequence, points, segmentation = result(9)
    segmentation.priors.mean[:] = np.nan
    named = type(sequence)(sequence.frames, tuple(f"{'long' * 20}_{frame}" for frame in range(9)))
    assert draw_montage(set_scene(named, points, segmentation)).shape[1] > 1600


@pytest.mark.parametrize("clicked", [[0], [7], [2, 7, 12, 17], list(range(74))])
def test_chosen_frames_are_in_order_and_hold_first_and_last(clicked):
    chosen = choose_frames(74, 16, np.array(clicked))
    assert len(chosen) == 16 and chosen[0] == 0 and chosen[-1] == 73
    assert all(before < after for before, after in pairwise(chosen))


def test_without_clicks_close_by_the_choice_is_even():
    assert choose_frames(15, 8, np.array([0])) == (0, 2, 4, 6, 8, 10, 12, 14)


def test_with_points_on_every_fifth_frame_most_columns_show_one():
    clicked = np.arange(2, 74, 5)
    assert len(set(choose_frames(74, 8, clicked)) & set(clicked.tolist())) == 6


def test_no_columns_are_refused(result):
    with pytest.raises(InputError, match="at least one column, got 0"):
        draw_montage(set_scene(*result()), columns=0)


def test_a_png_gives_back_the_same_pixels():
    picture = np.random.default_rng(0).integers(0, 256, (7, 9, 3)).astype(np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(encode_png(picture)))), picture)


def test_a_reference_is_drawn_beside_the_mask_and_only_where_there_is_one(result):
    sequence, points, segmentation = result(4)
    reference = np.zeros_like(segmentation.masks)
    reference[1, 2:8, 30:40] = True
    montage = draw_montage(set_scene(sequence, points, segmentation, reference))
    layout = plan_layout(sequence.size, 4, 8)
    scale = layout.tile[1] / 48
    rows, columns = np.nonzero(find_colour(cut_tile(montage, layout, 1), REFERENCE_COLOUR))
    edges = np.array([rows.min(), rows.max(), columns.min(), columns.max()])
    np.testing.assert_allclose(edges, np.array([2, 8, 30, 40]) * scale, atol=2)
    assert find_colour(cut_tile(montage, layout, 1), CONTOUR_COLOUR).any()
    assert not find_colour(cut_tile(montage, layout, 0), REFERENCE_COLOUR).any()
    assert not find_colour(draw_montage(set_scene(sequence, points, segmentation)), REFERENCE_COLOUR).any()


def test_a_reference_of_another_shape_is_refused(result):
    sequence, points, segmentation = result(4)
    with pytest.raises(InputError, match="masks and reference must have one"):
        set_scene(sequence, points, segmentation, segmentation.masks[:3])
