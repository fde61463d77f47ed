"""What napari's layers are made of, as plain arrays and options; napari itself is not needed here."""

from typing import Any

import numpy as np

from fewpoint.core.project import NamedObject, Project
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.napari.clicks import list_clicks

KEY = "fewpoint"  # of a layer's metadata that is ours
CLICK = "click"  # the feature of a point that says where it lies
ON, OFF = "object", "background"
SYMBOLS = {ON: "disc", OFF: "cross"}
OFF_COLOUR = "#ff4040"
PLACEMENT = ("scale", "translate", "rotate", "shear", "affine", "units")
POINT_SHARE = 1 / 40  # of the shorter side of a frame


def take_frames(data: Any, rgb: bool) -> np.ndarray:
    """(T, H, W) or (T, H, W, 3) of an image layer's data; of several scales the finest."""
    if isinstance(data, list | tuple) or type(data).__name__ == "MultiScaleData":
        data = data[0]
    frames = np.asarray(data)
    if frames.ndim != 3 + rgb:
        axes = frames.ndim - rgb
        raise InputError(
            f"an image must have three axes: frames, height, width; this one has {axes}; split or stack it first"
        )
    return frames[..., :3] if rgb else frames


def give_frames(sequence: ImageSequence) -> tuple[np.ndarray, dict[str, Any]]:
    """Data and options of an image layer."""
    frames, channels = sequence.frames, sequence.shape[-1]
    options: dict[str, Any] = {"rgb": channels == 3}
    if channels == 1:
        frames = frames[..., 0]
    elif channels != 3:
        options = {"rgb": False, "channel_axis": 3}
    if sequence.geometry is not None:
        geometry = sequence.geometry
        options["scale"] = [geometry.spacing_mm[axis] for axis in geometry.axes]
    return frames, options


def give_points(target: NamedObject, shape: tuple[int, int, int]) -> tuple[np.ndarray, dict[str, Any]]:
    """Data and options of the points layer of an object."""
    clicks = list_clicks(target)
    kinds = [ON if positive else OFF for _, positive in clicks]
    rows = np.array([place for place, _ in clicks], np.float64).reshape(-1, 3)
    return rows, {
        "name": target.name,
        "ndim": 3,
        "features": {CLICK: np.array(kinds, object)},
        "feature_defaults": {CLICK: ON},
        "symbol": [SYMBOLS[kind] for kind in kinds] or SYMBOLS[ON],
        "size": max(3, round(min(shape[1:]) * POINT_SHARE)),
        "border_color": "white",
        "border_width": 0.15,
        "face_color": CLICK,
        "face_color_cycle": {ON: target.colour, OFF: OFF_COLOUR},
    }


def give_colours(project: Project) -> dict[int | None, str]:
    """The colour of each label."""
    return {None: "transparent", 0: "transparent"} | {
        value: each.colour for value, each in enumerate(project.objects, start=1)
    }


def is_positive(features: Any, count: int) -> list[bool]:
    """Of each of so many points whether it lies on the object; all do in a layer that says nothing of it."""
    if CLICK not in features:
        return [True] * count
    return [str(kind) != OFF for kind in features[CLICK]]
