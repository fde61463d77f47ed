"""MobileSAM's architecture (Zhang et al., 2023): an encoder and a decoder that gives one mask a prompt."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.witness.models import Answer, Encoded, Prompt
from fewpoint.witness.pictures import sample, standardise, stretch
from fewpoint.witness.sessions import open_session

SIDE, LOW_SIDE = 1024, 256


@dataclass(frozen=True, eq=False)
class MobileSam:
    identity: str
    encoder: Any
    decoder: Any

    @classmethod
    def load(cls, files: tuple[Path, ...], identity: str, threads: int = 0) -> "MobileSam":
        encoder, decoder = (open_session(file, threads) for file in files)
        return cls(identity, encoder, decoder)

    def encode(self, picture: np.ndarray) -> Encoded:
        (embedding,) = self.encoder.run(None, {self.encoder.get_inputs()[0].name: prepare_picture(picture)})
        return {"image_embeddings": embedding.astype(np.float16)}

    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        features = {name: value.astype(np.float32) for name, value in encoded.items()}
        return [self._ask(features, size, prompt) for prompt in prompts]

    def _ask(self, features: Encoded, size: tuple[int, int], prompt: Prompt) -> Answer:
        wanted = ["low_res_masks", "iou_predictions"]
        masks, scores = self.decoder.run(wanted, {**features, **prepare_prompt(prompt, size)})
        return Answer(enlarge(masks[0], size), scores[0])


def prepare_picture(picture: np.ndarray) -> np.ndarray:
    """(1, 3, 1024, 1024) float32: the longer side stretched to 1024, standardised, zero below and to the right."""
    height, width = (round(side * SIDE / max(picture.shape[:2])) for side in picture.shape[:2])
    prepared = np.zeros((1, 3, SIDE, SIDE), np.float32)
    prepared[:, :, :height, :width] = standardise(stretch(picture, (height, width)))
    return prepared


def prepare_prompt(prompt: Prompt, size: tuple[int, int]) -> dict[str, np.ndarray]:
    """The decoder's inputs; a last point of label -1 stands for a box that is not given."""
    places, labels = prompt.places * (SIDE / max(size)), prompt.labels
    if prompt.box is None:
        places, labels = np.concatenate([places, [[0.0, 0.0]]]), np.concatenate([labels, [-1.0]])
    return {
        "point_coords": places[np.newaxis].astype(np.float32),
        "point_labels": labels[np.newaxis].astype(np.float32),
        "mask_input": _shrink(prompt.rough, size),
        "has_mask_input": np.full(1, prompt.rough is not None, np.float32),
        "orig_im_size": np.array(size, np.float32),
    }


def enlarge(masks: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(n, 256, 256) logits over the padded square to (n, H, W), bilinear, without the padding."""
    rows, columns = ((np.arange(side) + 0.5) * LOW_SIDE / max(size) - 0.5 for side in size)
    return np.stack([sample(mask, rows, columns) for mask in masks])


def _shrink(rough: np.ndarray | None, size: tuple[int, int]) -> np.ndarray:
    """(1, 1, 256, 256) logits over the padded square; zeros without a mask."""
    shrunk = np.zeros((1, 1, LOW_SIDE, LOW_SIDE), np.float32)
    if rough is not None:
        height, width = (max(1, round(side * LOW_SIDE / max(size))) for side in size)
        shrunk[0, 0] = -32.0  # surely not there
        shrunk[0, 0, :height, :width] = stretch(rough, (height, width))
    return shrunk
