"""Trained networks as a file that describes itself, for other runs to start from; free of torch."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fewpoint.errors import InputError
from fewpoint.io.decoding import load_arrays
from fewpoint.models.settings import NetworkSettings

MODEL_FILE = "model.npz"
MODEL_FORMAT = "fewpoint model"
DESCRIPTION = "description"
HEAD = ("head.weight", "head.bias")  # one row per object

Weights = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The networks of objects that learnt together.

    objects: their names, "" for one without a name. weights: the arrays of each network by their names in it.
    """

    objects: tuple[str, ...]
    weights: tuple[Weights, ...]

    def choose(self, names: tuple[str, ...]) -> "GroupModel":
        """The networks for other objects: those of the same name keep their outputs, others have none yet.

        A single object keeps its output whatever it is called. Outputs that are missing are NaN.
        """
        if any(len(each[name]) != len(self.objects) for each in self.weights for name in HEAD):
            raise InputError("the weights to start from must be of the network's shape, they are not; take another run")
        alone = len(names) == len(self.objects) == 1
        rows = [0] if alone else [self.objects.index(name) if name in self.objects else -1 for name in names]
        return GroupModel(names, tuple({**each, **_take_rows(each, rows)} for each in self.weights))


def _take_rows(weights: Weights, rows: list[int]) -> Weights:
    heads = {name: weights[name] for name in HEAD}
    return {
        name: np.stack([values[row] if row >= 0 else np.full_like(values[0], np.nan) for row in rows])
        for name, values in heads.items()
    }


@dataclass(frozen=True, eq=False)
class Model:
    """Networks of one shape, for each group of objects that learnt together. channels: of a frame."""

    network: NetworkSettings
    channels: int
    groups: tuple[GroupModel, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all names and weights."""
        digest = hashlib.sha256()
        for name, values in _name_arrays(self.groups).items():
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def find_group(self, names: tuple[str, ...]) -> GroupModel:
        """The networks of the group with the most of these objects, with their outputs."""
        return max(self.groups, key=lambda group: len(set(names) & set(group.objects))).choose(names)

    def check_fits(self, network: NetworkSettings, channels: int) -> None:
        """Raise InputError unless the weights fit networks with these settings for frames with these channels."""
        if self.channels != channels:
            raise InputError(
                f"the networks to start from must be for frames of {channels} channels as here, they are for "
                f"{self.channels}; take a run on a sequence of the same kind"
            )
        # What an untrained network predicts is not part of its shape.
        here, there = ({**asdict(each), "head_prior": None} for each in (network, self.network))
        different = [
            f"network.{name} ({there[name]}, here {value})" for name, value in here.items() if there[name] != value
        ]
        if different:
            raise InputError(
                f"the networks to start from must have the settings of those here, they differ in "
                f"{', '.join(different)}; take a run with the same preset"
            )


def join_models(models: list[Model]) -> Model:
    """The networks of all groups of one run."""
    return replace(models[0], groups=tuple(group for model in models for group in model.groups))


def save_model(model: Model, file: BinaryIO) -> None:
    description = {
        "format": MODEL_FORMAT,
        "network": asdict(model.network),
        "channels": model.channels,
        "groups": [{"objects": group.objects, "networks": len(group.weights)} for group in model.groups],
    }
    arrays: dict[str, Any] = {DESCRIPTION: np.array(json.dumps(description)), **_name_arrays(model.groups)}
    np.savez(file, **arrays)


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
        return Model(network, int(description["channels"]), _read_groups(description, arrays))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} must hold networks as fewpoint writes them, got something else; give another"
        ) from error


def _read_groups(description: dict[str, Any], arrays: Weights) -> tuple[GroupModel, ...]:
    if "groups" not in description:  # a file of version 0.1: one group of one object
        numbers = range(int(description["networks"]))
        return (GroupModel(("",), tuple(_arrays_of(arrays, f"{number}/") for number in numbers)),)
    return tuple(
        GroupModel(
            tuple(map(str, group["objects"])),
            tuple(_arrays_of(arrays, f"{place}/{number}/") for number in range(int(group["networks"]))),
        )
        for place, group in enumerate(description["groups"])
    )


def _name_arrays(groups: tuple[GroupModel, ...]) -> Weights:
    return {
        f"{place}/{number}/{name}": values
        for place, group in enumerate(groups)
        for number, each in enumerate(group.weights)
        for name, values in each.items()
    }


def _arrays_of(arrays: Weights, prefix: str) -> Weights:
    found = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    if not found:
        raise KeyError(prefix)
    return found
