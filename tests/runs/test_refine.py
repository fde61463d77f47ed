"""A finished run put right by changed points, in a fraction of its steps."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.api.segmenting import refine
from fewpoint.core import AreaBound, EpochFinished, ImageSequence, PointSet, Result, StepsTaken, Words
from fewpoint.core.settings import override, override_from_text
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.points import hash_points
from fewpoint.io.runs import RunFolder
from fewpoint.learning.motion import Frames, Search
from fewpoint.methods.default import FAST
from fewpoint.methods.registry import PRESETS
from fewpoint.pipeline import members
from fewpoint.pipeline.calibration import CUT
from fewpoint.pipeline.masks import Surroundings
from fewpoint.pipeline.model import GroupModel
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as run_module
from fewpoint.runs.previous import load_previous
from fewpoint.runs.runner import run_and_keep, run_task
from tiny_runs import TINY, TINY_PAPER, make_task

FRAMES, SIDE = 8, 48
SMALL = override_from_text(
    FAST,
    [
        "superpixels.count=150",
        "network.kind=multires",  # a plain U-Net leaves nothing of the disc to refuse
        "network.levels=3",
        "training.max_side=48",
        "training.frames_per_epoch=12",
        "clicks.focus=0",
        "warmup.epochs=24",
        "rounds.networks=1",
        "rounds.round_epochs=16",
    ],
)


@dataclass(frozen=True, eq=False)
class Scene:
    """An object of a bright and a dim half, and a bright disc elsewhere that looks like the first of them.

    bright, dim, other: (T, H, W) bool.
    """

    sequence: ImageSequence
    bright: np.ndarray
    dim: np.ndarray
    other: np.ndarray

    @classmethod
    def make(cls) -> "Scene":
        rows, columns = np.indices((SIDE, SIDE))
        shifts = np.arange(FRAMES)[:, np.newaxis, np.newaxis] / 4
        bright = np.hypot(rows - 24, columns - 16 - shifts) <= 6
        dim = (np.hypot(rows - 24, columns - 28 - shifts) <= 6) & ~bright
        other = np.tile(np.hypot(rows - 8, columns - 36) <= 5, (FRAMES, 1, 1))
        grey = 0.3 + 0.45 * (bright | other) + 0.2 * dim
        grey = grey + 0.04 * np.random.default_rng(0).standard_normal(grey.shape)
        return cls(ImageSequence.from_array((255 * grey.clip(0, 1)).astype(np.uint8)), bright, dim, other)

    def recall(self, result: Result) -> tuple[float, float, float]:
        """The shares of the bright half, the dim half and the disc that a mask holds."""
        bright, dim, other = (float(result.masks[part].mean()) for part in (self.bright, self.dim, self.other))
        return bright, dim, other


CLICKS = [(frame, 24, 16 + frame // 4) for frame in range(FRAMES)]
ADDED = [(frame, 24, 28 + frame // 4) for frame in (1, 4, 7)]
REFUSED = [(frame, 8, 36) for frame in (1, 4, 7)]


class Counter:
    """Counts steps, and epochs by phase."""

    def __init__(self) -> None:
        self.steps, self.phases = 0, []

    def __call__(self, event: object) -> None:
        self.steps += isinstance(event, StepsTaken)
        if isinstance(event, EpochFinished):
            self.phases.append(event.record.phase)


@pytest.fixture(autouse=True)
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr(run_module, "write_report", lambda *given: None)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.make()


@pytest.fixture(scope="module")
def fresh(scene) -> Iterator[tuple[Result, PreviousRun, int]]:
    """A run with clicks on the bright half only: its result, what it keeps, and its steps."""
    counter = Counter()
    task = Task(scene.sequence, PointSet.from_rows(CLICKS), AreaBound(0.2), SMALL, device="cpu")
    result, previous = run_and_keep(task, listener=counter)
    return result, previous, counter.steps


def test_the_run_before_misses_a_half_and_leaks(scene, fresh):
    bright, dim, other = scene.recall(fresh[0])
    assert bright > 0.8
    assert dim < 0.2
    assert other > 0.2


def test_added_points_bring_a_missed_part_back(scene, fresh):
    bright, dim, _ = scene.recall(refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS + ADDED)))
    assert bright > 0.8
    assert dim > 0.6


def test_negatives_remove_a_leak_on_all_frames_and_leave_the_object(scene, fresh):
    bright, dim, other = scene.recall(refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS, negatives=REFUSED)))
    assert bright > 0.8
    assert dim < 0.2
    assert other < 0.1


def test_a_refinement_with_nothing_new_to_say_changes_nothing_and_trains_nothing(scene, fresh):
    before, counter = fresh[0], Counter()
    after = refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS), listener=counter)
    np.testing.assert_array_equal(after.masks, before.masks)
    np.testing.assert_array_equal(after.probabilities.values, before.probabilities.values)
    assert (counter.steps, counter.phases) == (0, [])


def test_after_a_click_its_pixel_is_in_and_after_a_negative_out(scene, fresh):
    before = fresh[0].masks
    missed, leaked = [(4, 24, 34)], [tuple(map(int, row)) for row in np.argwhere(before & ~scene.bright)[:1]]
    assert not before[missed[0]] and before[leaked[0]]
    masks = refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS + missed, negatives=leaked)).masks
    assert masks[missed[0]] and not masks[leaked[0]]


def test_an_outlined_frame_is_as_drawn_and_changes_the_others(scene, fresh):
    """The clicks say nothing of the dim half; one outline does, and that the disc elsewhere is not the object."""
    outline = (scene.bright | scene.dim)[3]
    refined = refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS), words=Words.of({3: outline}))
    np.testing.assert_array_equal(refined.masks[3], outline)
    np.testing.assert_array_equal(refined.probabilities.values >= CUT, refined.masks)
    others = np.arange(FRAMES) != 3
    bright, dim, other = (refined.masks[others][part[others]].mean() for part in (scene.bright, scene.dim, scene.other))
    assert bright > 0.8
    assert dim > 0.75
    assert other < 0.1


def test_sizes_settle_if_further_clicks_contradict_nothing(scene, fresh):
    result, previous, _ = fresh
    sizes, clicks = [int(result.masks.sum())], list(CLICKS)
    for frame in range(3):
        inside = np.argwhere(result.masks[frame] & scene.bright[frame])
        clicks.append((frame, *map(int, inside[len(inside) // 3])))
        task = Task(scene.sequence, PointSet.from_rows(clicks), None, SMALL, device="cpu", previous=previous)
        result, previous = run_and_keep(task)
        assert scene.recall(result)[1] < 0.1
        sizes.append(int(result.masks.sum()))
    # Refinements heed clicks that the run had learnt from and still contradicted, until none is left: sizes settle.
    growth = np.abs(np.diff(sizes))
    assert (growth < 0.1 * sizes[0]).all() and growth[2] < 0.05 * sizes[-1], sizes


def test_a_size_makes_masks_larger_without_learning_to_be_so(scene, fresh):
    points = PointSet.from_rows(CLICKS)
    larger, smaller = (refine(fresh[1], scene.sequence, points, words=Words(size=size)) for size in (1.5, 0.6))
    assert larger.masks.sum() > 1.2 * fresh[0].masks.sum()
    assert smaller.masks.sum() < 0.9 * fresh[0].masks.sum()
    assert not larger.history.records and not smaller.history.records


def test_a_frame_marked_absent_becomes_empty(scene, fresh):
    points = PointSet.from_rows([row for row in CLICKS if row[0] != 3], absent=[3])
    masks = refine(fresh[1], scene.sequence, points).masks
    assert not masks[3].any()
    assert masks[[2, 4]].any(axis=(1, 2)).all()


def test_refining_takes_at_most_a_tenth_of_the_steps(scene, fresh):
    counter = Counter()
    refine(fresh[1], scene.sequence, PointSet.from_rows(CLICKS + ADDED), listener=counter)
    assert 0 < counter.steps <= fresh[2] / 10
    assert counter.phases == ["refinement"] * SMALL.refine.epochs


@pytest.mark.parametrize("name", PRESETS)
def test_with_every_preset_refining_takes_at_most_a_tenth_of_the_epochs(name):
    plan = PRESETS[name].plan()
    last = plan.rounds.round_networks if plan.rounds.rounds else plan.rounds.networks
    assert plan.count_epochs(refining=last) <= plan.count_epochs() / 10


@pytest.mark.nightly
def test_negatives_in_the_risk_alone_make_a_network_leak_less(scene):
    settings = override_from_text(SMALL, ["rounds.rounds=0", "diffusion.enabled=false", "clicks.carry=0"])
    points = PointSet.from_rows(CLICKS, negatives=REFUSED)
    bright, _, other = scene.recall(run_task(Task(scene.sequence, points, AreaBound(0.12), settings, device="cpu")))
    assert bright > 0.6
    assert other < 0.5  # the superpixels under the negatives themselves are a thirtieth of the disc


# What follows is about how a refinement goes, not about what it finds: five small frames.
SEVERAL = override_from_text(TINY, ["rounds.round_networks=2", "refine.epochs=2", "clicks.focus=1", "clicks.carry=1"])


def run_in(path: Path, task: Task, listener=lambda event: None) -> Result:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder, listener)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A finished run's folder; its report is left out."""
    path = tmp_path_factory.mktemp("runs") / "first"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "write_report", lambda *given: None)
        run_in(path, make_task(SEVERAL))
    return path


def change(task: Task) -> PointSet:
    """The task's points, one less, one more and a negative."""
    rows = [tuple(row) for row in task.points.coordinates.tolist()]
    frame, y, x = rows[0]
    return PointSet.from_rows([*rows[:-1], (frame, y + 1, x)], negatives=[(1, 0, 0)])


def test_a_run_of_the_papers_method_is_refined_alike_from_its_folder_and_from_memory(tmp_path):
    task = make_task(override(TINY_PAPER, "refine.epochs", 2))
    run_in(tmp_path / "first", task)
    previous = load_previous(tmp_path / "first")
    assert previous.settings == task.settings
    one, other = (refine(each, task.sequence, change(task)) for each in (previous, run_and_keep(task)[1]))
    np.testing.assert_array_equal(one.masks, other.masks)
    np.testing.assert_array_equal(one.probabilities.values, other.probabilities.values)
    assert [record.phase for record in one.history.records] == ["refinement"] * 2


def test_a_folder_and_what_was_kept_in_memory_refine_alike(folder):
    task = make_task(SEVERAL)
    _, kept = run_and_keep(task)
    one, other = (refine(previous, task.sequence, change(task)) for previous in (folder, kept))
    np.testing.assert_array_equal(one.masks, other.masks)
    np.testing.assert_array_equal(one.probabilities.values, other.probabilities.values)
    phases = [record.phase for record in one.history.records]
    assert phases == ["refinement, network 1"] * 2 + ["refinement, network 2"] * 2


def with_motion(previous: PreviousRun, motion: np.ndarray | None) -> PreviousRun:
    return replace(previous, groups=tuple(replace(each, motion=motion) for each in previous.groups))


def list_searches(monkeypatch) -> list[Search]:
    """All searches for where points move to, from now on."""
    searches, find = [], Frames.find
    monkeypatch.setattr(Frames, "find", lambda frames, search: searches.append(search) or find(frames, search))
    return searches


def test_a_refinement_follows_only_points_that_are_new_to_the_same_masks(folder, monkeypatch):
    task, previous, searches = make_task(SEVERAL), load_previous(folder), list_searches(monkeypatch)
    expected = refine(with_motion(previous, None), task.sequence, change(task))
    every = set(searches)
    searches.clear()
    refined = refine(previous, task.sequence, change(task))
    np.testing.assert_array_equal(refined.masks, expected.masks)
    np.testing.assert_array_equal(refined.probabilities.values, expected.probabilities.values)
    known = {Search(*row[:5]) for row in previous.groups[0].motion.tolist()}
    assert set(searches) == every - known and every & known
    searches.clear()
    refine(previous, task.sequence, task.points, words=Words(size=1.5))
    assert searches == []


def test_motion_in_another_focus_is_not_taken_for_that_in_this_one(folder, monkeypatch):
    task, previous, searches = make_task(SEVERAL), load_previous(folder), list_searches(monkeypatch)
    top, _, left, _ = previous.groups[0].box
    assert (top, left) != (0, 0)
    points = PointSet.from_rows([*map(tuple, task.points.coordinates.tolist()), (0, 0, 0)])
    expected, every = refine(with_motion(previous, None), task.sequence, points), searches.copy()
    lost = np.array([(*search, -1, -1) for search in every], np.int32)
    refined = refine(with_motion(previous, lost), task.sequence, points)
    np.testing.assert_array_equal(refined.probabilities.values, expected.probabilities.values)
    assert searches == every * 2


def test_a_refinement_asks_the_networks_before_once_and_prepares_the_flow_of_values_once(folder, monkeypatch):
    asked, made = [], []
    ask, make = members.recall_logits, Surroundings.make_last_flow
    monkeypatch.setattr(members, "recall_logits", lambda *given: asked.append(1) or ask(*given))
    monkeypatch.setattr(Surroundings, "make_last_flow", lambda near: made.append(1) or make(near))
    task = make_task(SEVERAL)
    refine(folder, task.sequence, change(task))
    assert (len(asked), len(made)) == (1, 1)


def test_a_refined_run_says_what_it_was_refined_from_and_can_be_refined_again(folder, tmp_path):
    task = make_task(SEVERAL)
    refine(folder, task.sequence, change(task), out=tmp_path / "second")
    refine(tmp_path / "second", task.sequence, task.points, out=tmp_path / "third")
    manifests = [read_json(path / "manifest.json") for path in (folder, tmp_path / "second", tmp_path / "third")]
    assert [manifest["refined_from"] for manifest in manifests] == [None, str(folder), str(tmp_path / "second")]
    digests = [load_previous(path).model.digest for path in (folder, tmp_path / "second")]
    expected = ["random weights", *(f"refined from {digest[:16]}" for digest in digests)]
    assert [manifest["identity"]["start"] for manifest in manifests] == expected
    assert digests[0] != digests[1]
    labels = [np.load(path / "stages" / "superpixels.npz")["labels"] for path in (folder, tmp_path / "third")]
    np.testing.assert_array_equal(*labels)


def test_every_refinement_knows_the_points_that_networks_learnt_from_scratch(folder, tmp_path):
    task = make_task(SEVERAL)
    assert hash_points(load_previous(folder).started) == hash_points(task.points)
    refine(folder, task.sequence, change(task), out=tmp_path / "second")
    refine(tmp_path / "second", task.sequence, task.points, out=tmp_path / "third")
    for name in ("second", "third"):
        assert hash_points(load_previous(tmp_path / name).started) == hash_points(task.points)
    manifest = read_json(tmp_path / "second" / "manifest.json")
    write_json(tmp_path / "second" / "manifest.json", {**manifest, "started": None})  # as of a version before
    assert load_previous(tmp_path / "second").started is None


def test_what_networks_said_before_any_word_keeps_its_share_in_every_refinement(folder, tmp_path):
    task = make_task(SEVERAL)
    start = load_previous(folder).groups[0]
    level = start.cuts[0].level
    refine(folder, task.sequence, change(task), out=tmp_path / "second")
    refine(tmp_path / "second", task.sequence, task.points, out=tmp_path / "third")
    second, third = (load_previous(tmp_path / name).groups[0] for name in ("second", "third"))
    assert start.first == ()
    for number, said in enumerate(start.logits):
        np.testing.assert_allclose(second.first[number], said - np.float16(level), atol=0.01)
        np.testing.assert_array_equal(third.first[number], second.first[number])
        assert (second.logits[number] != second.first[number]).any()


def test_with_all_of_the_share_but_a_trace_a_refinement_learns_hardly_anything(folder):
    task = make_task(SEVERAL)
    nearly, none = (
        run_and_keep(
            Task(
                task.sequence,
                change(task),
                None,
                override(SEVERAL, "refine.first", share),
                device="cpu",
                previous=load_previous(folder),
            )
        )[1].groups[0]
        for share in (0.999, 0.0)
    )
    moved = [np.abs(np.float32(each.logits[0]) - each.first[0]).mean() for each in (nearly, none)]
    assert moved[0] < 0.05 * moved[1], moved


def test_a_run_keeps_what_it_was_told_and_a_refinement_is_told_the_same_unless_words_are_given(tmp_path):
    task = replace(make_task(SEVERAL), words=(("", Words(size=1.5)),))
    with RunFolder.open(tmp_path / "first", task.identity()) as run:
        _, kept = run_and_keep(task, run)
    for previous in (kept, load_previous(tmp_path / "first")):
        assert hash_points(previous.points) == hash_points(task.points)
        assert previous.words == task.words
    refine(tmp_path / "first", task.sequence, task.points, out=tmp_path / "second")
    refine(tmp_path / "first", task.sequence, task.points, out=tmp_path / "third", words=Words(size=0.8))
    refine(tmp_path / "first", task.sequence, task.points, out=tmp_path / "fourth", words=Words())
    told = [load_previous(tmp_path / name).words for name in ("second", "third", "fourth")]
    assert told == [task.words, (("", Words(size=0.8)),), ()]


@pytest.mark.nightly
def test_a_refinement_that_was_stopped_goes_on_to_the_same_masks(folder, tmp_path):
    task = make_task(SEVERAL)
    whole = refine(folder, task.sequence, change(task), out=tmp_path / "whole")

    def stop(event: object) -> None:
        if isinstance(event, EpochFinished) and event.record.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refine(folder, task.sequence, change(task), out=tmp_path / "stopped", listener=stop)
    counter = Counter()
    again = refine(folder, task.sequence, change(task), out=tmp_path / "stopped", listener=counter)
    assert counter.phases == ["refinement, network 2"] * 2
    np.testing.assert_array_equal(again.probabilities.values, whole.probabilities.values)
    np.testing.assert_array_equal(again.masks, whole.masks)


def test_a_folder_of_another_start_is_refused(folder, tmp_path):
    task = make_task(SEVERAL)
    with pytest.raises(RunConflictError, match=r"different .*start \(random weights, now refined from"):
        refine(folder, task.sequence, task.points, out=folder)


def test_what_was_deleted_from_a_finished_run_is_made_again(folder, tmp_path):
    task = make_task(SEVERAL)
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare)
    shutil.rmtree(bare / "stages")
    assert load_previous(bare).groups[0].superpixels is None
    one, other = (refine(path, task.sequence, change(task)) for path in (folder, bare))
    # Networks predict the same again; only the sizes of the masks in their targets are lost, so borders may move.
    overlap = 2 * (one.masks & other.masks).sum() / (one.masks.sum() + other.masks.sum())
    assert overlap > 0.8


def test_points_outside_the_part_worked_on_widen_it(folder):
    task = make_task(SEVERAL)
    assert min(load_previous(folder).groups[0].box[::2]) > 0
    points = PointSet.from_rows([*map(tuple, task.points.coordinates.tolist()), (2, 0, 0)])
    result = refine(folder, task.sequence, points)
    assert result.masks[2, 0, 0]


def test_the_bound_is_that_of_the_run_before_unless_one_is_given(folder):
    task = make_task(SEVERAL)
    assert refine(folder, task.sequence, task.points).bound.fraction == task.bound.fraction
    given = replace(task, previous=load_previous(folder), bound=AreaBound(0.3))
    assert run_task(given).bound.fraction == 0.3


def test_another_sequence_is_refused_in_one_line(folder):
    task = make_task(SEVERAL)
    other = ImageSequence.from_array(task.sequence.frames + np.uint8(1))
    with pytest.raises(InputError, match="can only be refined on its own frames"):
        refine(folder, other, task.points)


def test_settings_of_another_network_are_refused_and_others_are_free(folder):
    task, previous = make_task(SEVERAL), load_previous(folder)
    with pytest.raises(InputError, match=r"differ in network.base_width \(3, here 4\)"):
        replace(task, previous=previous, settings=override(SEVERAL, "network.base_width", 4))
    finer = override_from_text(SEVERAL, ["superpixels.count=60", "training.max_side=24", "refine.epochs=1"])
    assert len(run_task(replace(task, previous=previous, settings=finer)).history) == 2


def test_a_refinement_has_no_other_start(folder):
    previous = load_previous(folder)
    with pytest.raises(InputError, match="starts from its networks"):
        replace(make_task(SEVERAL), previous=previous, warm_start=previous.model)


def test_an_unfinished_run_cannot_be_refined(folder, tmp_path):
    started = tmp_path / "started"
    RunFolder.open(started, make_task(SEVERAL).identity()).close()
    for path in (started, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="must be the folder of a finished run"):
            load_previous(path)


@pytest.mark.parametrize("name", ["head.bias", "last weights of the body"])
def test_weights_of_another_shape_are_refused(folder, name):
    previous = load_previous(folder)
    (group,) = previous.groups
    if not name.startswith("head"):
        *_, name = (each for each in group.model.weights[0] if not each.startswith("head"))
    weights = tuple({**each, name: np.zeros(2, np.float32)} for each in group.model.weights)
    task = make_task(SEVERAL)
    damaged = replace(previous, groups=(replace(group, model=GroupModel(("",), weights)),))
    with pytest.raises(InputError, match="must be of the network's shape"):
        refine(damaged, task.sequence, change(task))
