"""Trained networks as a file that describes itself, for other runs to start from; free of torch."""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fewpoint.errors import InputError
from fewpoint.io.decoding import load_arrays
from fewpoint.models.settings import NetworkSettings

MODEL_FILE = "model.npz"
MODEL_FORMAT = "fewpoint model"
DESCRIPTION = "description"

Weights = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Model:
    """Networks of one shape. channels: of a frame. weights: the arrays of each network by their names in it."""

    network: NetworkSettings
    channels: int
    weights: tuple[Weights, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all names and weights."""
        digest = hashlib.sha256()
        for name, values in _name_arrays(self.weights).items():
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def check_fits(self, network: NetworkSettings, channels: int) -> None:
        """Raise InputError unless networks of these settings for frames of so many channels can take the weights."""
        if self.channels != channels:
            raise InputError(
                f"the networks to start from must be for frames of {channels} channels as here, they are for "
                f"{self.channels}; take a run on a sequence of the same kind"
            )
        # What an untrained network answers is no part of its shape.
        here, there = ({**asdict(each), "head_prior": None} for each in (network, self.network))
        different = [
            f"network.{name} ({there[name]}, here {value})" for name, value in here.items() if there[name] != value
        ]
        if different:
            raise InputError(
                f"the networks to start from must have the settings of those here, they differ in "
                f"{', '.join(different)}; take a run with the same preset"
            )


def save_model(model: Model, file: BinaryIO) -> None:
    description = {
        "format": MODEL_FORMAT,
        "network": asdict(model.network),
        "channels": model.channels,
        "networks": len(model.weights),
    }
    np.savez(file, **{DESCRIPTION: np.array(json.dumps(description))}, **_name_arrays(model.weights))


def load_model(path: str | Path) -> Model:
    """Read the networks of a finished run, given its folder or its model.npz; nothing in the file is run."""
    path = Path(path)
    file = path / MODEL_FILE if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{path} must be a finished run's folder or its {MODEL_FILE}, and holds no networks; give another"
        )
    arrays = load_arrays(file)
    try:
        description = json.loads(str(arrays[DESCRIPTION]))
        if description["format"] != MODEL_FORMAT:
            raise ValueError(description["format"])
        network = NetworkSettings(**description["network"])
        numbers = range(int(description["networks"]))
        weights = tuple(_arrays_of(arrays, number) for number in numbers)
        return Model(network, int(description["channels"]), weights)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} must hold networks as fewpoint writes them, got something else; give another"
        ) from error


def _name_arrays(weights: tuple[Weights, ...]) -> Weights:
    return {f"{number}/{name}": values for number, each in enumerate(weights) for name, values in each.items()}


def _arrays_of(arrays: Weights, number: int) -> Weights:
    prefix = f"{number}/"
    found = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    if not found:
        raise KeyError(prefix)
    return found
