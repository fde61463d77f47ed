"""Several objects in every format: their numbers come back, and their names and colours where the format has room."""

import json
from dataclasses import replace

import numpy as np
import pytest
import SimpleITK
import tifffile
from PIL import Image

from dicom_series import save_series
from fewpoint.core import (
    AreaBound,
    ImageSequence,
    ObjectResult,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
    label_objects,
)
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs, write_in_format
from fewpoint.io.images import read_sequence
from volumes import save_nifti

LABELS = np.zeros((4, 6, 5), np.uint8)
LABELS[1:3, 1:3, 1:3] = 1
LABELS[2, 4:, 3:] = 2


def make_result(sequence: ImageSequence) -> Result:
    nothing = np.zeros(len(LABELS))
    objects = tuple(
        ObjectResult(
            number == LABELS,
            ProbabilityMaps((number == LABELS).astype(np.float16)),
            PriorEstimate(nothing, nothing, nothing),
            PriorHistory.empty(len(LABELS)),
            AreaBound(0.5),
            label,
        )
        for number, label in enumerate(label_objects(("liver", "spleen")), start=1)
    )
    return Result(objects, sequence.names, sequence.source)


@pytest.fixture
def volume(tmp_path) -> Result:
    voxels = np.ascontiguousarray(np.random.default_rng(0).integers(0, 255, LABELS.shape).astype(np.uint8).T)
    return make_result(read_sequence(save_nifti(tmp_path / "input.nii.gz", voxels, np.diag([1.0, 1.0, 3.0, 1.0]))))


@pytest.mark.parametrize("name", ["nifti", "nrrd", "mha"])
def test_volumes_hold_the_numbers(volume, tmp_path, name):
    image = SimpleITK.ReadImage(str(write_in_format(volume, name, tmp_path)))
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(image), LABELS)


def test_stacks_hold_the_numbers_and_pictures_the_colours_too(volume, tmp_path):
    np.testing.assert_array_equal(tifffile.imread(write_in_format(volume, "tiff", tmp_path)), LABELS)
    folder = write_in_format(volume, "png", tmp_path)
    for name, labels in zip(volume.labels.names, LABELS, strict=True):
        with Image.open(folder / f"{name}.png") as image:
            np.testing.assert_array_equal(np.asarray(image), labels)
            colours = np.asarray(image.convert("RGB"))
    assert colours[LABELS[-1] == 0].max(initial=0) == 0


def test_a_zarr_is_a_label_image_with_names_and_colours(volume, tmp_path):
    import zarr

    group = zarr.open_group(str(write_in_format(volume, "zarr", tmp_path)), mode="r")
    np.testing.assert_array_equal(group["0"][...], LABELS)
    described = group.attrs["image-label"]
    assert described["properties"][1] == {"label-value": 2, "name": "spleen"}
    assert described["colors"][0]["rgba"] == [*volume.objects[0].label.colour, 255]


def test_coco_has_a_category_an_object(volume, tmp_path):
    from pycocotools import mask as coco_mask

    content = json.loads(write_in_format(volume, "coco", tmp_path).read_text())
    assert [(each["id"], each["name"]) for each in content["categories"]] == [(1, "liver"), (2, "spleen")]
    found = np.zeros_like(LABELS)
    for each in content["annotations"]:
        found[each["image_id"] - 1][coco_mask.decode(each["segmentation"]).astype(bool)] = each["category_id"]
    np.testing.assert_array_equal(found, LABELS)
    assert len({each["id"] for each in content["annotations"]}) == len(content["annotations"])


def test_dicom_seg_has_a_segment_an_object(tmp_path):
    import highdicom

    save_series(tmp_path / "series", np.random.default_rng(0).integers(0, 99, LABELS.shape).astype(np.uint16))
    result = make_result(read_sequence(tmp_path / "series"))
    seg = highdicom.seg.segread(write_in_format(result, "dicom-seg", tmp_path))
    assert [seg.get_segment_description(number).segment_label for number in (1, 2)] == ["liver", "spleen"]
    assert all("RecommendedDisplayCIELabValue" in item for item in seg.SegmentSequence)
    counts = [int((number == LABELS).sum()) for number in (1, 2)]
    volume = seg.get_volume(combine_segments=True)
    assert [int((volume.array == number).sum()) for number in (1, 2)] == counts


def test_probabilities_are_a_file_an_object(volume, tmp_path):
    written = Outputs.of(["nifti"], probabilities=True).write(volume, tmp_path)
    assert [path.name for path in written] == ["masks.nii.gz", "probabilities-1.nii.gz", "probabilities-2.nii.gz"]


def test_masks_that_overlap_are_refused(volume):
    with pytest.raises(InputError, match="must not overlap"):
        replace(volume, objects=(volume.objects[0], volume.objects[0]))
    with pytest.raises(InputError, match="there are liver, spleen"):
        volume["lung"]
