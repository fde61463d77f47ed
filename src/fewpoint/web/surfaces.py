"""The surface of an object in the patient, for a look at its shape."""

import numpy as np

from fewpoint.core.geometry import Geometry

MOST_VOXELS = 2_000_000  # beyond, every second or third one in each direction is taken
HEAD = np.dtype("<u4")


def build_surface(masks: np.ndarray, geometry: Geometry | None) -> bytes:
    """Triangles round (T, H, W) masks, as the page reads them: two counts, then places and sides.

    Counts of corners and of triangles as uint32; corners as float32 triples in RAS millimetres, or as (x, -y, -frame)
    in pixels without a geometry; triangles as uint32 triples of corners. All little-endian. If the masks are empty,
    both counts are 0.
    """
    corners, triangles = _find_triangles(masks)
    placed = _place(corners, geometry) if len(corners) else corners
    counts = np.array([len(placed), len(triangles)], HEAD)
    return counts.tobytes() + placed.astype("<f4").tobytes() + triangles.astype("<u4").tobytes()


def _find_triangles(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(P, 3) corners as frame, y, x and (N, 3) triangles."""
    from skimage.measure import marching_cubes

    inside = [np.flatnonzero(masks.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1))]
    if not len(inside[0]):
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    first = np.array([places[0] for places in inside])
    last = np.array([places[-1] + 1 for places in inside])
    part = masks[tuple(slice(start, end) for start, end in zip(first, last, strict=True))]
    step = max(1, int(np.ceil((part.size / MOST_VOXELS) ** (1 / 3))))
    padded = np.pad(part[::step, ::step, ::step], 1).astype(np.float32)
    corners, triangles, _, _ = marching_cubes(padded, 0.5)
    return (corners - 1) * step + first, triangles


def _place(corners: np.ndarray, geometry: Geometry | None) -> np.ndarray:
    if geometry is None or geometry.over_time:
        return corners[:, [2, 1, 0]] * (1, -1, -1)
    voxels = np.empty_like(corners, np.float64)
    voxels[:, list(geometry.axes)] = corners
    return voxels @ geometry.affine[:3, :3].T + np.array(geometry.origin_mm)
