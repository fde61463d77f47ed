"""A result is written in every format, and read back by the library that others read it with."""

import json

import av
import highdicom
import numpy as np
import pydicom
import pytest
import tifffile
import zarr
from pycocotools import mask as coco

from dicom_series import NORMAL, ORIGIN, SLICES, save_enhanced, save_film, save_series
from fewpoint.core import AreaBound, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.errors import InputError
from fewpoint.io.coco import encode_mask
from fewpoint.io.dicom import collect_series
from fewpoint.io.formats import FILES, Outputs, choose_format, write_in_format, write_probabilities
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.sources import read_source, write_source
from fewpoint.io.video import write_video
from volumes import AFFINE, save_nifti, tilt


def make_result(sequence) -> Result:
    """Noise for masks on a sequence; nothing on its second frame."""
    shape = sequence.shape[:3]
    probabilities = np.random.default_rng(4).random(shape).astype(np.float32)
    masks = probabilities > 0.6
    masks[1:2] = False
    empty = np.zeros(len(masks))
    return Result.single(
        masks,
        ProbabilityMaps(probabilities),
        PriorEstimate(empty, empty, empty),
        PriorHistory.empty(len(masks)),
        AreaBound(0.5),
        sequence.names,
        sequence.source,
    )


@pytest.fixture
def volume(tmp_path) -> Result:
    """On an oblique volume, cut across its second axis."""
    return make_result(read_sequence(save_nifti(tmp_path / "v.nii.gz", affine=tilt(AFFINE)), axis="1"))


@pytest.mark.parametrize("name", ["nifti", "nrrd", "mha", "tiff", "zarr"])
def test_grids_are_read_back_voxel_by_voxel_and_in_place(volume, tmp_path, name):
    path = write_in_format(volume, name, tmp_path)
    again = read_sequence(path, axis="1")
    np.testing.assert_array_equal(again.frames[..., 0] > 0, volume.masks)
    np.testing.assert_array_equal(read_masks(path, axis="1"), volume.masks)
    np.testing.assert_allclose(again.geometry.spacing_mm, volume.source.geometry.spacing_mm, rtol=1e-6)
    if name not in ("tiff", "zarr"):  # which know of distances, but not of directions
        np.testing.assert_allclose(again.geometry.affine, volume.source.geometry.affine, atol=1e-5)
    path = write_probabilities(volume, name, tmp_path)
    np.testing.assert_array_equal(read_sequence(path, axis="1").frames[..., 0], volume.probabilities.values)


def test_a_result_is_saved_in_the_format_of_its_input(volume, tmp_path):
    folder = volume.save(tmp_path / "result")
    assert {entry.name for entry in folder.iterdir()} == {
        *("masks.nii.gz", "probabilities.npz", "priors.csv", "history.csv", "source.json", "manifest.json"),
    }
    np.testing.assert_array_equal(read_masks(folder, axis="1"), volume.masks)


def test_tiff_and_zarr_pages_are_those_of_the_stored_volume(volume, tmp_path):
    stored = volume.source.geometry.to_stored(volume.masks).T
    pages = tifffile.imread(write_in_format(volume, "tiff", tmp_path))
    np.testing.assert_array_equal(pages, stored * 255)
    group = zarr.open_group(str(write_in_format(volume, "zarr", tmp_path)), mode="r")
    np.testing.assert_array_equal(group["0"][...], stored)
    assert [axis["unit"] for axis in group.attrs["multiscales"][0]["axes"]] == ["millimeter"] * 3


def test_coco_is_read_back_by_pycocotools(volume, tmp_path):
    content = json.loads(write_in_format(volume, "coco", tmp_path).read_text())
    assert [image["file_name"] for image in content["images"]] == [f"{name}.png" for name in volume.names]
    shown = [index for index, mask in enumerate(volume.masks) if mask.any()]
    assert [entry["image_id"] - 1 for entry in content["annotations"]] == shown
    for entry in content["annotations"]:
        decoded = coco.decode(entry["segmentation"]).astype(bool)
        np.testing.assert_array_equal(decoded, volume.masks[entry["image_id"] - 1])
        assert entry["area"] == decoded.sum()
        assert entry["bbox"] == coco.toBbox(entry["segmentation"]).tolist()


@pytest.mark.parametrize("density", [0, 0.001, 0.3, 0.999, 1])
def test_run_lengths_are_those_of_pycocotools(density):
    mask = np.random.default_rng(1).random((211, 173)) < density
    expected = coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()
    assert encode_mask(mask) == expected


@pytest.mark.parametrize("axis", ["auto", "0"])
@pytest.mark.parametrize("make", [save_series, save_enhanced], ids=["series", "multi-frame"])
def test_a_dicom_seg_refers_to_the_very_slices(tmp_path, make, axis):
    result = make_result(read_sequence(make(tmp_path / "d"), axis=axis))
    path = write_in_format(result, "dicom-seg", tmp_path)
    stored = result.source.geometry.to_stored(result.masks).transpose(2, 1, 0)
    read = highdicom.seg.segread(path)
    slices = collect_series(tmp_path / "d").slices
    for index, piece in enumerate(slices):
        uid = str(piece.header.SOPInstanceUID)
        if len({str(other.header.SOPInstanceUID) for other in slices}) > 1:
            pixels = read.get_pixels_by_source_instance(
                [uid], combine_segments=False, assert_missing_frames_are_empty=True
            )
        else:
            frames = [piece.index + 1]
            pixels = read.get_pixels_by_source_frame(uid, frames, assert_missing_frames_are_empty=True)
        np.testing.assert_array_equal(pixels[0, ..., 0], stored[index])


def test_a_dicom_seg_lies_where_its_series_does(tmp_path):
    result = make_result(read_sequence(save_series(tmp_path / "d")))
    dataset = pydicom.dcmread(write_in_format(result, "dicom-seg", tmp_path))
    assert dataset.FrameOfReferenceUID == pydicom.dcmread(next((tmp_path / "d").iterdir())).FrameOfReferenceUID
    assert dataset.SegmentSequence[0].SegmentLabel == "object"
    pixels = dataset.pixel_array
    for groups, frame in zip(dataset.PerFrameFunctionalGroupsSequence, pixels, strict=True):
        position = np.array(groups.PlanePositionSequence[0].ImagePositionPatient, float)
        index = round((position - ORIGIN) @ NORMAL / 3.0)
        np.testing.assert_array_equal(frame, result.masks[index])
    assert len(pixels) == 4  # the frame without the object is left out


def test_a_dicom_seg_of_equal_masks_has_equal_names(tmp_path):
    result = make_result(read_sequence(save_series(tmp_path / "d")))
    uids = {pydicom.dcmread(write_in_format(result, "dicom-seg", tmp_path)).SOPInstanceUID for _ in range(2)}
    assert len(uids) == 1


def test_a_dicom_seg_needs_its_series(tmp_path, volume):
    with pytest.raises(InputError, match="the input was none"):
        write_in_format(volume, "dicom-seg", tmp_path)
    result = make_result(read_sequence(save_series(tmp_path / "d")))
    next((tmp_path / "d").iterdir()).unlink()
    with pytest.raises(InputError, match="needs the series that was segmented"):
        write_in_format(result, "dicom-seg", tmp_path)
    (tmp_path / "d").rename(tmp_path / "e")
    with pytest.raises(InputError, match="is gone"):
        write_in_format(result, "dicom-seg", tmp_path)
    assert not (tmp_path / FILES["dicom-seg"]).exists()


def change_headers(folder, **values):
    for path in folder.iterdir():
        dataset = pydicom.dcmread(path)
        for name, value in values.items():
            setattr(dataset, name, value)
        dataset.save_as(path)


def test_headers_that_allow_no_dicom_seg_are_told_before_the_work(tmp_path):
    folder = save_series(tmp_path / "d")
    change_headers(folder, StudyInstanceUID="")
    source = read_sequence(folder).source
    with pytest.raises(InputError, match="no StudyInstanceUID for a DICOM SEG to refer to; choose another --format"):
        Outputs.of(["auto"]).check(source)
    Outputs.of(["nifti"]).check(source)


def test_images_whose_own_names_were_blanked_are_referred_to_by_those_of_their_files(tmp_path):
    folder = save_series(tmp_path / "d")
    expected = {pydicom.dcmread(path).SOPInstanceUID for path in folder.iterdir()}
    change_headers(folder, SOPInstanceUID="", SOPClassUID="")
    result = make_result(read_sequence(folder))
    dataset = pydicom.dcmread(write_in_format(result, "dicom-seg", tmp_path))
    referred = dataset.ReferencedSeriesSequence[0].ReferencedInstanceSequence
    assert {item.ReferencedSOPInstanceUID for item in referred} <= expected


def test_a_film_without_a_frame_of_reference_allows_no_dicom_seg(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (4, 8, 10, 3)).astype(np.uint8)
    source = read_sequence(save_film(tmp_path / "film.dcm", frames)).source
    with pytest.raises(InputError, match=r"allow no DICOM SEG: .* Frame of Reference"):
        Outputs.of(["dicom-seg"]).check(source)
    Outputs.of(["auto"]).check(source)


def test_the_format_of_the_input_is_the_usual_one(tmp_path, volume):
    assert choose_format(None) == "png"
    assert choose_format(volume.source) == "nifti"
    assert choose_format(read_sequence(save_series(tmp_path / "d")).source) == "dicom-seg"
    frames = np.zeros((2, 8, 8, 3), np.uint8)
    assert choose_format(read_sequence(save_film(tmp_path / "film.dcm", frames)).source) == "png"
    np.save(tmp_path / "a.npy", frames)
    assert choose_format(read_sequence(tmp_path / "a.npy").source) == "png"


def test_outputs_are_checked_before_there_is_anything_to_write(volume):
    with pytest.raises(InputError, match="probabilities can be written as nifti, nrrd"):
        Outputs.of(["png"], probabilities=True).check(volume.source)
    with pytest.raises(InputError, match="the input was none"):
        Outputs.of(["dicom-seg"]).check(volume.source)
    Outputs.of(["mp4", "coco", "zarr"]).check(volume.source)


def test_what_users_name_becomes_formats():
    assert Outputs.of([]) == Outputs()
    assert Outputs.of(["mp4"]) == Outputs((), film=True)
    assert Outputs.of(["png", "mp4", "png"]) == Outputs(("png",), film=True)
    assert Outputs.of(["mp4"], probabilities=True) == Outputs(("auto",), probabilities=True, film=True)


def test_a_source_keeps_every_digit(tmp_path, volume):
    write_source(volume.source, tmp_path / "source.json")
    again = read_source(tmp_path / "source.json")
    assert (again.path, again.format, again.reading) == (volume.source.path, "nifti", volume.source.reading)
    assert again.header == volume.source.header
    np.testing.assert_array_equal(again.geometry.affine, volume.source.geometry.affine)
    assert again.geometry.axes == (1, 2, 0)
    (tmp_path / "source.json").write_text('{"path": 3}')
    with pytest.raises(InputError, match="path must be a text"):
        read_source(tmp_path / "source.json")


def test_a_video_shows_every_picture(tmp_path):
    pictures = [np.full((64, 80, 3), level, np.uint8) for level in range(0, 250, 25)]
    write_video(pictures, tmp_path / "v.mp4")
    with av.open(str(tmp_path / "v.mp4")) as container:
        levels = [frame.to_ndarray(format="rgb24").mean() for frame in container.decode(video=0)]
    # Lossy, and in the range of video: each level within two grey levels.
    np.testing.assert_allclose(levels, range(0, 250, 25), atol=2)


def test_slices_of_the_test_differ():
    assert len(np.unique(SLICES)) > 100


@pytest.mark.parametrize("name", ["a\\b", "", "a\0"])
def test_names_that_no_file_can_have_are_refused_before_anything_is_written(name):
    with pytest.raises(InputError, match="usable as a file name"):
        Outputs.of(["png"]).check(None, ("a", name))
    Outputs.of(["nifti"]).check(None, ("a", name))


@pytest.mark.parametrize("name", ["a\\b", "a/b", "..", ""])
def test_frames_whose_names_no_file_can_have_are_refused_before_anything_is_learnt(name):
    with pytest.raises(InputError, match="usable as a file name"):
        Outputs(("png",)).check(None, ("0", name))
    Outputs(("nifti",)).check(None, ("0", name))
