"""A suite from its file to its tables, on small phantoms."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.datasets import EXTRA, Dataset, make_sequence
from fewpoint.bench.cells import plan_cells
from fewpoint.bench.run import BenchResult, run_suite
from fewpoint.bench.suite import read_suite
from fewpoint.bench.worker import WORK, CellOrder, write_order
from fewpoint.core import AreaBound, EpochPredicted, SuperpixelsReady
from fewpoint.core.job import Job
from fewpoint.core.settings import as_table, override, override_from_text
from fewpoint.engines.processes import LocalEngine
from fewpoint.engines.worker import COMMAND, write_line
from fewpoint.errors import RunConflictError, SettingsError
from fewpoint.evaluation import largest_box, paper_bound, prior_error, score_ceiling, score_masks
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points
from fewpoint.methods.competitors.trivial import draw_discs
from fewpoint.methods.registry import OwnSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames
from synthetic import TINY
from tiny_runs import TINY as TINY_DEFAULT
from tiny_runs import TINY_PAPER

ONE = 'sequences = ["ball/first"]'


def run(dataset: Dataset, text: str = "", **options) -> BenchResult:
    methods = options.pop("suite_methods", ("all-positive", "half-disc"))
    suite = read_suite(dataset.write_suite(text, methods))
    engine = LocalEngine(1 if ONE in text else 2)  # a process takes seconds to load torch
    return run_suite(suite, dataset.folder / "out", lambda standing: None, engine=engine, device="cpu", **options)


def read_results(dataset: Dataset) -> list[dict[str, str]]:
    with open(dataset.folder / "out" / "results.csv", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def stamp(folder: Path) -> dict[str, int]:
    """When each file of the finished cells and ceilings was written."""
    files = [path for part in ("cells", "ceilings") for path in (folder / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in files}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Dataset, BenchResult]:
    """The whole suite, run once for those who only look at what it left."""
    dataset = Dataset.make(tmp_path_factory.mktemp("finished"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FEWPOINT_DATA", raising=False)  # stands in the place of a suite's root
        return dataset, run(dataset)


def test_a_row_holds_the_scores_of_its_cell(finished):
    dataset, result = finished
    assert result.failures == ()
    rows = read_results(dataset)
    assert [(row["method"], row["type"], row["sequence"]) for row in rows[3:]] == [
        ("half-disc", "ball", "first"),
        ("half-disc", "ball", "second"),
        ("half-disc", "blob", "third"),
    ]
    phantom, row = make_sequence(2), rows[5]
    bound = paper_bound(phantom.truth)
    score = score_masks(draw_discs(phantom.points, bound.fraction / 2, phantom.truth.shape), phantom.truth).pooled
    ceiling = score_ceiling(segment_frames(phantom.sequence, SuperpixelSettings()), phantom.truth).pooled
    assert (float(row["f1"]), float(row["precision"]), float(row["recall"])) == (
        score.f1,
        score.precision,
        score.recall,
    )
    assert float(row["max_sp"]) == ceiling.f1
    assert float(row["delta"]) == score.f1 - ceiling.f1
    assert (row["seed"], row["variant"], row["points"], row["bound"]) == ("0", "plain", "2dlocs", "eta")
    found = np.unique(np.nonzero(draw_discs(phantom.points, bound.fraction / 2, phantom.truth.shape))[0])
    assert float(row["health_found"]) == len(found) / len(phantom.truth)
    assert 0 < float(row["health_score"]) <= 1 and row["health_stopped"] == ""
    assert 20 < float(row["memory_mb"]) < 2000 and float(row["time_s"]) > 0
    assert (row["cuda_mb"], row["settings_hash"], row["error"]) == ("", "", "")
    assert {row[name] for name in ("stop_epoch", "stop_f1", "best_f1", "best_epoch", "best_prior_mae")} == {""}
    assert {row[f"{name}_untracked"] for name in ("f1", "precision", "recall")} == {""}
    assert (row["absent_frames"], row["absent_false_positive"]) == ("0", "")


def test_all_that_is_promised_is_written(finished):
    out = finished[0].folder / "out"
    assert {entry.name for entry in out.iterdir() if entry.name != ".lock"} == {
        *("suite.json", "cells", "ceilings", "results.csv", "tables.md", "tables.tex", "report.html"),
    }
    assert "| half-disc |" in (out / "tables.md").read_text(encoding="utf-8")
    assert "half-disc &" in (out / "tables.tex").read_text(encoding="utf-8")
    assert (out / "report.html").read_text(encoding="utf-8").count("<figcaption>") == 6
    assert not list(out.rglob("*.partial"))


def test_the_montage_shows_mask_and_truth(finished):
    dataset, result = finished
    row = next(row for row in result.rows if (row.method, row.sequence) == ("half-disc", "first"))
    montage = np.asarray(Image.open(dataset.folder / "out" / "cells" / row.key / "montage.png"))
    for colour in ((0, 210, 255), (255, 140, 0)):
        assert (montage == colour).all(axis=-1).sum() > 500


@pytest.mark.nightly
def test_finished_cells_are_kept_and_new_ones_added(dataset):
    run(dataset, methods=("all-positive",))
    before = stamp(dataset.folder / "out")
    assert len(before) == 3 + 3 * 3
    run(dataset)
    after = stamp(dataset.folder / "out")
    assert before.items() < after.items() and len(after) == len(before) + 3 * 3
    run(dataset, methods=("half-disc",))
    assert stamp(dataset.folder / "out") == after
    assert {row["method"] for row in read_results(dataset)} == {"all-positive", "half-disc"}


@pytest.mark.nightly
def test_a_broken_sequence_fails_alone_and_is_tried_again(dataset):
    frame = dataset.break_frame("ball/second")
    whole = (dataset.root / "ball/first/input-frames/0002.png").read_bytes()
    result = run(dataset)
    assert {outcome.job.name.split(" (")[0] for outcome in result.failures} == {
        *("Max SP ball/second", "all-positive ball/second", "half-disc ball/second"),
    }
    errors = {row["sequence"]: row["error"] for row in read_results(dataset)}
    assert errors["first"] == errors["third"] == ""
    assert errors["second"].startswith("InputError: ") and "0002.png" in errors["second"]
    assert "2 cells failed" in (dataset.folder / "out" / "report.html").read_text(encoding="utf-8")
    before = stamp(dataset.folder / "out")
    assert len(run(dataset).failures) == 3
    assert {path: time for path, time in stamp(dataset.folder / "out").items() if "error" not in path}.items() <= (
        before.items()
    )
    frame.write_bytes(whole)
    assert run(dataset).failures == ()
    assert [row["error"] for row in read_results(dataset)] == [""] * 6


@pytest.mark.nightly
def test_an_error_is_forgotten_once_its_cell_is_finished(dataset):
    suite = read_suite(dataset.write_suite('sequences = ["ball/first"]', methods=("half-disc",)))
    (cell,) = plan_cells(suite, suite.methods)
    error = dataset.folder / "out" / "cells" / cell.key / "error.txt"
    error.parent.mkdir(parents=True)
    error.write_text("the worker was killed by SIGKILL", encoding="utf-8")
    write_json(dataset.folder / "out" / "suite.json", {"format": "fewpoint bench", "suite": "small"})
    (row,) = run(dataset, 'sequences = ["ball/first"]', suite_methods=("half-disc",)).rows
    assert row.error == "" and row.f1 > 0
    assert not error.exists()


@pytest.mark.nightly
def test_a_single_sequence_is_read_from_its_files(dataset):
    dataset.save_volume(seed=0)  # the same as ball/first
    assert run(dataset, 'sequences = ["ball/first"]' + EXTRA, suite_methods=("half-disc",)).failures == ()
    listed, single = read_results(dataset)
    assert (single["type"], single["sequence"], single["points"]) == ("volume", "whole", "clicks")
    figures = ("f1", "precision", "recall", "max_sp", "bound_fraction", "prior_mae")
    assert [single[name] for name in figures] == [listed[name] for name in figures]
    titles = re.findall("^### (.*)$", (dataset.folder / "out" / "tables.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert titles == [
        "variant plain, points 2dlocs, bound eta",
        "variant plain, points clicks, bound eta",
        "Summary",
    ]


@pytest.mark.nightly
def test_false_positives_are_counted_on_frames_without_the_object(dataset):
    for frame in ("0001", "0004"):
        path = dataset.root / "ball/first/ground_truth-frames" / f"{frame}.png"
        Image.fromarray(np.zeros((40, 48), np.uint8)).save(path)
    run(dataset, 'sequences = ["ball/first"]')
    every, disc = read_results(dataset)
    assert (every["absent_frames"], every["absent_false_positive"]) == ("2", "1.0")
    truth = make_sequence(0).truth
    truth[[1, 4]] = False
    discs = draw_discs(make_sequence(0).points, paper_bound(truth).fraction / 2, truth.shape)
    assert float(disc["absent_false_positive"]) == pytest.approx(discs[[1, 4]].mean(), rel=1e-12)


@pytest.mark.nightly
def test_each_bound_reaches_the_method(dataset):
    run(dataset, 'bounds = ["eta", "eta-1.8", "box", "none"]\nsequences = ["ball/first"]', suite_methods=("half-disc",))
    truth = make_sequence(0).truth
    fractions = {row["bound"]: float(row["bound_fraction"]) for row in read_results(dataset)}
    assert fractions == {
        "eta": paper_bound(truth, 1.4).fraction,
        "eta-1.8": paper_bound(truth, 1.8).fraction,
        "box": AreaBound.from_box(largest_box(truth, 0.1)[1:], truth.shape[1:]).fraction,
        "none": 0.1,
    }


@pytest.mark.nightly
def test_each_file_of_points_reaches_the_method(dataset):
    """Discs on two of six frames find less than discs on all of them."""
    run(dataset, 'points = ["2dlocs", "points_every5"]\nsequences = ["ball/first"]', suite_methods=("half-disc",))
    every, fifth = (float(row["recall"]) for row in read_results(dataset))
    assert 0 < fifth < 0.5 * every


@pytest.mark.nightly
def test_clicks_in_the_middle_of_the_truth_need_no_file(dataset):
    """Discs round the middle hold less of what is not the object than those round clicks anywhere in it."""
    run(dataset, 'points = ["2dlocs", "centre"]\nsequences = ["ball/first"]', suite_methods=("half-disc",))
    anywhere, middle = read_results(dataset)
    assert (anywhere["points"], middle["points"]) == ("2dlocs", "centre")
    assert float(middle["precision"]) > float(anywhere["precision"])


def write_variants(before: str, **variants: OwnSettings) -> str:
    """A suite's text: what stands before its variants, and these."""
    lines = [before]
    for name, settings in variants.items():
        lines.append(f"[variants.{name}]")
        for section, values in as_table(settings).items():
            lines += [f"{section}.{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines)


@pytest.mark.nightly
def test_a_trained_method_runs_with_the_settings_of_its_variant(dataset):
    text = write_variants('seeds = [0, 1]\nsequences = ["ball/first"]', tiny=TINY)
    assert run(dataset, text, suite_methods=("half-disc", "paper")).failures == ()
    disc, again, *trained = read_results(dataset)
    assert disc["key"] == again["key"]
    assert [row["seed"] for row in trained] == ["0", "1"]
    assert len({row["settings_hash"] for row in trained}) == 1 and len(trained[0]["settings_hash"]) == 10
    assert float(trained[0]["memory_mb"]) > float(disc["memory_mb"])
    assert 1 <= int(trained[0]["stop_epoch"]) <= 5


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("paper", override_from_text(TINY_PAPER, ["phases.estimation_epochs=8", "stopping.minimum=6"])),
        ("fast", override_from_text(TINY_DEFAULT, ["warmup.epochs=16", "rounds.round_epochs=16"])),
    ],
)
def test_epochs_are_scored_as_they_went(dataset, method, settings):
    """Against a run of the same task in this process, whose superpixels are painted and scored epoch by epoch.

    The network of the paper's method stops, the second of the default's learns in a further round.
    """
    run(dataset, write_variants('sequences = ["ball/first"]', learns=settings), suite_methods=(method,))
    (row,) = read_results(dataset)
    truth, events = make_sequence(0).truth, []
    sequence = read_sequence(dataset.root / "ball/first")
    points = read_points(dataset.root / "ball/first", sequence)
    run_task(Task(sequence, points, paper_bound(truth), settings, device="cpu"), listener=events.append)
    (labels,) = [event.superpixels.labels for event in events if isinstance(event, SuperpixelsReady)]
    scores, errors = {}, {}
    for event in (event for event in events if isinstance(event, EpochPredicted)):
        masks = np.array([(p >= 0.5)[frame] for p, frame in zip(event.probabilities, labels, strict=True)])
        scores[event.epoch] = score_masks(masks, truth).pooled.f1
        errors[event.epoch] = prior_error(event.priors, truth)
    best = int(row["best_epoch"])
    assert len(scores) > 7 and len(set(scores.values())) > 5
    assert float(row["best_f1"]) == scores[best] == max(scores.values())
    assert float(row["best_prior_mae"]) == pytest.approx(errors[best], rel=1e-12)
    if method == "paper":
        assert float(row["stop_f1"]) == scores[int(row["stop_epoch"])]
    else:
        assert (row["stop_f1"], row["stop_epoch"]) == ("", "")


@pytest.mark.nightly
def test_one_training_gives_the_scores_with_and_without_tracking(dataset):
    whole, without = (override(TINY_PAPER, "tracking.enabled", enabled) for enabled in (True, False))
    text = write_variants('sequences = ["ball/first"]', whole=whole, without=without)
    run(dataset, text, suite_methods=("paper",))
    rows = {row["variant"]: row for row in read_results(dataset)}
    changed, plain = rows["whole"], rows["without"]
    names = ("f1", "precision", "recall")
    assert [changed[f"{name}_untracked"] for name in names] == [plain[name] for name in names]
    assert {plain[f"{name}_untracked"] for name in names} == {""}
    assert (dataset.folder / "out" / "tables.md").read_text(encoding="utf-8").count("| paper, untracked |") == 1


def test_a_folder_of_something_else_is_refused_untouched(dataset):
    out = dataset.folder / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(RunConflictError, match="holds no results of a suite"):
        run(dataset)
    assert [entry.name for entry in out.iterdir()] == ["thesis.txt"]


@pytest.mark.nightly
def test_a_folder_of_another_suite_is_refused(dataset):
    run(dataset, 'sequences = ["ball/first"]', suite_methods=("all-positive",))
    path = dataset.write_suite()
    path.write_text(path.read_text(encoding="utf-8").replace("small", "other"), encoding="utf-8")
    with pytest.raises(RunConflictError, match="results of suite small, not other"):
        run_suite(read_suite(path), dataset.folder / "out", lambda standing: None)


def test_an_unknown_method_is_refused_before_anything_is_written(dataset):
    with pytest.raises(SettingsError, match="no method disc"):
        run(dataset, methods=("disc",))
    assert not (dataset.folder / "out").exists()


def test_a_worker_leaves_when_whoever_gave_its_order_is_gone(dataset):
    paths = (dataset.root / "ball/first" / name for name in ("input-frames", "ground_truth-frames", "2dlocs.csv"))
    frames, truth, points = map(str, paths)
    job = Job(input=frames, points=points, method="half-disc", seed=0, device="cpu")
    order = CellOrder(job, truth, "eta", str(dataset.folder))
    worker = subprocess.Popen(COMMAND, stdin=subprocess.PIPE)
    worker.communicate(write_line(WORK, write_order(order)), timeout=180)
    assert worker.returncode == 1
    assert not (dataset.folder / "result.json").exists()


def test_planning_a_suite_loads_no_torch(dataset):
    code = (
        "import sys; from pathlib import Path; from fewpoint.bench.suite import read_suite; import fewpoint.bench.run; "
        "read_suite(Path(sys.argv[1])); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, dataset.write_suite()], timeout=180, check=False).returncode == 0


def test_results_of_a_cell_are_plain_json(finished):
    dataset, result = finished
    row = result.rows[0]
    content = read_json(dataset.folder / "out" / "cells" / row.key / "result.json")
    assert content["f1"] == row.f1
