"""How far the surfaces of masks lie from those of the truth, in millimetres, and how far their volumes differ."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import check_masks

FARTHEST = 95  # per cent of distances, of which HD95 is the largest

Spacing = tuple[float, float, float] | tuple[float, float]


@dataclass(frozen=True)
class SurfaceDistances:
    """Distances between two surfaces; None where only one of the two is there at all.

    hd95: the larger of the two 95th percentiles, from masks to truth and from truth to masks. assd: mean over the
    pixels of both surfaces. unit: mm or px. unmatched_frames: frames that only one of the two shows the object on,
    which count for nothing where frames are compared one by one; always 0 for volumes.
    """

    hd95: float | None
    assd: float | None
    unit: str
    unmatched_frames: int = 0


@dataclass(frozen=True)
class VolumeError:
    """How much the masks hold too much.

    relative: (masks - truth) / truth, such as -0.2 for a fifth too little; None if the truth is empty. masks, truth:
    in the unit, ml for a volume of which the spacing is known and px else.
    """

    relative: float | None
    masks: float
    truth: float
    unit: str


def spacing_of(geometry: Geometry | None) -> Spacing | None:
    """Spacing of frames, rows and columns of a volume, of rows and columns of frames over time; None if not known."""
    if geometry is None:
        return None
    if geometry.over_time:
        return geometry.pixel_spacing_mm
    return geometry.spacing_mm[geometry.axes[0]], *geometry.pixel_spacing_mm


def measure_surfaces(masks: np.ndarray, truth: np.ndarray, spacing_mm: Spacing | None = None) -> SurfaceDistances:
    """Compare (T, H, W) bool masks with the truth.

    spacing_mm: of frames, rows and columns for a volume, whose surface is one; of rows and columns for frames over
    time, which are compared one by one; None for the latter in pixels. Surface pixels have a neighbour along an axis
    that is outside, and the edge of the frame is outside. Two empty masks have a distance of 0.

    >>> masks, truth = np.zeros((2, 1, 5, 5), bool)
    >>> masks[0, 2, 1], truth[0, 2, 4] = True, True
    >>> measure_surfaces(masks, truth, (1.0, 1.0, 0.5))
    SurfaceDistances(hd95=1.5, assd=1.5, unit='mm', unmatched_frames=0)
    """
    check_masks(masks, truth)
    _check_spacing(spacing_mm)
    unit = "px" if spacing_mm is None else "mm"
    is_volume = spacing_mm is not None and len(spacing_mm) == 3
    steps = spacing_mm or (1.0, 1.0)
    pairs = [(masks, truth)] if is_volume else list(zip(masks, truth, strict=True))
    shown = [(bool(one.any()), bool(other.any())) for one, other in pairs]
    unmatched = sum(first != second for first, second in shown)
    both = [_find_distances(*pair, steps) for pair, seen in zip(pairs, shown, strict=True) if all(seen)]
    if not both:
        nothing = None if unmatched else 0.0
        return SurfaceDistances(nothing, nothing, unit, 0 if is_volume else unmatched)
    there, back = (np.concatenate(distances) for distances in zip(*both, strict=True))
    farthest = max(float(np.percentile(each, FARTHEST)) for each in (there, back))
    return SurfaceDistances(farthest, float(np.concatenate([there, back]).mean()), unit, 0 if is_volume else unmatched)


def measure_volume(masks: np.ndarray, truth: np.ndarray, voxel_ml: float | None = None) -> VolumeError:
    """Compare how many pixels (T, H, W) bool masks and the truth hold; voxel_ml: millilitres of one, if it is known.

    >>> measure_volume(np.array([[[True, True, True]]]), np.array([[[True, True, False]]]))
    VolumeError(relative=0.5, masks=3.0, truth=2.0, unit='px')
    """
    check_masks(masks, truth)
    found, true = int(masks.sum()), int(truth.sum())
    relative = (found - true) / true if true else None
    factor = 1.0 if voxel_ml is None else voxel_ml
    return VolumeError(relative, found * factor, true * factor, "px" if voxel_ml is None else "ml")


def _find_distances(masks: np.ndarray, truth: np.ndarray, spacing: Spacing) -> tuple[np.ndarray, np.ndarray]:
    """From each surface pixel of the masks to the nearest of the truth's surface, and the other way round."""
    from scipy.ndimage import distance_transform_edt

    where = _find_box(masks | truth)
    one, other = (_find_surface(each[where]) for each in (masks, truth))
    there, back = (
        np.asarray(distance_transform_edt(~to, sampling=spacing))[of] for of, to in ((one, other), (other, one))
    )
    return there, back


def _find_box(mask: np.ndarray) -> tuple[slice, ...]:
    """The smallest box round a mask that is not empty."""
    stretches = []
    for axis in range(mask.ndim):
        occupied = np.flatnonzero(mask.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        stretches.append(slice(int(occupied[0]), int(occupied[-1]) + 1))
    return tuple(stretches)


def _find_surface(mask: np.ndarray) -> np.ndarray:
    from scipy.ndimage import binary_erosion

    return mask & ~binary_erosion(mask)


def _check_spacing(spacing: Spacing | None) -> None:
    if spacing is None:
        return
    if len(spacing) not in (2, 3) or not all(0 < step < np.inf for step in spacing):
        raise InputError(f"spacing must be two or three lengths above 0, in millimetres, got {spacing}")
