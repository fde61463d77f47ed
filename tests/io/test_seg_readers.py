"""DICOM SEG as readers of others see it: those of these that are installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pydicom
import pytest
import SimpleITK

from dicom_series import save_series
from fewpoint.core import LabelMap, ObjectLabel
from fewpoint.io.dicom import collect_series
from fewpoint.io.dicom_seg import write_dicom_seg
from fewpoint.io.images import read_sequence

OBJECTS = (ObjectLabel("liver"), ObjectLabel("spleen", (255, 140, 0)))
READ_SEG = Path(__file__).with_name("read_seg.js")
# dcmqi's programs come with the test extra, and lie beside an interpreter whose environment need not be active.
DCMQI = shutil.which("segimage2itkimage", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.fixture
def written(tmp_path) -> tuple[Path, Path, np.ndarray]:
    """A SEG, its series, and the labels of five slices: the first has none, the fourth both objects."""
    sequence = read_sequence(save_series(tmp_path / "series"))
    labels = np.zeros(sequence.shape[:3], np.uint8)
    labels[1:4, 1:4, 2:5], labels[3:, 4:, 5:] = 1, 2
    write_dicom_seg(LabelMap(labels, OBJECTS, sequence.names, sequence.source), tmp_path / "seg.dcm")
    return tmp_path / "seg.dcm", tmp_path / "series", labels


def test_images_are_named_by_each_frame_and_not_in_a_list_that_could_be_taken_for_it(written):
    seg, series, labels = written
    dataset = pydicom.dcmread(seg)
    assert "SourceImageSequence" not in dataset
    slices = [str(piece.header.SOPInstanceUID) for piece in collect_series(series).slices]
    for number, groups in enumerate(dataset.PerFrameFunctionalGroupsSequence):
        (source,) = groups.DerivationImageSequence[0].SourceImageSequence
        segment = groups.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        frame = labels[slices.index(source.ReferencedSOPInstanceUID)] == segment
        np.testing.assert_array_equal(dataset.pixel_array[number], frame)


@pytest.mark.skipif(shutil.which("dciodvfy") is None, reason="needs dciodvfy; apt-get install dicom3tools")
def test_dciodvfy_finds_nothing_wrong(written):
    outcome = subprocess.run(["dciodvfy", str(written[0])], capture_output=True, text=True, check=False)
    told = (outcome.stdout + outcome.stderr).split("\n")
    assert "Segmentation" in told
    assert not [line for line in told if line.startswith(("Error", "Warning"))]


@pytest.mark.skipif(DCMQI is None, reason="needs segimage2itkimage; pip install dcmqi")
def test_dcmqi_which_3d_slicer_uses_reads_the_labels_in_their_place(written, tmp_path):
    seg, series, labels = written
    given = ["--inputDICOM", str(seg), "--outputDirectory", str(tmp_path), "--outputType", "nrrd", "--mergeSegments"]
    subprocess.run([DCMQI, *given], check=True, capture_output=True)
    image = SimpleITK.ReadImage(str(tmp_path / "1.nrrd"))
    found = SimpleITK.GetArrayFromImage(image)
    slices = collect_series(series).slices
    # dcmqi leaves out the slices before the first and after the last segment.
    np.testing.assert_array_equal(found, labels[1:])
    np.testing.assert_allclose(image.GetOrigin(), slices[1].header.ImagePositionPatient, atol=1e-4)
    np.testing.assert_allclose(image.GetSpacing(), (1.25, 0.8, 3.0), atol=1e-4)


def can_run_dcmjs() -> bool:
    """Whether node finds a dcmjs that has adapters; the variable NODE_PATH tells it where."""
    if shutil.which("node") is None:
        return False
    asked = ["node", "-e", "process.exit(require('dcmjs').adapters.Cornerstone.Segmentation ? 0 : 1)"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_run_dcmjs(), reason="needs node and npm's dcmjs@0.29 in NODE_PATH")
def test_dcmjs_which_ohif_uses_puts_each_frame_on_its_image(written):
    seg, series, labels = written
    outcome = subprocess.run(["node", str(READ_SEG), str(seg), str(series)], capture_output=True, text=True, check=True)
    told = json.loads(outcome.stdout.splitlines()[-1])
    assert told["labels"] == ["liver", "spleen"]
    for piece, frame in zip(collect_series(series).slices, labels, strict=True):
        shown = np.array(told["pixels"][str(piece.header.SOPInstanceUID)]).reshape(frame.shape)
        np.testing.assert_array_equal(shown, frame)
