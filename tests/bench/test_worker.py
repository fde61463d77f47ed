"""A cell that was killed while it trained."""

import numpy as np
import pytest

from bench.datasets import Dataset
from fewpoint.bench import worker
from fewpoint.bench.epochs import EPOCHS_FILE, EpochScores
from fewpoint.bench.records import RECORD_FILE, read_record
from fewpoint.bench.worker import RUN_FOLDER, CellOrder, run_cell
from fewpoint.core import EpochPredicted
from fewpoint.core.job import Job
from fewpoint.core.progress import Event
from fewpoint.core.settings import as_table
from fewpoint.io.atomic import read_json
from fewpoint.io.decoding import load_arrays
from fewpoint.learning import checkpoints
from synthetic import TINY

CHANGES = tuple((f"{part}.{key}", value) for part, values in as_table(TINY).items() for key, value in values.items())
KILLED_AFTER = 3


class KilledScores(EpochScores):
    """Scores of a run that is killed after some epoch."""

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        if isinstance(event, EpochPredicted) and event.epoch > KILLED_AFTER:
            raise KeyboardInterrupt


def make_order(dataset: Dataset, method: str, out: str) -> CellOrder:
    names = ("input-frames", "ground_truth-frames", "2dlocs.csv")
    frames, truth, points = (str(dataset.root / "ball/first" / name) for name in names)
    known = {name for section in ("stopping", "priors") for name, _ in CHANGES if name.startswith(section)}
    changes = tuple(each for each in CHANGES if method.startswith("ssnnpu") or each[0] not in known)
    job = Job(input=frames, points=points, method=method, changes=changes, seed=0, device="cpu")
    return CellOrder(job, truth, "eta", str(dataset.folder / out), resumes=True)


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["ssnnpu+ksptrack", "nnpu-true"])
def test_a_killed_cell_goes_on_from_its_checkpoint_to_the_same_result(dataset, method, monkeypatch):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0.0)
    run_cell(make_order(dataset, method, "whole"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(worker, "EpochScores", KilledScores)
        run_cell(make_order(dataset, method, "killed"))
    killed = dataset.folder / "killed"
    assert (killed / RUN_FOLDER).exists() and (killed / EPOCHS_FILE).exists()
    before = (killed / EPOCHS_FILE).read_text(encoding="utf-8").splitlines()
    run_cell(make_order(dataset, method, "killed"))
    assert sorted(path.name for path in killed.iterdir()) == sorted(
        path.name for path in (dataset.folder / "whole").iterdir()
    )
    assert len(before) >= 2
    whole, again = (read_record(dataset.folder / name / RECORD_FILE) for name in ("whole", "killed"))
    np.testing.assert_array_equal(whole.masks, again.masks)
    np.testing.assert_array_equal(whole.course.f1, again.course.f1)
    np.testing.assert_array_equal(whole.course.errors, again.course.errors)
    assert whole.shown is not None and again.shown is not None
    np.testing.assert_array_equal(whole.shown.probabilities, again.shown.probabilities)
    results = [read_json(dataset.folder / name / "result.json") for name in ("whole", "killed")]
    assert results[0]["f1"] == results[1]["f1"] and results[0]["best_f1"] == results[1]["best_f1"]
    regions = [load_arrays(dataset.folder / name / "regions.npz") for name in ("whole", "killed")]
    np.testing.assert_array_equal(regions[0]["f"], regions[1]["f"])
    assert regions[0]["counts"].sum() == len(regions[0]["f"])
