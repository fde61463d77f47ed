"""DICOM: a series of single images, or one multi-frame image, in the order of their places."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.apart.plain import may_travel
from fewpoint.io.decoding import explaining_read_errors, naming, quiet
from fewpoint.io.extras import need
from fewpoint.io.sizes import check_declared_size
from fewpoint.io.volumes import Volume

if TYPE_CHECKING:
    from pydicom import Dataset

# pydicom logs what breaks the standard; without a handler Python prints that besides our one-line error.
logging.getLogger("pydicom").addHandler(logging.NullHandler())

FORMAT, EXTRA = "dicom", "dicom"
SUFFIXES = (".dcm", ".dicom", ".ima")
SIGNATURE_OFFSET, SIGNATURE = 128, b"DICM"
MOST_FILES = 50_000
MOST_FRAMES = 100_000
DENSEST = 50_000  # JPEG 2000 and JPEG-LS pack blank images far denser than deflate does
TO_RAS = np.array([-1.0, -1.0, 1.0])
SAME_PLACE_MM = 1e-3
ALIKE = 1e-3  # in direction cosines
UNEVEN = 0.05
TILT_DEGREES = 0.5


@dataclass(frozen=True, eq=False)
class Slice:
    """One frame of a series.

    header: its file's, without pixels. index: its place in a multi-frame file.
    position, orientation: (3,) mm and (6,) cosines in LPS; None if the file does not say.
    spacing: between rows and between columns in mm, None if the file does not say.
    """

    file: Path
    header: "Dataset"
    index: int
    position: np.ndarray | None
    orientation: np.ndarray | None
    spacing: tuple[float, float] | None
    scale: tuple[float, float]


@dataclass(frozen=True, eq=False)
class PlacedSlice:
    """A slice whose file says where it lies; position, orientation: as there."""

    slice: Slice
    position: np.ndarray
    orientation: np.ndarray


@dataclass(frozen=True, eq=False)
class Series:
    """Slices in the order of the frames, with their geometry if they have one."""

    slices: tuple[Slice, ...]
    geometry: Geometry | None
    notes: tuple[str, ...]


def is_dicom(path: Path) -> bool:
    """Whether a file says that it is DICOM, whatever its name."""
    with explaining_read_errors(path), open(path, "rb") as stream:
        stream.seek(SIGNATURE_OFFSET)
        return stream.read(len(SIGNATURE)) == SIGNATURE


def read_dicom(path: Path) -> Volume:
    """Read the one series in a folder, or the series that a file belongs to; values in the units of the modality."""
    with _tolerant(path):
        series = collect_series(path)
        frames = _decode_frames(series.slices, path)
    unit = _find_unit(series.slices[0].header)
    return Volume(frames.transpose(2, 1, 0, 3), series.geometry, FORMAT, stacked=True, notes=series.notes, unit=unit)


def _find_unit(header: "Dataset") -> str:
    """Values of a CT are Hounsfield units unless it says otherwise; those of other modalities mean what they say."""
    given = str(header.get("RescaleType") or ("HU" if header.get("Modality") == "CT" else ""))
    return "" if given == "US" else given  # which stands for unspecified


@may_travel
@dataclass(frozen=True)
class SeriesInfo:
    """A series in a folder. first: one of its images, which stands for it."""

    first: Path
    patient: str
    study: str
    description: str
    modality: str
    images: int


def list_series(folder: Path) -> list[SeriesInfo]:
    """All series of images in a folder and below it, in the order of their files; read in a process apart."""
    return call(find_series, folder)


def find_series(folder: Path) -> list[SeriesInfo]:
    """What list_series lists, in this process."""
    need("pydicom", EXTRA)
    found: dict[str, list[tuple[Path, Dataset]]] = {}
    with _tolerant(folder):
        for file in _list_files(folder):
            header = _read_header(file)
            if header is not None:
                found.setdefault(str(header.get("SeriesInstanceUID")), []).append((file, header))
    return [_describe(images) for images in found.values()]


def _describe(images: list[tuple[Path, "Dataset"]]) -> SeriesInfo:
    file, header = images[0]
    study = " ".join(str(header.get(name) or "") for name in ("StudyDate", "StudyDescription")).strip()
    return SeriesInfo(
        file,
        str(header.get("PatientID") or header.get("PatientName") or ""),
        study,
        str(header.get("SeriesDescription") or "no description"),
        str(header.get("Modality") or ""),
        len(images),
    )


def collect_series(path: Path) -> Series:
    """The headers of a series, sorted: by position if they have one, else by number."""
    need("pydicom", EXTRA)
    with _tolerant(path):
        slices = [piece for file, header in _choose_series(path) for piece in _split_frames(file, header)]
        _check_alike(slices, path)
        placed = [
            PlacedSlice(piece, piece.position, piece.orientation)
            for piece in slices
            if piece.position is not None and piece.orientation is not None
        ]
        return _order_by_position(placed, path) if len(placed) == len(slices) else _order_by_number(slices)


def read_uids(file: Path) -> tuple[str, str, str]:
    """Study, series and instance of a DICOM object, in this process."""
    import pydicom

    need("pydicom", EXTRA)
    with _tolerant(file):
        header = pydicom.dcmread(file, stop_before_pixels=True)
        return str(header.StudyInstanceUID), str(header.SeriesInstanceUID), str(header.SOPInstanceUID)


def _choose_series(path: Path) -> list[tuple[Path, "Dataset"]]:
    """Files and headers of the images of one series."""
    wanted = None
    if path.is_file():
        header = _read_header(path)
        if header is None:
            raise InputError(f"{path} must be a DICOM image, it holds none; give an image or its folder")
        if int(header.get("NumberOfFrames") or 1) > 1:
            return [(path, header)]
        wanted = header.get("SeriesInstanceUID")
    images = [(file, header) for file in _list_files(path) if (header := _read_header(file)) is not None]
    by_series: dict[str, list] = {}
    for file, header in images:
        by_series.setdefault(str(header.get("SeriesInstanceUID")), []).append((file, header))
    if wanted is not None:
        return by_series[str(wanted)]
    if len(by_series) != 1:
        raise InputError(_describe_series(by_series, path))
    return images


def _list_files(path: Path) -> list[Path]:
    """Files of the folder, or of that of a file, and below; links to folders are not followed."""
    found = []
    for folder, _, names in os.walk(path if path.is_dir() else path.parent):
        found += [Path(folder) / name for name in names if not name.startswith(".")]
        if len(found) > MOST_FILES:
            raise InputError(f"{path} must hold at most {MOST_FILES} files; give the folder of one series")
        if path.is_file():
            break
    return sorted(file for file in found if file.is_file())


def _read_header(file: Path) -> "Dataset | None":
    """The header of an image; None for other files, and for DICOM objects that are no image."""
    import pydicom

    if not is_dicom(file):
        return None
    with explaining_read_errors(file):
        header = pydicom.dcmread(file, stop_before_pixels=True)
        for name in ("SOPClassUID", "SOPInstanceUID"):  # which some tools blank, but not in the file's preamble
            if not header.get(name) and header.file_meta.get(f"MediaStorage{name}"):
                setattr(header, name, header.file_meta[f"MediaStorage{name}"].value)
        return header if header.get("Rows") and header.get("Columns") else None


def _describe_series(by_series: dict[str, list], path: Path) -> str:
    if not by_series:
        return f"no DICOM image in {path}; give the folder of a series"
    firsts = [(*images[0], len(images)) for images in list(by_series.values())[:4]]
    listed = [
        f"{header.get('SeriesDescription') or 'no description'} ({count} images, such as {file.name})"
        for file, header, count in firsts
    ]
    return (
        f"{path} must hold one series, it holds {len(by_series)}: {', '.join(listed)}; "
        "give one image of the series you want instead of the folder"
    )


def _split_frames(file: Path, header: "Dataset") -> list[Slice]:
    """The slices of one file; those of an enhanced image have each their own place."""
    count = int(header.get("NumberOfFrames") or 1)
    if not 1 <= count <= MOST_FRAMES:
        raise InputError(f"{file} must hold 1 to {MOST_FRAMES} frames, it declares {count}; it may be damaged")
    own = list(header.get("PerFrameFunctionalGroupsSequence") or [])
    shared = list(header.get("SharedFunctionalGroupsSequence") or [])
    with explaining_read_errors(file):
        if len(own) == count:
            return [_to_slice(file, header, index, [groups, *shared]) for index, groups in enumerate(own)]
        return [_to_slice(file, header, index, []) for index in range(count)]


def _to_slice(file: Path, header: "Dataset", index: int, groups: list["Dataset"]) -> Slice:
    """Values of the frame's own groups if there are any, then of the whole image."""

    def find(group: str, name: str, length: int) -> np.ndarray | None:
        places = [item for parent in groups for item in parent.get(group) or []]
        value = next((place[name].value for place in [*places, header] if place.get(name) is not None), None)
        numbers = None if value is None else np.array(value, np.float64).ravel()
        return numbers if numbers is not None and numbers.shape == (length,) and np.isfinite(numbers).all() else None

    spacing = find("PixelMeasuresSequence", "PixelSpacing", 2)
    slope, intercept = (
        find("PixelValueTransformationSequence", f"Rescale{what}", 1) for what in ("Slope", "Intercept")
    )
    return Slice(
        file,
        header,
        index,
        find("PlanePositionSequence", "ImagePositionPatient", 3),
        find("PlaneOrientationSequence", "ImageOrientationPatient", 6),
        None if spacing is None or spacing.min() <= 0 else tuple(spacing.tolist()),
        (1.0 if slope is None else float(slope[0]), 0.0 if intercept is None else float(intercept[0])),
    )


def _check_alike(slices: list[Slice], path: Path) -> None:
    """One size, and one orientation: scouts across the others often stand in the same series."""
    sizes = {(int(piece.header.Rows), int(piece.header.Columns)) for piece in slices}
    if len(sizes) > 1:
        raise InputError(f"all images of {path} must have one size, got {_list_sizes(sizes)}; remove the odd ones")
    first = slices[0].orientation
    for piece in slices:
        if first is None or piece.orientation is None:
            continue
        if np.abs(piece.orientation - first).max() > ALIKE:
            raise InputError(
                f"all images of {path} must lie in parallel planes, {slices[0].file.name} and {piece.file.name} "
                "do not; remove the scout images"
            )


def _list_sizes(sizes: set[tuple[int, int]]) -> str:
    return ", ".join(f"{rows} x {columns}" for rows, columns in sorted(sizes)[:4])


def _order_by_number(slices: list[Slice]) -> Series:
    ordered = sorted(slices, key=lambda piece: (int(piece.header.get("InstanceNumber") or 0), piece.index))
    return Series(tuple(ordered), _place_over_time(ordered), ())


def _place_over_time(slices: list[Slice]) -> Geometry | None:
    first = slices[0]
    if first.spacing is None:
        return None
    rows, columns = int(first.header.Rows), int(first.header.Columns)
    spacing = (first.spacing[1], first.spacing[0], 1.0)
    return Geometry((columns, rows, len(slices)), spacing, np.diag([-1.0, -1, 1]), (0, 0, 0), over_time=True)


def _order_by_position(placed: list[PlacedSlice], path: Path) -> Series:
    orientation = placed[0].orientation
    normal = np.cross(orientation[:3], orientation[3:])
    heights = np.array([piece.position @ normal for piece in placed])
    if len(placed) > 1 and np.ptp(heights) < SAME_PLACE_MM:
        return _order_by_number([piece.slice for piece in placed])
    order = np.argsort(heights, kind="stable")
    ordered, steps = [placed[index] for index in order], np.diff(heights[order])
    if (steps < SAME_PLACE_MM).any():
        raise InputError(
            f"{path} must hold one image a position, it holds several, as series over time or echoes do; "
            "give the images of one volume"
        )
    with naming(path):
        geometry = _place(ordered, normal)
    slices = tuple(piece.slice for piece in ordered)
    return Series(slices, geometry, (*_note_gaps(steps), *_note_tilt(ordered, normal), *_note_spacing(slices[0])))


def _place(placed: list[PlacedSlice], normal: np.ndarray) -> Geometry:
    """Columns run along i, rows along j, slices along k: from the first to the last, tilted if the gantry was."""
    first, header = placed[0], placed[0].slice.header
    row, column = first.orientation[:3], first.orientation[3:]
    step = normal * float(header.get("SliceThickness") or 1.0)
    if len(placed) > 1:
        step = (placed[-1].position - first.position) / (len(placed) - 1)
    down, across = first.slice.spacing or (1.0, 1.0)
    length = float(np.linalg.norm(step))
    return Geometry(
        (int(header.Columns), int(header.Rows), len(placed)),
        (across, down, length),
        TO_RAS[:, np.newaxis] * np.stack([row, column, step / length], axis=1),
        tuple((TO_RAS * first.position).tolist()),
    )


def _note_gaps(steps: np.ndarray) -> tuple[str, ...]:
    if len(steps) < 2:
        return ()
    usual = float(np.median(steps))
    odd = np.flatnonzero(np.abs(steps - usual) > UNEVEN * usual)
    if not len(odd):
        return ()
    missing = int(np.round(steps[steps > 1.5 * usual] / usual - 1).sum())
    found = f"{missing} slices seem to be missing" if missing else "their distance varies"
    return (
        f"slices are not evenly spaced: {found}, first after frame {odd[0]} ({steps[odd[0]]:g} mm, "
        f"usually {usual:g} mm); volumes and other formats assume even spacing",
    )


def _note_tilt(placed: list[PlacedSlice], normal: np.ndarray) -> tuple[str, ...]:
    step = placed[-1].position - placed[0].position
    if len(placed) < 2:
        return ()
    degrees = float(np.degrees(np.arccos(min(1.0, abs(step @ normal) / np.linalg.norm(step)))))
    return (
        (f"the gantry was tilted by {degrees:.1f} degrees; slices are kept as scanned",)
        if degrees > TILT_DEGREES
        else ()
    )


def _note_spacing(first: Slice) -> tuple[str, ...]:
    return () if first.spacing else ("the images do not say how far pixels lie apart; 1 mm is assumed",)


def _decode_frames(slices: tuple[Slice, ...], path: Path) -> np.ndarray:
    """(T, H, W, C) in the order of the slices; each file is decoded once."""
    header = slices[0].header
    shape = (len(slices), int(header.Rows), int(header.Columns), int(header.get("SamplesPerPixel") or 1))
    files = dict.fromkeys(piece.file for piece in slices)
    stored = sum(file.stat().st_size for file in files)
    check_declared_size(path, shape, 4, stored, DENSEST)
    pixels = {file: _decode_file(file) for file in files}
    frames = [_scale(pixels[piece.file][piece.index], piece.scale) for piece in slices]
    if len({frame.shape for frame in frames}) > 1:
        raise InputError(f"all images of {path} must be grey or all colour; remove the odd ones")
    return np.stack(frames)


def _decode_file(file: Path) -> np.ndarray:
    """(F, H, W, C) of one file, colours as RGB."""
    import pydicom
    from pydicom.pixels.processing import apply_color_lut
    from pydicom.pixels.utils import pixel_array

    with explaining_read_errors(file):
        dataset = pydicom.dcmread(file)
        if "PixelData" not in dataset:
            raise InputError(f"{file} must be a DICOM image with pixels, it has none; export it again")
        with quiet():
            pixels = pixel_array(dataset)
        if dataset.get("PhotometricInterpretation") == "PALETTE COLOR":
            pixels = apply_color_lut(pixels, dataset)
        has_channels = dataset.get("SamplesPerPixel", 1) > 1 or dataset.PhotometricInterpretation == "PALETTE COLOR"
        pixels = pixels if has_channels else pixels[..., np.newaxis]
        return pixels if pixels.ndim == 4 else pixels[np.newaxis]


def _scale(frame: np.ndarray, scale: tuple[float, float]) -> np.ndarray:
    slope, intercept = scale
    if scale == (1.0, 0.0):
        return frame
    return frame.astype(np.float32) * np.float32(slope) + np.float32(intercept)


@contextmanager
def _tolerant(path: Path) -> Iterator[None]:
    """pydicom warns of values that break the standard, which real files often do."""
    with warnings.catch_warnings(), explaining_read_errors(path):
        warnings.simplefilter("ignore")
        yield
