"""Drawn masks from files."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

from fewpoint.core import ImageSequence
from fewpoint.core.job import OutlineFile
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import write_masks
from fewpoint.io.outlines import read_outlines
from volumes import AFFINE, SHAPE, VOXELS, save_nifti

SEQUENCE = ImageSequence.from_array(np.zeros((4, 6, 8), np.uint8))
LABELS = np.zeros((4, 6, 8), np.uint8)
LABELS[1, 1:3, 2:6] = 1
LABELS[1, 4:, 5:] = 2
LABELS[3, :2, :2] = 2


def read(path, name="", frame=None, names=("",), sequence=SEQUENCE):
    return read_outlines([(name, OutlineFile(str(path), frame))], names, sequence)


@pytest.mark.parametrize("value", [1, 255])
def test_a_picture_outlines_one_frame_where_it_is_not_zero(tmp_path, value):
    Image.fromarray((LABELS[1] > 0) * np.uint8(value)).save(tmp_path / "m.png")
    assert read(tmp_path / "m.png", frame=2) == {"": {2: encode_mask(LABELS[1] > 0)}}


def test_an_empty_picture_says_that_the_object_is_not_there(tmp_path):
    Image.fromarray(LABELS[0]).save(tmp_path / "m.png")
    assert read(tmp_path / "m.png", "b", 2, ("a", "b")) == {"b": {2: ()}}


def test_a_tiff_of_one_page_is_the_mask_of_a_frame(tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", LABELS[1], photometric="minisblack")
    assert read(tmp_path / "m.tif", frame=0) == {"": {0: encode_mask(LABELS[1] > 0)}}


def save_npy(folder):
    np.save(folder / "a.npy", LABELS)
    return folder / "a.npy"


def save_pictures(folder):
    write_masks(LABELS > 0, ("0", "1", "2", "3"), folder / "masks")
    return folder / "masks"


@pytest.mark.parametrize("save", [save_npy, save_pictures])
def test_of_a_stack_every_frame_that_shows_anything_is_outlined_and_no_other(tmp_path, save):
    outlined = {"": {1: encode_mask(LABELS[1] > 0), 3: encode_mask(LABELS[3] > 0)}}
    assert read(save(tmp_path)) == outlined
    assert read(save_npy(tmp_path), "liver", names=("liver", "spleen")) == {"liver": outlined[""]}


def test_a_label_is_the_number_of_an_object_by_its_name(tmp_path):
    assert read(save_npy(tmp_path), names=("liver", "spleen")) == {
        "liver": {1: encode_mask(LABELS[1] == 1)},
        "spleen": {1: encode_mask(LABELS[1] == 2), 3: encode_mask(LABELS[3] == 2)},
    }
    Image.fromarray(LABELS[3]).save(tmp_path / "m.png")
    assert read(tmp_path / "m.png", frame=2, names=("liver", "spleen")) == {"spleen": {2: encode_mask(LABELS[3] == 2)}}


@pytest.mark.parametrize("axis", ["auto", "0", "coronal"])
def test_a_label_volume_is_cut_as_the_input_was(tmp_path, axis):
    labels = np.zeros(SHAPE, np.uint8)
    labels[2, 4, 1] = 1
    sequence = read_sequence(save_nifti(tmp_path / "scan.nii.gz"), axis=axis)
    mask = read_sequence(save_nifti(tmp_path / "drawn.nii.gz", labels), axis=axis).frames[..., 0]
    (frame,) = np.unique(np.nonzero(mask)[0]).tolist()
    expected = {"": {frame: encode_mask(mask[frame] > 0)}}
    assert read(tmp_path / "drawn.nii.gz", sequence=sequence) == expected
    np.save(tmp_path / "drawn.npy", mask)
    assert read(tmp_path / "drawn.npy", sequence=sequence) == expected


def test_masks_in_another_place_are_refused(tmp_path):
    sequence = read_sequence(save_nifti(tmp_path / "scan.nii.gz"))
    moved = AFFINE.copy()
    moved[0, 3] += 1
    save_nifti(tmp_path / "drawn.nii.gz", VOXELS, moved)
    with pytest.raises(InputError, match=r"drawn\.nii\.gz must lie where the input does"):
        read(tmp_path / "drawn.nii.gz", sequence=sequence)


@pytest.mark.parametrize(
    ("masks", "frame", "names", "message"),
    [
        (LABELS[:, :5], None, ("",), "as large as the frames, 6 x 8 .height x width., they are 5 x 8"),
        (LABELS[:3], None, ("",), "a mask for each of the 4 frames, it holds 3; .*or give FRAME=MASK"),
        (LABELS[:2], 1, ("",), "the mask of frame 1 alone, it holds 2"),
        (LABELS[:1], 4, ("",), "is for frame 4, but the sequence has frames 0 to 3; frames count from zero"),
        (LABELS * 0, None, ("",), "must show an object on some frame, it is empty"),
        (LABELS * 2, None, ("a", "b"), "must hold 1 to 2 for a, b, and 0, got 4; or give NAME="),
        (LABELS / 2, None, ("a", "b"), "got 0.5"),
        (np.stack([LABELS] * 3, -1), None, ("a", "b"), "got colours"),
    ],
)
def test_masks_that_do_not_fit_are_refused_in_one_line(tmp_path, masks, frame, names, message):
    np.save(tmp_path / "m.npy", masks)
    with pytest.raises(InputError, match=f"m.npy.*{message}") as caught:
        read(tmp_path / "m.npy", frame=frame, names=names)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("frame", [None, 1])
def test_a_file_that_is_not_there_is_named(tmp_path, frame):
    with pytest.raises(InputError, match=r"none\.png does not exist"):
        read(tmp_path / "none.png", frame=frame)


def test_two_files_on_one_frame_are_refused(tmp_path):
    file = OutlineFile(str(save_npy(tmp_path)))
    Image.fromarray(LABELS[1]).save(tmp_path / "m.png")
    with pytest.raises(InputError, match=r"m\.png is for frame 1, as another file is"):
        read_outlines([("", file), ("", replace(file, path=str(tmp_path / "m.png"), frame=1))], ("",), SEQUENCE)
