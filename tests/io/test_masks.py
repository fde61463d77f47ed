"""Masks survive the way to disk and back, and a folder of masks is whole or not there."""

import errno

import numpy as np
import pytest
import tifffile
from PIL import Image

from fewpoint.errors import InputError, OutputError, RunConflictError
from fewpoint.io import masks as masks_module
from fewpoint.io.masks import read_mask_pair, read_masks, write_masks
from volumes import AFFINE, VOXELS, reorient, save_nifti

MASKS = np.random.default_rng(1).random((3, 6, 7)) < 0.4
NAMES = ("a1", "a2", "a10")


def test_masks_round_trip_as_0_and_255_png(tmp_path):
    write_masks(MASKS, NAMES, tmp_path / "masks")
    np.testing.assert_array_equal(read_masks(tmp_path / "masks"), MASKS)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "masks" / "a2.png")), MASKS[1] * 255)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a1.png", "a10.png", "a2.png", "masks"]


@pytest.mark.parametrize("folder", ["masks", "ground_truth-frames"])
def test_run_and_dataset_folders_are_read_from_their_subfolder(tmp_path, folder):
    write_masks(~MASKS, NAMES, tmp_path / "input-frames")
    write_masks(MASKS, NAMES, tmp_path / folder)
    np.testing.assert_array_equal(read_masks(tmp_path), MASKS)


def test_stacks_are_read_as_nonzero_in_any_channel(tmp_path):
    labels = MASKS * np.uint8(1)
    colours = np.stack([labels * 0, labels * 0, labels * 3], axis=-1)
    tifffile.imwrite(tmp_path / "grey.tif", labels, photometric="minisblack", compression="zlib")
    tifffile.imwrite(tmp_path / "bool.tif", MASKS)
    tifffile.imwrite(tmp_path / "colour.tif", colours, photometric="rgb")
    np.save(tmp_path / "a.npy", MASKS)
    np.savez(tmp_path / "a.npz", masks=labels.astype(np.int64), other=labels)
    for name in ("grey.tif", "bool.tif", "colour.tif", "a.npy", "a.npz"):
        read = read_masks(tmp_path / name)
        assert read.dtype == bool
        np.testing.assert_array_equal(read, MASKS)


def test_missing_masks_are_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no frames in"):
        read_masks(tmp_path)


def test_a_second_write_replaces_all_of_the_first(tmp_path):
    write_masks(MASKS, NAMES, tmp_path / "masks")
    write_masks(~MASKS[:2], ("a1", "b"), tmp_path / "masks")
    np.testing.assert_array_equal(read_masks(tmp_path / "masks"), ~MASKS[:2])
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]


def test_a_disk_that_fills_up_leaves_the_earlier_masks_and_no_leftovers(tmp_path, monkeypatch):
    write_masks(MASKS, NAMES, tmp_path / "masks")
    written = []

    def write_twice(path, write):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(b"half")
        written.append(path)

    monkeypatch.setattr(masks_module, "write_new", write_twice)
    with pytest.raises(OutputError, match="the disk is full"):
        write_masks(~MASKS, NAMES, tmp_path / "masks")
    np.testing.assert_array_equal(read_masks(tmp_path / "masks"), MASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]


def test_a_folder_with_anything_but_masks_is_not_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("keep me")
    with pytest.raises(RunConflictError, match="nothing but masks"):
        write_masks(MASKS, NAMES, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "keep me"


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "b"), ("a", "b", "../c"), ("a", "b", "")])
def test_names_that_are_no_file_names_are_refused(tmp_path, names):
    with pytest.raises(InputError, match="name"):
        write_masks(MASKS, names, tmp_path / "masks")
    assert not (tmp_path / "masks").exists()


def test_a_missing_parent_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="cannot write"):
        write_masks(MASKS, NAMES, tmp_path / "nowhere" / "masks")


def test_volumes_are_compared_only_where_they_lie_in_the_same_place(tmp_path):
    """The same voxels stored the other way round would be scored against each other's mirror image."""
    one = save_nifti(tmp_path / "one.nii", VOXELS % 3)
    same = save_nifti(tmp_path / "same.nii.gz", VOXELS % 3, affine=AFFINE + 1e-5)
    mirrored = save_nifti(tmp_path / "mirrored.nii", *reorient(VOXELS % 3, AFFINE, (-1, 1, 1)))
    np.save(tmp_path / "anywhere.npy", VOXELS.T % 3)
    for other in (same, tmp_path / "anywhere.npy"):
        pair = read_mask_pair(one, other)
        np.testing.assert_array_equal(pair.masks, pair.truth)
        assert pair.geometry is not None
    with pytest.raises(InputError, match="must lie in the same place"):
        read_mask_pair(one, mirrored)


def test_what_is_no_mask_is_refused(tmp_path):
    np.save(tmp_path / "image.npy", np.arange(2 * 8 * 8).reshape(2, 8, 8).astype(np.uint8))
    np.save(tmp_path / "sure.npy", np.linspace(0, 1, 128).reshape(2, 8, 8))
    np.save(tmp_path / "labels.npy", np.arange(32).reshape(1, 4, 8))
    for name in ("image", "sure"):
        with pytest.raises(InputError, match=rf"{name}\.npy must hold masks, of at most 32 different values"):
            read_masks(tmp_path / f"{name}.npy")
    assert read_masks(tmp_path / "labels.npy").sum() == 31
