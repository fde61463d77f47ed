"""A witness is asked for in the same way by every door: the same identity and the same masks to the bit."""

import json
from dataclasses import replace

import numpy as np
import pytest

import fewpoint
from fewpoint.cli.main import run
from fewpoint.core.job import Job
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.jobs import read_changes
from fewpoint.io.runs import load_result
from fewpoint.methods.default import FAST
from fewpoint.methods.resolve import change_settings
from fewpoint.runs.jobs import read_job, run_job
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.witness import store
from synthetic import save_phantom, save_settings
from tiny_runs import TINY
from witness_stand_ins import save_sam2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A phantom on disk, tiny settings, and a stand-in for SAM 2 called small."""
    folder = tmp_path_factory.mktemp("doors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEWPOINT_MODELS", str(folder / "models"))
        store.add_own(save_sam2(folder / "made"), "sam2-tiny", "small")
        save_phantom(make_phantom(n_frames=4, size=(48, 40)), folder)
        save_settings(replace(TINY, diffusion=DiffusionSettings()), folder / "tiny.toml")
        yield folder


def by_command(folder):
    given = ["--points", folder / "points.csv", "--preset", "fast", "--device", "cpu", "--config", folder / "tiny.toml"]
    given += ["--out", folder / "command", "--witness", "small"]
    assert run(["segment", str(folder / "frames"), *map(str, given)]) == 0
    return folder / "command"


def by_batch(folder):
    manifest = folder / "study.csv"
    manifest.write_text("name,input,points,witness\none,frames,points.csv,small\n", encoding="utf-8")
    return run_batch(folder, manifest)


def by_batch_option(folder):
    manifest = folder / "plain.csv"
    manifest.write_text("name,input,points\none,frames,points.csv\n", encoding="utf-8")
    return run_batch(folder, manifest, "--witness", "small")


def run_batch(folder, manifest, *extra):
    out = folder / manifest.stem
    given = ["--out", out, "--preset", "fast", "--device", "cpu", "--config", folder / "tiny.toml", *extra]
    assert run(["batch", str(manifest), *map(str, given)]) == 0
    return out / "runs" / "one"


def by_json(folder):
    job = Job(
        input=str(folder / "frames"),
        points=str(folder / "points.csv"),
        preset="fast",
        changes=read_changes(folder / "tiny.toml"),
        device="cpu",
        witness="small",
    )
    run_job(Job.from_table(json.loads(json.dumps(job.as_table()))), folder / "json")
    return folder / "json"


@pytest.fixture(scope="module")
def command(folder):
    return by_command(folder)


def identity_of(path):
    return json.loads((path / "manifest.json").read_text(encoding="utf-8"))["identity"]


@pytest.mark.parametrize("door", [by_batch, by_batch_option, by_json], ids=lambda door: door.__name__)
def test_every_door_gives_the_run_of_the_command_line(folder, command, door):
    other = door(folder)
    assert identity_of(command)["witness"] == store.identify_model("small")
    assert identity_of(other) == identity_of(command)
    np.testing.assert_array_equal(load_result(other).masks, load_result(command).masks)


def test_python_gives_the_masks_of_the_command_line(folder, command):
    sequence = fewpoint.read_sequence(folder / "frames")
    result = fewpoint.segment(
        sequence,
        fewpoint.read_points(folder / "points.csv", sequence),
        settings=change_settings("", FAST, read_changes(folder / "tiny.toml")),
        witness="small",
    )
    np.testing.assert_array_equal(result.masks, load_result(command).masks)


def test_a_folder_of_a_run_without_the_witness_is_refused(folder, command, capsys):
    given = ["--points", folder / "points.csv", "--preset", "fast", "--device", "cpu", "--config", folder / "tiny.toml"]
    assert run(["segment", str(folder / "frames"), *map(str, given), "--out", str(command)]) == 1
    assert "witness (small" in capsys.readouterr().err


def test_what_cannot_be_asked_for_together_is_refused(folder, capsys):
    start = ["segment", str(folder / "frames"), "--points", str(folder / "points.csv"), "--out", str(folder / "no")]
    assert run([*start, "--witness", "small", "--method", "half-disc"]) == 2
    assert run([*start, "--witness", "nobody"]) == 1
    assert "no model is called 'nobody'" in capsys.readouterr().err
    assert not (folder / "no").exists()
    with pytest.raises(InputError, match="refines masks of accurate and fast"):
        read_job(Job(str(folder / "frames"), str(folder / "points.csv"), method="half-disc", witness="small"))
