"""How large the object is, in millimetres, if the input says how far its pixels lie apart."""

import numpy as np

from fewpoint.core import Result


def measure_volume_ml(segmentation: Result) -> float | None:
    """Volume in millilitres; None for frames over time and for inputs that do not say where their voxels lie."""
    geometry = None if segmentation.source is None else segmentation.source.geometry
    if geometry is None or geometry.over_time:
        return None
    return float(segmentation.areas.sum() * geometry.voxel_ml)


def measure_areas_mm2(segmentation: Result) -> np.ndarray | None:
    """(T,) area on each frame in square millimetres; None if the input does not say how large a pixel is."""
    geometry = None if segmentation.source is None else segmentation.source.geometry
    if geometry is None:
        return None
    return segmentation.areas * geometry.pixel_mm2
