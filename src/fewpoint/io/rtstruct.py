"""DICOM RTSTRUCT: outlines in the patient, as planning systems draw and read them."""

import hashlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint import __version__
from fewpoint.core.geometry import Geometry
from fewpoint.core.labels import LabelMap
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.atomic import write_atomically
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.dicom import EXTRA, TO_RAS, Slice, collect_series, is_dicom
from fewpoint.io.dicom_seg import need_series
from fewpoint.io.extras import need

if TYPE_CHECKING:
    from pydicom import Dataset
    from pydicom.dataset import FileDataset

STORAGE = "1.2.840.10008.5.1.4.1.1.481.3"
MODALITY = "RTSTRUCT"
SERIES_NUMBER = 901
PATIENT = ("PatientID", "PatientName", "PatientBirthDate", "PatientSex")
STUDY = ("StudyInstanceUID", "StudyDate", "StudyTime", "StudyID", "AccessionNumber", "ReferringPhysicianName")

Polygon = np.ndarray  # (P, 2) float64 y, x in pixels


def write_rtstruct(labels: LabelMap, path: Path) -> None:
    """Write the outlines of each object on each frame; holes are outlines of their own, inside the others."""
    source = need_series(labels.source, "RTSTRUCT")
    data = call(encode_rtstruct, Path(source.path), replace(labels, source=source))
    write_atomically(path, lambda stream: stream.write(data.tobytes()))


def encode_rtstruct(series: Path, labels: LabelMap) -> np.ndarray:
    """The bytes of an RTSTRUCT of labels drawn on a series."""
    source = need_series(labels.source, "RTSTRUCT")
    if source.geometry is None or source.geometry.over_time:
        raise InputError("an RTSTRUCT needs images that say where they lie, these do not; choose another --format")
    slices = collect_series(series).slices
    dataset = _begin(slices[0].header, labels.values)
    for number, label in enumerate(labels.objects, start=1):
        roi, contours = _describe_object(number, label.name, slices[0].header), _contours(number, label.colour)
        for frame, mask in enumerate(labels.values == number):
            for outline in trace(mask):
                contours.ContourSequence.append(_to_contour(outline, frame, source.geometry, slices[frame]))
        dataset.StructureSetROISequence.append(roi)
        dataset.ROIContourSequence.append(contours)
        dataset.RTROIObservationsSequence.append(_observe(number))
    stream = BytesIO()
    dataset.save_as(stream, enforce_file_format=True)
    return np.frombuffer(stream.getvalue(), np.uint8)


def is_rtstruct(path: Path) -> bool:
    """Whether a file holds an RTSTRUCT."""
    return path.is_file() and is_dicom(path) and call(says_rtstruct, path)


def says_rtstruct(path: Path) -> bool:
    """Whether a DICOM file calls itself an RTSTRUCT."""
    need("pydicom", EXTRA)
    import pydicom

    with explaining_read_errors(path):
        return pydicom.dcmread(path, stop_before_pixels=True, specific_tags=["Modality"]).get("Modality") == MODALITY


def read_rtstruct(path: Path, sequence: ImageSequence) -> dict[str, dict[int, np.ndarray]]:
    """(H, W) masks by the name of an outlined structure and by frame, read in a process apart."""
    geometry = sequence.geometry
    if geometry is None or geometry.over_time:
        raise InputError(
            f"{path.name} has contours in patient coordinates, which these images lack; open their DICOM series"
        )
    return call(decode_rtstruct, path, geometry)


def decode_rtstruct(path: Path, geometry: Geometry) -> dict[str, dict[int, np.ndarray]]:
    """What read_rtstruct reads, in this process."""
    need("pydicom", EXTRA)
    import pydicom

    with explaining_read_errors(path):
        dataset = pydicom.dcmread(path)
        names = {int(roi.ROINumber): str(roi.ROIName).strip() for roi in dataset.get("StructureSetROISequence", [])}
        found: dict[str, dict[int, np.ndarray]] = {}
        for item in dataset.get("ROIContourSequence", []):
            name = names.get(int(item.ReferencedROINumber), "") or f"structure {item.ReferencedROINumber}"
            for contour in item.get("ContourSequence", []):
                _fill(np.array(contour.ContourData, np.float64).reshape(-1, 3), geometry, found.setdefault(name, {}))
    drawn = {name: frames for name, frames in found.items() if frames}
    if not drawn:
        raise InputError(f"{path.name} has no contours on these images; give the structures of this series")
    return drawn


def trace(mask: np.ndarray) -> list[Polygon]:
    """Outlines half-way between the pixels of a mask and those beside it, holes too.

    >>> len(trace(np.ones((3, 3), bool)))
    1
    """
    from skimage.measure import find_contours

    if not mask.any():
        return []
    return [outline[:-1] - 1 for outline in find_contours(np.pad(mask, 1).astype(np.float32), 0.5)]


def _fill(corners_lps: np.ndarray, geometry: Geometry, frames: dict[int, np.ndarray]) -> None:
    """Add what an outline goes round to the masks; inside another outline it takes away."""
    from skimage.draw import polygon2mask

    voxels = geometry.to_voxels(corners_lps * TO_RAS)
    frame = int(np.round(voxels[:, geometry.axes[0]].mean()))
    count, height, width = geometry.frames_shape
    if not 0 <= frame < count:
        return
    outline = voxels[:, [geometry.axes[1], geometry.axes[2]]]
    mask = polygon2mask((height, width), outline)
    frames[frame] = frames.get(frame, np.zeros((height, width), bool)) ^ mask


def _to_contour(outline: Polygon, frame: int, geometry: Geometry, image: Slice) -> "Dataset":
    from pydicom import Dataset

    voxels = np.empty((len(outline), 3))
    voxels[:, geometry.axes[0]] = frame
    voxels[:, geometry.axes[1]], voxels[:, geometry.axes[2]] = outline.T
    places = (voxels @ geometry.affine[:3, :3].T + np.array(geometry.origin_mm)) * TO_RAS
    contour, reference = Dataset(), Dataset()
    reference.ReferencedSOPClassUID = image.header.SOPClassUID
    reference.ReferencedSOPInstanceUID = image.header.SOPInstanceUID
    contour.ContourImageSequence = [reference]
    contour.ContourGeometricType = "CLOSED_PLANAR"
    contour.NumberOfContourPoints = len(places)
    contour.ContourData = [f"{value:.4f}" for value in places.ravel()]
    return contour


def _begin(header: "Dataset", values: np.ndarray) -> "FileDataset":
    """The file with its patient and study, and nothing outlined yet."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

    fingerprint = hashlib.sha256(values.tobytes()).hexdigest()
    series, instance = (
        generate_uid(entropy_srcs=[str(header.SeriesInstanceUID), fingerprint, MODALITY, what])
        for what in ("series", "instance")
    )
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = UID(STORAGE), instance
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SOPClassUID, dataset.SOPInstanceUID, dataset.SeriesInstanceUID = STORAGE, instance, series
    for name in (*PATIENT, *STUDY):
        setattr(dataset, name, header.get(name, ""))
    dataset.Modality, dataset.SeriesNumber, dataset.SeriesDescription = MODALITY, SERIES_NUMBER, "fewpoint outlines"
    dataset.Manufacturer, dataset.ManufacturerModelName, dataset.SoftwareVersions = "fewpoint", "fewpoint", __version__
    dataset.StructureSetLabel, dataset.StructureSetDate = "fewpoint", header.get("StudyDate", "")
    dataset.StructureSetTime, dataset.OperatorsName = header.get("StudyTime", ""), ""
    dataset.FrameOfReferenceUID = header.get("FrameOfReferenceUID", "")
    dataset.StructureSetROISequence, dataset.ROIContourSequence, dataset.RTROIObservationsSequence = [], [], []
    return dataset


def _describe_object(number: int, name: str, header: "Dataset") -> "Dataset":
    from pydicom import Dataset

    roi = Dataset()
    roi.ROINumber, roi.ROIName, roi.ROIGenerationAlgorithm = number, name[:64], "SEMIAUTOMATIC"
    roi.ReferencedFrameOfReferenceUID = header.get("FrameOfReferenceUID", "")
    return roi


def _contours(number: int, colour: tuple[int, int, int]) -> "Dataset":
    from pydicom import Dataset

    contours = Dataset()
    contours.ReferencedROINumber, contours.ROIDisplayColor, contours.ContourSequence = number, list(colour), []
    return contours


def _observe(number: int) -> "Dataset":
    from pydicom import Dataset

    observation = Dataset()
    observation.ObservationNumber, observation.ReferencedROINumber = number, number
    observation.RTROIInterpretedType, observation.ROIInterpreter = "", ""
    return observation
