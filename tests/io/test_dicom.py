"""DICOM series are read in the order and place of their slices, in the units of their modality."""

import os

import imagecodecs
import numpy as np
import pydicom
import pytest
import SimpleITK
from pydicom.uid import JPEG2000Lossless, JPEGLosslessSV1, JPEGLSLossless, RLELossless

from dicom_series import (
    COLUMN,
    NORMAL,
    ORIGIN,
    ROW,
    SERIES,
    SLICES,
    SPACING,
    STEP_MM,
    compress,
    save_enhanced,
    save_film,
    save_series,
)
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence

HOUNSFIELD = SLICES * 2.0 - 1024


def assert_refused(path, *fragments):
    with pytest.raises(InputError) as caught:
        read_sequence(path)
    assert "\n" not in str(caught.value)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_series_is_sorted_by_place_and_scaled(tmp_path):
    sequence = read_sequence(save_series(tmp_path / "series"))
    np.testing.assert_array_equal(sequence.frames[..., 0], HOUNSFIELD)
    assert sequence.source.notes == ()


@pytest.mark.parametrize("make", [save_series, save_enhanced], ids=["series", "enhanced"])
def test_voxels_lie_where_the_headers_say(tmp_path, make):
    geometry = read_sequence(make(tmp_path / "d")).geometry
    assert geometry.spacing_mm == pytest.approx((SPACING[1], SPACING[0], STEP_MM))
    place = geometry.affine @ [6, 5, 4, 1]
    expected = ORIGIN + 6 * SPACING[1] * ROW + 5 * SPACING[0] * COLUMN + 4 * STEP_MM * NORMAL
    np.testing.assert_allclose(place[:3], expected * (-1, -1, 1), atol=1e-5)


def test_simpleitk_sees_the_same_voxels_in_the_same_places(tmp_path):
    folder = save_series(tmp_path / "series")
    image = SimpleITK.ReadImage(SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(str(folder)))
    sequence = read_sequence(folder)
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(image), sequence.frames[..., 0])
    place = np.array(image.TransformIndexToPhysicalPoint((6, 5, 4))) * (-1, -1, 1)
    np.testing.assert_allclose((sequence.geometry.affine @ [6, 5, 4, 1])[:3], place, atol=1e-5)


def test_a_multi_frame_image_is_sorted_by_place(tmp_path):
    path = save_enhanced(tmp_path / "enhanced.dcm")
    for given in (path, tmp_path):
        np.testing.assert_array_equal(read_sequence(given).frames[..., 0], SLICES)


def test_a_colour_film_keeps_its_order(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (4, 6, 8, 3)).astype(np.uint8)
    sequence = read_sequence(save_film(tmp_path / "film", frames))
    np.testing.assert_array_equal(sequence.frames, frames)
    assert sequence.geometry is None


def test_images_of_one_place_are_frames_over_time(tmp_path):
    sequence = read_sequence(save_series(tmp_path / "cine", step=NORMAL * 0))
    np.testing.assert_array_equal(sequence.frames[..., 0], HOUNSFIELD)
    assert sequence.geometry.over_time
    assert sequence.geometry.pixel_mm2 == pytest.approx(SPACING[0] * SPACING[1])


def test_one_image_stands_for_its_series_among_others(tmp_path):
    folder = save_series(tmp_path / "mixed")
    other = f"{SERIES[:-3]}123"
    save_series(folder, SLICES[:2] + 1, other)
    assert_refused(folder, "must hold one series, it holds 2", "series 123 (2 images", "(5 images")
    file = next(path for path in folder.iterdir() if pydicom.dcmread(path).SeriesInstanceUID == other)
    np.testing.assert_array_equal(read_sequence(file).frames[..., 0], HOUNSFIELD[:2] + 2)


def test_folders_below_are_searched_and_other_files_ignored(tmp_path):
    folder = save_series(tmp_path / "a" / "b")
    (folder / "notes.txt").write_text("nothing")
    (folder / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert read_sequence(tmp_path).shape == (5, 6, 7, 1)


def test_missing_slices_and_a_tilted_gantry_are_said(tmp_path):
    gap = read_sequence(save_series(tmp_path / "gap", skip=(2,)))
    assert len(gap) == 4
    (note,) = gap.source.notes
    assert "1 slices seem to be missing, first after frame 1 (6 mm, usually 3 mm)" in note
    step = NORMAL * 3 + COLUMN * 3 * np.tan(np.radians(15))
    tilted = read_sequence(save_series(tmp_path / "tilted", step=step))
    assert tilted.source.notes == ("the gantry was tilted by 15.0 degrees; slices are kept as scanned",)
    place = ORIGIN + 2 * step + SPACING[1] * ROW
    np.testing.assert_allclose((tilted.geometry.affine @ [1, 0, 2, 1])[:3], place * (-1, -1, 1), atol=1e-4)


def encode_rle(pixels: np.ndarray) -> bytes:
    return pydicom.pixels.encoders.RLELosslessEncoder.encode(
        pixels.astype("<u2").tobytes(),
        rows=pixels.shape[0],
        columns=pixels.shape[1],
        samples_per_pixel=1,
        bits_allocated=16,
        bits_stored=12,
        pixel_representation=0,
        number_of_frames=1,
        photometric_interpretation="MONOCHROME2",
    )


@pytest.mark.parametrize(
    ("syntax", "encode"),
    [
        (RLELossless, encode_rle),
        (JPEG2000Lossless, lambda pixels: imagecodecs.jpeg2k_encode(pixels, reversible=True, codecformat="j2k")),
        (JPEGLSLossless, imagecodecs.jpegls_encode),
        (JPEGLosslessSV1, lambda pixels: imagecodecs.ljpeg_encode(pixels, bitspersample=12)),
    ],
    ids=["rle", "jpeg 2000", "jpeg-ls", "lossless jpeg"],
)
def test_packed_series_are_read_exactly(tmp_path, syntax, encode):
    folder = save_series(tmp_path / "packed")
    compress(folder, syntax, encode)
    np.testing.assert_array_equal(read_sequence(folder).frames[..., 0], HOUNSFIELD)


def test_what_is_no_volume_is_refused(tmp_path):
    folder = save_series(tmp_path / "scout")
    path = next(folder.iterdir())
    dataset = pydicom.dcmread(path)
    dataset.ImageOrientationPatient = [0, 1, 0, 0, 0, -1]
    dataset.save_as(path)
    assert_refused(folder, "parallel planes", path.name)
    folder = save_series(tmp_path / "twice")
    dataset = pydicom.dcmread(next(folder.iterdir()))
    dataset.SOPInstanceUID = f"{SERIES}.55"
    dataset.save_as(folder / "again")
    assert_refused(folder, "one image a position")
    folder = save_series(tmp_path / "sizes")
    save_series(folder, SLICES[:1, :4], step=NORMAL * 99)
    assert_refused(folder, "one size", "4 x 7, 6 x 7")


def test_images_without_pixels_or_cut_short_are_refused(tmp_path):
    folder = save_series(tmp_path / "bare")
    path = next(folder.iterdir())
    data = path.read_bytes()
    for length in [*range(0, 128, 40), *range(140, len(data) - 1, 60)]:
        path.write_bytes(data[:length])
        if length < 132:
            assert len(read_sequence(folder)) == 4  # no longer DICOM, as any other file
        else:
            try:
                assert len(read_sequence(folder)) == 4  # no longer an image
            except InputError as error:
                assert "\n" not in str(error)
    dataset = pydicom.dcmread(next(save_series(tmp_path / "empty").iterdir()))
    del dataset.PixelData
    dataset.save_as(tmp_path / "empty.dcm")
    assert_refused(tmp_path / "empty.dcm", "it has none")


def test_absurd_sizes_and_folders_without_images_are_refused(tmp_path):
    assert_refused(save_series(tmp_path / "huge", Rows=60000, Columns=60000), "more than a file of its size can hold")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.dcm").write_text("nothing")
    assert_refused(tmp_path / "none", "no DICOM image in")
    assert_refused(tmp_path / "none" / "a.dcm", "must be a DICOM image")


@pytest.mark.usefixtures("trusting")
def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    folder = save_series(tmp_path / "series")
    monkeypatch.setitem(__import__("sys").modules, "pydicom", None)
    assert_refused(folder, "pip install 'fewpoint[dicom]'")


@pytest.mark.skipif("FEWPOINT_DICOM" not in os.environ, reason="FEWPOINT_DICOM names no folder with a real series")
def test_a_real_series_is_read_as_simpleitk_reads_it():
    folder = os.environ["FEWPOINT_DICOM"]
    image = SimpleITK.ReadImage(SimpleITK.ImageSeriesReader.GetGDCMSeriesFileNames(folder))
    sequence = read_sequence(folder)
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(image), sequence.frames[..., 0])
    last = [side - 1 for side in image.GetSize()]
    place = np.array(image.TransformIndexToPhysicalPoint(last)) * (-1, -1, 1)
    np.testing.assert_allclose((sequence.geometry.affine @ [*last, 1])[:3], place, atol=1e-3)
