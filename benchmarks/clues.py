"""What each clue about size and place is worth: python benchmarks/clues.py RUN=SEQUENCE…

RUN is a finished run of the default method, SEQUENCE its input in the dataset's layout. The targets of the first
further round are made again from what the networks of the run said, once as they are and once without each clue, and
scored against the truth: a network that learns from targets repeats them. Printed are the mean over types of F1, and by
how much it falls without a clue, in all and in each type.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import torch

from fewpoint.core import SuperpixelMap
from fewpoint.io.decoding import load_arrays
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.points import read_points
from fewpoint.io.runs import read_bound
from fewpoint.learning import sizes, targets
from fewpoint.methods.registry import read_own_settings
from fewpoint.pipeline import members
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.group import _prepare
from fewpoint.pipeline.members import Learnt, ObjectInputs, load_trained
from fewpoint.pipeline.task import Task

Patch = tuple[object, str, Callable]
SETTINGS = {
    "held-out clicks": {"heldout": 0.0},
    "nearness": {"nearness": 0.0},
    "doubt": {"doubt": 1.0},
    "taper": {"taper": 0.0},
    "clear outlines": {"outlines": 0.0},
}
PATCHES: dict[str, tuple[Patch, ...]] = {
    "depth of clicks": ((sizes, "trust_in_spread", lambda *_: 1.0),),
    "openness": ((sizes, "find_openness", lambda *_: 1.0),),
    "stand-ins for clicks": ((targets, "stand_in", lambda _, __, clues: clues.carried),),
}
SMOOTHING = "smoothing along the image"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN=SEQUENCE")
    parser.add_argument("--points", default="points_every5")
    asked = parser.parse_args()
    scores: dict[str, dict[str, list[float]]] = {}
    for text in asked.runs:
        run, _, folder = text.rpartition("=")
        inputs, learnt, truth = read_run(Path(run), Path(folder), asked.points)
        for name, made in make_all(inputs, learnt):
            scores.setdefault(name, {}).setdefault(Path(folder).parent.name, []).append(score(made, inputs, truth))
        print(f"{Path(folder).name}: {scores['all'][Path(folder).parent.name][-1]:.3f}", flush=True)
    show(scores)


def read_run(run: Path, folder: Path, points: str) -> tuple[ObjectInputs, list[Learnt], np.ndarray]:
    """What targets are made of, what the networks that learnt from the points said, and the truth inside the focus."""
    manifest = json.loads((run / "manifest.json").read_text())
    sequence = read_sequence(folder)
    focus = Focus(sequence.size, *manifest["groups"]["group-1"]["focus"])
    result = manifest["result"]
    bound = read_bound(result)
    settings = read_own_settings(manifest["identity"]["method"], manifest["settings"])
    whole = Task(sequence, read_points(folder / f"{points}.csv", sequence), bound, settings, device="cpu")
    plan = whole.plan.suit_clicks(whole.points, len(sequence))
    inside = replace(focus.narrow(whole), bound=focus.narrow_bound(bound), adapted=plan)
    superpixels = SuperpixelMap(load_arrays(run / "stages" / "superpixels.npz")["labels"])
    inputs = _prepare({"": inside}, superpixels, torch.device("cpu"))[""]
    learnt = [load_trained(path).objects[0] for path in sorted((run / "stages").glob("network-0-*.npz"))]
    truth = read_masks(folder / TRUTH_FOLDER)[:, focus.top : focus.bottom, focus.left : focus.right]
    return inputs, learnt, truth


def make_all(inputs: ObjectInputs, learnt: list[Learnt]) -> Iterator[tuple[str, targets.Targets]]:
    """Targets as they are, and without each clue."""
    yield "all", members.make_object_targets(inputs, learnt, True)
    for name, changes in SETTINGS.items():
        plan = inputs.task.plan
        task = replace(inputs.task, adapted=replace(plan, rounds=replace(plan.rounds, **changes)))
        yield name, members.make_object_targets(replace(inputs, task=task), learnt, True)
    for name, patches in PATCHES.items():
        with patched(patches):
            yield name, members.make_object_targets(inputs, learnt, True)
    bare = replace(inputs, clues=replace(inputs.clues, even_out=None))
    yield SMOOTHING, members.make_object_targets(bare, learnt, True)


@contextmanager
def patched(patches: tuple[Patch, ...]) -> Iterator[None]:
    replaced = [mock.patch.object(*each) for each in patches]
    for each in replaced:
        each.start()
    try:
        yield
    finally:
        for each in replaced:
            each.stop()


def score(made: targets.Targets, inputs: ObjectInputs, truth: np.ndarray) -> float:
    """F1 of what targets cover, at the working size."""
    small = inputs.samples.size.reduce_labels(truth.astype(np.int32), border=0).astype(bool)
    marked = (made.probability >= 0.5).cpu().numpy()
    return float(2 * (marked & small).sum() / max(1, marked.sum() + small.sum()))


def show(scores: dict[str, dict[str, list[float]]]) -> None:
    means = {name: {kind: float(np.mean(each)) for kind, each in own.items()} for name, own in scores.items()}
    kinds = sorted(means["all"])
    print(f"\nF1 of targets: {np.mean(list(means['all'].values())):.4f}\n")
    print(f"| without | worth | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for name, own in means.items():
        if name != "all":
            worth = {kind: means["all"][kind] - own[kind] for kind in kinds}
            cells = " | ".join(f"{worth[kind]:+.3f}" for kind in kinds)
            print(f"| {name} | {np.mean(list(worth.values())):+.4f} | {cells} |")


if __name__ == "__main__":
    main()
