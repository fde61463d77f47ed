"""The process of a run without its report, which takes longer than all the rest of a run this small.

It can be taken up again after any epoch.
"""

from fewpoint.learning import checkpoints
from fewpoint.runs import runner as run
from fewpoint.web import worker

if __name__ == "__main__":
    checkpoints.LEAST_SECONDS = 0
    run.write_report = lambda *given: None
    worker.main()
