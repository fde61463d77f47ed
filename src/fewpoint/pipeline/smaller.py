"""A sequence at a smaller size, for answers that must come at once: its frames, what is said of it, and its masks."""

from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from fewpoint.core import Box, ImageSequence, PointSet, Words
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.threads import work_ahead
from fewpoint.io.formats import Outputs
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.intensity import IntensityWindow, window_of
from fewpoint.superpixels.slic import fit_size

Size = tuple[int, int]


@dataclass(frozen=True)
class Smaller:
    """Frames of one size seen at another, (height, width) each, at which pixels are square."""

    full: Size
    size: Size

    @classmethod
    def of(cls, sequence: ImageSequence, longest: int) -> "Smaller":
        """No side longer than so many pixels; a sequence that has none stays as it is."""
        if max(sequence.square_size) <= longest:
            return cls(sequence.size, sequence.size)
        return cls(sequence.size, fit_size(sequence.square_size, longest))

    @property
    def same(self) -> bool:
        return self.full == self.size

    def shrink(self, sequence: ImageSequence, window: IntensityWindow | None = None) -> ImageSequence:
        """The frames at the smaller size, as brightness from 0 to 1. window: None to measure it."""
        if self.same:
            return sequence
        seen = window_of(sequence) if window is None else window

        def reduce(frame: np.ndarray) -> np.ndarray:
            channels = np.moveaxis(seen.apply(frame), -1, 0)
            return np.stack([_resize(np.ascontiguousarray(each), self.size) for each in channels], axis=-1)

        shape = (len(sequence), *self.size, sequence.shape[-1])
        frames = gather_frames(work_ahead(reduce, walk(sequence.frames)), shape, np.float32)
        return ImageSequence(frames, sequence.names, window=(0.0, 1.0))

    def take(self, task: Task, sequence: ImageSequence) -> Task:
        """A task on one object at the smaller size; sequence: what shrink made of its frames."""
        if self.same:
            return replace(task, sequence=sequence)
        words = tuple((name, self._take_words(each)) for name, each in task.words)
        points = self._take_points(task.points)
        return replace(task, sequence=sequence, points=points, words=words, outputs=Outputs(formats=()))

    def shrink_map(self, values: np.ndarray) -> np.ndarray:
        """(h, w) float32 of an (H, W) one."""
        return values if self.same else _resize(values, self.size)

    def enlarge(self, mask: np.ndarray) -> np.ndarray:
        """(H, W) bool of an (h, w) one, with smooth borders."""
        return mask if self.same else _resize(mask.astype(np.float32), self.full) >= 0.5

    def _take_points(self, points: PointSet) -> PointSet:
        own, refused = (set(self._take_rows(rows)) for rows in (points.coordinates, points.negatives))
        names = points.object_names * len(own)  # of one object, which may have none
        return PointSet.from_rows(sorted(own), points.absent, names, negatives=sorted(refused - own))

    def _take_rows(self, rows: np.ndarray) -> list[tuple[int, int, int]]:
        """Frame, y, x of each of (n, 3) rows at the smaller size."""
        places = (2 * rows[:, 1:] + 1) * np.array(self.size) // (2 * np.array(self.full))
        return [(frame, y, x) for frame, (y, x) in zip(rows[:, 0].tolist(), places.tolist(), strict=True)]

    def _take_words(self, words: Words) -> Words:
        masks = {frame: self._take_mask(words.mask(frame, self.full)) for frame in words.outlined}
        return Words.of(masks, tuple(map(self._take_box, words.boxes)), words.size, words.sizes)

    def _take_mask(self, mask: np.ndarray) -> np.ndarray:
        """What is drawn stays drawn, be it only the pixel that shows most of it."""
        shares = _resize(mask.astype(np.float32), self.size)
        return shares >= min(0.5, float(shares.max())) if mask.any() else np.zeros(self.size, bool)

    def _take_box(self, box: Box) -> Box:
        (height, width), (full_height, full_width) = self.size, self.full
        return Box(
            box.frame,
            box.top * height // full_height,
            box.left * width // full_width,
            -(-box.bottom * height // full_height),
            -(-box.right * width // full_width),
        )


def _resize(image: np.ndarray, size: Size) -> np.ndarray:
    """A float32 image at another size, each pixel a mean over what it covers."""
    height, width = size
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))
