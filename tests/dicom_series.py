"""DICOM series made from scratch, for tests."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, UltrasoundMultiFrameImageStorage

ROW = np.array([1.0, 0, 0])
COLUMN = np.array([0, 0.96, -0.28])  # oblique, as cardiac planes are
NORMAL = np.cross(ROW, COLUMN)
ORIGIN = np.array([-12.5, 30.25, 7.0])
SPACING = (0.8, 1.25)  # between rows, between columns
STEP_MM = 3.0
SLICES = np.random.default_rng(8).integers(0, 1500, (5, 6, 7)).astype(np.uint16)
SERIES, STUDY, PLACE = "1.2.826.0.1.3680043.8.498.4001", "1.2.826.0.1.3680043.8.498.41", "1.2.826.0.1.3680043.8.498.42"


def save_series(folder: Path, slices: np.ndarray = SLICES, series: str = SERIES, **changes) -> Path:
    """A CT series, its files named against the order of its slices.

    changes: `step`: vector between slices, `skip`: slices left out, or DICOM values.
    """
    folder.mkdir(parents=True, exist_ok=True)
    step, skip = changes.pop("step", NORMAL * STEP_MM), changes.pop("skip", ())
    for index, pixels in enumerate(slices):
        if index in skip:
            continue
        dataset = make_image(pixels, series, index)
        dataset.ImagePositionPatient = [round(float(value), 6) for value in ORIGIN + index * step]
        dataset.ImageOrientationPatient = [*ROW, *COLUMN]
        for name, value in changes.items():
            setattr(dataset, name, value)
        dataset.save_as(folder / f"IM{(7 * index) % 11:04d}-{series[-4:]}", enforce_file_format=True)
    return folder


def save_two_series(folder: Path) -> Path:
    """A folder with an arterial series of three images and a venous one of four, of one patient."""
    for number, description, count in ((4001, "arterial", 3), (4002, "venous", 4)):
        series = f"{SERIES[:-4]}{number}"
        save_series(folder, SLICES[:count], series, SeriesDescription=description, PatientID="P1")
    return folder


def make_image(pixels: np.ndarray, series: str, index: int) -> FileDataset:
    """A single CT image without a place, in Hounsfield units by slope 2 and intercept -1024."""
    dataset = make_empty(CTImageStorage, series, f"{series}.{index}")
    dataset.update({"Rows": pixels.shape[0], "Columns": pixels.shape[1], "SamplesPerPixel": 1})
    dataset.Modality, dataset.PhotometricInterpretation = "CT", "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 16, 12, 11, 0
    dataset.RescaleSlope, dataset.RescaleIntercept, dataset.RescaleType = 2, -1024, "HU"
    dataset.PixelSpacing, dataset.SliceThickness = list(SPACING), STEP_MM
    dataset.InstanceNumber = index + 1
    dataset.PixelData = pixels.astype("<u2").tobytes()
    return dataset


def save_film(path: Path, frames: np.ndarray) -> Path:
    """A colour ultrasound of (T, H, W, 3) frames in one file."""
    dataset = make_empty(UltrasoundMultiFrameImageStorage, SERIES, f"{SERIES}.99")
    count, rows, columns, _ = frames.shape
    dataset.update({"Rows": rows, "Columns": columns, "SamplesPerPixel": 3, "NumberOfFrames": count})
    dataset.Modality, dataset.PhotometricInterpretation, dataset.PlanarConfiguration = "US", "RGB", 0
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 8, 8, 7, 0
    dataset.PixelData = frames.tobytes()
    dataset.save_as(path, enforce_file_format=True)
    return path


def save_enhanced(path: Path, slices: np.ndarray = SLICES) -> Path:
    """A multi-frame MR whose frames stand in the file in the reverse order of their places."""
    dataset = make_empty("1.2.840.10008.5.1.4.1.1.4.1", SERIES, f"{SERIES}.77")
    count, rows, columns = slices.shape
    dataset.update({"Rows": rows, "Columns": columns, "SamplesPerPixel": 1, "NumberOfFrames": count})
    dataset.Modality, dataset.PhotometricInterpretation = "MR", "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 16, 12, 11, 0
    shared, measures, orientation = Dataset(), Dataset(), Dataset()
    measures.PixelSpacing, measures.SliceThickness = list(SPACING), STEP_MM
    orientation.ImageOrientationPatient = [*ROW, *COLUMN]
    shared.PixelMeasuresSequence, shared.PlaneOrientationSequence = [measures], [orientation]
    dataset.SharedFunctionalGroupsSequence = [shared]
    dataset.PerFrameFunctionalGroupsSequence = []
    for index in reversed(range(count)):
        groups, position = Dataset(), Dataset()
        position.ImagePositionPatient = [round(float(value), 6) for value in ORIGIN + index * NORMAL * STEP_MM]
        groups.PlanePositionSequence = [position]
        dataset.PerFrameFunctionalGroupsSequence.append(groups)
    dataset.PixelData = slices[::-1].astype("<u2").tobytes()
    dataset.save_as(path, enforce_file_format=True)
    return path


def make_empty(kind: str, series: str, instance: str) -> FileDataset:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = kind, instance
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SOPClassUID, dataset.SOPInstanceUID = kind, instance
    dataset.SeriesInstanceUID, dataset.StudyInstanceUID, dataset.FrameOfReferenceUID = series, STUDY, PLACE
    dataset.PatientID, dataset.PatientName, dataset.PatientBirthDate, dataset.PatientSex = "1", "A^B", "", ""
    dataset.StudyDate, dataset.StudyTime, dataset.StudyID, dataset.AccessionNumber = "20260101", "120000", "1", ""
    dataset.ReferringPhysicianName, dataset.SeriesNumber, dataset.SeriesDescription = "", 1, f"series {series[-3:]}"
    return dataset


def compress(folder: Path, syntax: str, encode: Callable[[np.ndarray], bytes]) -> None:
    """Pack every file of a folder in another transfer syntax."""
    for path in folder.iterdir():
        dataset = pydicom.dcmread(path)
        pixels = dataset.pixel_array
        dataset.PixelData = encapsulate([encode(np.ascontiguousarray(pixels))])
        dataset["PixelData"].is_undefined_length = True
        dataset.file_meta.TransferSyntaxUID = syntax
        dataset.save_as(path)
