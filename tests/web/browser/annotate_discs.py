"""`fewpoint` whose masks at once are discs, and whose runs can be held: python annotate_discs.py FILE annotate …

So that what the page shows is known exactly: on every frame a disc round the middle of the clicks, of an area that
follows the size asked for, without the pixels clicked as not the object; outlined frames as drawn. FILE is that of
annotate_held.py. With `answer` in place of all else it is the process that answers at once.
"""

import math
import sys
from pathlib import Path

import numpy as np

from fewpoint.runs import live as runs_live
from fewpoint.web import live, live_worker, queueing

HELD = str(Path(__file__).with_name("annotate_held.py"))
AREA = 200.0  # pixels of a disc of size 1


class Discs:
    def __init__(self, sequence, features="") -> None:
        self._shape = sequence.shape[:3]
        self.rough = True

    def take(self, run: Path) -> None:
        self.rough = False

    def answer(self, points, words, known=None):
        return {name: self._draw(points.of_object(name), words[name]) for name in points.object_names}

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
