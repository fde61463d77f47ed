"""Masks cut anew from the probabilities of a finished run, without learning anything."""

import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import NOTHING_SAID, ObjectResult, PointSet, Result, Words
from fewpoint.core.obeying import obey
from fewpoint.core.paging import gather_frames, walk
from fewpoint.errors import InputError, OutputError
from fewpoint.io.atomic import explaining_write_errors, read_json, write_json
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import load_result, read_told
from fewpoint.pipeline.calibration import CUT
from fewpoint.pipeline.cleaning import clean_labels, drop_untied
from fewpoint.runs.exports import join_objects

FOLDER = "recut"  # in that of the run
RECORD_FILE = "recut.json"
LARGEST_FACTOR = 10.0
FEWEST_LEVELS = 4096  # of probabilities, which halves tell apart at most near 0.5


@dataclass(frozen=True)
class Recut:
    """How masks are cut anew.

    threshold: probability from which a pixel belongs to the object, in (0, 1). size: how many times larger all masks of
    an object should be together; one of the two. clean: leave out every part that hangs together with no click.
    """

    threshold: float | None = None
    size: float | None = None
    clean: bool = False

    def __post_init__(self) -> None:
        if self.threshold is None and self.size is None and not self.clean:
            raise InputError("a recut needs a threshold, a size or cleaning; give --threshold, --size or --clean")
        if self.threshold is not None and self.size is not None:
            raise InputError("a recut can have a threshold or a size, not both: each decides the other")
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise InputError(f"the threshold must be a probability between 0 and 1, got {self.threshold:g}")
        if self.size is not None and not 1 / LARGEST_FACTOR <= self.size <= LARGEST_FACTOR:
            raise InputError(f"the size must be a factor from 0.1 to {LARGEST_FACTOR:g}, got {self.size:g}")


def recut_run(run: Path, wish: Recut, out: Path | None = None, outputs: Outputs = Outputs()) -> dict[str, Any]:
    """Write masks cut anew from a finished run, whose own are kept; returns what was done, as recut.json says it.

    out: a new or empty folder, or one of an earlier recut; by default `recut` in that of the run.
    """
    result, (points, words) = load_result(run), read_told(run)
    outputs.check(result.source)
    folder = run / FOLDER if out is None else out
    _clear(folder)
    cut = recut(result, points, dict(words), wish)
    written = outputs.write(cut.result, folder)
    record = {
        "run": str(run),
        **asdict(wish),
        "objects": [_compare(*each) for each in zip(result.split(), cut.result.split(), cut.thresholds, strict=True)],
        "files": [str(path) for path in written],
    }
    write_json(folder / RECORD_FILE, record)
    return record


@dataclass(frozen=True, eq=False)
class Cut:
    """A result with other masks, and the threshold at which those of each object were cut."""

    result: Result
    thresholds: tuple[float, ...]


def recut(result: Result, points: PointSet | None, words: dict[str, Words], wish: Recut) -> Cut:
    """The masks of a result cut anew from its probabilities.

    points, words: what the run was told, by object; clicks, outlined frames and boxes stay obeyed.
    """
    several = len(result.objects) > 1
    objects, thresholds, clicks = [], [], []
    for each in result.objects:
        own = None if points is None else points.of_object(each.name) if several else points
        said = words.get(each.name if several else next(iter(words), ""), NOTHING_SAID)
        threshold = wish.threshold or (CUT if wish.size is None else find_threshold(each, wish.size))
        objects.append(_cut(each, threshold, own, said, wish.clean))
        thresholds.append(threshold)
        clicks += [] if own is None else [own]
    joined = join_objects(tuple(objects), tuple(clicks))[0] if several else tuple(objects)
    return Cut(replace(result, objects=joined), tuple(thresholds))


def find_threshold(found: ObjectResult, size: float) -> float:
    """The probability at which the masks of an object are together so many times as large as they are."""
    counts = np.zeros(FEWEST_LEVELS, np.int64)
    for frame in walk(found.probabilities.values):
        levels = np.minimum(frame.astype(np.float32) * FEWEST_LEVELS, FEWEST_LEVELS - 1).astype(np.int64)
        counts += np.bincount(levels.ravel(), minlength=FEWEST_LEVELS)
    above = counts[::-1].cumsum()[::-1]  # pixels at each level or higher
    level = int(np.abs(above[1:] - size * found.areas.sum()).argmin()) + 1
    return level / FEWEST_LEVELS


def _cut(found: ObjectResult, threshold: float, points: PointSet | None, words: Words, clean: bool) -> ObjectResult:
    values = found.probabilities.values
    masks = gather_frames((frame >= threshold for frame in walk(values)), values.shape, bool)
    if points is not None:
        masks[tuple(points.coordinates.T)] = True
        masks[tuple(points.negatives.T)] = False
        if clean:
            labels = masks.view(np.uint8)
            clean_labels(labels, 1, points, words)
            drop_untied(labels, 1, points, words, smaller_than=np.inf)
        masks = obey(masks, points, words)
    return replace(found, masks=masks)


def _compare(before: Result, after: Result, threshold: float) -> dict[str, Any]:
    shared = sum(int((one & two).sum()) for one, two in zip(walk(before.masks), walk(after.masks), strict=True))
    pixels, former = int(after.areas.sum()), int(before.areas.sum())
    dice = 2 * shared / (pixels + former) if pixels + former else 1.0
    return {"name": after.only.name, "threshold": threshold, "pixels": pixels, "before": former, "dice": dice}


def _clear(folder: Path) -> None:
    """Make a folder ready: new, empty, or emptied of an earlier recut."""
    with explaining_write_errors(folder):
        if folder.is_dir() and any(folder.iterdir()):
            if not (folder / RECORD_FILE).exists() or "files" not in read_json(folder / RECORD_FILE):
                raise OutputError(
                    f"{folder} must be new, empty or of an earlier recut, it holds other files; give --out"
                )
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
