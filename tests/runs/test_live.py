"""Masks at once: rough ones before anything is learnt, then those of a run and what has been said since."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.api.segmenting import refine
from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Result, Words
from fewpoint.core.settings import override_from_text
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import ObjectsPhantom, Phantom, make_objects, make_phantom
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.task import Task
from fewpoint.runs.live import Live
from fewpoint.runs.runner import run_task
from pipeline.test_groups import make_far_task
from tiny_runs import TINY

SETTINGS = override_from_text(
    TINY, ["clicks.carry=1", "clicks.focus=1.5", "diffusion.enabled=true", "training.max_side=48", "refine.epochs=1"]
)
ONE, TWO = "object 1", "object 2"


def f1(masks: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * (masks & truth).sum() / (masks.sum() + truth.sum()))


def make_slow(seed: int = 0) -> Phantom:
    """The first six frames of a longer phantom, on which the object hardly moves."""
    whole = make_phantom(n_frames=24, size=(64, 64), seed=seed)
    points = PointSet.from_rows([tuple(row) for row in whole.points.coordinates[:6].tolist()])
    return Phantom(ImageSequence.from_array(whole.sequence.frames[:6]), points, whole.truth[:6])


@pytest.fixture(scope="module")
def phantom() -> Phantom:
    return make_slow()


@pytest.fixture(scope="module")
def rough(phantom) -> Live:
    return Live(phantom.sequence)


@pytest.mark.parametrize("seed", range(4))
def test_a_rough_mask_is_better_than_a_disc_of_its_area_round_the_clicks(seed):
    phantom = make_slow(seed)
    live, points = Live(phantom.sequence), phantom.points
    assert live.rough
    masks = live.answer(points, {})[""]
    assert (masks.shape, masks.dtype) == (phantom.truth.shape, bool)
    rows, columns = np.indices((64, 64))
    radius = np.sqrt(masks.sum() / len(masks) / np.pi)
    discs = np.stack([np.hypot(rows - y, columns - x) <= radius for _, y, x in points.coordinates])
    assert f1(masks, phantom.truth) > f1(discs, phantom.truth) + 0.05


def test_rough_masks_obey_clicks_negatives_absent_frames_and_boxes(phantom, rough):
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] != 4]
    points = PointSet.from_rows([*rows, (1, 60, 60)], [4], negatives=[(0, 2, 2), (2, 32, 32)])
    box = Box(5, 20, 20, 45, 45)
    masks = rough.answer(points, {"": Words(boxes=(box,))})[""]
    assert masks[tuple(points.coordinates.T)].all()
    assert not masks[tuple(points.negatives.T)].any()
    assert not masks[4].any()
    allowed = np.zeros((64, 64), bool)
    allowed[20:45, 20:45] = True
    assert not masks[5][~allowed].any()


def test_a_negative_removes_its_superpixel_and_what_is_like_it(phantom, rough):
    before = rough.answer(phantom.points, {})[""]
    leak = before & ~phantom.truth
    frame = int(leak.sum(axis=(1, 2)).argmax())
    y, x = map(int, np.argwhere(leak[frame])[0])
    after = rough.answer(replace(phantom.points, negatives=np.array([[frame, y, x]])), {})[""]
    superpixel = rough._rough.looks.superpixels.labels[frame]
    own = superpixel == superpixel[y, x]
    assert not after[frame][own].any()
    assert (before & ~after).sum() > (before[frame] & own).sum()
    assert f1(after, phantom.truth) > f1(before, phantom.truth) - 0.02


def test_an_outlined_frame_is_exactly_as_drawn_and_makes_others_better_on_average():
    gains = []
    for seed in range(5):
        phantom = make_slow(seed)
        live, truth, others = Live(phantom.sequence), phantom.truth, np.arange(6) != 2
        before, after = (live.answer(phantom.points, words)[""] for words in ({}, {"": Words.of({2: truth[2]})}))
        np.testing.assert_array_equal(after[2], truth[2])
        gains.append(f1(after[others], truth[others]) - f1(before[others], truth[others]))
    assert np.mean(gains) > 0.02


def test_the_dial_makes_rough_masks_larger(phantom, rough):
    sizes = [rough.answer(phantom.points, {"": Words(size=size)})[""].sum() for size in (0.6, 1.0, 1.6)]
    assert sizes[0] < 0.8 * sizes[1] and sizes[2] > 1.3 * sizes[1]


def test_the_same_words_give_the_same_rough_masks_whatever_was_said_between(phantom, rough):
    first = rough.answer(phantom.points, {})[""]
    rough.answer(PointSet.from_rows([(3, 5, 5)]), {"": Words(size=2.0)})
    np.testing.assert_array_equal(rough.answer(phantom.points, {})[""], first)


def test_rough_masks_of_two_objects_share_no_pixel_and_hold_their_own_clicks():
    phantom = make_objects(5, (64, 64))
    rows = [*map(tuple, phantom.points.coordinates.tolist()), (0, 30, 30), (0, 30, 31)]
    points = PointSet.from_rows(rows, [], [*phantom.points.objects, ONE, TWO])  # two in one superpixel
    found = Live(phantom.sequence).answer(points, {})
    assert list(found) == [ONE, TWO]
    assert not (found[ONE] & found[TWO]).any()
    for number, name in enumerate((ONE, TWO), start=1):
        assert found[name][tuple(points.of_object(name).coordinates.T)].all()
        assert f1(found[name], phantom.labels == number) > 0.5


def test_neither_object_enters_what_was_outlined_of_the_other():
    phantom = make_objects(5, (64, 64))
    outlines = {name: (phantom.labels[1] == number) for number, name in enumerate((ONE, TWO), start=1)}
    outlines[ONE] = np.roll(outlines[TWO], -6, axis=1) & ~outlines[TWO]
    words = {name: Words.of({1: mask}) for name, mask in outlines.items()}
    points = PointSet.from_rows(
        [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] != 1],
        objects=[name for name, frame in zip(phantom.points.objects, phantom.points.frames, strict=True) if frame != 1],
    )
    found = Live(phantom.sequence).answer(points, words)
    for name, mask in outlines.items():
        np.testing.assert_array_equal(found[name][1], mask)


def test_what_a_stopped_run_had_found_stays_but_for_what_is_said_against_it(phantom, rough):
    found = np.where(phantom.truth, 220, 20).astype(np.uint8)
    before = rough.answer(phantom.points, {}, {"": found})[""]
    assert f1(before, phantom.truth) > 0.95 > f1(rough.answer(phantom.points, {})[""], phantom.truth)
    frame, y, x = map(int, np.argwhere(phantom.truth)[0])  # its upper edge
    after = rough.answer(replace(phantom.points, negatives=np.array([[frame, y, x]])), {}, {"": found})[""]
    assert not after[frame, y, x] and after.sum() < before.sum()
    assert f1(after, phantom.truth) > 0.85


# The frame in view.


def check_every_frame(live: Live, points: PointSet, words: dict[str, Words], known=None) -> None:
    """Each frame, asked for alone, has the masks that it has among all."""
    given = (points, words, known or {})
    whole = live.answer(*given)
    for frame in range(len(live.sequence)):
        own = live.settle(*given).on_frame(frame)
        assert list(own) == list(whole)
        for name, masks in whole.items():
            np.testing.assert_array_equal(own[name], masks[frame])


def say_much(phantom: ObjectsPhantom | Phantom, name: str, number: int = 1) -> tuple[PointSet, dict[str, Words]]:
    """Clicks with a negative near them, an outlined frame, sizes of the sequence and of a frame, and a box."""
    truth = phantom.truth if isinstance(phantom, Phantom) else phantom.labels == number
    points = phantom.points
    kept = points.frames != 1
    negative = np.argwhere(truth[2])[0].tolist()
    names = [each for each, stays in zip(points.objects, kept, strict=False) if stays]
    said = PointSet.from_rows(
        [tuple(row) for row in points.coordinates[kept].tolist()],
        objects=names,
        negatives=[(2, *negative), (4, 3, 3)],
        negative_objects=[name, name] if names else (),
    )
    outline = np.roll(truth[1], 1, axis=0)
    box = Box(3, 2, 2, 60, 60)
    return said, {name: Words.of({1: outline}, (box,), 1.3, {0: 0.8})}


def test_rough_masks_of_a_frame_alone_are_those_among_all(phantom, rough):
    check_every_frame(rough, phantom.points, {})
    check_every_frame(rough, *say_much(phantom, ""))
    found = np.where(phantom.truth, 220, 20).astype(np.uint8)
    check_every_frame(rough, *say_much(phantom, ""), {"": found})


def test_rough_masks_of_several_objects_on_a_frame_alone_are_those_among_all(pair):
    live = Live(pair.sequence)
    check_every_frame(live, pair.points, {})
    check_every_frame(live, *say_much(pair, TWO, 2))


def test_learnt_masks_of_a_frame_alone_are_those_among_all(phantom, one):
    _, _, live = one
    check_every_frame(live, phantom.points, {})
    check_every_frame(live, *say_much(phantom, ""))
    y, x = np.argwhere(phantom.truth[0])[0].tolist()
    check_every_frame(live, replace(phantom.points, negatives=np.array([[0, y, x]])), {})


def test_learnt_masks_of_several_objects_on_a_frame_alone_are_those_among_all(pair, two):
    """One of them touched and the other not, beside one that the run does not know."""
    _, live = two
    points = points_on(pair, ONE, TWO)
    check_every_frame(live, replace(points, negatives=np.array([[0, 30, 30]]), negative_objects=(ONE,)), {})
    check_every_frame(live, *say_much(pair, ONE))


# Of finished runs.


def run_in(path: Path, task: Task) -> Result:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder)


@pytest.fixture(scope="module")
def one(phantom, tmp_path_factory) -> tuple[Path, Result, Live]:
    """A run on one object, its result, and what answers by it."""
    path = tmp_path_factory.mktemp("live") / "one"
    task = Task(phantom.sequence, phantom.points, AreaBound(0.2), SETTINGS, device="cpu", outputs=Outputs(report=False))
    result, live = run_in(path, task), Live(phantom.sequence)
    live.take(path)
    return path, result, live


@pytest.fixture(scope="module")
def pair() -> ObjectsPhantom:
    return make_objects(5, (64, 64), objects=3)


def points_on(phantom: ObjectsPhantom, *names: str) -> PointSet:
    placed = zip(map(tuple, phantom.points.coordinates.tolist()), phantom.points.objects, strict=True)
    rows, objects = zip(*((row, name) for row, name in placed if name in names), strict=True)
    return PointSet.from_rows(list(rows), [], objects)


@pytest.fixture(scope="module")
def two(pair, tmp_path_factory) -> tuple[Result, Live]:
    """A run on the first two of three objects, and what answers by it."""
    path = tmp_path_factory.mktemp("live") / "two"
    points, outputs = points_on(pair, ONE, TWO), Outputs(report=False)
    result = run_in(path, Task(pair.sequence, points, AreaBound(0.1), SETTINGS, device="cpu", outputs=outputs))
    live = Live(pair.sequence)
    live.take(path)
    return result, live


def test_with_the_points_of_the_run_its_own_masks_come_back(phantom, one, pair, two):
    _, result, live = one
    assert not live.rough
    np.testing.assert_array_equal(live.answer(phantom.points, {})[""], result.masks)
    named = replace(phantom.points, objects=("liver",) * len(phantom.points))
    np.testing.assert_array_equal(live.answer(named, {})["liver"], result.masks)
    result, live = two
    found = live.answer(points_on(pair, ONE, TWO), {})
    for name in (ONE, TWO):
        np.testing.assert_array_equal(found[name], result[name].masks)


def test_the_masks_of_groups_far_apart_come_back(tmp_path):
    task = make_far_task(override_from_text(SETTINGS, ["training.max_side=32", "clicks.focus=2"]))
    result, live = run_in(tmp_path / "run", task), Live(task.sequence)
    live.take(tmp_path / "run")
    for name, masks in live.answer(task.points, {}).items():
        np.testing.assert_array_equal(masks, result[name].masks)


def test_every_word_changes_the_masks_of_a_run_at_once(phantom, one):
    _, result, live = one
    before, points = result.masks, phantom.points
    missed = tuple(map(int, np.argwhere(~before & phantom.truth)[0]))
    held = [tuple(row) for row in points.coordinates.tolist()]
    added = live.answer(PointSet.from_rows([*held, missed]), {})[""]
    assert added[missed] and added.sum() > before.sum()
    leak = tuple(map(int, np.argwhere(before & ~phantom.truth)[0]))
    removed = live.answer(PointSet.from_rows(held, negatives=[leak]), {})[""]
    assert not removed[leak] and removed.sum() < before.sum()
    outlined = live.answer(points, {"": Words.of({3: phantom.truth[3]})})[""]
    np.testing.assert_array_equal(outlined[3], phantom.truth[3])
    sizes = [live.answer(points, {"": Words(size=size)})[""].sum() for size in (0.7, 1.5)]
    assert sizes[0] < before.sum() < sizes[1]


def test_a_click_and_an_outline_outside_the_part_worked_on_are_obeyed(phantom, one):
    _, result, live = one
    outside = np.argwhere(~result.probabilities.values.any(axis=0))
    assert len(outside)
    y, x = map(int, outside[0])
    outline = np.zeros((64, 64), bool)
    outline[y, x] = True
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] != 2]
    masks = live.answer(PointSet.from_rows([*rows, (0, y, x)]), {"": Words.of({2: outline})})[""]
    assert masks[0, y, x]
    np.testing.assert_array_equal(masks[2], outline)


def test_an_object_that_nobody_touched_keeps_every_pixel(pair, two):
    result, live = two
    points = points_on(pair, ONE, TWO)
    place = tuple(map(int, np.argwhere(~(result.labels.values > 0) & (pair.labels != 2))[0]))
    more = PointSet.from_rows([*map(tuple, points.coordinates.tolist()), place], [], [*points.objects, ONE])
    found = live.answer(more, {})
    assert found[ONE][place]
    np.testing.assert_array_equal(found[TWO], result[TWO].masks)


def test_objects_that_the_run_does_not_know_are_rough_and_leave_the_others_alone(pair, two):
    result, live = two
    found = live.answer(pair.points, {})
    assert list(found) == [ONE, TWO, "object 3"]
    for name in (ONE, TWO):
        np.testing.assert_array_equal(found[name], result[name].masks)
    assert f1(found["object 3"], pair.labels == 3) > 0.4
    assert not (found["object 3"] & (found[ONE] | found[TWO])).any()


def test_one_known_object_beside_an_unknown_one_is_answered_by_its_name(pair, two):
    """Of the two that learnt together only one is left."""
    result, live = two
    found = live.answer(points_on(pair, TWO, "object 3"), {})
    assert list(found) == [TWO, "object 3"]
    np.testing.assert_array_equal(found[TWO], result[TWO].masks)


def test_a_run_without_what_it_found_is_refused(phantom, one, tmp_path):
    path, _, _ = one
    refine(path, phantom.sequence, phantom.points, out=tmp_path / "bare")
    (tmp_path / "bare" / "stages" / "probabilities.npy").unlink()
    live = Live(phantom.sequence)
    with pytest.raises(InputError, match="must hold what the run found"):
        live.take(tmp_path / "bare")
    assert live.rough


def test_a_refinement_with_nothing_new_to_say_answers_alike(phantom, one, tmp_path):
    path, _, live = one
    refine(path, phantom.sequence, phantom.points, out=tmp_path / "again")
    other = Live(phantom.sequence)
    other.take(tmp_path / "again")
    points = replace(phantom.points, negatives=np.array([[0, 40, 40]]))
    for said in (phantom.points, points):
        np.testing.assert_array_equal(other.answer(said, {})[""], live.answer(said, {})[""])


def test_no_answer_loads_torch(phantom, one, tmp_path):
    path, _, _ = one
    np.save(tmp_path / "frames.npy", phantom.sequence.frames)
    np.save(tmp_path / "points.npy", phantom.points.coordinates)
    given = [str(tmp_path / "frames.npy"), str(tmp_path / "points.npy"), str(path)]
    program = """
import sys
from pathlib import Path
import numpy as np
from fewpoint.core import ImageSequence, PointSet
from fewpoint.runs.live import Live
live = Live(ImageSequence.from_array(np.load(sys.argv[1])))
points = PointSet.from_rows([tuple(row) for row in np.load(sys.argv[2]).tolist()])
rough = live.answer(points, {})[""]
live.take(Path(sys.argv[3]))
learnt = live.answer(points, {})[""]
print(rough.any() and learnt.any(), "torch" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", program, *given], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["True", "False"]


def test_a_model_s_features_are_seen_once_and_kept(monkeypatch, tmp_path):
    """With a stand-in whose features are colours, preparing again sees nothing anew."""
    stand_ins = pytest.importorskip("witness_stand_ins")
    from fewpoint.witness import store
    from fewpoint.witness.dinov2 import DinoV2

    monkeypatch.setenv("FEWPOINT_MODELS", str(tmp_path / "models"))
    store.add_own((stand_ins.save_features(tmp_path / "looks.onnx"),), "dinov2-small", "looks")
    phantom = make_phantom(n_frames=3, size=(48, 40))
    first = Live(phantom.sequence, "looks").answer(phantom.points, {})[""]
    monkeypatch.setattr(DinoV2, "describe", lambda self, picture: pytest.fail("every frame has been seen before"))
    np.testing.assert_array_equal(Live(phantom.sequence, "looks").answer(phantom.points, {})[""], first)
    assert first[tuple(phantom.points.coordinates.T)].all()
