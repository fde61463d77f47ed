"""What a group of objects leaves in its folder for the case that the run is stopped: a last look, then what it found.

look.npz    while its networks learn: what they last predicted for every superpixel, written as often as checkpoints
found.npz   once its masks are cut, if other groups are still to come
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    Listener,
    ObjectResult,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    SuperpixelsReady,
)
from fewpoint.core.progress import Event
from fewpoint.io.atomic import write_arrays
from fewpoint.io.decoding import load_arrays
from fewpoint.io.runs import FOUND_FILE, LOOK_FILE, RunFolder
from fewpoint.learning.checkpoints import sparingly
from fewpoint.pipeline.focus import Focus

if TYPE_CHECKING:
    from fewpoint.pipeline.group import GroupOutcome


def keep_looks(listener: Listener, folder: RunFolder | None, focus: Focus) -> Listener:
    """A listener that passes events of whole frames on, and now and then writes down the last look at each object."""
    if folder is None:
        return listener
    latest: dict[str, EpochPredicted] = {}
    names: list[str] = []

    def save(looks: dict[str, EpochPredicted]) -> None:
        arrays = {
            "names": np.array(list(looks)),
            "box": np.array(focus.box),
            "epoch": np.array([each.epoch for each in looks.values()]),
            "probabilities": np.stack([each.probabilities for each in looks.values()]),
            "priors": np.stack([each.priors for each in looks.values()]),
        }
        write_arrays(folder.artefact(LOOK_FILE), arrays)

    save_sometimes = sparingly(save)

    def tell(event: Event) -> None:
        if isinstance(event, SuperpixelsReady):
            names.extend(event.objects)
        elif isinstance(event, EpochPredicted):
            latest[event.object] = event
        elif isinstance(event, EpochFinished) and len(latest) == len(names):
            save_sometimes(latest)
        listener(event)

    return tell


def load_looks(path: Path) -> tuple[tuple[int, int, int, int], list[EpochPredicted]]:
    """The box of the focus, and the last look at each object as an event of whole frames."""
    stored = load_arrays(path)
    given = (stored[name] for name in ("epoch", "probabilities", "priors", "names"))
    top, bottom, left, right = stored["box"].tolist()
    looks = [
        EpochPredicted(int(epoch), probabilities, priors, str(name))
        for epoch, probabilities, priors, name in zip(*given, strict=True)
    ]
    return (top, bottom, left, right), looks


def keep_found(outcome: "GroupOutcome", folder: RunFolder) -> None:
    """Write what a group has found; its maps and masks are empty outside its focus."""
    (top, bottom, left, right), objects = outcome.focus.box, outcome.objects
    arrays = {"box": np.array(outcome.focus.box), "names": np.array(list(objects))}
    for number, found in enumerate(objects.values()):
        priors, history = found.priors, found.history
        told = {
            "bound": asdict(found.bound),
            "records": [asdict(record) for record in history.records],
            "selected_epoch": history.selected_epoch,
        }
        arrays |= {
            f"masks-{number}": found.masks[:, top:bottom, left:right],
            f"probabilities-{number}": found.probabilities.values[:, top:bottom, left:right],
            f"prior-{number}": np.stack([priors.mean, priors.deviation, priors.observed]),
            f"rows-{number}": np.stack([history.priors, history.observed, history.positive_share]),
            f"told-{number}": np.array(json.dumps(told)),
        }
    write_arrays(folder.artefact(FOUND_FILE), arrays)


def load_found(path: Path, size: tuple[int, int]) -> dict[str, ObjectResult]:
    """What a group has found, by object, in frames of this size."""
    stored = load_arrays(path)
    focus, objects = Focus(size, *stored["box"].tolist()), {}
    for number, name in enumerate(stored["names"].tolist()):
        masks, values = (stored[f"{key}-{number}"] for key in ("masks", "probabilities"))
        mean, deviation, seen = stored[f"prior-{number}"]
        priors, observed, share = stored[f"rows-{number}"]
        told = json.loads(str(stored[f"told-{number}"]))
        records = tuple(EpochRecord(**record) for record in told["records"])
        objects[name] = ObjectResult(
            focus.paste(masks),
            ProbabilityMaps(focus.paste(values)),
            PriorEstimate(mean, deviation, seen),
            PriorHistory(records, priors, observed, share, told["selected_epoch"]),
            AreaBound(**told["bound"]),
        )
    return objects
