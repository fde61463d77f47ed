"""One made-up volume in many orientations, for tests of places and formats."""

from pathlib import Path

import nibabel
import numpy as np

SHAPE = (7, 6, 5)
VOXELS = np.random.default_rng(5).integers(0, 200, SHAPE).astype(np.int16)
AFFINE = np.array([[1.5, 0, 0, -20], [0, 1.25, 0, 13], [0, 0, 4, -7], [0, 0, 0, 1]])  # RAS
POINT_VOXEL = (2, 4, 1)
POINT_RAS = (-17.0, 18.0, -3.0)

FLIPS = {"RAS": (1, 1, 1), "LPS": (-1, -1, 1), "LAS": (-1, 1, 1), "RPI": (1, -1, -1)}


def reorient(voxels: np.ndarray, affine: np.ndarray, flips: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The same volume with axes stored the other way round where a flip is -1."""
    turn = np.diag([*map(float, flips), 1.0])
    turn[:3, 3] = [0 if flip > 0 else side - 1 for flip, side in zip(flips, voxels.shape, strict=True)]
    return voxels[tuple(slice(None, None, flip) for flip in flips)], affine @ turn


def tilt(affine: np.ndarray) -> np.ndarray:
    """The volume turned in the patient by 20 degrees about x and 10 about z."""
    a, b = np.radians([20, 10])
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    tilted = np.eye(4)
    tilted[:3] = about_z @ about_x @ affine[:3]
    return tilted


def save_nifti(path: Path, voxels: np.ndarray = VOXELS, affine: np.ndarray = AFFINE) -> Path:
    nibabel.save(nibabel.Nifti1Image(voxels, affine), path)
    return path
