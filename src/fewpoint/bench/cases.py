"""What a cell is about, read from its files, and its picture."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.bench.protocols import take_points
from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.core.job import Job, PlainPoints
from fewpoint.io.atomic import write_atomically
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks

RESULT_FILE, MONTAGE_FILE = "result.json", "montage.png"


@dataclass(frozen=True, eq=False)
class Case:
    """What a cell is about. truth: (T, H, W) bool."""

    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray


def read_case(job: Job, truth: str, points: str) -> Case:
    """Read what a job names, and the true masks; points: the kind of those that a job without any gets."""
    sequence, masks = read_sequence(job.input), read_masks(truth)
    if isinstance(job.points, PlainPoints):
        return Case(sequence, job.points.to_points(), masks)
    return Case(sequence, take_points(str(job.points), sequence, masks, points, job.seed or 0), masks)


def write_montage(path: Path, case: Case, result: Result) -> None:
    """Frames with mask, truth and clicks, and the probabilities below."""
    from fewpoint.report.montage import draw_montage, encode_png
    from fewpoint.report.tiles import set_scene

    picture = encode_png(draw_montage(set_scene(case.sequence, case.points, result, case.truth)))
    write_atomically(path, lambda stream: stream.write(picture))
