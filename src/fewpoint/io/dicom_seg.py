"""DICOM SEG: masks that refer to the very images they were drawn on."""

import hashlib
import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint import __version__
from fewpoint.core.anatomical_codes import find_code
from fewpoint.core.labels import Code, LabelMap, ObjectLabel
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.atomic import write_atomically
from fewpoint.io.dicom import EXTRA, FORMAT, Slice, collect_series
from fewpoint.io.extras import need
from fewpoint.io.pacs.fetching import locate_again

if TYPE_CHECKING:
    from highdicom.seg import SegmentDescription
    from highdicom.sr import CodedConcept
    from pydicom import Dataset

KIND = "DICOM SEG"
LIBRARIES = ("highdicom", "highdicom.seg")  # what it takes to encode one
NEEDED = ("SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "StudyInstanceUID")
SERIES_NUMBER = 900  # behind the images, where viewers list derived series


def write_dicom_seg(labels: LabelMap, path: Path) -> None:
    """Write a binary segmentation of one segment per object; the series must still be where it was."""
    source = need_series(labels.source, KIND)
    data = call(encode_dicom_seg, Path(source.path), replace(labels, source=source))
    write_atomically(path, lambda stream: stream.write(data.tobytes()))


def encode_dicom_seg(series: Path, labels: LabelMap) -> np.ndarray:
    """The bytes of a segmentation of a series."""
    source = _need_source(labels.source)
    stored = labels.values
    if source.geometry is not None:
        stored = source.geometry.to_stored(labels.values).transpose(2, 1, 0)
    dataset = _build(_find_slices(series, stored.shape), stored, labels.objects)
    stream = BytesIO()
    dataset.save_as(stream)
    return np.frombuffer(stream.getvalue(), np.uint8)


def check_dicom_seg(source: Source | None) -> None:
    """Raise InputError if a DICOM SEG could not be written, by making one of a single pixel."""
    call(try_dicom_seg, Path(need_series(source, KIND).path))


def try_dicom_seg(series: Path) -> None:
    """What check_dicom_seg checks, in this process."""
    need("highdicom", EXTRA)
    slices = collect_series(series).slices
    stored = np.zeros((len(slices), int(slices[0].header.Rows), int(slices[0].header.Columns)), np.uint8)
    stored[0, 0, 0] = 1
    _build(slices, stored, (ObjectLabel("object"),))


def _need_source(source: Source | None) -> Source:
    found = need_series(source, KIND)
    need("highdicom", EXTRA)
    return found


def need_series(source: Source | None, kind: str) -> Source:
    """The source, if it is a DICOM series that is still there, or can be fetched again; kind: of what refers to it."""
    if source is None or source.format != FORMAT:
        raise InputError(f"{kind} refers to the images of a DICOM series, the input was none; choose another --format")
    path = locate_again(source)
    if not path.exists():
        raise InputError(f"{kind} needs the series it refers to, {source.path} is gone; put it back")
    return replace(source, path=str(path))


def _find_slices(series: Path, expected: tuple[int, int, int]) -> tuple[Slice, ...]:
    slices = collect_series(series).slices
    found = (len(slices), int(slices[0].header.Rows), int(slices[0].header.Columns))
    if found != expected:
        raise InputError(
            f"DICOM SEG needs the series that was segmented, {expected} slices, rows and columns; {series} now "
            f"holds {found}; put it back"
        )
    return slices


def _build(slices: tuple[Slice, ...], stored: np.ndarray, objects: tuple[ObjectLabel, ...]) -> "Dataset":
    """The segmentation of a (K, J, I) label map in the order of the slices."""
    blank = [name for name in NEEDED if not slices[0].header.get(name)]
    if blank:
        raise InputError(
            f"the images have no {blank[0]} for a DICOM SEG to refer to; choose another --format, as nifti"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # highdicom warns of what the input's headers leave out
            return _assemble(slices, stored, objects)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"the headers of the series allow no DICOM SEG: {reason}; choose another --format") from error


def _assemble(slices: tuple[Slice, ...], stored: np.ndarray, objects: tuple[ObjectLabel, ...]) -> "Dataset":
    from highdicom.seg import Segmentation as SegImage
    from highdicom.seg import SegmentationTypeValues
    from pydicom.uid import generate_uid

    headers = list({id(piece.header): piece.header for piece in slices}.values())
    if len(headers) == 1:  # frames of one file are given in the order of the file
        stored = stored[np.argsort([piece.index for piece in slices])]
    called = repr([(label.name, label.colour, label.code) for label in objects]).encode()
    fingerprint = hashlib.sha256(_pack(stored, len(objects)) + called).hexdigest()
    series, instance = (
        generate_uid(entropy_srcs=[str(headers[0].SeriesInstanceUID), fingerprint, what])
        for what in ("series", "instance")
    )
    dataset = SegImage(
        source_images=headers,
        pixel_array=stored,
        segmentation_type=SegmentationTypeValues.BINARY,
        segment_descriptions=[_describe_segment(number, label) for number, label in enumerate(objects, start=1)],
        series_instance_uid=series,
        series_number=SERIES_NUMBER,
        sop_instance_uid=instance,
        instance_number=1,
        manufacturer="fewpoint",
        manufacturer_model_name="fewpoint",
        software_versions=__version__,
        device_serial_number="0",
        series_description="fewpoint masks",
    )
    # A list of all images, which OHIF takes for the image under each frame; frames name theirs themselves.
    dataset.pop("SourceImageSequence", None)
    return dataset


def _pack(stored: np.ndarray, objects: int) -> bytes:
    return np.packbits(stored > 0).tobytes() if objects == 1 else stored.tobytes()


def _describe_segment(number: int, label: ObjectLabel) -> "SegmentDescription":
    from highdicom import AlgorithmIdentificationSequence
    from highdicom.color import CIELabColor
    from highdicom.seg import SegmentAlgorithmTypeValues, SegmentDescription
    from pydicom.sr.codedict import codes

    known = find_code(label.name)
    code = label.code or (None if known is None else Code("SCT", known, label.name[:64]))
    category = None if code is None else code.category
    return SegmentDescription(
        segment_number=number,
        segment_label=label.name[:64],  # as long as DICOM allows
        segmented_property_category=_concept(category)
        or (codes.SCT.Tissue if code is None else codes.SCT.AnatomicalStructure),
        segmented_property_type=_concept(code) or codes.SCT.Tissue,
        algorithm_type=SegmentAlgorithmTypeValues.SEMIAUTOMATIC,
        algorithm_identification=AlgorithmIdentificationSequence(
            name="fewpoint", family=codes.DCM.ArtificialIntelligence, version=__version__
        ),
        display_color=CIELabColor(*_to_lab(label.colour)),
    )


def _concept(code: Code | None) -> "CodedConcept | None":
    from highdicom.sr import CodedConcept

    return None if code is None else CodedConcept(code.value, code.scheme, code.meaning)


def _to_lab(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    from skimage.color import rgb2lab

    lightness, a, b = rgb2lab(np.array(colour) / 255).tolist()
    return lightness, a, b
