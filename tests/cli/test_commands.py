"""What each command prints and writes when all is well."""

import json
import re
import subprocess
import sys

import highdicom
import nibabel
import numpy as np
import pytest

from commands import launch
from dicom_series import save_series
from fewpoint import __version__
from fewpoint.cli.options import AxisName, DeviceName, PresetName
from fewpoint.cli.outputs import FormatName
from fewpoint.core.geometry import AXIS_CHOICES
from fewpoint.core.job import FILM
from fewpoint.core.settings import as_table
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import FILES
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.learning.devices import DEVICES
from fewpoint.methods.registry import PRESETS
from fewpoint.report.wording import format_volume
from synthetic import save_settings
from tiny_runs import TINY

WITHOUT_TORCH = """
import sys
from fewpoint.cli.main import run
code = run(sys.argv[1:])
heavy = {"torch", "matplotlib", "skimage", "scipy", "ortools"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else code)
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], [], ["segment", "--help"], ["info"], ["info", "--json"]]
)
def test_help_version_and_info_do_not_import_torch(arguments):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *arguments], text=True, capture_output=True, timeout=180, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_the_program_alone_prints_its_help(call):
    alone, helped = call(), call("--help")
    assert alone == helped
    assert (alone.code, alone.err) == (0, "")
    for command in ("segment", "convert", "evaluate", "info", "demo"):
        assert f"\n  {command} " in alone.out


def test_help_names_every_option_of_segment_and_no_box(call):
    text = call("segment", "--help").out
    options = [
        "points",
        "axis",
        "channels",
        "with",
        "window",
        "out",
        "max-fraction",
        "largest-box",
        "preset",
        "device",
        "seed",
        "set",
        "config",
        "no-tracking",
        "format",
        "probabilities",
        "json",
    ]
    assert [option for option in options if f"--{option} " not in text] == []
    assert not set("╭│╰") & set(text)


def test_the_version_is_the_package_s(call):
    assert call("--version").out == f"{__version__}\n"
    assert launch("--version").out == f"{__version__}\n"


def test_choices_are_those_of_the_program():
    assert {*PresetName} == {"auto", *PRESETS}
    assert {*DeviceName} == {*DEVICES}
    assert {*AxisName} == {*AXIS_CHOICES}
    assert {*FormatName} == {"auto", *FILES, FILM}


def test_info_as_json_is_one_document_with_every_value_of_every_preset(call):
    facts = json.loads(call("info", "--json").out)
    assert facts["version"] == __version__
    assert facts["presets"] == {name: as_table(settings) for name, settings in PRESETS.items()}
    assert set(facts["devices"]) == {*DEVICES}
    assert len(facts["formats"]) == 12
    assert facts["outputs"] == {**FILES, FILM: "overlay.mp4"}
    # The short suite installs some extras; the others may be there or not.
    installed = dict.fromkeys(("annotate", "competitors", "dicom", "tracking", "video", "zarr"), True)
    optional = {name: facts["extras"][name] for name in ("ray", "sam", "witness")}
    assert facts["extras"] == {**installed, **optional}


def test_info_for_people_shows_every_preset_and_format(call):
    text = call("info").out
    presets = ("preset accurate", "preset fast", "preset paper")
    for word in (*presets, "method ksptrack", "TIFF stack", "warmup_epochs=50", "cuda"):
        assert word in text


def test_evaluate_scores_each_frame_and_all_pixels_together(call, tmp_path):
    """Frame 0: two of three marked pixels are right; frame 1: one of two is found. Pooled: TP 3, FP 1, FN 1."""
    masks, truth = np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2, 4), np.uint8)
    masks[0, 0, :3], truth[0, 0, :2] = 1, 1
    masks[1, 0, :1], truth[1, 0, :2] = 1, 1
    np.save(tmp_path / "masks.npy", masks)
    np.save(tmp_path / "truth.npy", truth)
    outcome = call("evaluate", tmp_path / "masks.npy", tmp_path / "truth.npy", "--json")
    scores = json.loads(outcome.out)
    assert (scores["f1"], scores["precision"], scores["recall"]) == (0.75, 0.75, 0.75)
    assert [frame["recall"] for frame in scores["frames"]] == [1.0, 0.5]
    table = call("evaluate", tmp_path / "masks.npy", tmp_path / "truth.npy").out.splitlines()
    assert table[-1].split() == ["all", "0.750", "0.750", "0.750", "0.85", "px", "0.25", "px", "+0.0%"]
    assert len(table) == 4


def test_segment_writes_the_run_folder_and_prints_one_json_document(case, call):
    outcome = call(*case.segment("--json", "--seed", "3"))
    assert outcome.code == 0
    summary = json.loads(outcome.out)
    assert (summary["out"], summary["frames"]) == (str(case.out), 6)
    assert {entry.name for entry in case.out.iterdir() if not entry.name.startswith(".")} == {
        *("masks", "probabilities.npz", "priors.csv", "history.csv", "model.npz"),
        *("overlay.png", "report.html", "manifest.json", "stages", "source.json", "summary.json", "points.json"),
    }
    assert read_masks(case.out).shape == (6, 48, 40)
    manifest = read_json(case.out / "manifest.json")
    assert manifest["state"] == "finished"
    assert manifest["identity"]["seed"] == 3
    assert manifest["result"]["frames"] == 6
    costs = {name: manifest[name] for name in ("seconds", "memory_mb", "cuda_mb")}
    assert read_json(case.out / "summary.json") == {**manifest["result"], **costs}
    places = {"out": str(case.out), "masks": [str(case.out / "masks")], "report": str(case.out / "report.html")}
    kind = {"format": "fewpoint segment", "schema_version": 2}
    assert summary == {**kind, **places, **manifest["result"], **costs}
    assert set(costs["seconds"]) == {"preparing", "superpixels", "learning", "prediction", "masks", "report"}
    assert costs["memory_mb"] > 50 and costs["cuda_mb"] is None
    assert re.search(r"at most \d+ MiB", (case.out / "report.html").read_text(encoding="utf-8"))


def test_segment_ends_with_a_row_a_stage_and_the_memory(case, call):
    lines = call(*case.segment()).out.splitlines()
    rows = [line.split() for line in lines[1:8]]
    assert [row[0] for row in rows] == ["preparing", "superpixels", "training", "prediction", "masks", "report", "all"]
    assert sum(float(row[1]) for row in rows[:-1]) == pytest.approx(float(rows[-1][1]), abs=0.3)  # each is rounded
    assert re.fullmatch(r"all +[\d.]+ s, memory at most \d+ MiB", lines[7])
    assert re.fullmatch(r"review first: frames? \d.*; quality check 0\.\d\d", lines[8])
    page = (case.out / "report.html").read_text()
    assert "fewpoint recut" in page and str(case.points) in page
    assert read_json(case.out / "manifest.json")["asked"]["Command"].startswith("fewpoint segment")


def test_a_volume_gives_masks_in_its_own_grid(case, call):
    """The phantom as a volume whose frames are coronal, and its points in millimetres."""
    frames = read_sequence(case.frames).frames[..., 0]
    affine = np.array([[0, -0.5, 0, 9.0], [0, 0, 3, -8], [-0.5, 0, 0, 7], [0, 0, 0, 1]])
    volume = nibabel.Nifti1Image(np.ascontiguousarray(frames.T), affine)
    nibabel.save(volume, case.folder / "volume.nii.gz")
    rows = np.loadtxt(case.points, delimiter=",", skiprows=1)[:, ::-1]
    places = rows @ affine[:3, :3].T + affine[:3, 3]
    case.points.write_text("ras_x,ras_y,ras_z\n" + "\n".join(f"{x},{y},{z}" for x, y, z in places))
    outcome = call(*case.segment("--axis", "coronal", frames=case.folder / "volume.nii.gz"))
    assert (outcome.code, outcome.out.count("masks.nii.gz")) == (0, 1)
    written = nibabel.load(case.out / "masks.nii.gz")
    assert written.header.get_data_dtype() == np.uint8
    np.testing.assert_array_equal(written.affine, volume.affine)
    np.testing.assert_array_equal(read_masks(case.out), np.asarray(written.dataobj).T)
    assert read_masks(case.out)[tuple(rows[:, ::-1].astype(int).T)].all()
    scores = json.loads(call("evaluate", case.out, case.out / "masks.nii.gz", "--json").out)
    assert scores["f1"] == 1
    volume_ml = read_json(case.out / "summary.json")["volume_ml"]
    assert volume_ml == pytest.approx(np.asarray(written.dataobj).sum() * 0.5 * 0.5 * 3 / 1000)
    assert format_volume(volume_ml) in (case.out / "report.html").read_text()


def test_a_run_is_written_in_every_format_asked_for_and_later_in_others(case, call):
    first = call(*case.segment("--format", "nifti", "--format", "mp4", "--probabilities"))
    assert (first.code, first.out.count("masks.nii.gz")) == (0, 1)
    assert {"masks.nii.gz", "probabilities.nii.gz", "overlay.mp4"} < {entry.name for entry in case.out.iterdir()}
    assert not (case.out / "masks").exists()
    assert call(*case.segment("--format", "coco")).out.count("masks.json") == 1
    assert (case.out / "masks.json").exists()
    later = call("convert", case.out, "--format", "png", "--format", "mp4", "--out", case.folder / "later", "--json")
    files = json.loads(later.out)["files"]
    assert files == [str(case.folder / "later" / name) for name in ("masks", "overlay.mp4")]
    np.testing.assert_array_equal(read_masks(case.folder / "later"), read_masks(case.out / "masks.nii.gz"))
    assert call("convert", case.out, "--format", "nrrd").out == f"{case.out / 'masks.nrrd'}\n"


def test_convert_says_what_it_needs(case, call):
    call(*case.segment())
    outcomes = [
        (call("convert", case.out), 2, "give --format, --probabilities or --store"),
        (call("convert", case.frames, "--format", "png"), 1, "must be the folder of a finished run"),
        (call("convert", case.out, "--format", "dicom-seg"), 1, "the input was none"),
        (call("convert", case.out, "--format", "png", "--probabilities"), 1, "probabilities can be written as"),
    ]
    (case.frames / "0000.png").unlink()
    outcomes.append((call("convert", case.out, "--format", "mp4"), 1, "has changed since"))
    for outcome, code, fragment in outcomes:
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1)
        assert fragment in outcome.err
    assert not (case.out / "overlay.mp4").exists()


@pytest.mark.nightly
def test_a_dicom_series_gives_a_dicom_seg(case, call):
    frames = read_sequence(case.frames).frames[..., 0].astype(np.uint16)
    series = save_series(case.folder / "series", frames, skip=(3,))
    case.points.write_text("frame,y,x\n0,20,20\n1,20,20\n")
    outcome = call(*case.segment(frames=series))
    assert outcome.code == 0
    assert "slices are not evenly spaced: 1 slices seem to be missing" in outcome.err
    assert highdicom.seg.segread(case.out / "masks.dcm").number_of_segments == 1
    assert read_masks(case.out).shape == (5, 48, 40)
    assert read_json(case.out / "summary.json")["notes"]


def test_a_finished_run_is_found_finished(case, call):
    first = call(*case.segment())
    again = call(*case.segment())
    assert (first.code, again.code) == (0, 0)
    assert first.out == again.out
    assert again.err.startswith("already finished, nothing to do\n")
    assert "learning" not in again.err


def test_a_box_is_a_bound_and_no_bound_is_an_estimate_that_is_told(case, call):
    boxed = json.loads(call(*case.segment("--json", "--largest-box", "0,8,8,32,28", "--out", case.folder / "box")).out)
    assert boxed["bound"] == 24 * 20 / (48 * 40)
    estimated = call(*case.segment("--out", case.folder / "estimated"))
    assert "size limit: estimated as" in estimated.err


def test_no_tracking_and_set_change_the_settings_after_the_file(case, call):
    call(*case.segment("--no-tracking", "--set", "training.batch=3", "--json"))
    settings = read_json(case.out / "manifest.json")["settings"]
    assert settings["tracking"]["enabled"] is False
    assert settings["training"]["batch"] == 3
    assert settings["network"]["base_width"] == 2


@pytest.mark.nightly
def test_a_setting_by_its_old_name_is_told_once_in_one_line_and_counts(case, call, monkeypatch):
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    config = save_settings(TINY, case.folder / "tiny.toml")
    plain = call(*case.segment("--preset", "fast", "--json"))
    assert (plain.code, plain.err) == (0, "")
    config.write_text(config.read_text(encoding="utf-8") + "[refinement]\nrounds = 0\n", encoding="utf-8")
    options = ["--preset", "fast", "--json", "--set", "reuse.refine_epochs=2", "--out", case.folder / "second"]
    outcome = call(*case.segment(*options))
    assert outcome.code == 0
    assert json.loads(outcome.out)["frames"] == 6
    assert outcome.err.splitlines() == [
        "fewpoint: warning: the setting refinement.rounds is now called rounds.rounds; use that name",
        "fewpoint: warning: the setting reuse.refine_epochs is now called refine.epochs; use that name",
    ]
    settings = read_json(case.folder / "second" / "manifest.json")["settings"]
    assert (settings["rounds"]["rounds"], settings["refine"]["epochs"]) == (0, 2)


@pytest.mark.nightly
def test_the_line_on_an_old_name_is_the_same_in_a_process_of_its_own(case):
    """Whatever filters for warnings Python starts with."""
    given = case.segment("--set", "reuse.warm_share=0.25", "--set", "training.batch=0")
    for flags in ((), ("-W", "error"), ("-W", "ignore")):
        done = subprocess.run(
            [sys.executable, *flags, "-m", "fewpoint", *given], text=True, capture_output=True, timeout=180, check=False
        )
        assert (done.returncode, done.stderr.splitlines()) == (
            1,
            [
                "fewpoint: warning: the setting reuse.warm_share is now called warm_start.share; use that name",
                "fewpoint: training.batch must be 1 or more, got 0",
            ],
        )


def test_points_may_come_with_the_input(case, call, tmp_path):
    folder = tmp_path / "dataset"
    folder.mkdir()
    case.frames.rename(folder / "input-frames")
    preamble = "VideoWidth:;40\nVideoHeight:;48\nDisplayWidth:;40\nDisplayHeight:;48\n"
    (folder / "2dlocs.csv").write_text(preamble + "frame;time;visible;x;y\n0;0;1;0.5;0.5\n")
    options = ["--out", case.out, "--preset", "paper", "--config", case.folder / "tiny.toml", "--json"]
    outcome = call("segment", folder, *options)
    assert outcome.code == 0
    assert json.loads(outcome.out)["frames"] == 6
