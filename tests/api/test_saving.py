"""`result.save("result")` of the README: it is read back, cut anew and converted, and refused in one line elsewhere."""

from pathlib import Path

import numpy as np
import pytest

import fewpoint
from fewpoint import Job, Saving
from fewpoint.cli.main import run as run_command
from fewpoint.errors import RunConflictError
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.points import write_points
from tiny_runs import TINY


@pytest.fixture(scope="module")
def result():
    phantom = make_phantom(n_frames=5, size=(48, 40))
    return fewpoint.segment(phantom.sequence.frames, phantom.points, 0.3, settings=TINY, device="cpu")


@pytest.fixture
def saved(result, tmp_path) -> Path:
    return result.save(tmp_path / "result")


def test_a_saved_result_is_read_back(result, saved):
    again = fewpoint.load_result(saved)
    np.testing.assert_array_equal(again.masks, result.masks)
    np.testing.assert_array_equal(again.probabilities.values, result.probabilities.values)
    assert (again.names, again.bound, again.only.label) == (result.names, result.bound, result.only.label)
    assert again.save(saved.parent / "again").is_dir()


def test_one_of_several_objects_is_too_with_its_name_and_colour(tmp_path):
    phantom = make_objects(4, (48, 40))
    result = fewpoint.segment(phantom.sequence.frames, phantom.points, 0.3, settings=TINY, device="cpu")
    again = fewpoint.load_result(result.save(tmp_path / "result"))
    assert [each.label for each in again.objects] == [each.label for each in result.objects]
    np.testing.assert_array_equal(again.labels.values, result.labels.values)
    alone = fewpoint.load_result(result["object 2"].save(tmp_path / "alone"))
    np.testing.assert_array_equal(alone.masks, result["object 2"].masks)
    assert alone.only.name == "object 2"


def test_it_is_cut_anew_converted_collected_and_evaluated(result, saved, tmp_path, capsys):
    larger = fewpoint.recut(saved, size=1.5)
    assert larger.areas.sum() > result.areas.sum()
    assert run_command(["recut", str(saved), "--size", "1.5", "--out", str(tmp_path / "recut")]) == 0
    assert run_command(["convert", str(saved), "--format", "nifti", "--out", str(tmp_path / "nifti")]) == 0
    assert fewpoint.convert(saved, Saving(("nifti",)), tmp_path / "two")
    assert fewpoint.collect(saved, tmp_path / "study").runs
    assert fewpoint.evaluate(saved, result.masks).pooled.f1 == 1


def test_its_frames_are_read_again_where_it_knows_them(tmp_path):
    phantom = make_phantom(n_frames=5, size=(48, 40))
    np.save(tmp_path / "frames.npy", phantom.sequence.frames)
    result = fewpoint.segment(tmp_path / "frames.npy", phantom.points, 0.3, settings=TINY, device="cpu")
    saved = result.save(tmp_path / "result")
    again = fewpoint.load_result(saved)
    assert again.sequence is not None and again.sequence.shape == (5, 48, 40, 1)
    np.save(tmp_path / "frames.npy", phantom.sequence.frames[:, ::-1])
    assert fewpoint.load_result(saved).sequence is None


def test_it_has_no_networks_to_refine_and_is_no_run_to_go_on_with(saved, tmp_path, capsys):
    phantom = make_phantom(n_frames=5, size=(48, 40))
    with pytest.raises(fewpoint.InputError, match="a result that was saved, without its networks; give the out of"):
        fewpoint.refine(saved, phantom.sequence.frames, phantom.points)
    with pytest.raises(RunConflictError, match="holds a result that was saved, not a run; give another --out"):
        fewpoint.segment(phantom.sequence.frames, phantom.points, 0.3, settings=TINY, device="cpu", out=saved)
    np.save(tmp_path / "frames.npy", phantom.sequence.frames)
    write_points(phantom.points, tmp_path / "points.csv")
    given = ["segment", str(tmp_path / "frames.npy"), "--points", str(tmp_path / "points.csv"), "--device", "cpu"]
    for options in (["--out", str(saved)], ["--refine", str(saved), "--out", str(tmp_path / "new")]):
        assert run_command([*given, *options]) == 1
        told = capsys.readouterr().err.splitlines()
        assert len(told) == 1 and "a result that was saved" in told[0]
    with pytest.raises(fewpoint.InputError):
        fewpoint.run_job(Job(str(tmp_path / "frames.npy"), refine=str(saved)), tmp_path / "new")
