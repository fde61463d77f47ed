"""sam2-points: SAM 2 alone, one prompt per clicked frame; what it would give those who have it without fewpoint.

As sam-points, with another network: three candidates for a prompt, of which it scores each. The model is optional, see
fewpoint models.
"""

import numpy as np

from fewpoint.methods.competitors.sam_points import Answer, Model, SamPoints, take_chosen, take_largest_allowed
from fewpoint.witness.models import Prompt, Promptable, load_promptable
from fewpoint.witness.sessions import find_gpu

MODEL = "sam2-tiny"


def make_default() -> SamPoints:
    return SamPoints("sam2-points", take_chosen, _ask_when_needed())


def make_bound() -> SamPoints:
    return SamPoints("sam2-points-bound", take_largest_allowed, _ask_when_needed())


def ask_with(model: Promptable) -> Model:
    """The model as sam-points asks it: with the clicks of a frame."""

    def ask(colours: np.ndarray, clicks: np.ndarray) -> Answer:
        (answer,) = model.ask(model.encode(colours), colours.shape[:2], [Prompt(clicks=clicks)])
        return Answer(answer.best, answer.masks)

    return ask


def _ask_when_needed() -> Model:
    """Loads the model with the first question."""
    loaded: list[Model] = []

    def ask(colours: np.ndarray, clicks: np.ndarray) -> Answer:
        if not loaded:
            loaded.append(ask_with(load_promptable(MODEL, on_gpu=find_gpu())))
        return loaded[0](colours, clicks)

    return ask
