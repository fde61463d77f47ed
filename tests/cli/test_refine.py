"""A run that goes on from another one, from the command line."""

import json

import pytest

from commands import snapshot
from fewpoint.io.atomic import read_json


@pytest.fixture(autouse=True)
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr("fewpoint.pipeline.run.write_report", lambda *given: None)


def test_refine_goes_on_from_a_run_with_its_settings_and_bound_and_leaves_it_as_it_was(case, call):
    assert call(*case.segment("--max-fraction", "0.3")).code == 0
    before = snapshot(case.out)
    case.points.write_text(case.points.read_text().replace("frame,y,x", "frame,y,x,label") + "3,1,1,0\n")
    second = case.folder / "second"
    base = ["segment", case.frames, "--points", case.points, "--device", "cpu", "--refine", case.out]
    outcome = call(*base, "--out", second, "--set", "reuse.refine_epochs=1", "--json")
    assert outcome.code == 0
    told = json.loads(outcome.out)
    assert (told["epochs"], told["bound"]) == (1, 0.3)
    manifest = read_json(second / "manifest.json")
    assert manifest["refined_from"] == str(case.out)
    assert manifest["settings"]["network"]["base_width"] == 2  # of the run before, not of a preset
    assert snapshot(case.out) == before
    assert call(*base, "--out", second, "--set", "reuse.refine_epochs=1").code == 0  # found finished
    assert call(*base[:-1], second, "--out", case.folder / "third").code == 0


def test_what_cannot_be_refined_is_refused_in_one_line_and_leaves_no_folder(case, call):
    call(*case.segment())
    again = ["--out", case.folder / "second", "--refine", case.out]
    outcomes = [
        (call(*case.segment("--out", case.folder / "second", "--refine", case.frames)), 1, "of a finished run"),
        (call(*case.segment(*again, "--set", "network.base_width=4")), 1, "network.base_width (2, here 4)"),
        (call(*case.segment(*again, "--time-limit", "3")), 2, "its own short schedule"),
        (call(*case.segment(*again, "--warm-start", case.out)), 2, "its own short schedule"),
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
