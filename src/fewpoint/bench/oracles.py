"""Methods that are given what only the truth reveals: ceilings and ablations, no competitors.

They are built here, from a truth that the bench has read, and nowhere else: what they know is an argument of their
constructor, and no method can get it through the interface that all methods share.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, Segmenter, ignore
from fewpoint.errors import InputError
from fewpoint.evaluation.ceiling import best_superpixel_masks
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.truth import true_shares
from fewpoint.methods.competitors.nnpu import NnPu
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_masks
from fewpoint.methods.competitors.sam2_points import MODEL
from fewpoint.methods.competitors.sam_points import Answer, SamPoints
from fewpoint.methods.competitors.settings import NnPuSettings
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames
from fewpoint.witness.asking import box_round
from fewpoint.witness.encoding import Pictures
from fewpoint.witness.models import Prompt, Promptable, load_promptable
from fewpoint.witness.sessions import find_gpu

# Name and settings; None for a method without any.
ORACLES: dict[str, Any] = {
    "max-sp": None,
    "sam-points-best": None,
    "sam2-true-box": None,
    "nnpu-true": NnPuSettings(),
    "nnpu-const": NnPuSettings(),
}


def build_oracle(
    name: str,
    truth: np.ndarray,
    settings: Any,
    device: str = "auto",
    listener: Listener = ignore,
    folder: Path | None = None,
) -> Segmenter:
    """The method, given what it needs to know of (T, H, W) bool truth: the masks, the shares, or their mean.

    folder: where one that trains goes on if it is killed.
    """
    if name == "max-sp":
        return MaxSp(truth)
    if name == "sam-points-best":
        return SamPoints(name, partial(take_best, truth=truth))
    if name == "sam2-true-box":
        return TrueBox(truth)
    shares = true_shares(truth)
    priors = shares if name == "nnpu-true" else np.full_like(shares, shares.mean())
    return NnPu(name, priors, settings, device, listener, folder)


def take_best(frame: int, answer: Answer, bound: AreaBound, *, truth: np.ndarray) -> np.ndarray:
    """The candidate of the largest F1 against the frame's truth.

    No more can be had on a frame; over all pixels of a sequence another choice may score a little more.
    """
    scores = [score_masks(mask[np.newaxis] >= 0, truth[frame : frame + 1]).pooled.f1 for mask in answer.candidates]
    return answer.candidates[int(np.argmax(scores))]


@dataclass(frozen=True, eq=False)
class TrueBox:
    """SAM 2 with the box round the truth of each frame: as good as it could be if networks knew every box.

    model: loaded if None.
    """

    truth: np.ndarray
    model: Promptable | None = None
    name: str = "sam2-true-box"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        model, pictures = self.model or load_promptable(MODEL, on_gpu=find_gpu()), Pictures.of(sequence)
        masks = np.zeros(sequence.shape[:3], bool)
        for frame in np.flatnonzero(self.truth.any(axis=(1, 2))).tolist():
            prompt = Prompt(box_round(self.truth[frame]))
            (answer,) = model.ask(model.encode(pictures[frame]), sequence.size, [prompt])
            masks[frame] = answer.best >= 0
        masks[list(points.absent)] = False
        return describe_masks(masks, sequence, bound or ASSUMED_BOUND)


@dataclass(frozen=True, eq=False)
class MaxSp:
    """The best that superpixels can do: those of which more than half the pixels are true, however they look."""

    truth: np.ndarray
    name: str = "max-sp"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        if self.truth.shape != sequence.shape[:3]:
            raise InputError(f"truth and sequence must have one shape, got {self.truth.shape} and {sequence.shape[:3]}")
        superpixels = segment_frames(sequence, SuperpixelSettings(), jobs=1)
        masks = best_superpixel_masks(superpixels, self.truth)
        masks[list(points.absent)] = False
        return describe_masks(masks, sequence, bound or ASSUMED_BOUND)
