"""What a batch tells of a finished run folder."""

import pytest

from fewpoint.batch.summary import State, read_finished
from fewpoint.core import AreaBound
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.atomic import read_json
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task
from tiny_runs import TINY


def test_a_run_on_several_objects_has_one_row_with_the_health_of_the_worst(tmp_path):
    phantom = make_objects(n_frames=5, size=(40, 48))
    task = Task(phantom.sequence, phantom.points, AreaBound(0.4), TINY, device="cpu")
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        result = run_task(task, folder)
    entry = read_finished("both", tmp_path / "run", 1, "scan.nii.gz")
    assert (entry.state, entry.frames) == (State.FINISHED, 5)
    assert entry.mean_share == pytest.approx((result.labels.values > 0).mean())
    assert entry.bound == max(part.bound.fraction for part in result.objects)
    assert entry.mean_prior is None
    summary = read_json(tmp_path / "run" / "summary.json")
    assert entry.health.score == summary["health"]["score"]
    assert (tmp_path / "run" / "report-2.html").exists()
