"""A run folder belongs to one run and one process, and survives the death of the process."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import filelock  # noqa: F401  imported here because an unprivileged test below may not read it
import numpy as np
import pytest

import fewpoint.errors
from fewpoint.core import AreaBound, Box, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result, Words
from fewpoint.core.job import PlainPoints
from fewpoint.errors import DeviceError, InputError, OutputError, RunConflictError, SettingsError
from fewpoint.io import runs
from fewpoint.io.atomic import read_json
from fewpoint.io.masks import read_masks
from fewpoint.io.points import hash_points
from fewpoint.io.runs import (
    FoundRun,
    RunFolder,
    RunIdentity,
    discard_other_run,
    find_run,
    read_told,
    save_result,
    write_result,
    write_told,
)
from fewpoint.io.tables import read_history_records, read_priors

IDENTITY = RunIdentity("0.1.0", "fewpoint", "5e9", "901", "0.1", "5e7", 3)
SOURCE = Path(fewpoint.errors.__file__).resolve().parents[1]

HOLD_FOLDER = f"""
import sys
from fewpoint.io.runs import RunFolder, RunIdentity
run = RunFolder.open(sys.argv[1], RunIdentity(**{asdict(IDENTITY)}))
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path) -> Iterator[subprocess.Popen]:
    """Another process that has opened tmp_path / "run"."""
    command = [sys.executable, "-c", HOLD_FOLDER, str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """A folder in which this process cannot write, even where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        yield Path(name)
        if is_root:
            os.seteuid(0)
        os.chmod(name, 0o755)


def make_segmentation() -> Result:
    random = np.random.default_rng(0)
    probabilities = random.random((3, 5, 6), dtype=np.float32)
    priors = PriorEstimate(*random.random((3, 3)))
    return Result.single(
        probabilities > 0.5,
        ProbabilityMaps(probabilities),
        priors,
        PriorHistory.empty(3),
        AreaBound(0.2),
        ("a", "b", "c"),
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("exists", [True, False])
def test_a_new_or_empty_folder_becomes_a_run_folder(tmp_path, exists):
    path = tmp_path / "deep" / "run"
    if exists:
        path.mkdir(parents=True)
    with RunFolder.open(path, IDENTITY) as run:
        assert run.path == path
        assert not run.finished
        assert run.artefact("superpixels.npz") == path / "stages" / "superpixels.npz"
        assert run.artefact("superpixels.npz").parent.is_dir()
    assert read_json(path / "manifest.json") == {
        "format": "fewpoint run",
        "version": 1,
        "state": "running",
        "identity": asdict(IDENTITY),
    }


def test_the_same_run_goes_on_with_its_artefacts_and_its_state(tmp_path):
    with RunFolder.open(tmp_path, IDENTITY) as run:
        run.artefact("a.txt").write_text("done")
        run.write_manifest("running", {"device": "cpu"})
    with RunFolder.open(tmp_path, IDENTITY) as run:
        assert run.artefact("a.txt").read_text() == "done"
        assert not run.finished
        run.write_manifest("finished", {"seconds": {"learning": 2.5}})
        assert run.finished
    with RunFolder.open(tmp_path, IDENTITY) as run:
        assert run.finished
        assert (run.manifest["device"], run.manifest["seconds"]) == ("cpu", {"learning": 2.5})
        assert run.manifest == read_json(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("part", "value", "fragment"),
    [
        ("version", "0.2.0", "fewpoint version (0.1.0, now 0.2.0)"),
        ("method", "other", "method (fewpoint, now other)"),
        ("sequence", "x", "input frames or their names"),
        ("points", "x", "points"),
        ("bound", "0.2", "size limit (0.1, now 0.2)"),
        ("settings", "x", "settings"),
        ("seed", 4, "seed (3, now 4)"),
        ("words", "x", "drawn masks, boxes or sizes"),
    ],
)
def test_another_run_is_refused_by_naming_what_differs(tmp_path, part, value, fragment):
    with RunFolder.open(tmp_path, IDENTITY) as run:
        run.artefact("a.txt").write_text("done")
    before = snapshot(tmp_path)
    with pytest.raises(RunConflictError) as caught:
        RunFolder.open(tmp_path, replace(IDENTITY, **{part: value}))
    assert str(caught.value) == f"{tmp_path} belongs to another run with different {fragment}; give another --out"
    assert snapshot(tmp_path) == before
    RunFolder.open(tmp_path, IDENTITY).close()


@pytest.mark.parametrize(
    ("name", "content"),
    [("holiday.jpg", "x"), ("manifest.json", '{"name": "web app"}'), ("manifest.json", "{"), ("manifest.json", "[]")],
)
def test_a_folder_of_someone_elses_is_refused_untouched(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(RunConflictError, match="not a fewpoint run folder"):
        RunFolder.open(tmp_path, IDENTITY)
    assert snapshot(tmp_path) == {name: content.encode()}


def test_a_file_is_refused(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(OutputError, match="is a file"):
        RunFolder.open(tmp_path / "run", IDENTITY)


def test_an_unwritable_parent_is_an_output_error(unwritable):
    with pytest.raises(OutputError, match="Permission denied") as caught:
        RunFolder.open(unwritable / "run", IDENTITY)
    assert "\n" not in str(caught.value)


def test_an_unwritable_folder_is_an_output_error(unwritable):
    with pytest.raises(OutputError, match="Permission denied"):
        RunFolder.open(unwritable, IDENTITY)


def test_a_second_process_is_refused_at_once(tmp_path, holder):
    with pytest.raises(RunConflictError, match="another process"):
        RunFolder.open(tmp_path / "run", IDENTITY)
    holder.communicate("")
    RunFolder.open(tmp_path / "run", IDENTITY).close()


def test_a_killed_process_leaves_a_folder_that_goes_on(tmp_path, holder):
    (tmp_path / "run" / "stages" / "a.npz.1234.partial").write_text("half")
    holder.send_signal(signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    with RunFolder.open(tmp_path / "run", IDENTITY) as run:
        assert not run.finished
        assert list((run.path / "stages").iterdir()) == []


def test_a_process_killed_before_its_manifest_leaves_a_usable_folder(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / "manifest.json.1234.partial").write_text("{")
    with RunFolder.open(tmp_path, IDENTITY) as run:
        assert run.manifest["state"] == "running"
    assert not list(tmp_path.glob("*.partial"))


def test_the_same_process_cannot_open_a_folder_twice(tmp_path):
    with RunFolder.open(tmp_path, IDENTITY), pytest.raises(RunConflictError, match="another process"):
        RunFolder.open(tmp_path, IDENTITY)


def test_clean_stale_removes_partial_files_and_folders_only(tmp_path):
    with RunFolder.open(tmp_path, IDENTITY) as run:
        (tmp_path / "masks.12.partial").mkdir()
        (tmp_path / "masks.12.partial" / "0.png").write_text("half")
        run.artefact("a.npz.34.partial").write_text("half")
        run.artefact("a.npz").write_text("whole")
        run.clean_stale()
    assert set(snapshot(tmp_path)) == {".lock", "manifest.json", "stages/a.npz"}


def test_a_manifests_own_entries_cannot_be_overwritten(tmp_path):
    with RunFolder.open(tmp_path, IDENTITY) as run, pytest.raises(OutputError, match="identity"):
        run.write_manifest("running", {"identity": {}})


def test_a_segmentation_saves_all_it_rests_on(tmp_path):
    segmentation = make_segmentation()
    folder = segmentation.save(tmp_path / "new" / "result")
    assert folder == tmp_path / "new" / "result"
    np.testing.assert_array_equal(read_masks(folder), segmentation.masks)
    assert sorted(path.stem for path in (folder / "masks").iterdir()) == ["a", "b", "c"]
    expected = segmentation.probabilities.values.astype(np.float16)
    with np.load(folder / "probabilities.npz") as arrays:
        np.testing.assert_array_equal(arrays["probabilities"], expected)
        assert arrays["names"].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(read_priors(folder / "priors.csv").mean, segmentation.priors.mean)
    assert read_history_records(folder / "history.csv") == ()


def test_a_result_is_not_saved_over_other_files(tmp_path):
    (tmp_path / "notes.txt").write_text("keep me")
    with pytest.raises(RunConflictError, match="new or empty"):
        save_result(make_segmentation(), tmp_path)
    assert snapshot(tmp_path) == {"notes.txt": b"keep me"}


def test_a_failed_save_leaves_the_folder_empty(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OutputError("the disk is full")

    monkeypatch.setattr(runs, "write_history", fail)
    with pytest.raises(OutputError, match="full"):
        save_result(make_segmentation(), tmp_path / "result")
    assert snapshot(tmp_path) == {}


def test_a_result_written_twice_into_a_run_folder_is_the_same(tmp_path):
    with RunFolder.open(tmp_path, IDENTITY) as run:
        write_result(make_segmentation(), run.path)
        first = snapshot(tmp_path)
        write_result(make_segmentation(), run.path)
    assert snapshot(tmp_path) == first


def test_importing_io_loads_no_decoder_and_no_torch():
    code = (
        "import sys, fewpoint.io, fewpoint.io.images, fewpoint.io.points, fewpoint.io.masks, fewpoint.io.runs\n"
        "print(sorted({'torch', 'PIL', 'tifffile', 'imagecodecs', 'filelock'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("error", [InputError, SettingsError, DeviceError])
def test_a_first_start_that_is_refused_leaves_no_folder(tmp_path, error):
    with pytest.raises(error), RunFolder.open(tmp_path / "run", IDENTITY):
        raise error("no")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("error", [OutputError, KeyboardInterrupt, ZeroDivisionError])
def test_a_start_that_fails_otherwise_leaves_what_it_has(tmp_path, error):
    with pytest.raises(error), RunFolder.open(tmp_path / "run", IDENTITY) as run:
        run.artefact("superpixels.npz").write_text("done")
        raise error("no")
    assert (tmp_path / "run" / "stages" / "superpixels.npz").read_text() == "done"


def test_a_first_start_that_is_refused_after_a_stage_keeps_what_it_has(tmp_path):
    """A series that is unplugged while masks are written must not cost the training."""
    with pytest.raises(InputError), RunFolder.open(tmp_path / "run", IDENTITY) as run:
        run.artefact("network-1-1.npz").write_text("learnt")
        raise InputError("the series is gone")
    assert (tmp_path / "run" / "stages" / "network-1-1.npz").exists()
    with pytest.raises(InputError), RunFolder.open(tmp_path / "other", IDENTITY) as run:
        for quick in ("costs.json", "superpixels.npz", "motion.npz"):
            run.artefact(quick).write_text("{}")
        raise InputError("nothing is lost")
    assert not (tmp_path / "other").exists()


def test_a_later_start_that_is_refused_leaves_what_the_first_has(tmp_path):
    with RunFolder.open(tmp_path / "run", IDENTITY) as run:
        run.artefact("superpixels.npz").write_text("done")
    before = snapshot(tmp_path)
    with pytest.raises(DeviceError), RunFolder.open(tmp_path / "run", IDENTITY):
        raise DeviceError("no")
    assert snapshot(tmp_path) == before


def test_a_run_is_found_with_its_state_and_what_differs(tmp_path):
    assert find_run(tmp_path / "run", IDENTITY) is None
    with RunFolder.open(tmp_path / "run", IDENTITY) as run:
        assert find_run(tmp_path / "run", IDENTITY) == FoundRun(False, ())
        run.write_manifest("finished", {})
    assert find_run(tmp_path / "run", replace(IDENTITY, seed=4)) == FoundRun(True, ("seed (3, now 4)",))


def test_only_a_run_of_another_identity_is_discarded(tmp_path):
    with RunFolder.open(tmp_path / "run", IDENTITY):
        pass
    discard_other_run(tmp_path / "run", IDENTITY)
    assert (tmp_path / "run" / "manifest.json").exists()
    discard_other_run(tmp_path / "run", replace(IDENTITY, seed=4))
    assert not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    discard_other_run(tmp_path / "mine", IDENTITY)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_run_that_a_process_works_in_is_not_discarded(tmp_path, holder):
    with pytest.raises(RunConflictError, match="another process works in"):
        discard_other_run(tmp_path / "run", replace(IDENTITY, seed=4))
    assert (tmp_path / "run" / "manifest.json").exists()


def test_a_run_from_before_words_were_known_goes_on(tmp_path):
    RunFolder.open(tmp_path, IDENTITY).close()
    manifest = read_json(tmp_path / "manifest.json")
    known = {name: value for name, value in manifest["identity"].items() if name != "words"}
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "identity": known}))
    RunFolder.open(tmp_path, IDENTITY).close()
    with pytest.raises(RunConflictError, match="different drawn masks, boxes or sizes"):
        RunFolder.open(tmp_path, replace(IDENTITY, words="5e7"))


POINTS = PointSet.from_rows(
    [(3, 4, 5), (0, 1, 2)], [7], ["b ", 'a "quoted"'], [(0, 9, 9), (1, 9, 9)], absent_of=[(5, "b ")]
)
WORDS = (("", Words(size=1.5)), ("b ", Words({3: ((0, 4), (9, 1)), 5: ()}, (Box(1, 2, 3, 4, 5),), 1.0, {2: 0.8})))


@pytest.mark.parametrize("points", [POINTS, PointSet.from_rows([(0, 1, 2)]), POINTS.of_objects(("b ",))])
def test_what_a_run_was_told_comes_back_exactly(tmp_path, points):
    write_told(points, WORDS, tmp_path)
    told, words = read_told(tmp_path)
    assert PlainPoints.of(told) == PlainPoints.of(points) and hash_points(told) == hash_points(points)
    assert words == WORDS


def test_words_are_written_only_if_any_were_said(tmp_path):
    write_told(POINTS, (), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["points.json"]
    assert read_told(tmp_path)[1] == ()


def test_of_a_run_that_did_not_keep_what_it_was_told_nothing_is_known(tmp_path):
    assert read_told(tmp_path) == (None, ())


def test_a_damaged_file_of_what_was_told_is_named(tmp_path):
    (tmp_path / "words.json").write_text(json.dumps({"a": {"size": 90}}))
    with pytest.raises(InputError, match=f"{tmp_path}: a size must be a factor"):
        read_told(tmp_path)
