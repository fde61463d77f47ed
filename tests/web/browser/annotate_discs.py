"""`fewpoint` whose masks at once are discs, and whose runs can be held: python annotate_discs.py FILE annotate …

So that what the page shows is known exactly: on every frame a disc round the middle of the clicks, of an area that
follows the size asked for, without the pixels clicked as not the object; outlined frames as drawn. FILE is that of
annotate_held.py. With `answer` in place of all else it is the process that answers at once. As long as a file of the
name HOLD lies beside the input, nothing but the frame in view is answered.
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

from fewpoint.runs import live as runs_live
from fewpoint.web import live, live_worker, queueing

HELD = str(Path(__file__).with_name("annotate_held.py"))
AREA = 200.0  # pixels of a disc of size 1
HOLD = "hold-answers"


class Drawn:
    """Masks (T, H, W) by the names of objects, handed over once there is no file to hold them."""

    def __init__(self, masks: dict[str, np.ndarray], hold: Path | None) -> None:
        self._masks, self._hold = masks, hold

    def on_frame(self, frame: int) -> dict[str, np.ndarray]:
        return {name: each[frame] for name, each in self._masks.items()}

    def all(self) -> dict[str, np.ndarray]:
        while self._hold is not None and self._hold.exists():
            time.sleep(0.01)
        return self._masks


class Discs:
    def __init__(self, sequence, features="") -> None:
        self._shape = sequence.shape[:3]
        self._hold = None if sequence.source is None else Path(sequence.source.path).with_name(HOLD)
        self.rough = True

    def take(self, run: Path) -> None:
        self.rough = False

    def settle(self, points, words, known=None):
        masks = {name: self._draw(points.of_object(name), words[name]) for name in points.object_names}
        return Drawn(masks, self._hold)

    def answer(self, points, words, known=None):
        return self.settle(points, words, known).all()

    def _draw(self, points, words):
        frames, height, width = self._shape
        y, x = points.coordinates[:, 1:].mean(axis=0)
        rows, columns = np.indices((height, width))
        distance = np.hypot(rows - y, columns - x)
        masks = np.stack([distance <= math.sqrt(AREA * words.size_of(frame) / math.pi) for frame in range(frames)])
        for frame, row, column in points.negatives.tolist():
            masks[frame, row, column] = False
        for frame in words.outlined:
            masks[frame] = words.mask(frame, (height, width))
        return masks


if __name__ == "__main__":
    if sys.argv[1:] == ["answer"]:
        live_worker.Live = runs_live.Live = Discs  # of a whole sequence, and of a clip
        live_worker.main()
    else:
        from fewpoint.cli.main import run

        live.COMMAND = (sys.executable, __file__, "answer")
        queueing.COMMAND = (sys.executable, HELD, sys.argv[1], "work")
        sys.exit(run(sys.argv[2:]))
