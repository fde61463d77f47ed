"""`fewpoint segment --method`: another method by the same command, with the same files."""

import json

import pytest

from commands import Case, snapshot
from fewpoint.core.settings import as_table
from fewpoint.io.atomic import read_json
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import load_result
from fewpoint.methods.competitors.registry import COMPETITORS
from fewpoint.methods.registry import PAPER_NAMES, find_settings
from synthetic import TINY_COMPETITORS


def segment_by(case: Case, method: str, *extra: object) -> list[str]:
    options = {"--points": case.points, "--out": case.out, "--max-fraction": 0.3, "--device": "cpu"}
    pairs = [str(part) for pair in options.items() for part in pair]
    return ["segment", str(case.frames), *pairs, "--method", method, *map(str, extra)]


def make_small(method: str) -> list[str]:
    """--set for all tiny settings that a method has."""
    settings = COMPETITORS[method].settings
    chosen = [(key, value) for key, value in TINY_COMPETITORS if hasattr(settings, key.partition(".")[0])]
    return [part for key, value in chosen for part in ("--set", f"{key}={value}")]


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["half-disc", "ksptrack"])
def test_a_competitor_writes_the_files_of_a_run(case, call, method):
    outcome = call(*segment_by(case, method, "--json", *make_small(method)))
    assert outcome.code == 0, outcome.err
    assert {entry.name for entry in case.out.iterdir() if not entry.name.startswith(".")} == {
        *("masks", "probabilities.npz", "priors.csv", "history.csv"),
        *("overlay.png", "report.html", "manifest.json", "source.json", "summary.json", "stages", "points.json"),
    }
    assert read_masks(case.out).shape == (6, 48, 40)
    manifest = read_json(case.out / "manifest.json")
    assert (manifest["state"], manifest["identity"]["method"]) == ("finished", method)
    assert json.loads(outcome.out)["bound"] == 0.3
    assert method in (case.out / "report.html").read_text(encoding="utf-8")


def test_a_finished_run_is_left_as_it_is_and_another_method_is_refused(case, call):
    first = call(*segment_by(case, "half-disc"))
    before = snapshot(case.out)
    again = call(*segment_by(case, "half-disc"))
    assert (first.code, again.code, again.out) == (0, 0, first.out)
    assert snapshot(case.out) == before
    other = call(*segment_by(case, "all-positive"))
    assert other.code == 1 and "method (half-disc, now all-positive)" in other.err
    assert snapshot(case.out) == before


def test_the_paper_s_name_runs_the_pipeline(case, call):
    outcome = call(*segment_by(case, "ssnnpu", "--config", case.folder / "tiny.toml", "--json"))
    assert outcome.code == 0, outcome.err
    manifest = read_json(case.out / "manifest.json")
    assert manifest["identity"]["method"] == "paper"
    assert manifest["result"]["epochs"] > 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["half-disk"], 1, "no method half-disk; did you mean half-disc"),
        (["nnpu-true"], 1, "uses ground truth"),
        (["half-disc", "--set", "training.batch=2"], 1, "has no settings to change"),
        (["half-disc", "--no-tracking"], 1, "has no settings to change"),
        (["eel", "--set", "training.batch=2"], 1, "no setting training.batch"),
        (["half-disc", "--preset", "fast"], 2, "--method or --preset, not both"),
    ],
)
def test_a_wrong_call_is_one_line_and_leaves_nothing(case, call, arguments, code, words):
    outcome = call(*segment_by(case, *arguments))
    assert outcome.code == code
    assert words in outcome.err and outcome.err.count("\n") == 1
    assert not case.out.exists()


def test_a_competitor_segments_several_objects_one_after_the_other(case, call):
    case.points.write_text("frame,y,x,object\n0,10,10,liver\n1,30,30,spleen\n", encoding="utf-8")
    outcome = call(*segment_by(case, "half-disc", "--json"))
    assert outcome.code == 0, outcome.err
    assert [each["name"] for each in json.loads(outcome.out)["objects"]] == ["liver", "spleen"]
    liver, spleen = (each.masks for each in load_result(case.out).objects)
    assert liver[0, 10, 10] and spleen[1, 30, 30] and not (liver & spleen).any()
    assert not liver[1:].any() and not spleen[0].any()


def test_info_lists_every_method_that_a_person_can_use_with_its_settings(call):
    methods = json.loads(call("info", "--json").out)["methods"]
    assert set(methods) == {*COMPETITORS, *PAPER_NAMES}
    for name, method in methods.items():
        settings = find_settings(name)
        assert method["summary"]
        assert method["settings"] == (None if settings is None else as_table(settings))
    assert methods["ssnnpu"]["settings"]["tracking"]["enabled"] is False
