"""From clicks to masks on a sequence whose truth is known exactly."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.api.segmenting import segment
from fewpoint.bench.cases import RESULT_FILE
from fewpoint.bench.worker import CellOrder, run_cell
from fewpoint.core import AreaBound
from fewpoint.core.job import Job
from fewpoint.core.settings import as_table
from fewpoint.evaluation import largest_box, make_phantom, score_masks, true_shares
from fewpoint.evaluation.phantom import make_ring
from fewpoint.io.atomic import read_json
from fewpoint.learning.settings import PhaseSettings
from fewpoint.methods.paper import PAPER, PaperSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from synthetic import SMALL, save_dataset_sequence

# The paper's risk, filter, stopping rule, tracking and numbers of epochs, but for half the last phase; a network,
# batches and rates as small a phantom needs.
THREE_PHASES = replace(
    PAPER,
    superpixels=SuperpixelSettings(count=400),
    network=SMALL.network,
    training=replace(SMALL.training, frames_per_epoch=12),
    augmentation=SMALL.augmentation,
    phases=PhaseSettings(warmup_rate=3e-3, estimation_rate=3e-4, final_epochs=50, final_rate=3e-4),
)


# The same in seconds: less of everything.
SHORT_PHASES = replace(
    THREE_PHASES,
    superpixels=SuperpixelSettings(count=160),
    network=replace(PAPER.network, base_width=4, levels=3),
    training=replace(PAPER.training, max_side=96, batch=4, frames_per_epoch=8, threads=1),
    augmentation=PAPER.augmentation,
    phases=PhaseSettings(40, 3e-3, estimation_epochs=8, estimation_rate=5e-4, final_epochs=4, final_rate=5e-4),
    stopping=replace(PAPER.stopping, window=2, minimum=4),
)


def test_one_click_a_frame_finds_a_moving_deforming_object_among_distractors():
    phantom = make_phantom(n_frames=12, size=(80, 80), channels=3)
    result = segment(phantom.sequence, phantom.points, box_bound(phantom.truth), settings=SMALL)
    score = score_masks(result.masks, phantom.truth).pooled
    assert score.f1 >= 0.9
    # Neither all of the bound nor the mean object on every frame: the masks follow the object as it changes size.
    shares = true_shares(phantom.truth)
    assert np.corrcoef(result.masks.mean(axis=(1, 2)), shares)[0, 1] > 0.9


@pytest.mark.nightly
def test_the_papers_three_phases_find_the_object_and_tracking_does_not_hurt(tmp_path):
    """By the paper's protocol: a click on each frame, bound 1.4 times the true largest share."""
    phantom = make_phantom(n_frames=12, size=(80, 80), channels=3)
    result = score_paper(save_dataset_sequence(phantom, tmp_path / "ball/first"), THREE_PHASES, tmp_path / "out")
    assert result["f1"] > 0.85
    assert result["f1"] >= result["f1_untracked"]
    assert result["stop_epoch"] > PAPER.phases.warmup_epochs + PAPER.stopping.minimum
    assert result["prior_mae"] < 0.2 * result["bound_fraction"]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [0, 1])
def test_tracking_leaves_out_what_looks_like_a_ring_and_lies_beyond_reach_of_the_clicks(tmp_path, seed):
    """The network cannot tell the pieces from the ring; no path begins at them, and none leads there."""
    sequence = save_dataset_sequence(make_ring(8, (40, 80), seed), tmp_path / "ring/first")
    result = score_paper(sequence, SHORT_PHASES, tmp_path / "out")
    assert result["f1"] > result["f1_untracked"] + 0.03
    assert result["precision"] > result["precision_untracked"] + 0.1
    assert result["recall"] > result["recall_untracked"] - 0.02


def score_paper(sequence: Path, settings: PaperSettings, out: Path) -> dict:
    """What the bench measures of a run of SSnnPU + KSPTrack, with and without its last step."""
    table = as_table(settings)
    changes = tuple((f"{part}.{key}", value) for part, values in table.items() for key, value in values.items())
    points = sequence / "2dlocs.csv"
    job = Job(str(sequence), str(points), method="ssnnpu+ksptrack", changes=changes, seed=0, device="cpu")
    run_cell(CellOrder(job, str(sequence / "ground_truth-frames"), "eta", str(out)))
    return read_json(out / RESULT_FILE)


def box_bound(truth: np.ndarray) -> AreaBound:
    """What a person would draw: a box around the object where it is largest."""
    return AreaBound.from_box(largest_box(truth)[1:], truth.shape[1:])
