"""What a batch tells of a finished run folder."""

import pytest

from fewpoint.batch.summary import State, read_finished
from fewpoint.io.atomic import read_json
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.run import run_task
from pipeline.test_objects import make_objects_task


def test_a_run_on_several_objects_has_one_row_with_the_health_of_the_worst(tmp_path):
    task = make_objects_task()
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        result = run_task(task, folder)
    entry = read_finished("both", tmp_path / "run", 1, "scan.nii.gz")
    assert (entry.state, entry.frames) == (State.FINISHED, 5)
    assert entry.mean_share == pytest.approx((result.labels.values > 0).mean())
    assert entry.bound == max(part.bound.fraction for part in result.parts)
    assert entry.mean_prior is None
    summary = read_json(tmp_path / "run" / "summary.json")
    assert entry.health.score == summary["health"]["score"]
    assert (tmp_path / "run" / "report-2.html").exists()
