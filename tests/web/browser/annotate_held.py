"""`fewpoint` whose runs stay at an epoch as long as there is a certain file: python annotate_held.py FILE annotate …

So that a test does to a run that goes on what it wants to do, however long that takes. A run that is held can be
stopped. With `work` in place of all else it is the process of a run.
"""

import sys
import time
from pathlib import Path

from fewpoint.core import EpochFinished
from fewpoint.web import queueing, worker


class HeldCourse(worker.Course):
    def __call__(self, event) -> None:
        super().__call__(event)
        while isinstance(event, EpochFinished) and Path(sys.argv[1]).exists() and not self._stop.is_set():
            time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[2:] == ["work"]:
        worker.Course = HeldCourse
        worker.main()
    else:
        from fewpoint.cli.main import run

        queueing.COMMAND = (sys.executable, __file__, sys.argv[1], "work")
        sys.exit(run(sys.argv[2:]))
