"""Masks cut anew from a finished run."""

import json

import numpy as np
import pytest

from fewpoint.cli.main import run as run_command
from fewpoint.core import AreaBound, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result, Words
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError, OutputError
from fewpoint.io.masks import read_masks
from fewpoint.runs.recutting import Recut, find_threshold, recut, recut_run
from finished_runs import keep_run
from synthetic import save_frames

SIZE = 24
CLICK = (1, 12, 12)


def make_result() -> Result:
    """Four frames on which probability falls off from the middle, and a second hill in a corner that nobody clicked."""
    y, x = np.mgrid[:SIZE, :SIZE]
    hill = np.clip(1 - np.hypot(y - 12, x - 12) / 16, 0, 1)
    other = np.where(np.hypot(y - 2, x - 2) < 2, 0.8, 0)
    maps = np.stack([np.maximum(hill, other)] * 4).astype(np.float16)
    nothing = PriorEstimate(*[np.zeros(4)] * 3)
    names = ("0000", "0001", "0002", "0003")
    return Result.single(maps >= 0.5, ProbabilityMaps(maps), nothing, PriorHistory.empty(4), AreaBound(0.6), names)


@pytest.fixture
def run(tmp_path):
    """The folder of a finished run."""
    from fewpoint.io.images import read_sequence

    sequence = read_sequence(save_frames(np.zeros((4, SIZE, SIZE), np.uint8), tmp_path / "frames"))
    result, points = make_result(), PointSet.from_rows([CLICK])
    result = Result(result.objects, sequence.names, sequence.source)
    return keep_run(tmp_path / "run", sequence, points, result)


def cut(wish: Recut, words: Words | None = None) -> np.ndarray:
    said = {} if words is None else {"": words}
    return recut(make_result(), PointSet.from_rows([CLICK]), said, wish).result.masks


def test_the_threshold_of_a_run_gives_its_masks():
    assert (cut(Recut(threshold=0.5)) == make_result().masks).all()


def test_a_lower_threshold_gives_larger_masks():
    low, high = cut(Recut(threshold=0.3)), cut(Recut(threshold=0.7))
    assert (high <= low).all() and high.sum() < make_result().masks.sum() < low.sum()


@pytest.mark.parametrize("size", [0.5, 1.0, 1.7])
def test_masks_become_as_large_as_is_asked(size):
    assert cut(Recut(size=size)).sum() == pytest.approx(size * make_result().masks.sum(), rel=0.1)
    assert 0 < find_threshold(make_result().only, size) < 1


def test_cleaning_leaves_what_hangs_together_with_a_click():
    masks = cut(Recut(clean=True))
    assert not masks[:, :6, :6].any() and (masks[:, 6:, 6:] == make_result().masks[:, 6:, 6:]).all()


def test_outlined_frames_stay_as_drawn():
    drawn = np.zeros((SIZE, SIZE), bool)
    drawn[3:5, 3:9] = True
    masks = cut(Recut(size=1.5, clean=True), Words(outlined={2: encode_mask(drawn)}))
    assert (masks[2] == drawn).all()


@pytest.mark.parametrize(
    ("wish", "fragment"),
    [
        ({}, "give --threshold, --size or --clean"),
        ({"threshold": 0.4, "size": 1.1}, "not both"),
        ({"threshold": 1.0}, "between 0 and 1, got 1"),
        ({"size": 20.0}, "factor from 0.1 to 10, got 20"),
    ],
)
def test_what_makes_no_sense_is_refused(wish, fragment):
    with pytest.raises(InputError, match=fragment):
        Recut(**wish)


def test_a_recut_lies_beside_the_masks_of_the_run_and_gives_way_to_the_next(run):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    first = recut_run(run, Recut(size=1.5))
    second = recut_run(run, Recut(clean=True))
    assert all(path.read_bytes() == content for path, content in before.items())
    assert first["objects"][0]["pixels"] > second["objects"][0]["pixels"]
    masks = read_masks(second["files"][0])
    assert masks.astype(bool).sum() == second["objects"][0]["pixels"]
    assert json.loads((run / "recut" / "recut.json").read_text())["clean"] is True


def test_a_folder_with_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(OutputError, match="must be new, empty or of an earlier recut"):
        recut_run(run, Recut(clean=True), tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_the_command_says_what_came_out(run, capsys):
    assert run_command(["recut", str(run), "--threshold", "0.5"]) == 0
    assert "Dice with the previous masks 1.000" in capsys.readouterr().out
    assert run_command(["recut", str(run), "--size", "0.8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"][0]["pixels"] < make_result().masks.sum()
    assert run_command(["recut", str(run)]) == 1
    assert "give --threshold, --size or --clean" in capsys.readouterr().err
