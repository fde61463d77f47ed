"""Frames to regions: cut each frame into superpixels, measure them and link those that overlap in time."""

from fewpoint.superpixels.adjacency import temporal_overlaps
from fewpoint.superpixels.intensity import normalise
from fewpoint.superpixels.regions import (
    frame_of_region,
    paint_regions,
    region_areas,
    region_centroids,
    region_means,
    regions_at_points,
    share_of_points,
)
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

__all__ = [
    "SuperpixelSettings",
    "frame_of_region",
    "normalise",
    "paint_regions",
    "region_areas",
    "region_centroids",
    "region_means",
    "regions_at_points",
    "segment_frames",
    "share_of_points",
    "temporal_overlaps",
]
