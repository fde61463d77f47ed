"""segment and refine: arrays or files in, arrays out, folders, progress, cancel."""

import json
import runpy
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fewpoint
from fewpoint.cli.main import run
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.runs import read_finished
from synthetic import save_phantom, save_settings
from tiny_runs import TINY

ROOT = Path(__file__).resolve().parents[2]
PHANTOM = make_phantom(n_frames=4, size=(48, 40))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Frames, points, settings, and a run by the command line with all that it takes."""
    folder = tmp_path_factory.mktemp("library")
    save_phantom(PHANTOM, folder)
    save_settings(TINY, folder / "tiny.toml")
    options = ["--largest-box", box_text(), "--config", folder / "tiny.toml", "--device", "cpu", "--seed", "3"]
    outputs = ["--format", "nifti", "--probabilities", "--preset", "fast", "--quiet"]
    given = [
        "segment",
        folder / "frames",
        "--points",
        folder / "points.csv",
        "--out",
        folder / "cli",
        *options,
        *outputs,
    ]
    assert run([str(each) for each in given]) == 0
    return folder


def box_text() -> str:
    y, x = PHANTOM.points.coordinates[1, 1:].tolist()
    return f"1,{max(0, y - 12)},{max(0, x - 12)},{y + 12},{x + 12}"


def make_box() -> fewpoint.Box:
    return fewpoint.Box(*map(int, box_text().split(",")))


def test_the_library_gives_the_run_of_the_command_line_with_its_files(folder):
    told: list[fewpoint.Progress] = []
    result = fewpoint.segment(
        folder / "frames",
        folder / "points.csv",
        make_box(),
        settings=TINY,
        seed=3,
        device="cpu",
        out=folder / "library",
        saving=fewpoint.Saving(("nifti",), probabilities=True),
        progress=told.append,
    )
    one, other = (read_finished(folder / name) for name in ("cli", "library"))
    assert one["identity"] == other["identity"]
    names = {path.name for path in (folder / "cli").iterdir()}
    assert names == {path.name for path in (folder / "library").iterdir()} and "probabilities.nii.gz" in names
    np.testing.assert_array_equal(result.masks, fewpoint.load_result(folder / "cli").masks)
    ended = list(dict.fromkeys(each.stage for each in told if each.done == 1))
    assert ended == ["superpixels", "learning", "prediction", "masks", "report"]
    learning = [each.done for each in told if each.stage == "learning"]
    assert learning == sorted(learning) and learning[0] == 0
    assert all(each.seconds >= 0 for each in told)


def test_masks_are_cut_anew_larger_and_smaller(folder):
    before = fewpoint.load_result(folder / "cli")
    small, large = (fewpoint.recut(folder / "cli", threshold=each) for each in (0.9, 0.02))
    assert small.areas.sum() <= before.areas.sum() <= large.areas.sum()
    assert small.areas.sum() < large.areas.sum() and large.sequence is not None
    again = fewpoint.recut(folder / "cli", threshold=0.02, out=folder / "recut", saving=fewpoint.Saving(("png",)))
    np.testing.assert_array_equal(fewpoint.read_masks(folder / "recut"), again.masks)


def test_a_run_without_a_report_has_none_and_a_saved_run_is_refined_from_its_own_frames(folder):
    points = [*PHANTOM.points.coordinates.tolist()]
    first = fewpoint.refine(folder / "cli", None, points, out=folder / "again", saving=fewpoint.Saving(report=False))
    assert not (folder / "again" / "report.html").exists() and (folder / "again" / "masks").is_dir()
    assert first.sequence is not None
    words = fewpoint.Words.of({2: PHANTOM.truth[2]})
    second = fewpoint.refine(folder / "again", PHANTOM.sequence, points, words=words, device="cpu")
    np.testing.assert_array_equal(second.masks[2], PHANTOM.truth[2])


def test_arrays_and_points_by_object_need_no_files():
    both = make_objects(n_frames=3, size=(48, 40))
    rows = {name: both.points.of_object(name).coordinates.astype(float) for name in both.points.object_names}
    result = fewpoint.segment(both.sequence.frames[..., 0], rows, {"object 1": 0.3}, settings=TINY, device="cpu")
    assert [each.name for each in result.objects] == ["object 1", "object 2"]
    assert result.labels.values.shape == (3, 48, 40)
    assert result["object 1"].bound.fraction == 0.3


def test_another_method_runs_by_its_name_with_its_settings():
    result = fewpoint.segment(PHANTOM.sequence, PHANTOM.points, 0.3, method="half-disc")
    assert result.masks.any(axis=(1, 2)).all()
    with pytest.raises(fewpoint.SettingsError, match="not both"):
        fewpoint.segment(PHANTOM.sequence, PHANTOM.points, 0.3, method="half-disc", settings=TINY)


def test_a_finished_run_takes_the_name_that_its_object_is_given_later(tmp_path):
    rows, saving = PHANTOM.points.coordinates, fewpoint.Saving(("coco",), report=False)
    given = {"method": "half-disc", "out": tmp_path / "run", "saving": saving}
    first = fewpoint.segment(PHANTOM.sequence, rows, 0.3, **given)
    second = fewpoint.segment(PHANTOM.sequence, {"polyp": rows}, 0.3, **given)
    assert [each.only.name for each in (first, second, fewpoint.load_result(tmp_path / "run"))] == [
        *("object", "polyp", "polyp")
    ]
    assert json.loads((tmp_path / "run" / "masks.json").read_text())["categories"][0]["name"] == "polyp"
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["objects"][0]["name"] == "polyp"
    np.testing.assert_array_equal(first.masks, second.masks)


def test_a_cancelled_run_goes_on_where_it_was_and_ends_with_the_same_masks(tmp_path):
    stop, told = threading.Event(), []

    def show(progress: fewpoint.Progress) -> None:
        told.append(progress.stage)
        if progress.stage == "learning" and progress.done > 0.3:
            stop.set()

    given, options = (PHANTOM.sequence, PHANTOM.points, 0.3), {"settings": TINY, "device": "cpu"}
    kept = {"out": tmp_path / "run", "saving": fewpoint.Saving(report=False)}
    with pytest.raises(fewpoint.CancelledError, match="to continue"):
        fewpoint.segment(*given, **options, **kept, progress=show, cancel=stop)
    assert told[-1] == "learning"
    finished = fewpoint.segment(*given, **options, **kept)
    whole = fewpoint.segment(*given, **options)
    np.testing.assert_array_equal(finished.masks, whole.masks)


def test_a_warm_start_is_that_of_the_command_line(folder):
    result = fewpoint.segment(
        PHANTOM.sequence,
        PHANTOM.points,
        0.3,
        settings=TINY,
        device="cpu",
        warm_start=folder / "cli",
        out=folder / "warm",
        saving=fewpoint.Saving(report=False),
    )
    identity = read_finished(folder / "warm")["identity"]
    assert result.masks.any() and identity["start"].startswith("warm start from ")


def test_swapped_points_are_warned_of_before_anything_is_learnt():
    frames = np.zeros((2, 40, 30), np.uint8)
    frames[:, 3:9, 15:25] = np.random.default_rng(0).integers(50, 200, (2, 6, 10))
    told: list[fewpoint.Progress] = []
    fewpoint.segment(frames, [(0, 20, 6), (1, 20, 6)], 0.3, method="half-disc", progress=told.append)
    assert told[0].warning and told[0].message.startswith("x and y may be swapped")


@pytest.mark.nightly
def test_the_example_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["library.py", str(tmp_path)])
    runpy.run_path(str(ROOT / "docs" / "examples" / "library.py"), run_name="__main__")
    out = capsys.readouterr().out
    for words in ("first: F1 ", "refined: F1 ", "refused: point y 1000", "2 sequences in ", "p1_0000.nii.gz"):
        assert words in out
