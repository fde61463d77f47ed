"""Jobs in plain values."""

import json

import pytest

from fewpoint.core import Box, PointSet, Words
from fewpoint.core.job import EVERY, GivenBound, GivenWords, Job, OutlineFile, OutputChoice, PlainPoints
from fewpoint.core.source import Reading
from fewpoint.errors import InputError

POINTS = PointSet.from_rows(
    [(3, 4, 5), (0, 1, 2)], [7], ["b", "a"], [(0, 9, 9), (0, 9, 9)], ["a", "b"], absent_of=[(5, "a")]
)
FULL = Job(
    input="scan.nii.gz",
    points=PlainPoints.of(POINTS),
    reading=Reading("axial", (0, 2), ("t2.nii.gz",), (-160.0, 240.0)),
    bounds=((EVERY, GivenBound(0.2)), ("a", GivenBound(box=(0, 1, 2, 3, 4)))),
    preset="fast",
    changes=(("training.batch", 4), ("tracking.enabled", False), ("network.norm", "group")),
    seed=3,
    device="cpu",
    outputs=OutputChoice(("nifti", "png"), probabilities=True, film=True, report=False),
    warm_start="runs/1",
    name="p01",
    words=(("", Words(size=1.5, sizes={2: 0.8})), ("a", Words({3: ((0, 4),)}, (Box(1, 2, 3, 4, 5),)))),
    added_words=(
        ("a", GivenWords((OutlineFile("m.png", 3), OutlineFile("v.nii.gz")), (Box(0, 1, 2, 3, 4),), 1.0, ((2, 0.5),))),
    ),
)


@pytest.mark.parametrize("job", [FULL, Job(), Job(points="a.csv", method="eel"), Job(refine="runs/1"), Job(words=())])
def test_a_job_survives_json(job):
    assert Job.from_table(json.loads(json.dumps(job.as_table(), allow_nan=False))) == job
    assert json.loads(json.dumps(job.as_table())) == job.as_table()


def test_points_survive_as_plain_rows():
    back = PlainPoints.of(POINTS).to_points()
    assert PlainPoints.of(back) == PlainPoints.of(POINTS)
    assert (back.coordinates == POINTS.coordinates).all() and (back.negatives == POINTS.negatives).all()


def test_fields_that_are_missing_have_their_defaults():
    assert Job.from_table({"format": "fewpoint job", "version": 1, "input": "a"}) == Job(input="a")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"version": 2}, "version must be 1, got 2"),
        ({"format": "order"}, "fewpoint job"),
        ({"seeds": 1}, "no field seeds; did you mean seed"),
        ({"seed": True}, "seed must be a whole number, got True"),
        ({"seed": -1}, "seed must be 0 or above, got -1"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, mps, got tpu"),
        ({"input": None}, "input must be text, got nothing"),
        ({"reading": {"axle": "0"}}, r"no field reading\.axle; did you mean reading\.axis"),
        ({"reading": {"window": [1]}}, r"reading\.window must be a list of 2 values"),
        ({"reading": []}, "reading must be an object"),
        ({"bounds": {"a": {"fraction": 3}}}, r"bounds\.a: .*between 0 and 1, got 3"),
        ({"bounds": {"a": {}}}, r"bounds\.a: .*a fraction or a box"),
        ({"bounds": {"a": {"box": [1, 2]}}}, r"bounds\.a\.box must be a list of 5 values"),
        ({"changes": [["training.batch"]]}, "changes must be a list of 2 values"),
        ({"changes": [["training.batch", [1]]]}, "changes must be text, a number, true or false"),
        ({"points": {"rows": [[0, 1]]}}, r"points\.rows must be a list of 3 values"),
        ({"points": {"rows": []}}, "at least one point"),
        ({"outputs": {"film": 1}}, r"outputs\.film must be true or false, got 1"),
        ({"method": "eel", "preset": "fast"}, "a method or a preset"),
        ({"method": "eel", "warm_start": "a"}, "neither refine nor warm_start"),
        ({"refine": "a", "warm_start": "b"}, "leave out warm_start"),
        ({"words": []}, "words must be an object of words by name"),
        ({"words": {"a": {"size": 90}}}, r"words\.a: a size must be a factor between 0\.05 and 20, got 90"),
        ({"words": {"a": {"boxes": [[1, 2]]}}}, r"words\.a: annotations must be drawn masks as runs by frame"),
        ({"added_words": {"a": {"seize": 1}}}, r"no field added_words\.a\.seize; did you mean added_words\.a\.size"),
        ({"added_words": {"a": {"size": 0}}}, r"added_words\.a: a size must be a factor"),
        ({"added_words": {"a": {"boxes": [[1, 2]]}}}, r"added_words\.a\.boxes must be a list of 5 values"),
        ({"added_words": {"a": {"outlined": ["m.png"]}}}, r"added_words\.a\.outlined must be an object of fields"),
    ],
)
def test_what_is_wrong_is_named_by_its_field_in_one_line(values, words):
    with pytest.raises(InputError, match=words) as caught:
        Job.from_table({"format": "fewpoint job", "version": 1, **values})
    assert "\n" not in str(caught.value)


def test_a_bound_is_measured_on_the_frames():
    assert GivenBound(0.25).measure(3, (10, 20)).fraction == 0.25
    with pytest.raises(InputError, match="frames 0 to 2; frames count from zero"):
        GivenBound(box=(3, 0, 0, 5, 5)).measure(3, (10, 20))


def test_each_object_has_one_bound_and_one_entry_of_words():
    with pytest.raises(InputError, match="bounds must name each object once"):
        Job(bounds=(("a", GivenBound(0.1)), ("a", GivenBound(0.2))))
    with pytest.raises(InputError, match="words must name each object once"):
        Job(words=(("a", Words()), ("a", Words(size=2.0))))


def test_that_nothing_was_said_is_another_thing_than_not_to_say():
    assert Job().words is None and Job(words=()) != Job()


def test_two_boxes_on_one_frame_are_refused():
    with pytest.raises(InputError, match="one box per object, frame 1 has several"):
        GivenWords(boxes=(Box(1, 0, 0, 1, 1), Box(1, 0, 0, 2, 2)))


def test_files_are_all_that_is_read():
    assert FULL.files == ("scan.nii.gz", "t2.nii.gz", "m.png", "v.nii.gz", "runs/1")
    assert Job(input="a", points="b.csv").files == ("a", "b.csv")
