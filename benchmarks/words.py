"""What a person's words change at once, without learning: python benchmarks/words.py RUN=SEQUENCE… [--rounds 8]

RUN is a finished run, SEQUENCE its input in the dataset's layout. In each round a person says what is wrong most, as in
`fewpoint bench` (--words clicks+negatives or outline), and what the run's networks said is corrected by all words so
far. Printed is F1 after each round, for each run and as a mean over types, and how many end more than 0.01 lower.
"""

import argparse
from pathlib import Path

import numpy as np

from fewpoint.bench.effort import add_places
from fewpoint.bench.person import CLICKS_AND_NEGATIVES, OUTLINE, Said, speak
from fewpoint.core import PointSet, Words
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.runs import read_told
from fewpoint.runs.live import Live

LOWER = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN=SEQUENCE")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--words", choices=[CLICKS_AND_NEGATIVES, OUTLINE], default=CLICKS_AND_NEGATIVES)
    asked = parser.parse_args()
    scores: dict[str, list[list[float]]] = {}
    for text in asked.runs:
        run, _, folder = text.rpartition("=")
        scored = play(Path(run), Path(folder), asked.words, asked.rounds)
        scores.setdefault(Path(folder).parent.name, []).append(scored)
        print(f"{Path(folder).name}: {show(scored)}", flush=True)
    every = [each for some in scores.values() for each in some]
    means = np.mean([np.mean(each, axis=0) for each in scores.values()], axis=0)
    print(f"mean over {len(scores)} types: {show(means)}")
    print(f"ended lower: {sum(each[-1] < each[0] - LOWER for each in every)} of {len(every)}")


def play(run: Path, folder: Path, words: str, rounds: int) -> list[float]:
    """F1 of a run's masks, and after each round of words."""
    sequence, truth = read_sequence(folder), read_masks(folder / TRUTH_FOLDER)
    points, _ = read_told(run)
    if points is None:
        raise SystemExit(f"{run} must say which points it was given; run it again with this version")
    live, said = Live(sequence, run=run), Said()
    masks = answer(live, points, said, truth)
    scores = [score_masks(masks, truth).pooled.f1]
    started = Said(tuple((t, y, x) for t, y, x in points.coordinates.tolist()))
    for _ in range(rounds):
        said = said.and_then(speak(words, masks, truth, started.and_then(said)))
        masks = answer(live, points, said, truth)
        scores.append(score_masks(masks, truth).pooled.f1)
    return scores


def answer(live: Live, points: PointSet, said: Said, truth: np.ndarray) -> np.ndarray:
    name = (points.object_names or ("",))[0]
    outlined = Words.of({frame: truth[frame] for frame in said.outlined})
    return live.answer(add_places(points, said), {name: outlined})[name]


def show(scores: list[float] | np.ndarray) -> str:
    return " ".join(f"{score:.3f}" for score in scores)


if __name__ == "__main__":
    main()
