"""The comparer names what differs, and nothing that is missing passes; on made-up folders, nothing is trained."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from shadow import compare, keep, trees
from shadow.compare import Gone, compare_case
from shadow.recorder import INDEX, Recorder, describe_machine
from shadow.trees import ShadowError

STAGES = {"superpixels": np.arange(6), "targets-1": np.zeros((2, 3)), "masks": np.ones((2, 3), bool)}


def make_case(out: Path, changes: dict | None = None, package: str = "/one", name: str = "box") -> Path:
    """A recorded case with these stages of the object a; one that changes to None is left out."""
    recorder = Recorder(name, out, tuple(STAGES))
    recorder.step = "run"
    for stage, value in {**STAGES, **(changes or {})}.items():
        if value is not None:
            recorder.note(stage, "a", value)
    return recorder.finish({"package": package})


def compare_with(tmp_path: Path, theirs: dict, ours: dict, *gone: Gone) -> compare.Verdict:
    return compare_case(make_case(tmp_path / "base", theirs), make_case(tmp_path / "here", ours), list(gone))


def test_equal_cases_are_equal(tmp_path):
    assert compare_with(tmp_path, {}, {}) == compare.Verdict(True, "equal, 3 stages")


def test_the_first_stage_that_differs_is_named_with_how_much(tmp_path):
    changes = {"masks": np.zeros((2, 3), bool), "targets-1": np.array([[0, 0, 0.25], [0, -0.5, np.nan]])}
    verdict = compare_with(tmp_path, {}, changes)
    assert not verdict.equal
    told = "differs first at run/targets-1: a differs in 3 of 6 elements, by 0.5 at most; later stages: 1 more"
    assert verdict.text == told


def test_stages_are_compared_in_the_order_of_the_pipeline_not_in_that_of_recording(tmp_path):
    recorder = Recorder("box", tmp_path, tuple(STAGES))
    recorder.step = "run"
    for stage in reversed(STAGES):
        recorder.note(stage, "", STAGES[stage])
    recorder.finish({})
    assert [each["name"] for each in trees.read_index(tmp_path / "box")["stages"]] == [f"run/{name}" for name in STAGES]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.arange(6.0), "was int64 (6,) and is float64 (6,)"),
        (np.arange(7), "was int64 (6,) and is int64 (7,)"),
    ],
)
def test_another_type_or_shape_is_a_difference(tmp_path, value, told):
    assert compare_with(tmp_path, {}, {"superpixels": value}).text.endswith(told)


def test_minus_zero_and_bytes_of_files_are_compared_to_the_bit(tmp_path):
    verdict = compare_with(tmp_path, {}, {"targets-1": -np.zeros((2, 3))})
    assert not verdict.equal and "0 of 6 elements" in verdict.text
    verdict = compare_with(tmp_path, {"files": b"abcd"}, {"files": b"abXd."})
    assert verdict.text == "differs first at run/files: a differs in 2 of 4 bytes"


def test_a_stage_that_only_one_side_has_is_a_difference_unless_it_is_gone_on_purpose(tmp_path):
    assert compare_with(tmp_path, {}, {"targets-1": None}).text.startswith(
        "differs first at run/targets-1 is missing here"
    )
    assert not compare_with(tmp_path, {"targets-1": None}, {}).equal
    for pattern in ("targets-1", "targets-*", "box/run/targets-1", "box/*"):
        assert compare_with(tmp_path, {}, {"targets-1": None}, Gone("abc", pattern, "why")).equal
    assert not compare_with(tmp_path, {}, {"targets-1": None}, Gone("abc", "other/run/targets-1", "why")).equal
    # What is gone may not come back otherwise than it was.
    assert not compare_with(tmp_path, {}, {"targets-1": np.ones((2, 3))}, Gone("abc", "targets-1", "why")).equal


def test_a_stage_may_have_another_name_here(tmp_path, monkeypatch):
    ours = {"superpixels": None, "regions": STAGES["superpixels"]}
    assert not compare_with(tmp_path, {}, ours).equal
    monkeypatch.setitem(compare.RENAMED, "superpixels", "regions")
    assert compare_with(tmp_path, {}, ours).equal
    assert not compare_with(tmp_path, {}, {"superpixels": None, "regions": np.arange(5)}).equal


def test_a_case_that_only_one_side_has_is_a_difference(tmp_path):
    case = make_case(tmp_path / "here")
    assert not compare_case(tmp_path / "base" / "box", case, []).equal
    assert not compare_case(case, tmp_path / "base" / "box", []).equal
    assert compare_case(case, tmp_path / "base" / "box", [Gone("abc", "box", "why")]).equal


def test_each_line_of_what_is_gone_has_a_commit_a_stage_and_a_reason(tmp_path):
    (tmp_path / "gone").write_text("# comment\n\nabc targets-2 one round is enough\n")
    assert compare.read_gone(tmp_path / "gone") == [Gone("abc", "targets-2", "one round is enough")]
    (tmp_path / "gone").write_text("abc targets-2\n")
    with pytest.raises(ShadowError, match="a reason"):
        compare.read_gone(tmp_path / "gone")
    assert isinstance(compare.read_gone(compare.FOLDER / "gone"), list)


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Two trees whose cases are made up; returns how the present one's package is called."""
    told = {"package": "/other", "superpixels": STAGES["superpixels"]}

    def record(side: trees.Side, cases: list[str], out: Path, *options: str) -> None:
        for case in cases:
            make_case(out, {"superpixels": told["superpixels"]}, told["package"], case)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compare, "BUILD", tmp_path / "build")
    monkeypatch.setattr(trees.Side, "list_cases", lambda side: ["box", "live"])
    monkeypatch.setattr(trees.Side, "record", record)
    monkeypatch.setattr(trees, "find_commit", lambda tree, name: "0123456789abcdef")
    monkeypatch.setattr(trees, "has_history", lambda tree: True)
    monkeypatch.setattr(trees, "make_base", lambda commit: pytest.fail("an environment for BASE is not needed"))
    cache = trees.find_cache("0123456789abcdef")
    make_case(cache)
    make_case(cache, name="live")
    (cache / "cases.txt").write_text("box\nlive\n")
    return told


def test_what_base_left_before_is_taken_from_the_cache(sides, capsys):
    assert compare.main([]) == 0
    said = capsys.readouterr().out
    assert "BASE ran /one" in said and "here ran /other" in said and "all 2 cases agree" in said


def test_a_difference_is_a_failure(sides, capsys):
    sides["superpixels"] = np.arange(6)[::-1]
    assert compare.main(["live"]) == 1
    assert "1 of 1 cases differ" in capsys.readouterr().out


def test_one_package_on_both_sides_is_a_failure(sides, capsys):
    sides["package"] = "/one"
    assert compare.main([]) == 2
    assert "both sides ran the package of one folder" in capsys.readouterr().err


def test_an_unknown_case_is_told_in_one_line(sides, capsys):
    assert compare.main(["boxes"]) == 2
    assert capsys.readouterr().err == "shadow: there is no case boxes; there are box, live\n"


def test_only_cases_that_are_missing_in_the_cache_are_run_for_base(sides, monkeypatch):
    cache, ran = trees.find_cache("0123456789abcdef"), []
    (cache / "live" / INDEX).unlink()

    class Other(trees.Side):
        def record(self, cases, out, *options):
            ran.extend(cases)
            make_case(out, name="live")

    monkeypatch.setattr(trees, "make_base", lambda commit: Other(Path(), Path()))
    assert compare.main([]) == 0 and ran == ["live"]


def test_libraries_of_two_versions_are_refused():
    trees.check_libraries({"numpy": "1", "ortools": "9"}, {"numpy": "1", "zarr": "3"})
    with pytest.raises(ShadowError, match="numpy must be of one version"):
        trees.check_libraries({"numpy": "1"}, {"numpy": "2"})


def test_base_gets_the_versions_that_are_here_and_its_own_of_what_is_not(tmp_path):
    (tmp_path / "constraints.txt").write_text("# pinned\nnumpy==1.0\nlong-gone==3.1\n")
    lines = trees.choose_versions(tmp_path / "constraints.txt")
    assert "long-gone==3.1" in lines and "numpy==1.0" not in lines
    assert f"numpy=={np.__version__}" in lines and not any(line.startswith("fewpoint") for line in lines)


def test_a_commit_that_cannot_be_had_is_told_in_one_line(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert trees.has_history(tmp_path)
    with pytest.raises(ShadowError, match="commit 1234 of tests/shadow/BASE is not in this checkout"):
        trees.find_commit(tmp_path, "1234")


def test_a_recording_that_is_ended_halfway_leaves_no_case(tmp_path):
    recorder = Recorder("box", tmp_path, ())
    recorder.step = "run"
    recorder.note("masks", "a", np.zeros(3))
    assert not (tmp_path / "box").exists()
    recorder.finish({})
    assert (tmp_path / "box" / INDEX).exists() and [path.name for path in tmp_path.iterdir()] == ["box"]


def test_processes_get_no_modules_of_other_trees(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("FEWPOINT_TRUST", "1")
    assert not {"PYTHONPATH", "FEWPOINT_TRUST"} & trees._environment().keys()


def test_the_machine_is_described_by_processor_python_and_libraries():
    machine = describe_machine()
    assert machine["processor"] and machine["libraries"]["numpy"] == np.__version__


# Without history.


def test_masks_are_compared_with_those_kept_by_f1(tmp_path, monkeypatch):
    monkeypatch.setattr(keep, "KEPT", tmp_path)
    (tmp_path / "least.json").write_text('{"least": {"box": 0.7}}')
    assert not keep.compare(make_case(tmp_path / "here"))[0]  # nothing is kept
    np.savez(tmp_path / "box.npz", **keep.read_masks(tmp_path / "here" / "box"))
    assert keep.compare(tmp_path / "here" / "box") == (True, "F1 1.000 at least, of run/masks/a; 0.700 is asked for")
    half = make_case(tmp_path / "half", {"masks": np.arange(6).reshape(2, 3) < 3})  # 3 of 6 pixels: 2 * 3 / (3 + 6)
    assert keep.compare(half) == (False, "F1 0.667 at least, of run/masks/a; 0.700 is asked for")
    assert not keep.compare(make_case(tmp_path / "none", {"masks": None}))[0]


def test_without_history_masks_are_compared_with_those_kept(sides, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(trees, "has_history", lambda tree: False)
    monkeypatch.setattr(keep, "KEPT", tmp_path)
    (tmp_path / "least.json").write_text('{"least": {"box": 0.7}}')
    assert compare.main(["box"]) == 1
    np.savez(tmp_path / "box.npz", **{"run/masks/a": np.packbits(STAGES["masks"])})
    assert compare.main(["box"]) == 0
    assert "there is no history" in capsys.readouterr().out
