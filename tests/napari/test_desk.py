"""Where the project of an image is kept."""

import numpy as np
import pytest
import tifffile

from fewpoint.errors import InputError, OutputError
from fewpoint.io.images import read_sequence
from fewpoint.napari.desk import Desk
from fewpoint.napari.layers import take_frames
from small_desk import FRAMES


def test_an_image_in_memory_is_kept_with_its_project_in_a_folder_of_the_users(desk, tmp_path):
    study = desk.open_image(FRAMES, "CT [1]/liver")
    assert study.path.parent == tmp_path / "kept" and study.path.name.startswith("CT-1-liver-")
    np.testing.assert_array_equal(read_sequence(study.session.source.path).frames[..., 0], FRAMES)
    assert desk.open_image(FRAMES.copy(), "CT [1]/liver") is study
    assert desk.open_image(FRAMES[::-1], "CT [1]/liver") is not study


def test_an_image_of_a_file_that_holds_these_pixels_is_kept_beside_it(desk, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, FRAMES)
    study = desk.open_image(FRAMES, "stack", path)
    assert study.path == tmp_path / "stack.tif.fewpoint"
    assert study.session.source.path == str(path)


def test_an_image_that_differs_from_its_file_is_kept_as_a_copy(desk, tmp_path):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, FRAMES)
    turned = desk.open_image(np.ascontiguousarray(FRAMES.swapaxes(0, 1)), "stack", path)
    assert turned.path.parent == tmp_path / "kept" and turned.project.shape == (48, 6, 40)


def test_a_chosen_folder_is_used_and_two_files_of_one_name_do_not_meet_there(desk, tmp_path):
    chosen = tmp_path / "chosen"
    studies = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        tifffile.imwrite(tmp_path / name / "stack.tif", FRAMES)
        studies.append(desk.open_image(FRAMES, "stack", tmp_path / name / "stack.tif", chosen))
    assert {study.path.parent for study in studies} == {chosen}
    assert studies[0].path != studies[1].path


def test_a_folder_that_cannot_be_is_told_in_words(desk, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose another folder"):
        desk.open_image(FRAMES, "phantom", None, tmp_path / "file" / "below")


@pytest.mark.parametrize(("shape", "rgb"), [((8, 8), False), ((2, 3, 8, 8), False), ((8, 8, 3), True)])
def test_an_image_without_three_axes_is_refused(shape, rgb):
    with pytest.raises(InputError, match="must have three axes"):
        take_frames(np.zeros(shape), rgb)


def test_of_colours_with_alpha_the_colours_count_and_of_several_scales_the_finest():
    assert take_frames(np.zeros((2, 8, 8, 4), np.uint8), True).shape == (2, 8, 8, 3)
    assert take_frames([np.zeros((2, 8, 8)), np.zeros((1, 4, 4))], False).shape == (2, 8, 8)


def test_a_video_in_colour_can_be_worked_on(desk: Desk):
    study = desk.open_image(np.repeat(FRAMES[..., np.newaxis], 3, axis=-1), "film")
    assert study.project.shape == FRAMES.shape and study.session.sequence.shape[-1] == 3
