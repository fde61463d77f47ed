"""RTSTRUCT: outlines lie where the pixels do, and come back as the same masks."""

import numpy as np
import pydicom
import pytest

from dicom_series import NORMAL, ORIGIN, ROW, SERIES, SPACING, STEP_MM, save_series
from fewpoint.core.labels import LabelMap, ObjectLabel
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.rtstruct import is_rtstruct, read_rtstruct, write_rtstruct

SHAPE = (5, 12, 14)


@pytest.fixture
def series(tmp_path):
    return read_sequence(save_series(tmp_path / "series", np.zeros(SHAPE, np.uint16)))


def make_labels(sequence) -> LabelMap:
    """A ring with a hole on two slices, and two separate parts of another object on one."""
    values = np.zeros(SHAPE, np.uint8)
    values[1:3, 2:9, 3:10] = 1
    values[1:3, 4:7, 5:8] = 0
    values[3, 1:4, 1:4] = 2
    values[3, 8, 9] = 2
    return LabelMap(values, (ObjectLabel("liver"), ObjectLabel("tumour")), sequence.names, sequence.source)


def test_masks_come_back_with_holes_parts_and_names(series, tmp_path):
    labels = make_labels(series)
    write_rtstruct(labels, tmp_path / "rt.dcm")
    assert is_rtstruct(tmp_path / "rt.dcm")
    found = read_rtstruct(tmp_path / "rt.dcm", series)
    assert set(found) == {"liver", "tumour"}
    for number, name in ((1, "liver"), (2, "tumour")):
        masks = np.zeros(SHAPE, bool)
        for frame, mask in found[name].items():
            masks[frame] = mask
        assert np.array_equal(masks, labels.values == number)


def test_outlines_lie_in_the_patient_where_the_pixels_do(series, tmp_path):
    labels = make_labels(series)
    write_rtstruct(labels, tmp_path / "rt.dcm")
    dataset = pydicom.dcmread(tmp_path / "rt.dcm")
    # The lone pixel of the tumour, row 8 and column 9 of slice 3: half a pixel round its middle.
    contours = dataset.ROIContourSequence[1].ContourSequence
    corners = min((np.array(each.ContourData, float).reshape(-1, 3) for each in contours), key=np.ptp)
    column = np.cross(NORMAL, ROW)
    middle = ORIGIN + 3 * STEP_MM * NORMAL + 8 * SPACING[0] * column + 9 * SPACING[1] * ROW
    assert np.allclose(corners.mean(axis=0), middle, atol=1e-3)
    assert np.ptp(corners @ ROW) == pytest.approx(SPACING[1], abs=1e-3)
    used = {str(each.ContourImageSequence[0].ReferencedSOPInstanceUID) for each in contours}
    assert used == {f"{SERIES}.3"}
    assert dataset.PatientID == "1" and dataset.StructureSetROISequence[0].ROIName == "liver"


def test_what_does_not_fit_is_refused_in_one_line(series, tmp_path):
    labels = make_labels(series)
    with pytest.raises(InputError, match="the input was none"):
        write_rtstruct(LabelMap(labels.values, labels.objects, labels.names, None), tmp_path / "rt.dcm")
    write_rtstruct(labels, tmp_path / "rt.dcm")
    with pytest.raises(InputError, match="no contours on these images"):
        read_rtstruct(next((tmp_path / "series").iterdir()), series)
