"""What the network learns from: frames, superpixels and clicks, resident on the device."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import ImageSequence, PointSet, SuperpixelMap
from fewpoint.learning.working import WorkingSize
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import regions_at_points


@dataclass(frozen=True, eq=False)
class SampleSet:
    """All frames at the working size with their samples, the superpixels.

    frames: (T, C, h, w) float32 in [0, 1]. labels: (T, h, w) int64; the label `regions` marks padding.
    positive, unlabelled: (T, regions) float32, 1 for samples of that kind. areas: (T, regions) share of the frame.
    clicked: (T, regions) bool, positive by a person's own click, not by one carried along. has_point, absent: (T,) bool
    numpy. center, scale: (C,) by which frames are standardised.
    other: (T, regions) float32, 1 where a point lies on another object; None where there is none.
    """

    frames: Tensor
    labels: Tensor
    positive: Tensor
    unlabelled: Tensor
    areas: Tensor
    clicked: Tensor
    center: Tensor
    scale: Tensor
    has_point: np.ndarray
    absent: np.ndarray
    size: WorkingSize
    other: Tensor | None = None

    @property
    def n_frames(self) -> int:
        return len(self.frames)

    @property
    def regions(self) -> int:
        return self.positive.shape[1]

    def standardise(self, frames: Tensor) -> Tensor:
        """(B, C, h, w) to zero mean and unit deviation over the sequence."""
        return (frames - self.center[:, None, None]) / self.scale[:, None, None]


def build_samples(
    sequence: ImageSequence,
    superpixels: SuperpixelMap,
    points: PointSet,
    size: WorkingSize,
    device: torch.device,
    *,
    carried: PointSet | None = None,
) -> SampleSet:
    """Reduce frames and superpixels to the working size and put them on the device.

    carried: the points together with those that motion carried them to; None where there are no others.
    """
    frames = reduce_sequence(sequence, size)
    regions = int(superpixels.counts.max())
    labels = size.reduce_labels(superpixels.labels, border=regions).astype(np.int64)
    positive_points = points if carried is None else carried
    _restore_clicked(labels, superpixels, positive_points, size)
    areas = _region_areas(labels, regions)
    # Two clicked superpixels that came back at one pixel hide each other: the hidden one is no sample.
    positive = _mark_positive(superpixels, positive_points, regions) & (areas > 0)
    clicked = _mark_positive(superpixels, points, regions) & (areas > 0)
    unlabelled = (areas > 0) & ~positive
    n_frames = len(sequence)
    absent = np.zeros(n_frames, bool)
    absent[list(points.absent)] = True
    center, scale = frames.mean((0, 2, 3)), frames.std((0, 2, 3)).clamp(min=1e-3)
    return SampleSet(
        frames=frames.to(device),
        labels=torch.from_numpy(labels).to(device),
        positive=torch.from_numpy(positive).float().to(device),
        unlabelled=torch.from_numpy(unlabelled).float().to(device),
        areas=torch.from_numpy(areas).float().to(device),
        clicked=torch.from_numpy(clicked).to(device),
        center=center.to(device),
        scale=scale.to(device),
        has_point=positive.any(1),
        absent=absent,
        size=size,
    )


def split_samples(
    together: SampleSet, superpixels: SuperpixelMap, points: tuple[PointSet, ...], carried: tuple[PointSet, ...]
) -> tuple[SampleSet, ...]:
    """The samples of each object, given those that were built from the points on all of them.

    points, carried: those of each object; no superpixel holds carried points of two.
    """
    present = (together.areas > 0).cpu().numpy()
    positives = [_mark_positive(superpixels, each, together.regions) & present for each in carried]
    anything = np.any(positives, axis=0)
    device = together.frames.device

    def move(marks: np.ndarray) -> Tensor:
        return torch.from_numpy(marks).float().to(device)

    return tuple(
        replace(
            together,
            positive=move(positive),
            unlabelled=move(present & ~positive),
            clicked=torch.from_numpy(_mark_positive(superpixels, own, together.regions) & present).to(device),
            has_point=positive.any(1),
            absent=np.isin(np.arange(together.n_frames), own.absent),
            other=move(anything & ~positive),
        )
        for own, positive in zip(points, positives, strict=True)
    )


def reduce_sequence(sequence: ImageSequence, size: WorkingSize, chunk: int = 32) -> Tensor:
    """(T, C, h, w) float32 in [0, 1] at the working size, a few frames at a time."""
    window = window_of(sequence)
    pieces = []
    for start in range(0, len(sequence), chunk):
        piece = torch.from_numpy(window.apply(sequence.frames[start : start + chunk])).permute(0, 3, 1, 2)
        pieces.append(size.reduce_frames(piece.contiguous()))
    return torch.cat(pieces)


def _restore_clicked(labels: np.ndarray, superpixels: SuperpixelMap, points: PointSet, size: WorkingSize) -> None:
    """Where a superpixel under a point fell between the pixels of the reduced size, give it the point's pixel there."""
    clicked = superpixels.labels[tuple(points.coordinates.T)]
    for (frame, *place), label in zip(points.coordinates, clicked, strict=True):
        if not (labels[frame] == label).any():
            row, column = np.array(place) * size.reduced // size.full
            labels[frame, row, column] = label


def _region_areas(labels: np.ndarray, regions: int) -> np.ndarray:
    """(T, regions) share of the frame's valid pixels in each region."""
    shifted = labels + np.arange(len(labels))[:, None, None] * (regions + 1)
    counts = np.bincount(shifted.ravel(), minlength=len(labels) * (regions + 1))
    counts = counts.reshape(len(labels), regions + 1)[:, :regions]
    return counts / counts.sum(1, keepdims=True)


def _mark_positive(superpixels: SuperpixelMap, points: PointSet, regions: int) -> np.ndarray:
    """(T, regions) bool, True for superpixels that hold a point."""
    positive = np.zeros((len(superpixels.labels), regions), bool)
    clicked = regions_at_points(superpixels, points)
    positive[points.frames, clicked - superpixels.offsets[points.frames]] = True
    return positive
