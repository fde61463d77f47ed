"""OME-TIFF stacks carry the spacing that their microscope wrote down."""

import numpy as np
import pytest
import tifffile

from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence

STACK = np.random.default_rng(2).integers(0, 900, (4, 5, 6)).astype(np.uint16)


def save_ome(path, array=STACK, axes="ZYX", **sizes):
    metadata = {"axes": axes, **{f"PhysicalSize{name}": value for name, value in sizes.items()}}
    tifffile.imwrite(path, array, metadata=metadata, ome=True)
    return path


@pytest.mark.parametrize(("unit", "factor"), [("µm", 1e-3), ("nm", 1e-6), ("mm", 1)])
def test_spacing_is_read_in_its_unit(tmp_path, unit, factor):
    units = {f"{axis}Unit": unit for axis in "XYZ"}
    sequence = read_sequence(save_ome(tmp_path / "a.ome.tif", X=0.25, Y=0.5, Z=2.0, **units))
    np.testing.assert_array_equal(sequence.frames[..., 0], STACK)
    assert sequence.geometry.spacing_mm == pytest.approx((0.25 * factor, 0.5 * factor, 2 * factor))
    assert sequence.geometry.axes == (2, 1, 0)


def test_pages_are_the_frames_even_where_they_lie_closer_than_pixels(tmp_path):
    sequence = read_sequence(save_ome(tmp_path / "a.ome.tif", X=2.0, Y=0.5, Z=0.5))
    assert sequence.shape == (4, 5, 6, 1)
    assert read_sequence(tmp_path / "a.ome.tif", axis="0").shape == (6, 4, 5, 1)


def test_films_and_channels_are_told_apart(tmp_path):
    film = read_sequence(save_ome(tmp_path / "t.ome.tif", axes="TYX", X=0.25, Y=0.5))
    assert film.geometry.over_time
    channels = np.stack([STACK, STACK + 1], axis=1)
    sequence = read_sequence(save_ome(tmp_path / "c.ome.tif", channels, axes="ZCYX", X=1, Y=1, Z=2))
    np.testing.assert_array_equal(sequence.frames, channels.transpose(0, 2, 3, 1))


def test_a_stack_without_spacing_has_no_place(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK)
    assert read_sequence(tmp_path / "a.tif").geometry is None
    assert read_sequence(save_ome(tmp_path / "b.ome.tif")).geometry is None
    with pytest.raises(InputError, match="--axis 1 needs a volume"):
        read_sequence(tmp_path / "a.tif", axis="1")


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", STACK[0], compression="zlib")
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+b") as tiff:
        for name in ("ImageWidth", "ImageLength"):
            tiff.pages[0].tags[name].overwrite(2_000_000)
    with pytest.raises(InputError, match=r"a\.tif") as caught:
        read_sequence(tmp_path / "a.tif")
    assert "\n" not in str(caught.value)
