"""SAM 2 (Ravi et al., 2024): an encoder that sees a picture once, and a decoder that answers prompts about it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.witness.models import Answer, Encoded, Prompt
from fewpoint.witness.pictures import standardise, stretch
from fewpoint.witness.sessions import open_network

AT_ONCE = 16  # prompts, which the decoder answers together


@dataclass(frozen=True, eq=False)
class Sam2:
    """encoder, decoder: onnxruntime sessions or the like, whose sides and names of inputs are those of the files."""

    identity: str
    encoder: Any
    decoder: Any

    @classmethod
    def load(cls, files: tuple[Path, ...], identity: str, threads: int = 0, on_gpu: bool = False) -> "Sam2":
        return cls(identity, *(open_network(file, threads, on_gpu) for file in files))

    @property
    def side(self) -> int:
        return int(self.encoder.get_inputs()[0].shape[-1])

    @property
    def low_side(self) -> int:
        """Of masks."""
        (shape,) = (each.shape for each in self.decoder.get_inputs() if each.name == "mask_input")
        return int(shape[-1])

    def encode(self, picture: np.ndarray) -> Encoded:
        """The picture is stretched to a square, as the model was trained; features are kept in half precision."""
        names = [each.name for each in self.encoder.get_outputs()]
        shown = standardise(stretch(picture, (self.side, self.side)))
        values = self.encoder.run(names, {self.encoder.get_inputs()[0].name: shown})
        return {name: value.astype(np.float16) for name, value in zip(names, values, strict=True)}

    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        """Prompts with as many places, all with a rough mask or all without, are answered together."""
        features = {name: value.astype(np.float32) for name, value in encoded.items()}
        answers: list[Answer | None] = [None] * len(prompts)
        alike: dict[tuple[int, bool], list[int]] = {}
        for number, prompt in enumerate(prompts):
            alike.setdefault((len(prompt.labels), prompt.rough is not None), []).append(number)
        for numbers in alike.values():
            for start in range(0, len(numbers), AT_ONCE):
                some = numbers[start : start + AT_ONCE]
                for number, answer in zip(some, self._ask(features, size, [prompts[n] for n in some]), strict=True):
                    answers[number] = answer
        return [answer for answer in answers if answer is not None]

    def _ask(self, features: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        scale = np.array([self.side / size[1], self.side / size[0]])
        low, given = (self.low_side, self.low_side), prompts[0].rough is not None
        rough = [np.zeros(low, np.float32) if each.rough is None else stretch(each.rough, low) for each in prompts]
        masks, scores = self.decoder.run(
            None,
            {
                **features,
                "point_coords": np.stack([each.places * scale for each in prompts]).astype(np.float32),
                "point_labels": np.stack([each.labels for each in prompts]).astype(np.float32),
                "mask_input": np.stack(rough)[:, np.newaxis].astype(np.float32),
                "has_mask_input": np.full(1, given, np.float32),
            },
        )
        return [
            Answer(np.stack([stretch(mask, size) for mask in some]), own)
            for some, own in zip(masks, scores, strict=True)
        ]
