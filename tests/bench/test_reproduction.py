"""The paper's tables and figures from a small dataset, in one resumable call."""

import csv
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from bench.datasets import EXTRA, Dataset
from bench.test_paper_tables import make_row
from bench.test_records import make_history
from fewpoint.bench import reproduction
from fewpoint.bench.folder import open_folder
from fewpoint.bench.paper_figures import choose_epochs, draw_stopping, pick_sequence, rank_competitors, save
from fewpoint.bench.records import Course, read_record
from fewpoint.bench.reproduction import QUICK, TARGETS, Plan, make_phantoms, make_quick, reproduce
from fewpoint.bench.run import run_suite
from fewpoint.bench.sequences import find_sequences
from fewpoint.bench.suite import read_suite
from fewpoint.bench.survey import survey
from fewpoint.core.settings import as_table
from fewpoint.engines.processes import LocalEngine
from fewpoint.errors import SettingsError
from fewpoint.io.atomic import read_json
from synthetic import TINY, TINY_COMPETITORS
from tiny_runs import TINY as TINY_DEFAULT

PAPER = "ssnnpu+ksptrack"
TINIEST = as_table(TINY_DEFAULT) | as_table(TINY)  # of the methods with settings
EVERY = tuple((f"{part}.{key}", value) for part, values in TINIEST.items() for key, value in values.items())


def make_again(plan: Plan, dataset: Dataset, *targets: str) -> reproduction.Reproduction:
    return reproduce(plan, targets, dataset.folder / "out", lambda standing: None, engine=LocalEngine(2), device="cpu")


@pytest.fixture
def plan(dataset, monkeypatch) -> Plan:
    """One sequence and few methods: what is tested is how cells become tables and figures."""
    monkeypatch.setattr(reproduction, "PEERS", ())
    shutil.rmtree(dataset.root / "blob")
    shutil.rmtree(dataset.root / "ball/second")
    monkeypatch.setattr(reproduction, "COMPETITORS", ("random-walker", "half-disc"))
    changes = (*EVERY, *TINY_COMPETITORS)
    return Plan(find_sequences(dataset.root), changes=changes, const_factors=(1.2,), bound_factors=(1.4,))


@pytest.mark.nightly
def test_one_call_makes_everything_and_the_next_runs_nothing(dataset, plan):
    result = make_again(plan, dataset, *TARGETS)
    assert result.failures == ()
    out = dataset.folder / "out" / "paper"
    assert {path.name for path in result.written} == {
        *(f"table{number}.{kind}" for number in (1, 2) for kind in ("md", "tex", "csv")),
        *(f"figure-{name}.{kind}" for name in ("priors", "stopping", "qualitative") for kind in ("png", "svg")),
    }
    methods = [line.split(" | ")[0] for line in (out / "table1.md").read_text(encoding="utf-8").splitlines()]
    assert {"| fast", "| ssnnpu+ksptrack", "| ssnnpu", "| random-walker", "| half-disc"} < set(methods)
    for name in ("priors", "stopping", "qualitative"):
        picture = np.asarray(Image.open(out / f"figure-{name}.png").convert("L"))
        assert picture.std() > 10 and picture.max() == 255
    with open(out / "results.csv", newline="", encoding="utf-8") as stream:
        scored = {row["method"]: row for row in csv.DictReader(stream)}
    assert all(scored[name]["f1_untracked"] for name in ("ssnnpu+ksptrack", "nnpu-const", "nnpu-true"))
    assert int(scored["nnpu-const"]["best_epoch"]) >= 1 and scored["random-walker"]["best_epoch"] == ""
    before = {path: path.stat().st_mtime_ns for path in (dataset.folder / "out" / "cells").rglob("*")}
    again = make_again(plan, dataset, "table1")
    assert [path.name for path in again.written] == ["table1.md", "table1.tex", "table1.csv"]
    assert {path: path.stat().st_mtime_ns for path in (dataset.folder / "out" / "cells").rglob("*")} == before


@pytest.mark.nightly
def test_cells_of_a_suite_are_used_and_its_folder_stays_its_own(dataset, plan, monkeypatch):
    """Only methods without settings here, so that the suite's settings are those of the plan."""
    suite = read_suite(dataset.write_suite(methods=("half-disc", "random-walker")))
    run_suite(suite, dataset.folder / "out", lambda standing: None, engine=LocalEngine(2), device="cpu")
    before = {path: path.stat().st_mtime_ns for path in (dataset.folder / "out" / "cells").rglob("*")}
    monkeypatch.setattr(Plan, "table_1", lambda self: (*self._all("half-disc"), *self._all("random-walker")))
    assert make_again(plan, dataset, "table1").failures == ()
    assert {path: path.stat().st_mtime_ns for path in (dataset.folder / "out" / "cells").rglob("*")} == before
    assert read_json(dataset.folder / "out" / "suite.json")["suite"] == "small"


@pytest.mark.nightly
def test_a_sequence_that_fails_is_left_out_and_said_so(dataset, plan, monkeypatch):
    dataset.break_frame("ball/first")
    monkeypatch.setattr(Plan, "table_1", lambda self: self._all("half-disc"))
    result = make_again(plan, dataset, "table1")
    assert len(result.failures) == 2 and result.written == ()


def test_peers_are_planned_where_their_model_is(dataset, monkeypatch):
    monkeypatch.setattr(reproduction, "find_problem", lambda name: "")
    assert set(reproduction.PEERS) < {cell.method for cell in Plan(find_sequences(dataset.root)).cells("table1")}


def test_all_methods_and_sweeps_are_planned(dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path))
    plan = Plan(find_sequences(dataset.root))
    table_1 = {cell.method for cell in plan.cells("table1")}
    assert table_1 == {"fast", "ssnnpu+ksptrack", *reproduction.COMPETITORS}
    table_2 = {(cell.method, cell.variant.name, cell.bound) for cell in plan.cells("table2")}
    assert len(table_2) == 4 + 2 * 4 + 1
    assert ("nnpu-const", "eta-0.8", "eta") in table_2 and ("fast", "plain", "eta-1.8") in table_2
    assert table_1 == {cell.method for cell in plan.cells("figure-qualitative")}
    assert len(plan.cells("figure-stopping")) == 3 and len(plan.cells("figure-priors")) == 1
    assert {cell.key for cell in plan.cells("figure-stopping")} < {cell.key for cell in plan.cells("table1")}


def test_only_the_methods_asked_for_are_planned_with_each_of_the_seeds(dataset):
    plan = Plan(find_sequences(dataset.root), methods=("eel", "ssnnpu+ksptrack"), seeds=(0, 2))
    cells = plan.cells("table1")
    assert {(cell.method, cell.seed) for cell in cells} == {("eel", 0), ("eel", 2), *((PAPER, 0), (PAPER, 2))}
    assert {cell.method for cell in plan.cells("table2")} == {PAPER} and len(cells) == 2 * 2 * 3
    with pytest.raises(SettingsError, match="no method eal"):
        Plan((), methods=("eal",))


def test_competitors_are_tuned_only_if_asked_and_never_by_what_they_lack(dataset):
    plan = Plan(find_sequences(dataset.root)[:1], methods=("eel", "ksptrack", "half-disc"), tuned=True)
    names = {(cell.method, cell.variant.name) for cell in plan.cells("table1")}
    assert names == {("half-disc", "plain")} | {
        (method, name)
        for method in ("eel", "ksptrack")
        for name in ("plain", *(f"tuned-{number}" for number in range(1, 1 + len(reproduction.TUNED[method]))))
    }
    assert len({cell.key for cell in plan.cells("table1")}) == len(names)
    assert not replace(plan, tuned=False).candidates()


def test_the_tuned_row_is_the_best_of_what_was_tried_and_what_was_tried_has_no_row_of_its_own(dataset, monkeypatch):
    plan = Plan(find_sequences(dataset.root)[:1], methods=("eel", "half-disc"), tuned=True)
    scores = {"tuned-3": 0.7, "plain": 0.2}

    def find(cells, folder):
        return [(cell, make_row(cell.method, scores.get(cell.variant.name, 0.1))) for cell in cells]

    monkeypatch.setattr(reproduction, "_finished", find)
    with open_folder(dataset.folder / "out", reproduction.SUITE) as folder:
        rows = reproduction.collect_rows("table1", plan, folder)
    assert sorted((row.method, row.f1) for row in rows) == [("eel", 0.2), ("eel (tuned)", 0.7), ("half-disc", 0.2)]


def test_sequences_of_a_suite_are_taken_whatever_their_format(dataset):
    dataset.save_volume()
    found = survey(dataset.write_suite(EXTRA))
    assert [sequence.name for sequence in found.sequences] == ["first", "second", "third", "whole"]
    cells = Plan(found.sequences).cells("figure-stopping")
    assert [cell.points for cell in cells] == ["2dlocs", "2dlocs", "2dlocs", "clicks"]


def test_phantoms_are_sequences_of_two_types_made_once(tmp_path):
    first = {path: path.read_bytes() for path in make_phantoms(tmp_path / "out").rglob("*.png")}
    found = survey(make_phantoms(tmp_path / "out"))
    assert [(sequence.type, sequence.name) for sequence in found.sequences] == [
        ("blob", "phantom"),
        ("ring", "phantom"),
    ]
    assert first == {path: path.read_bytes() for path in (tmp_path / "out" / "phantoms").rglob("*.png")}
    assert len(make_quick(Plan(found.sequences)).all_cells(TARGETS)) <= 28


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(SettingsError, match="no method quick"):
        Plan((), ours="quick")
    with pytest.raises(SettingsError, match="no setting"):
        Plan((), changes=(("training.bach", "2"),))


def test_quick_settings_are_settings():
    assert Plan((), changes=QUICK).changes == QUICK


@pytest.mark.nightly
def test_figures_of_the_priors_show_what_follows_the_selected_epoch(dataset, plan):
    """The window of one epoch is filled in the third of six; the course goes on, and figures show both."""
    plan = replace(plan, changes=(*plan.changes, ("phases.estimation_epochs", 6)))
    result = make_again(plan, dataset, "figure-priors", "figure-stopping")
    assert result.failures == () and {path.stem for path in result.written} == {"figure-priors", "figure-stopping"}
    (cell,) = plan.cells("figure-stopping")
    with open_folder(dataset.folder / "out", reproduction.SUITE, adopt=True) as folder:
        course = read_record(folder.record(cell)).course
    warm_up = TINY.phases.warmup_epochs
    assert len(course.estimation) == 6 and course.selected == warm_up + 3
    assert np.isfinite(course.errors[course.estimation]).all()
    epochs = choose_epochs(course)
    assert course.selected in epochs and max(epochs) == warm_up + 6
    error = draw_stopping([(make_row("ssnnpu+ksptrack", 0.5), course)], threshold=1.0, minimum=2).axes[0]
    assert [list(line.get_xdata()) for line in error.lines if line.get_marker() == "x"] == [[3]]
    assert [*range(1, 7)] in [list(line.get_xdata()) for line in error.lines]


def test_epochs_shown_are_the_first_the_selected_and_the_last_of_the_estimation():
    assert choose_epochs(Course.of(make_history(), [0.1, 0.2, 0.3, 0.4])) == (2, 3)


def test_competitors_are_ranked_without_ours_and_trivial_masks():
    rows = [make_row("eel", 0.3), make_row("ksptrack", 0.6), make_row("half-disc", 0.9), make_row("fast", 0.8)]
    assert rank_competitors(rows, "fast") == ("ksptrack", "eel")


def test_the_sequence_shown_is_a_typical_one_of_ours():
    rows = [make_row("fast", f1, sequence=name) for name, f1 in (("a", 0.2), ("b", 0.65), ("c", 0.9))]
    other = make_row("eel", 0.1, sequence="b")
    assert pick_sequence([*((row.sequence, row) for row in rows), ("b by eel", other)], "fast") == {
        "fast": "b",
        "eel": "b by eel",
    }


def test_the_stopping_figure_marks_the_smallest_error_and_the_selected_epoch(tmp_path):
    course = Course.of(make_history(), [0.5, 0.3, 0.1, 0.4])
    figure = draw_stopping([(make_row("ssnnpu+ksptrack", 0.5), course)], threshold=0.007, minimum=30)
    error, variance = figure.axes[:2]
    marks = {line.get_marker(): line.get_xydata().tolist() for line in error.lines if line.get_marker() in ("o", "x")}
    assert marks == {"o": [[2.0, 0.1]], "x": [[1.0, 0.3]]}
    assert 0.007 in [line.get_ydata()[0] for line in variance.lines]
    first, second = save(figure, tmp_path / "one"), save(figure, tmp_path / "one")
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert first == second and first[1].read_bytes().startswith(b"<?xml")
