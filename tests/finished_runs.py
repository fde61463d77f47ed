"""Run folders that look finished, made of known masks in a moment, for tests of what is done with results."""

from pathlib import Path

import numpy as np

from fewpoint.core import (
    AreaBound,
    ImageSequence,
    ObjectResult,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
    label_objects,
)
from fewpoint.io.images import hash_sequence
from fewpoint.io.runs import RunFolder, RunIdentity, write_result, write_told
from fewpoint.report.judging import judge
from fewpoint.runs.summary import summarise


def make_result(sequence: ImageSequence, labels: np.ndarray, names: tuple[str, ...]) -> Result:
    """A result whose masks are those of a (T, H, W) label map."""
    nothing = np.zeros(len(labels))
    objects = tuple(
        ObjectResult(
            labels == number,
            ProbabilityMaps((labels == number).astype(np.float16)),
            PriorEstimate(nothing, nothing, nothing),
            PriorHistory.empty(len(labels)),
            AreaBound(0.5),
            label,
        )
        for number, label in enumerate(label_objects(names), start=1)
    )
    return Result(objects, sequence.names, sequence.source)


def save_run(folder: Path, sequence: ImageSequence, labels: np.ndarray, names: tuple[str, ...]) -> Path:
    """The folder of a run that found these masks, after a click on the first pixel of each object."""
    clicks = [tuple(np.argwhere(labels == number)[0].tolist()) for number in range(1, len(names) + 1)]
    return keep_run(folder, sequence, PointSet.from_rows(clicks, objects=names), make_result(sequence, labels, names))


def keep_run(folder: Path, sequence: ImageSequence, points: PointSet, result: Result) -> Path:
    """The folder of a run with this result."""
    several = zip(points.split(), result.split(), strict=True)
    judged = tuple(judge(sequence, clicks, each) for clicks, each in several)
    identity = RunIdentity("0", "default", hash_sequence(sequence), "", "", "", 0)
    with RunFolder.open(folder, identity) as run:
        write_result(result, folder)
        write_told(points, (), folder)
        run.write_manifest("finished", {"result": summarise(result, judged)})
    return folder
