"""What the network learns from: frames, superpixels and clicks, resident on the device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import NOTHING_SAID, ImageSequence, PointSet, SuperpixelMap, Words
from fewpoint.core.paging import let_go
from fewpoint.core.threads import work_ahead
from fewpoint.learning.working import WorkingSize
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import frame_of_region, labelled_regions, regions_at_points


@dataclass(frozen=True, eq=False)
class SampleSet:
    """All frames at the working size with their samples, the superpixels.

    frames: (T, C, h, w) float32 in [0, 1]. labels: (T, h, w) int64; the label `regions` marks padding.
    positive, unlabelled: (T, regions) float32, 1 for samples of that kind. areas: (T, regions) share of the frame.
    clicked: (T, regions) bool, positive by a person's own click, not by one carried along. has_point, absent: (T,) bool
    numpy. center, scale: (C,) by which frames are standardised. negative: (T, regions) float32 like positive, for what
    a person marked as not the object; None if nobody did. drawn: (T, h, w) float32, masks of outlined frames, 0 on
    others; None if there are none. known: (T,) share of the samples of an outlined frame that are positive, NaN on
    others. On such a frame all samples count as unlabelled too, so that with this prior the PU risk is that of labels.
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
    negative: Tensor | None = None
    drawn: Tensor | None = None
    known: np.ndarray | None = None

    @property
    def n_frames(self) -> int:
        return len(self.frames)

    @property
    def regions(self) -> int:
        return self.positive.shape[1]

    def standardise(self, frames: Tensor) -> Tensor:
        """(B, C, h, w) to zero mean and unit deviation over the sequence."""
        return (frames - self.center[:, None, None]) / self.scale[:, None, None]


class _FrameFields(TypedDict):
    """What the SampleSets of all objects share."""

    frames: Tensor
    labels: Tensor
    areas: Tensor
    center: Tensor
    scale: Tensor
    size: WorkingSize


class _ObjectFields(TypedDict):
    """What a SampleSet says about its own object."""

    positive: Tensor
    unlabelled: Tensor
    clicked: Tensor
    has_point: np.ndarray
    absent: np.ndarray
    negative: Tensor | None
    drawn: Tensor | None
    known: np.ndarray | None


def build_samples(
    sequence: ImageSequence,
    superpixels: SuperpixelMap,
    points: Sequence[PointSet],
    size: WorkingSize,
    device: torch.device,
    *,
    carried: Sequence[PointSet] | None = None,
    words: Sequence[Words] | None = None,
) -> tuple[SampleSet, ...]:
    """Reduce frames and superpixels to the working size and put them on the device; one set of samples per object.

    points: of each object. carried: the same with the places that motion carried them to; None if there are no others.
    words: what else was said about each object.
    """
    carried = points if carried is None else carried
    words = (NOTHING_SAID,) * len(points) if words is None else words
    frames = reduce_sequence(sequence, size)
    regions = int(superpixels.counts.max())
    labels = size.reduce_labels(superpixels.labels, border=regions).astype(np.int64)
    # The points last: what they lie on must remain.
    for rows in (*(each.negatives for each in carried), *(each.coordinates for each in carried)):
        _restore_clicked(labels, superpixels, rows, size)
    areas = _region_areas(labels, regions)
    center, scale = frames.mean((0, 2, 3)), frames.std((0, 2, 3)).clamp(min=1e-3)
    shared: _FrameFields = {
        "frames": frames.to(device),
        "labels": torch.from_numpy(labels).to(device),
        "areas": torch.from_numpy(areas).float().to(device),
        "center": center.to(device),
        "scale": scale.to(device),
        "size": size,
    }
    return tuple(
        SampleSet(**shared, **_mark_samples(superpixels, *given, areas > 0, size, device))
        for given in zip(points, carried, words, strict=True)
    )


def _mark_samples(
    superpixels: SuperpixelMap,
    points: PointSet,
    carried: PointSet,
    words: Words,
    present: np.ndarray,
    size: WorkingSize,
    device: torch.device,
) -> _ObjectFields:
    """What a SampleSet says about one object; present: (T, regions) bool, superpixels that have a pixel left."""
    # Of two clicked superpixels restored at one pixel, the one that is hidden is not a sample.
    labelled = labelled_regions(superpixels, points, carried, words)
    positive, negative, clicked = (
        _mark(superpixels, chosen, present.shape[1]) & present
        for chosen in (*labelled, regions_at_points(superpixels, points))
    )
    absent, outlined = np.zeros(len(present), bool), sorted(words.outlined)
    absent[list(points.absent)] = True
    unlabelled = present & ~positive & ~negative
    unlabelled[outlined], negative[outlined] = present[outlined], False
    return {
        "positive": torch.from_numpy(positive).float().to(device),
        "unlabelled": torch.from_numpy(unlabelled).float().to(device),
        "clicked": torch.from_numpy(clicked).to(device),
        "has_point": np.asarray(positive.any(1)),
        "absent": absent,
        "negative": torch.from_numpy(negative).float().to(device) if negative.any() else None,
        "drawn": _reduce_outlines(words, len(present), size).to(device) if outlined else None,
        "known": _share_positive(positive, present, outlined) if outlined else None,
    }


def _reduce_outlines(words: Words, n_frames: int, size: WorkingSize) -> Tensor:
    """(T, h, w) float32 masks of outlined frames at the working size, 0 on other frames."""
    masks = np.zeros((n_frames, *size.full), np.int32)
    for frame in words.outlined:
        masks[frame] = words.mask(frame, size.full)
    return torch.from_numpy(size.reduce_labels(masks, border=0)).float()


def _share_positive(positive: np.ndarray, present: np.ndarray, outlined: list[int]) -> np.ndarray:
    """(T,) share of the samples of each outlined frame that are positive, NaN on others."""
    shares = np.full(len(present), np.nan)
    shares[outlined] = positive[outlined].sum(1) / present[outlined].sum(1)
    return shares


def reduce_sequence(sequence: ImageSequence, size: WorkingSize, chunk: int = 8) -> Tensor:
    """(T, C, h, w) float32 in [0, 1] at the working size, a few frames at a time."""
    window, pieces = window_of(sequence), []
    starts = range(0, len(sequence), chunk)
    for piece in work_ahead(lambda start: window.apply(sequence.frames[start : start + chunk]), starts):
        pieces.append(size.reduce_frames(torch.from_numpy(piece).permute(0, 3, 1, 2).contiguous()))
        let_go(sequence.frames)
    return torch.cat(pieces)


def _restore_clicked(labels: np.ndarray, superpixels: SuperpixelMap, rows: np.ndarray, size: WorkingSize) -> None:
    """If a superpixel under a row has no pixel at the reduced size, give it the row's pixel there."""
    clicked = superpixels.labels[tuple(rows.T)]
    for (frame, *place), label in zip(rows, clicked, strict=True):
        if not (labels[frame] == label).any():
            row, column = np.array(place) * size.reduced // size.full
            labels[frame, row, column] = label


def _region_areas(labels: np.ndarray, regions: int) -> np.ndarray:
    """(T, regions) share of the frame's valid pixels in each region."""
    shifted = labels + np.arange(len(labels))[:, None, None] * (regions + 1)
    counts = np.bincount(shifted.ravel(), minlength=len(labels) * (regions + 1))
    counts = counts.reshape(len(labels), regions + 1)[:, :regions]
    return counts / counts.sum(1, keepdims=True)


def _mark(superpixels: SuperpixelMap, chosen: np.ndarray, regions: int) -> np.ndarray:
    """(T, regions) bool, True for the chosen global regions."""
    marked = np.zeros((len(superpixels.labels), regions), bool)
    frames = frame_of_region(superpixels)[chosen]
    marked[frames, chosen - superpixels.offsets[frames]] = True
    return marked
