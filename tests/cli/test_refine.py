"""A run that goes on from another one, from the command line."""

import json

import pytest

from commands import snapshot
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.atomic import read_json
from fewpoint.io.points import write_points
from synthetic import save_frames


@pytest.fixture(autouse=True)
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)


def test_refine_goes_on_from_a_run_with_its_settings_and_bound_and_leaves_it_as_it_was(case, call):
    assert call(*case.segment("--max-fraction", "0.3")).code == 0
    before = snapshot(case.out)
    case.points.write_text(case.points.read_text().replace("frame,y,x", "frame,y,x,label") + "3,1,1,0\n")
    second = case.folder / "second"
    base = ["segment", case.frames, "--points", case.points, "--device", "cpu", "--refine", case.out]
    outcome = call(*base, "--out", second, "--set", "refine.epochs=1", "--json")
    assert outcome.code == 0
    told = json.loads(outcome.out)
    assert (told["epochs"], told["bound"]) == (1, 0.3)
    manifest = read_json(second / "manifest.json")
    assert manifest["refined_from"] == str(case.out)
    assert manifest["settings"]["network"]["base_width"] == 2  # of the run before, not of a preset
    assert snapshot(case.out) == before
    assert call(*base, "--out", second, "--set", "refine.epochs=1").code == 0  # already finished
    assert call(*base[:-1], second, "--out", case.folder / "third").code == 0


def test_what_cannot_be_refined_is_refused_in_one_line_and_leaves_no_folder(case, call):
    call(*case.segment())
    again = ["--out", case.folder / "second", "--refine", case.out]
    outcomes = [
        (call(*case.segment("--out", case.folder / "second", "--refine", case.frames)), 1, "of a finished run"),
        (call(*case.segment(*again, "--set", "network.base_width=4")), 1, "network.base_width (2, here 4)"),
        (call(*case.segment(*again, "--warm-start", case.out)), 2, "leave out --warm-start"),
        (call("segment", case.frames, *again, "--points", case.points, "--method", "disc"), 2, "not for --method"),
    ]
    (case.frames / "0005.png").unlink()
    case.points.write_text("frame,y,x\n0,20,20\n")
    outcomes.append((call(*case.segment(*again)), 1, "can only be refined on its own frames"))
    for outcome, code, fragment in outcomes:
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1), outcome.err
        assert fragment in outcome.err
    assert not (case.folder / "second").exists()


def test_a_warm_start_takes_a_run_or_its_model_and_refuses_others_in_one_line(case, call):
    call(*case.segment())
    starts = []
    for number, source in enumerate((case.out, case.out / "model.npz")):
        out = case.folder / f"warm{number}"
        assert call(*case.segment("--out", out, "--seed", "3", "--warm-start", source)).code == 0
        starts.append(read_json(out / "manifest.json")["identity"]["start"])
    assert starts[0] == starts[1]
    assert starts[0].startswith("warm start from ")
    options = ["--out", case.folder / "refused", "--warm-start"]
    outcomes = [
        (call(*case.segment(*options, case.frames)), "holds no networks"),
        (call(*case.segment(*options, case.out / "probabilities.npz")), "must hold networks as fewpoint writes them"),
        (call(*case.segment(*options, case.out, "--set", "network.norm=group")), "network.norm (batch, here group)"),
    ]
    for outcome, fragment in outcomes:
        assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
        assert fragment in outcome.err
    assert not (case.folder / "refused").exists()


def test_several_objects_are_refined_and_warm_started(case, call):
    phantom = make_objects(4, (48, 48))
    frames = save_frames(phantom.sequence.frames, case.folder / "two")
    write_points(phantom.points, case.points)
    assert call(*case.segment("--max-fraction", "0.2", frames=frames)).code == 0
    before = snapshot(case.out)
    base = ["segment", frames, "--points", case.points, "--device", "cpu", "--out", case.folder / "second"]
    outcome = call(*base, "--refine", case.out, "--set", "refine.epochs=1", "--json")
    assert outcome.code == 0
    objects = json.loads(outcome.out)["objects"]
    assert [(each["name"], each["epochs"], each["bound"]) for each in objects] == [
        ("object 1", 1, 0.2),
        ("object 2", 1, 0.2),
    ]
    assert read_json(case.folder / "second" / "manifest.json")["refined_from"] == str(case.out)
    warm = case.folder / "warm"
    options = ["--seed", "3", "--warm-start", case.folder / "second", "--out", warm]
    assert call(*case.segment(*options, frames=frames)).code == 0
    assert read_json(warm / "manifest.json")["identity"]["start"].startswith("warm start from ")
    assert snapshot(case.out) == before
