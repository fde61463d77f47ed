"""Whatever is of a wrong kind is one line of the package's own error; fractions of a pixel follow a rule."""

import numpy as np
import pytest

import fewpoint
from fewpoint import AreaBound, Box, ImageSequence, Job, PointSet, Relabelling, Saving, Words

FRAMES = np.arange(2 * 12 * 10, dtype=np.uint16).reshape(2, 12, 10)
POINTS = [(0, 3, 4)]

CALLS = {
    "frames as a number": lambda: fewpoint.segment(5, POINTS),
    "frames as rows of unlike length": lambda: ImageSequence.from_array([[1, 2], [3]]),
    "frames as text in an array": lambda: ImageSequence.from_array(np.array([[["a"]]])),
    "frames as a list in a sequence": lambda: ImageSequence([[1]], ("a",)),
    "no points": lambda: fewpoint.segment(FRAMES, None),
    "points as a number": lambda: fewpoint.segment(FRAMES, 7),
    "points as numbers": lambda: fewpoint.segment(FRAMES, [0, 3, 4]),
    "points as pairs": lambda: fewpoint.segment(FRAMES, [(3, 4)]),
    "points as words": lambda: fewpoint.segment(FRAMES, [("a", 3, 4)]),
    "points as nan": lambda: fewpoint.segment(FRAMES, [(0, float("nan"), 4)]),
    "points on half a frame": lambda: fewpoint.segment(FRAMES, [(0.5, 3, 4)]),
    "points as shares": lambda: fewpoint.segment(FRAMES, [(0, 0.3, 0.4), (1, 0.5, 1.0)]),
    "points by a number": lambda: fewpoint.segment(FRAMES, {3: POINTS}),
    "points of an object as a number": lambda: fewpoint.segment(FRAMES, {"a": 3}),
    "points as a list in a set": lambda: PointSet([[0, 1, 2]]),
    "fractions in a set": lambda: PointSet(np.array([[0, 1.5, 2]])),
    "absent as text": lambda: PointSet.from_rows(POINTS, absent="1"),
    "objects as numbers": lambda: PointSet.from_rows(POINTS, objects=[1]),
    "a bound as text": lambda: fewpoint.segment(FRAMES, POINTS, "much"),
    "a bound as a list": lambda: fewpoint.segment(FRAMES, POINTS, [0.1]),
    "a bound by a number": lambda: fewpoint.segment(FRAMES, POINTS, {1: Box(0, 1, 1, 5, 6)}),
    "a bound of its own kind": lambda: AreaBound("0.1"),
    "a box of halves": lambda: Box(0, 1.5, 1, 5, 6),
    "a box of text": lambda: Box("0", 1, 1, 5, 6),
    "a box beside its click": lambda: fewpoint.segment(FRAMES, POINTS, Box(0, 6, 6, 9, 9)),
    "a box on a frame that there is not": lambda: fewpoint.segment(FRAMES, POINTS, Box(7, 1, 1, 5, 6)),
    "a box of three sides": lambda: AreaBound.from_box((1, 2, 3), (12, 10)),
    "words as text": lambda: fewpoint.segment(FRAMES, POINTS, words="large"),
    "words by object as text": lambda: fewpoint.segment(FRAMES, POINTS, words={"a": "large"}),
    "an outline of numbers": lambda: Words.of({0: np.ones((12, 10))}),
    "outlines as a list": lambda: Words.of([np.ones((12, 10), bool)]),
    "a size as text": lambda: Words.of(size="1.2"),
    "boxes as a box": lambda: Words(boxes=Box(0, 1, 1, 5, 6)),
    "settings as a number": lambda: fewpoint.segment(FRAMES, POINTS, settings=3),
    "a preset that there is not": lambda: fewpoint.segment(FRAMES, POINTS, settings="best"),
    "changes as text": lambda: fewpoint.segment(FRAMES, POINTS, changes="warmup.epochs=3"),
    "a change that there is not": lambda: fewpoint.segment(FRAMES, POINTS, changes={"warmup.epoch": 3}),
    "a method that there is not": lambda: fewpoint.segment(FRAMES, POINTS, method="best"),
    "a method as a number": lambda: fewpoint.segment(FRAMES, POINTS, method=3),
    "half a seed": lambda: fewpoint.segment(FRAMES, POINTS, seed=1.5),
    "a seed below zero": lambda: fewpoint.segment(FRAMES, POINTS, seed=-1),
    "a device that there is not": lambda: fewpoint.segment(FRAMES, POINTS, device="tpu"),
    "a device as a number": lambda: fewpoint.segment(FRAMES, POINTS, device=0),
    "a warm start as a number": lambda: fewpoint.segment(FRAMES, POINTS, warm_start=3),
    "saving as text": lambda: fewpoint.segment(FRAMES, POINTS, saving="nifti"),
    "a format that there is not": lambda: Saving(("jpeg",)),
    "formats as text": lambda: Saving("nifti"),
    "progress as a number": lambda: fewpoint.segment(FRAMES, POINTS, progress=3),
    "cancel as a flag": lambda: fewpoint.segment(FRAMES, POINTS, cancel=True),
    "a listener as text": lambda: fewpoint.segment(FRAMES, POINTS, listener="me"),
    "a run to refine as a number": lambda: fewpoint.refine(3, FRAMES, POINTS),
    "a run to refine that there is not": lambda: fewpoint.refine("nowhere", FRAMES, POINTS),
    "a path as a number": lambda: fewpoint.read_sequence(3),
    "points from a number": lambda: fewpoint.read_points(3, ImageSequence.from_array(FRAMES)),
    "points on an array": lambda: fewpoint.read_points("points.csv", FRAMES),
    "masks from a number": lambda: fewpoint.read_masks(3),
    "a result from a number": lambda: fewpoint.load_result(3),
    "a preset by a number": lambda: fewpoint.preset(3),
    "masks as a list": lambda: fewpoint.evaluate([1], [1]),
    "masks that are an image": lambda: fewpoint.evaluate(FRAMES, FRAMES),
    "flat masks": lambda: fewpoint.evaluate(FRAMES[0] > 3, FRAMES[0] > 3),
    "scores of lists": lambda: fewpoint.score_masks([True], [True]),
    "a spacing as text": lambda: fewpoint.evaluate(FRAMES > 3, FRAMES > 3, spacing_mm="1,1,1"),
    "a spacing of one": lambda: fewpoint.evaluate(FRAMES > 3, FRAMES > 3, spacing_mm=(1.0,)),
    "a job's seed as text": lambda: Job(seed="3"),
    "a job's input as a number": lambda: Job(input=3),
    "a job's changes as a table": lambda: Job(changes={"warmup.epochs": 3}),
    "a job as text": lambda: fewpoint.run_job("job.json", "out"),
    "a job into a number": lambda: fewpoint.run_job(Job(), 3),
    "a study as a number": lambda: fewpoint.plan_batch(3, "out"),
    "a study of texts": lambda: fewpoint.plan_batch(["a"], "out"),
    "a study of nothing": lambda: fewpoint.plan_batch([], "out"),
    "a study with an unknown column": lambda: fewpoint.plan_batch([{"inputs": "a"}], "out"),
    "defaults as a table": lambda: fewpoint.plan_batch([{"input": "a"}], "out", {}),
    "runs as a number": lambda: fewpoint.collect(3, "out"),
    "a layout that there is not": lambda: fewpoint.collect([], "out", "tree"),
    "a code of two parts": lambda: fewpoint.Code.parse("SCT:3"),
    "a renaming without a name": lambda: Relabelling.parse(["=liver"]),
    "names as a number in a sequence": lambda: ImageSequence(FRAMES[..., np.newaxis], 3),
    "a single number as frames": lambda: ImageSequence.from_array(3),
    "a window by an unknown name": lambda: fewpoint.read_sequence("nowhere", window="liver"),
    "a window of one value": lambda: ImageSequence(FRAMES[..., np.newaxis], ("a", "b"), window=(3,)),
    "a window of texts": lambda: ImageSequence(FRAMES[..., np.newaxis], ("a", "b"), window=("1", "2")),
    "channels as text": lambda: fewpoint.read_sequence("nowhere", channels="0,1"),
    "half a channel": lambda: fewpoint.read_sequence("nowhere", channels=(0.5,)),
    "an outline as a number": lambda: Words(outlined={0: 3}),
    "new names as text": lambda: Relabelling("liver"),
    "a new name as a number": lambda: Relabelling({"object": 3}),
    "a code as text": lambda: Relabelling(codes={"liver": "SCT:10200004:Liver"}),
    "labels in order as text": lambda: Relabelling(order="liver"),
    "a study that there is not": lambda: fewpoint.plan_batch("nowhere.csv", "out"),
    "a phantom of half a frame": lambda: fewpoint.make_phantom(n_frames=1.5),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_of_a_wrong_kind_is_the_package_s_own_error_in_one_line(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fewpoint.FewpointError) as caught:
        call()
    assert str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_fractions_of_a_pixel_are_rounded_half_up_and_frames_must_be_whole():
    points = PointSet.from_rows(np.array([[1.0, 2.5, 3.49], [0.0, 9.51, 0.2]]))
    assert points.coordinates.tolist() == [[0, 10, 0], [1, 3, 3]]
    assert points.coordinates.dtype == np.int64


def test_reprs_are_a_short_line():
    sequence = ImageSequence.from_array(FRAMES)
    result = fewpoint.segment(sequence, POINTS, 0.3, method="half-disc")
    words = Words.of({0: FRAMES[0] > 3}, size=1.2)
    values = (sequence, result, result.only, result.probabilities, PointSet.from_rows(POINTS, [1]), words)
    assert [repr(each) for each in values] == [
        "<ImageSequence: 2 frames of 12 x 10, 1 x uint16>",
        "<Result: object on 1 of 2 frames of 12 x 10>",
        "<ObjectResult: object on 1 of 2 frames of 12 x 10>",
        f"<ProbabilityMaps: 2 frames of 12 x 10, {result.probabilities.values.dtype}>",
        "<PointSet: 1 points on 1 frames, 1 absent frames>",
        "<Words: outlined [0], size 1.2>",
    ]
    masks = FRAMES > 3
    assert repr(fewpoint.evaluate(masks, masks)) == "<Evaluation: F1 1, HD95 0 px, ASSD 0 px, volume error 0>"
    assert repr(fewpoint.score_masks(masks, masks)) == "<MaskScores: F1 1 over 2 frames>"
    assert "\n" not in repr(fewpoint.make_phantom(2, (16, 16)))


def test_a_result_is_not_saved_into_a_number():
    with pytest.raises(fewpoint.InputError, match="folder must be a path"):
        fewpoint.segment(FRAMES, POINTS, 0.3, method="half-disc").save(3)


def test_a_window_may_be_called_by_its_name(tmp_path):
    np.save(tmp_path / "frames.npy", FRAMES)
    assert fewpoint.read_sequence(tmp_path / "frames.npy", window="brain").window == (0, 80)
