"""A real PACS: a series goes there and comes back, and a segmentation with references and codes."""

from pathlib import Path

import numpy as np
import pydicom
import pytest

from dicom_series import SERIES, SLICES, STUDY, save_series
from fewpoint.core import LabelMap, ObjectLabel
from fewpoint.errors import InputError
from fewpoint.io.dicom import collect_series
from fewpoint.io.dicom_seg import write_dicom_seg
from fewpoint.io.images import read_sequence
from fewpoint.io.pacs.addresses import SeriesAddress, parse_service
from fewpoint.io.pacs.service import Pacs
from fewpoint.io.pacs.storing import store_seg
from pacs_servers import PASSWORD, USER, needs_orthanc, orthanc

OBJECTS = (ObjectLabel("liver"), ObjectLabel("spleen", (255, 140, 0)))


@pytest.fixture
def address(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FEWPOINT_DICOMWEB_USER", USER)
    monkeypatch.setenv("FEWPOINT_DICOMWEB_PASSWORD", PASSWORD)
    with orthanc(tmp_path / "orthanc") as found:
        yield found


@needs_orthanc
def test_masks_go_to_orthanc_and_come_back_on_their_own_images(address, tmp_path):
    pacs = Pacs.at(address)
    for path in save_series(tmp_path / "oblique").iterdir():  # whose planes are tilted
        pacs.store(path.read_bytes(), STUDY)
    with pytest.raises(InputError, match="401"):
        Pacs(parse_service(address)).list_studies()
    sequence = read_sequence(f"{address}/studies/{STUDY}/series/{SERIES}")
    np.testing.assert_array_equal(sequence.frames[..., 0], SLICES.astype(np.float32) * 2 - 1024)

    values = np.zeros(sequence.shape[:3], np.uint8)
    values[1:4, 1:4, 2:5], values[3:, 4:, 5:] = 1, 2
    write_dicom_seg(LabelMap(values, OBJECTS, sequence.names, sequence.source), tmp_path / "masks.dcm")
    stored, again = (store_seg(tmp_path / "masks.dcm", pacs) for _ in range(2))
    assert (stored.is_new, again.is_new) == (True, False)

    (tmp_path / "seg").mkdir()
    pacs.fetch(SeriesAddress(pacs.address, stored.study, stored.series), tmp_path / "seg", 1)
    (path,) = (tmp_path / "seg").iterdir()
    seg = pydicom.dcmread(path)
    np.testing.assert_array_equal(_read_labels(seg, tmp_path / "oblique", values.shape), values)
    assert seg.StudyInstanceUID == STUDY
    assert seg.ReferencedSeriesSequence[0].SeriesInstanceUID == SERIES
    codes = [each.SegmentedPropertyTypeCodeSequence[0].CodeValue for each in seg.SegmentSequence]
    assert codes == ["10200004", "78961009"]
    assert [each.uid for each in pacs.list_series(STUDY)] == [SERIES]  # a segmentation is no input


def _read_labels(seg: pydicom.Dataset, series: Path, shape: tuple[int, ...]) -> np.ndarray:
    """The labels of a segmentation on the images that its frames name."""
    slices = [str(piece.header.SOPInstanceUID) for piece in collect_series(series).slices]
    found = np.zeros(shape, np.uint8)
    for frame, groups in zip(seg.pixel_array, seg.PerFrameFunctionalGroupsSequence, strict=True):
        (source,) = groups.DerivationImageSequence[0].SourceImageSequence
        number = groups.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        found[slices.index(source.ReferencedSOPInstanceUID)][frame > 0] = number
    return found
