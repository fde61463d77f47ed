"""A person is played who corrects masks, on small phantoms with small settings."""

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.datasets import Dataset, make_sequence
from bench.test_run import write_variants
from fewpoint.bench import effort as effort_module
from fewpoint.bench.cells import plan_cells
from fewpoint.bench.effort import EffortOrder, Stopwatch, add_places, find_corrected, run_efforts
from fewpoint.bench.person import Effort, Said
from fewpoint.bench.rounds import Round
from fewpoint.bench.run import BenchResult, run_suite
from fewpoint.bench.suite import read_suite
from fewpoint.bench.worker import perform, write_order
from fewpoint.core import EpochFinished, PointSet
from fewpoint.core.job import Changes, Job
from fewpoint.core.settings import as_table
from fewpoint.engines.processes import LocalEngine
from fewpoint.errors import SettingsError
from fewpoint.evaluation import score_masks
from fewpoint.evaluation.thresholds import score_cuts
from fewpoint.io.atomic import read_json
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_and_keep, run_task
from tiny_runs import TINY, StoppedError

TRUTH = make_sequence(0).truth


def list_changes() -> Changes:
    table = as_table(TINY)
    return tuple((f"{section}.{key}", value) for section, values in table.items() for key, value in values.items())


def give_order(dataset: Dataset, out: Path, *efforts: Effort) -> EffortOrder:
    folder = dataset.root / "ball/first"
    job = Job(
        str(folder), str(folder / f"{efforts[0].points}.csv"), method="fast", changes=list_changes(), device="cpu"
    )
    places = tuple((effort, str(out / f"{effort.words}-{effort.look}")) for effort in efforts)
    return EffortOrder(job, str(folder / "ground_truth-frames"), "none", str(out / "start"), places)


def read_rounds(order: EffortOrder, place: int = 0) -> list[Round]:
    return [Round.from_table(table) for table in read_json(Path(order.efforts[place][1]) / "result.json")["rounds"]]


def without_times(rounds: list[Round]) -> list[Round]:
    return [replace(each, seconds=None) for each in rounds]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Dataset:
    return Dataset.make(tmp_path_factory.mktemp("efforts"))


BOTH = Effort("2dlocs", "clicks+negatives", "anywhere", 3)


@pytest.fixture(scope="module")
def made(dataset) -> list[Round]:
    order = give_order(dataset, dataset.folder / "made", BOTH)
    run_efforts(order)
    return read_rounds(order)


@pytest.fixture
def tasks(monkeypatch) -> list[Task]:
    """Every task that is run, in order."""
    run, seen = effort_module.run_timed, []

    def run_seen(task: Task, path: Path) -> float:
        seen.append(task)
        return run(task, path)

    monkeypatch.setattr(effort_module, "run_timed", run_seen)
    return seen


def test_round_0_is_the_run_itself_and_the_next_its_refinement(dataset, made):
    """Both made again by hand."""
    sequence = read_sequence(dataset.root / "ball/first")
    points = read_points(dataset.root / "ball/first/2dlocs.csv", sequence)
    first, previous = run_and_keep(Task(sequence, points, None, TINY, device="cpu"))
    score = score_masks(first.masks, TRUTH).pooled
    assert (made[0].scores.f1, made[0].scores.precision) == (score.f1, score.precision)
    assert made[0].scores.area == first.masks.sum() / TRUTH.sum()
    corrected = add_places(points, made[1].said)
    second = run_task(Task(sequence, corrected, None, TINY, device="cpu", previous=previous))
    assert made[1].scores.f1 == score_masks(second.masks, TRUTH).pooled.f1
    cuts = score_cuts(second.probabilities.values, TRUTH)
    assert (made[1].scores.best_threshold_f1, made[1].scores.true_sizes_f1) == (cuts.one_threshold, cuts.true_sizes)
    ((frame, y, x),) = made[1].said.clicks
    assert TRUTH[frame, y, x] and not first.masks[frame, y, x]
    for frame, y, x in made[1].said.negatives:
        assert first.masks[frame, y, x] and not TRUTH[frame, y, x]


def test_what_is_kept_of_each_round(made):
    assert [each.number for each in made] == [each.run for each in made] == [0, 1, 2, 3]
    assert [each.words for each in made] == np.cumsum([each.said.count for each in made]).tolist()
    assert all(each.said.count for each in made[1:])
    assert made[0].said == Said() and made[0].suggested is None
    assert all(each.seconds > 0 for each in made)
    suggested = [each.suggested for each in made[1:]]
    assert None not in suggested and {each.suggested_worst for each in made[1:]} <= {True, False}
    for before, after in pairwise(made):
        assert after.suggested not in before.said.frames


@pytest.mark.nightly
@pytest.mark.parametrize("epochs", [3, 12, 15])
def test_an_effort_that_was_stopped_goes_on_to_the_same_result(dataset, made, tmp_path, monkeypatch, epochs):
    """In the first run, and in two of the refinements that follow its eleven epochs."""
    told = []

    class Stopping(Stopwatch):
        def __call__(self, event) -> None:
            told.append(isinstance(event, EpochFinished))
            if sum(told) == epochs:
                raise StoppedError
            super().__call__(event)

    order = give_order(dataset, tmp_path, BOTH)
    with monkeypatch.context() as patch, pytest.raises(StoppedError):
        patch.setattr(effort_module, "Stopwatch", Stopping)
        run_efforts(order)
    finished = {path.name for path in tmp_path.rglob("*.json") if path.parent.name in ("rounds", "start")}
    run_efforts(EffortOrder.from_table(order.as_table()))
    assert finished < {"round.json", "1.json", "2.json", "3.json"}
    assert without_times(read_rounds(order)) == without_times(made)


@pytest.mark.nightly
def test_a_round_that_is_finished_is_not_made_again(dataset, made, tmp_path, tasks, monkeypatch):
    order = give_order(dataset, tmp_path, BOTH)
    write = effort_module.write_json

    def stop(path: Path, values) -> None:
        write(path, values)
        if path.name == "2.json":
            raise StoppedError

    with monkeypatch.context() as patch, pytest.raises(StoppedError):
        patch.setattr(effort_module, "write_json", stop)
        run_efforts(order)
    assert len(tasks) == 3
    run_efforts(order)
    assert len(tasks) == 4
    assert without_times(read_rounds(order)) == without_times(made)


def test_nothing_is_left_of_the_runs(dataset, made):
    folder = dataset.folder / "made"
    assert {path.name for path in folder.iterdir()} == {"clicks+negatives-anywhere"}
    (cell,) = folder.iterdir()
    assert {path.name for path in cell.iterdir()} == {"result.json", "montage.png", "montage-0.png"}


@pytest.mark.nightly
def test_efforts_share_the_run_they_start_with_and_the_words_of_each_reach_it(dataset, tmp_path, tasks, monkeypatch):
    seen = []
    monkeypatch.setattr(effort_module, "turn_dial", lambda look, truth, size: seen.append(look(4.0)) or 4.0)
    efforts = [Effort("points_every5", words, rounds=1) for words in ("none", "outline", "dial")]
    order = give_order(dataset, tmp_path, *efforts)
    perform(write_order(order))
    first, nothing, outline, dial = tasks
    assert first.previous is None and first.words == ()
    assert nothing.words == () and (nothing.points.coordinates == first.points.coordinates).all()
    ((name, words),) = outline.words
    (frame,) = words.outlined
    assert (name, words.size) == ("", 1.0) and (words.mask(frame, (40, 48)) == TRUTH[frame]).all()
    (each,) = read_rounds(order, 1)[1:]
    assert each.said == Said(outlined=(frame,)) and each.words == 1
    start = read_rounds(order, 0)[0]
    ((_, words),) = dial.words
    assert start.scores.area < 0.1 and words.size == 4.0 and not words.outlined
    assert seen[0].sum() >= round(start.scores.area * TRUTH.sum())  # what is seen while it is dragged
    assert [read_rounds(order, place)[0] for place in (1, 2)] == [start] * 2


def test_without_a_word_masks_stay_as_they_are(dataset, made, tmp_path, tasks, monkeypatch):
    monkeypatch.setattr(effort_module, "speak", lambda *given: Said())
    order = give_order(dataset, tmp_path, replace(BOTH, rounds=2))
    run_efforts(order)
    rounds = read_rounds(order)
    assert len(tasks) == 1
    assert [(each.run, each.words, each.scores) for each in rounds[1:]] == [(0, 0, made[0].scores)] * 2
    assert rounds[1].seconds is rounds[2].seconds is None


@pytest.mark.nightly
def test_one_who_follows_suggestions_corrects_each_frame_once(dataset, tmp_path):
    order = give_order(dataset, tmp_path, Effort("2dlocs", "clicks+negatives", "suggested", 4))
    run_efforts(order)
    rounds = read_rounds(order)[1:]
    assert len({each.suggested for each in rounds}) == 4
    assert all(each.said.frames <= {each.suggested} for each in rounds)


def test_a_frame_that_was_found_right_is_not_suggested_again_to_one_who_follows(made):
    looked = replace(made[1], said=Said(), suggested=4)
    assert find_corrected([looked], Effort("centre", "clicks", "suggested", 1)) == {4}
    assert find_corrected([looked], Effort("centre", "clicks", "anywhere", 1)) == set()


@pytest.mark.nightly
def test_an_effort_that_fails_leaves_the_others_alone_and_its_error_is_raised(dataset, tmp_path, monkeypatch):
    order = give_order(dataset, tmp_path, *(Effort("2dlocs", words, rounds=1) for words in ("clicks", "none")))
    monkeypatch.setattr(effort_module, "is_among_worst", fail_once())
    with pytest.raises(StoppedError):
        run_efforts(order)
    assert not (Path(order.efforts[0][1]) / "result.json").exists()
    assert len(read_rounds(order, 1)) == 2
    run_efforts(order)
    assert len(read_rounds(order, 0)) == 2 and not Path(order.start).exists()


def fail_once():
    real, calls = effort_module.is_among_worst, []

    def judge(*given) -> bool:
        calls.append(given)
        if len(calls) == 1:
            raise StoppedError
        return real(*given)

    return judge


def test_points_that_name_their_object_get_further_ones_of_its_name():
    points = PointSet.from_rows([(0, 1, 1)], [3], ["cyst"], [(0, 9, 9)], ["cyst"])
    more = add_places(points, Said(clicks=((1, 2, 2),), negatives=((2, 5, 5),)))
    assert more.objects == ("cyst", "cyst") and more.absent == (3,)
    assert more.negatives.tolist() == [[0, 9, 9], [2, 5, 5]] and more.negative_objects == ("cyst", "")
    plain = add_places(PointSet.from_rows([(0, 1, 1)]), Said(clicks=((1, 2, 2),), negatives=((2, 5, 5),)))
    assert plain.objects == plain.negative_objects == ()


SUITE = """
bounds = ["none"]
sequences = ["ball/first", "blob/third"]
[[effort]]
points = "points_every5"
words = ["clicks", "outline"]
rounds = 2
[[effort]]
points = "spread-2"
"""


def run(dataset: Dataset, text: str = SUITE, **options) -> BenchResult:
    suite = read_suite(dataset.write_suite(write_variants(text, tiny=TINY), ("fast",)))
    engine = LocalEngine(2)
    return run_suite(suite, dataset.folder / "out", lambda standing: None, engine=engine, device="cpu", **options)


@pytest.mark.nightly
def test_a_suite_of_efforts_from_its_file_to_its_tables(dataset):
    some = run(dataset, only=("third",))
    assert [(row.sequence, len(row.rounds)) for row in some.efforts] == [("third", 3), ("third", 3), ("third", 1)]
    out = dataset.folder / "out"
    before = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/result.json")}
    result = run(dataset)
    assert result.failures == () and result.rows == ()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert {entry.name for entry in out.iterdir() if entry.name != ".lock"} == {
        *("suite.json", "cells", "starts", "results.csv", "tables.md", "effort.png", "report.html"),
    }
    assert list((out / "starts").iterdir()) == []
    with open(out / "results.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * (3 + 3 + 1)
    (first,) = [row for row in result.efforts if (row.sequence, row.words) == ("first", "outline")]
    assert [float(row["f1"]) for row in rows if row["key"] == first.key] == [each.scores.f1 for each in first.rounds]
    tables = (out / "tables.md").read_text(encoding="utf-8")
    assert tables.startswith("### F1 after each round, mean over types")
    assert "| fast | tiny | none | spread-2 | none | anywhere |" in tables
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<figcaption>") == 5 and "F1 against words" in page


def test_a_cell_is_known_by_start_words_look_and_rounds(dataset):
    lists = 'words = ["clicks", "dial"]\nlook = ["anywhere", "suggested"]'
    text = f'sequences = ["ball/first"]\n[[effort]]\n{lists}\nrounds = '
    keys = []
    for rounds in (1, 2):
        suite = read_suite(dataset.write_suite(text + str(rounds), ("fast",)))
        keys += [cell.key for cell in plan_cells(suite, suite.methods)]
    assert len(set(keys)) == 8
    assert keys[0].startswith("fast_ball_first_plain_seed0_2dlocs_eta_clicks_anywhere_rounds1-")
    plain = read_suite(dataset.write_suite('sequences = ["ball/first"]', ("fast",)))
    (cell,) = plan_cells(plain, plain.methods)
    effort = read_suite(dataset.write_suite(text + "1", ("fast",)))
    assert plan_cells(effort, effort.methods)[0].start.key == cell.key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[effort]]\nwords = 'shouts'\nrounds = 1", "got shouts"),
        ("[[effort]]\nwords = 'clicks'", "needs 1 or more rounds, got 0"),
        ("[[effort]]\nwords = 'clicks'\nrounds = true", "rounds of an effort must be a whole number, got True"),
        ("[[effort]]\nwords = []", "words must be a list of text"),
        ("[[effort]]\nround = 3", "must hold only points, words, look, rounds, got round"),
        ("[[effort]]\n[[effort]]", "each effort must be there once, one of points 2dlocs, words none, look anywhere"),
        ("effort = 'clicks'", r"efforts must be tables \[\[effort\]\]"),
        ("[[effort]]\npoints = 'spread-0'", "spread-COUNT such as spread-3, got spread-0"),
        ("points = 'spread-x'", "spread-COUNT such as spread-3, got spread-x"),
        ("words = 'clicks'", "got words"),
    ],
)
def test_efforts_without_meaning_are_refused_in_one_line(dataset, text, message):
    with pytest.raises(SettingsError, match=message) as caught:
        read_suite(dataset.write_suite(text, ("fast",)))
    assert "\n" not in str(caught.value)


def test_masks_of_methods_that_cannot_be_refined_cannot_be_corrected(dataset):
    with pytest.raises(SettingsError, match="accurate, fast, paper; those of half-disc cannot"):
        read_suite(dataset.write_suite("[[effort]]", ("half-disc",)))
    suite = read_suite(dataset.write_suite("[[effort]]", ("fast",)))
    with pytest.raises(SettingsError, match="those of max-sp cannot"):
        run_suite(suite, dataset.folder / "never", lambda standing: None, methods=("max-sp",))


def test_a_sequence_that_the_suite_does_not_have_is_refused(dataset):
    suite = read_suite(dataset.write_suite("", ("fast",)))
    assert [each.name for each in suite.choose(("blob/third", "first")).sequences] == ["first", "third"]
    with pytest.raises(SettingsError, match="no sequence fourth, there are ball/first, ball/second, blob/third"):
        suite.choose(("first", "fourth"))


def test_spread_clicks_lie_in_the_object_and_are_the_same_for_one_seed(dataset):
    from fewpoint.evaluation.truth import click_spread

    places = click_spread(TRUTH, 3).coordinates
    assert places[:, 0].tolist() == [1, 3, 5] and TRUTH[tuple(places.T)].all()
    assert (places == click_spread(TRUTH, 3).coordinates).all()
    others = [click_spread(TRUTH, 3, seed).coordinates for seed in range(1, 6)]
    assert any((places != each).any() for each in others) and all(TRUTH[tuple(each.T)].all() for each in others)
    assert len(click_spread(TRUTH, 100)) == len(TRUTH)
    assert np.array_equal(click_spread(TRUTH[:, ::-1], 1).frames, [3])
