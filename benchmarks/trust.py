"""How far to believe a witness, studied without a GPU on the answers that benchmarks/witness.py kept.

python benchmarks/trust.py OUT                 F1 with today's rule where only the last masks heed the witness
python benchmarks/trust.py OUT --gullible      the same if it were believed about every sequence
python benchmarks/trust.py OUT --choose        the rule's constants chosen with each type left out in turn

OUT is the folder of `python benchmarks/witness.py ask OUT`. Believed frames are those of the rule; in a run the witness
also has a say in what networks learn, which is not seen here.
"""

import argparse
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
from scipy.special import expit

import witness as study
from fewpoint.bench.suite import read_suite
from fewpoint.core import NOTHING_SAID, PointSet
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.points import read_points
from fewpoint.witness import asking, trust
from fewpoint.witness.asking import Claim, Claims, Testimony, choose_claims, overlap
from fewpoint.witness.encoding import Pictures

TURNS = ("chosen", "again")
CONSTANTS = {  # the most cautious first: of several that do as well it is chosen
    "LEAST_AGREEMENT": (0.75, 0.6, 0.45, 0.3, 0.15, 0.0),
    "LEAST_SCORE": (0.75, 0.0),
    "DISTANCE": (0.15, 0.06, 0.03, 0.0),
    "RESTLESSNESS": (0.1, 0.03, 0.0),
}
TYPES = ("brain", "tool", "polyp", "ct", "organ")


@dataclass(eq=False)
class Case:
    """One run of ours with all answers. chances, masks, truth: (T, H, W) inside the part that was looked at.

    outside: true pixels beyond it.
    """

    values: dict
    chances: np.ndarray
    masks: np.ndarray
    truth: np.ndarray
    outside: int
    points: PointSet
    colours: bool
    heard: list[Claims | None]

    @classmethod
    def read(cls, path: Path, folder: Path) -> "Case":
        values = json.loads(path.read_text())
        sequence = read_sequence(folder)
        top, bottom, left, right = values["box"]
        inside = np.s_[:, top:bottom, left:right]
        truth = read_masks(folder / TRUTH_FOLDER).astype(bool)
        bits = np.frombuffer(lzma.decompress(path.with_suffix(".masks.xz").read_bytes()), np.uint8)
        masks = np.unpackbits(bits, count=truth.size).reshape(truth.shape).astype(bool)
        logits = np.frombuffer(lzma.decompress(path.with_suffix(".probabilities.xz").read_bytes()), np.int8)
        chances = expit((logits.reshape(truth[inside].shape) + 0.5) * study.LOGIT_STEP).astype(np.float32)
        points = read_points(folder / f"{study.STARTS[values['start']][0]}.csv", sequence)
        moved = PointSet(points.coordinates - np.array([0, top, left]))
        answers = study.load_answers(path.with_suffix(".answers.xz"))
        scores = [each.get("scores", {}) for each in values["told"]]
        heard = [claim_all(*given) for given in zip(answers, scores, chances >= 0.5, strict=True)]
        outside = int(truth.sum() - truth[inside].sum())
        colours = Pictures.of(sequence).have_colours()
        return cls(values, chances, masks[inside], truth[inside], outside, moved, colours, heard)

    @property
    def kind(self) -> str:
        return self.values["type"]

    @cached_property
    def alone(self) -> float:
        return self.score(self.masks)

    def score(self, masks: np.ndarray) -> float:
        return float(2 * (masks & self.truth).sum() / (masks.sum() + self.truth.sum() + self.outside))

    def heed(self) -> tuple[float, float, str]:
        """F1 of the masks that heed the witness, the share of frames on which it is believed, and why it is not."""
        if not self.colours:
            return self.alone, 0.0, "no colours"
        size = (self.truth.shape[1], self.truth.shape[2])
        testimonies = [
            None if claims is None or claim is None else Testimony(claim.unpack(size), claims.agreement, claim.score)
            for claims, claim in zip(self.heard, choose_claims(self.heard), strict=True)
        ]
        belief = trust.weigh(testimonies, self.chances, self.points, NOTHING_SAID)
        masks, own = self.masks.copy(), self.chances >= 0.5
        for frame in np.flatnonzero(belief.weights).tolist():
            heard = testimonies[frame]
            if heard is not None:  # what words and cleaning changed of the networks' mask they change of this one
                forced, dropped = masks[frame] & ~own[frame], own[frame] & ~masks[frame]
                masks[frame] = (heard.mask | forced) & ~dropped
        return self.score(masks), belief.share, belief.reason


def claim_all(answers: dict[str, np.ndarray], scores: dict[str, float], own: np.ndarray) -> Claims | None:
    """What the model claimed about a frame, from the answers that were kept."""
    if not answers:
        return None
    names = [f"level-{level} {turn}" for turn in TURNS for level in asking.LEVELS]
    claims = tuple(Claim.of(answers[name], scores[name], own) for name in names if name in answers)
    places = [name for name in answers if name.startswith("places")]
    best = max(places, key=lambda name: scores[name])
    middle = answers.get(f"level-{asking.MIDDLE} again", np.zeros_like(own))
    return Claims(claims, overlap(answers[best], middle))


@contextmanager
def constants(chosen: dict[str, float]) -> Iterator[None]:
    patches = [
        mock.patch.object(module, name, value)
        for name, value in chosen.items()
        for module in (asking, trust)
        if hasattr(module, name)
    ]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def choose(cases: list[Case]) -> None:
    """Constants that serve the other types best, and what they do to the one left out.

    The networks' ranking, which takes long to compare and took the witness's side in each of these runs, is taken to.
    """
    grid = [dict(zip(CONSTANTS, values, strict=True)) for values in product(*CONSTANTS.values())]
    gains = np.zeros((len(grid), len(cases)))
    for number, chosen in enumerate(grid):
        with constants(chosen), mock.patch.object(trust, "compare_rankings", lambda *_: 1.0):
            gains[number] = [case.heed()[0] - case.alone for case in cases]
    kinds = np.array([case.kind for case in cases])
    for left_out in (*TYPES, ""):
        used = [kind for kind in TYPES if kind != left_out and (kinds == kind).any()]
        worth = np.mean([gains[:, kinds == kind].mean(1) for kind in used], axis=0)
        worst = gains[:, np.isin(kinds, used)].min(1)
        worth = np.where(worst >= -0.01, worth, -1)  # no sequence may lose more
        best = int(worth.argmax())
        own = gains[best][kinds == left_out]
        told = f"{left_out} left out: gain {own.mean():+.4f}, worst {own.min():+.4f}" if len(own) else "all types"
        print(f"{told}; others {worth[best]:+.4f}, worst {worst[best]:+.4f} with {grid[best]}", flush=True)


def show(cases: list[Case]) -> None:
    for start in dict.fromkeys(case.values["start"] for case in cases):
        some = [case for case in cases if case.values["start"] == start]
        print(f"\n{start}\n\n| | ours | last masks heed it | believed | |\n|---|---|---|---|---|")
        means: dict[str, list[tuple[float, float]]] = {}
        for case in some:
            f1, share, reason = case.heed()
            means.setdefault(case.kind, []).append((case.alone, f1))
            print(f"| {case.values['name']} | {case.alone:.3f} | {f1:.3f} | {share:.2f} | {reason} |")
        for kind, pairs in means.items():
            print(f"| **{kind}** | " + " | ".join(f"{value:.3f}" for value in np.mean(pairs, axis=0)) + " | | |")
        both = np.mean([np.mean(pairs, axis=0) for pairs in means.values()], axis=0)
        print("| **all** | " + " | ".join(f"{value:.3f}" for value in both) + " | | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--starts", nargs="+", default=list(study.STARTS), choices=list(study.STARTS))
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--gullible", action="store_true")
    asked = parser.parse_args()
    folders = {each.name: study.folder_of(each) for each in read_suite(study.SUITE).sequences}
    cases = []
    for start in asked.starts:
        for name, folder in folders.items():
            path = asked.out / "ask" / f"{start}-{name}.json"
            cases += [Case.read(path, folder)] if path.exists() else []
    if asked.choose:
        choose(cases)
    elif asked.gullible:
        for case in cases:
            case.colours = True
        with constants({"LEAST_AGREEMENT": 0.0}):
            show(cases)
    else:
        show(cases)


if __name__ == "__main__":
    main()
