"""Small sequences whose objects are known, made of NumPy and SciPy alone so that they are the same in every tree."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import distance_transform_edt, gaussian_filter

GREYS = (0.58, 0.82, 0.14)  # of the objects, on tissue of 0.36
STILL = ((0.75, 0.15, 0.15), (0.55, 0.87, 0.85), (0.14, 0.12, 0.88))  # grey, y and x of what moves not

Row = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Scene:
    """frames: (T, H, W, C) uint8. truth: (T, H, W) uint8, 0 or the number of an object from 1."""

    frames: np.ndarray
    truth: np.ndarray
    seed: int

    def clicks(self, number: int = 1, every: int = 1, first: int = 0) -> list[Row]:
        """A pixel of an object on every so many frames, anywhere but at its border."""
        return self._draw(number, range(first, len(self.frames), every), 1.5, np.inf)

    def edges(self, frames: list[int], number: int = 1) -> list[Row]:
        """Pixels just inside an object, one a frame."""
        return self._draw(number, frames, 0.5, 1.5)

    def beside(self, frames: list[int], number: int = 1, near: float = 1.5, far: float = 4.0) -> list[Row]:
        """Pixels just outside it, one a frame."""
        return self._draw(number, frames, -far, -near)

    def _draw(self, number: int, frames: range | list[int], least: float, most: float) -> list[Row]:
        """A pixel a frame at this depth inside the object, in pixels; negative outside."""
        rng, rows = np.random.default_rng(self.seed + 100 * number), []
        for frame in frames:
            inside = self.truth[frame] == number
            depth = np.asarray(distance_transform_edt(inside)) - np.asarray(distance_transform_edt(~inside))
            y, x = rng.choice(np.argwhere((depth >= least) & (depth <= most) & (inside | (self.truth[frame] == 0))))
            rows.append((frame, int(y), int(x)))
        return rows


def make_scene(n_frames: int, size: tuple[int, int], seed: int, *, objects: int = 1, channels: int = 1) -> Scene:
    """Objects side by side that move, turn and breathe over tissue with things that are still."""
    rng = np.random.default_rng(seed)
    shape, time = (n_frames, *size), np.linspace(0, 1, n_frames)[:, None, None]
    grey = 0.36 + sum(weight * _noise(shape, scale, rng) for weight, scale in ((0.03, 1.5), (0.04, 4), (0.05, 12)))
    rows, columns = np.indices(size)
    for value, y, x in STILL:
        grey[:, np.hypot(rows / size[0] - y, columns / size[1] - x) < 0.1] = value
    truth = np.zeros(shape, np.uint8)
    for number in range(1, objects + 1):
        phase, width = rng.uniform(0, 2 * np.pi, 4), size[1] / objects
        dy = rows - size[0] * (0.5 + 0.12 * np.sin(2 * np.pi * time + phase[0]))
        dx = columns - width * (number - 0.5 + 0.12 * np.sin(4 * time + phase[1]))
        radius = min(size[0], width) * (0.2 + 0.05 * np.sin(2 * np.pi * time + phase[2]))
        waves = 1 + 0.18 * np.cos(2 * np.arctan2(dy, dx) + phase[3] + 3 * time)
        inside = np.hypot(dy, dx / 1.2) <= radius * waves
        grey = np.where(inside, GREYS[number - 1] + 0.05 * _noise(shape, 1.2, rng), grey)
        truth[inside] = number
    tints = np.where(truth[..., None] > 0, (1.0, 0.85, 0.55), (1.0, 0.7, 0.65)) if channels == 3 else 1.0
    picture = gaussian_filter(grey[..., None] * tints, (0, 0.6, 0.6, 0))
    picture = picture + 0.03 * rng.standard_normal(picture.shape)
    return Scene(np.rint(255 * picture.clip(0, 1)).astype(np.uint8), truth, seed)


def _noise(shape: tuple[int, ...], scale: float, rng: np.random.Generator) -> np.ndarray:
    values = gaussian_filter(rng.standard_normal(shape), (2, scale, scale), mode="wrap")
    return (values - values.mean()) / values.std()


def save_pictures(frames: np.ndarray, folder: Path) -> Path:
    """Write frames as 0000.png, 0001.png, …"""
    folder.mkdir(parents=True)
    for index, frame in enumerate(frames):
        Image.fromarray(frame.squeeze()).save(folder / f"{index:04d}.png")
    return folder


def save_volume(frames: np.ndarray, path: Path) -> Path:
    """A NIfTI volume whose pixels are twice as high as wide, turned in the patient."""
    import nibabel

    affine = np.array([[0.96, 0.56, 0, -20], [-0.28, 1.92, 0, 13], [0, 0, 5, -7], [0, 0, 0, 1.0]])
    nibabel.save(nibabel.Nifti1Image(frames[..., 0].transpose(2, 1, 0).astype(np.int16), affine), path)
    return path


def save_series(frames: np.ndarray, folder: Path) -> Path:
    """A DICOM series of CT images, one file a frame."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, ExplicitVRLittleEndian

    folder.mkdir(parents=True)
    kind, root = "1.2.840.10008.5.1.4.1.1.2", "1.2.826.0.1.3680043.8.498"
    for index, pixels in enumerate(frames[..., 0].astype("<u2")):
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = UID(kind), UID(f"{root}.1.{index}")
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        image = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
        image.SOPClassUID, image.SOPInstanceUID = kind, f"{root}.1.{index}"
        image.SeriesInstanceUID, image.StudyInstanceUID, image.FrameOfReferenceUID = f"{root}.2", f"{root}.3", root
        image.PatientID, image.PatientName, image.PatientBirthDate, image.PatientSex = "1", "A^B", "", ""
        image.StudyDate, image.StudyTime, image.StudyID, image.AccessionNumber = "20260101", "120000", "1", ""
        image.ReferringPhysicianName, image.SeriesNumber, image.Modality = "", 1, "CT"
        image.InstanceNumber, image.PhotometricInterpretation, image.SamplesPerPixel = index + 1, "MONOCHROME2", 1
        image.Rows, image.Columns = pixels.shape
        image.BitsAllocated, image.BitsStored, image.HighBit, image.PixelRepresentation = 16, 12, 11, 0
        image.RescaleSlope, image.RescaleIntercept, image.RescaleType = 2, -1024, "HU"
        image.PixelSpacing, image.SliceThickness = [0.8, 1.25], 3.0
        image.ImagePositionPatient, image.ImageOrientationPatient = [-12.5, 30, 7 + 3 * index], [1, 0, 0, 0, 1, 0]
        image.PixelData = pixels.tobytes()
        image.save_as(folder / f"IM{index:04d}", enforce_file_format=True)
    return folder


def save_points(
    path: Path, on: dict[str, list[Row]], beside: dict[str, list[Row]] | None = None, absent: tuple[int, ...] = ()
) -> Path:
    """Clicks on objects by name, clicks beside them, and frames without any; "" for a single object."""
    lines = [
        f"{frame},{y},{x},{label},{name}"
        for label, places in ((1, on), (0, beside or {}))
        for name, rows in places.items()
        for frame, y, x in rows
    ]
    lines += [f"{frame},absent" for frame in absent]
    path.write_text("\n".join(["frame,y,x,label,object", *lines]) + "\n", encoding="utf-8")
    return path
