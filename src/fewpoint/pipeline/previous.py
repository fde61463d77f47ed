"""A finished run, as far as another can go on from it; free of torch."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.io.decoding import load_arrays
from fewpoint.io.runs import STAGES_FOLDER, read_finished
from fewpoint.pipeline.config import Settings, settings_from_table
from fewpoint.pipeline.model import Model, load_model

Box = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class PreviousRun:
    """What a run leaves for one that refines it.

    name: of its folder, empty where it had none. sequence: hash of its frames. bound: of whole frames.
    box: top, bottom, left and right of the part of the frames that it worked on, ends exclusive.
    superpixels, logits: of that part, and what each network said of it, (T, h, w) float16; None and empty where they
    are no longer there, and then made anew.
    """

    name: str
    sequence: str
    settings: Settings
    bound: AreaBound
    box: Box
    model: Model
    superpixels: SuperpixelMap | None = None
    logits: tuple[np.ndarray, ...] = ()


def load_previous(folder: str | Path) -> PreviousRun:
    """Read a finished run's folder."""
    folder = Path(folder)
    manifest = read_finished(folder)
    if "objects" in manifest["result"]:
        raise InputError(
            f"refining works with one object at a time for now, {folder} is a run on several; run anew with all points"
        )
    if "focus" not in manifest:
        raise InputError(f"{folder} must be a run of fewpoint's own method to be refined, it is not; give another")
    stages = folder / STAGES_FOLDER
    labels, result = stages / "superpixels.npz", manifest["result"]
    networks = [stages / f"{name}.npz" for name in manifest["networks"]]
    kept = all(path.is_file() for path in networks)
    return PreviousRun(
        name=str(folder),
        sequence=manifest["identity"]["sequence"],
        settings=settings_from_table(manifest["settings"]),
        bound=AreaBound(result["bound"], result["bound_origin"]),
        box=tuple(manifest["focus"]),
        model=load_model(folder),
        superpixels=SuperpixelMap(load_arrays(labels)["labels"]) if labels.is_file() else None,
        logits=tuple(load_arrays(path)["logits"] for path in networks) if kept else (),
    )
