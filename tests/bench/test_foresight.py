"""How long cells are expected to take: in proportion to what they do, and corrected by what was measured."""

from dataclasses import asdict

import pytest

from bench.datasets import make_sequence
from fewpoint.bench.folder import BenchFolder
from fewpoint.bench.foresight import FRAME_SECONDS, NANOSECONDS, foresee, guess_seconds
from fewpoint.bench.methods import find_settings
from fewpoint.bench.reproduction import Plan
from fewpoint.bench.results import Measurement
from fewpoint.bench.survey import Extent, survey
from fewpoint.io.atomic import write_json
from synthetic import save_dataset_sequence

SHORT = Extent(10, (128, 128))


def test_the_papers_run_by_hand():
    """250 epochs of 100 frames of 96 x 96 pixels, and half a second for each of ten frames."""
    seconds = 250 * 100 * 96**2 * NANOSECONDS["cuda"] * 1e-9
    assert guess_seconds(find_settings("ssnnpu+ksptrack"), SHORT, "cuda") == pytest.approx(seconds + 10 * FRAME_SECONDS)


def test_more_frames_wider_networks_and_more_pixels_take_longer_and_ablations_less():
    paper = guess_seconds(find_settings("paper"), SHORT, "cpu")
    wide = find_settings("paper", (("training.max_side", 192),))
    assert guess_seconds(find_settings("paper"), Extent(300, (128, 128)), "cpu") > 2 * paper
    assert guess_seconds(wide, Extent(10, (256, 256)), "cpu") > 3 * paper
    assert guess_seconds(find_settings("paper", (("network.base_width", 16),)), SHORT, "cpu") < 0.6 * paper
    assert guess_seconds(find_settings("nnpu-true"), SHORT, "cpu") == pytest.approx(0.6 * paper, rel=0.01)
    assert guess_seconds(find_settings("half-disc"), SHORT, "cpu") < 0.01 * paper
    assert 0 < guess_seconds(find_settings("ksptrack"), SHORT, "cpu") < paper


def test_finished_cells_are_not_counted_and_correct_the_others(tmp_path):
    for number in range(2):
        save_dataset_sequence(make_sequence(number), tmp_path / "data" / "ball" / str(number))
    found = survey(tmp_path / "data")
    plan, folder = Plan(found.sequences), BenchFolder(tmp_path / "out")
    cells = plan.cells("figure-stopping")
    guess = foresee(cells, found.extents, folder, device="cpu", jobs=2)
    finished = folder.result(cells[0])
    finished.parent.mkdir(parents=True)
    write_json(finished, asdict(Measurement(0.1, 0.5, 0.5, 0.5, 0.1, None, 3.0, 1.0)))
    # It took 3 s, so that the other will too, two at a time.
    assert foresee(cells, found.extents, folder, device="cpu", jobs=2) == pytest.approx(1.5)
    assert guess > 10
