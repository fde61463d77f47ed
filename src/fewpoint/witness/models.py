"""The two things a pretrained model can be, and how one is loaded by its name.

A promptable model sees a picture once and then answers any number of prompts about it. A feature model turns a picture
into a grid of features. Pictures are (H, W, 3) float32 in [0, 1]; places are rows and columns of their pixels.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fewpoint.errors import InputError
from fewpoint.witness.known import Kind
from fewpoint.witness.store import identify_model, open_model

Encoded = dict[str, np.ndarray]  # what a model keeps of a picture

NOWHERE = np.empty((0, 2))


@dataclass(frozen=True)
class PromptBox:
    """Rows top … bottom and columns left … right in pixels, ends exclusive; they need not be whole numbers."""

    top: float
    bottom: float
    left: float
    right: float


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a promptable model is asked with.

    clicks, negatives: (n, 2) rows and columns on the object and beside it. rough: (H, W) logits of a mask or None.
    """

    box: PromptBox | None = None
    clicks: np.ndarray = field(default_factory=lambda: NOWHERE)
    negatives: np.ndarray = field(default_factory=lambda: NOWHERE)
    rough: np.ndarray | None = None

    @property
    def places(self) -> np.ndarray:
        """(n, 2) x and y of the prompt's points at the middle of their pixels, a box's two corners first."""
        corners = [] if self.box is None else [[self.box.left, self.box.top], [self.box.right, self.box.bottom]]
        points = np.concatenate([self.clicks, self.negatives])[:, ::-1] + 0.5
        return np.concatenate([np.reshape(corners, (-1, 2)), points])

    @property
    def labels(self) -> np.ndarray:
        """(n,) what the places are: 2 and 3 corners of a box, 1 on the object, 0 beside it."""
        corners = [] if self.box is None else [2.0, 3.0]
        return np.concatenate([corners, np.ones(len(self.clicks)), np.zeros(len(self.negatives))])


@dataclass(frozen=True, eq=False)
class Answer:
    """masks: (n, H, W) float32 logits, at or above 0 where the object is. scores: (n,) how good the model thinks."""

    masks: np.ndarray
    scores: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """(H, W) logits of the mask that the model thinks is best."""
        return self.masks[int(self.scores.argmax())]


class Promptable(Protocol):
    @property
    def identity(self) -> str:
        """A name that changes with the weights."""
        ...

    def encode(self, picture: np.ndarray) -> Encoded: ...

    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        """One answer per prompt about an encoded picture of height and width `size`."""
        ...


class FeatureModel(Protocol):
    @property
    def identity(self) -> str:
        """A name that changes with the weights."""
        ...

    def describe(self, picture: np.ndarray) -> np.ndarray:
        """(h, w, D) float32 features of equal parts of the picture."""
        ...


def load_promptable(name: str, threads: int = 0, on_gpu: bool = False) -> Promptable:
    """A promptable model by its name. threads: 0 for one per core. on_gpu: whether there is one to use."""
    model, files = open_model(name)
    identity = identify_model(name)
    match model.kind:
        case Kind.SAM2:
            from fewpoint.witness.sam2 import Sam2

            return Sam2.load(files, identity, threads, on_gpu)
        case Kind.MOBILE_SAM:
            from fewpoint.witness.mobile_sam import MobileSam

            return MobileSam.load(files, identity, threads)
        case Kind.LITE_MEDSAM:
            from fewpoint.witness.lite_medsam import LiteMedSam

            return LiteMedSam.load(files, identity)
        case _:
            raise InputError(f"a model must take prompts, {name} has features only; give one like sam2-tiny")


def load_features(name: str, threads: int = 0) -> FeatureModel:
    """A feature model by its name."""
    model, files = open_model(name)
    if model.kind is not Kind.FEATURES:
        raise InputError(f"{name} takes prompts and has no features; give a model like dinov2-small")
    from fewpoint.witness.dinov2 import DinoV2

    return DinoV2.load(files, identify_model(name), threads)
