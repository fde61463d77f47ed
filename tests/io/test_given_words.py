"""Words besides clicks as they are typed."""

import pytest

from fewpoint.core import Box
from fewpoint.core.job import GivenWords, OutlineFile
from fewpoint.errors import InputError
from fewpoint.io.given_words import parse_outline, parse_words


@pytest.mark.parametrize(
    ("text", "name", "file"),
    [
        ("3=mask.png", "", OutlineFile("mask.png", 3)),
        ("left lung = 3 = my mask.png", "left lung", OutlineFile("my mask.png", 3)),
        ("liver=labels.nii.gz", "liver", OutlineFile("labels.nii.gz")),
        ("labels.nii.gz", "", OutlineFile("labels.nii.gz")),
        ("/data/run=1/labels", "", OutlineFile("/data/run=1/labels")),
        ("liver=/data/run=1/labels", "liver", OutlineFile("/data/run=1/labels")),
        ("4=/data/run=1/m.png", "", OutlineFile("/data/run=1/m.png", 4)),
    ],
)
def test_an_outline_is_a_file_with_or_without_a_name_and_a_frame(text, name, file):
    assert parse_outline(text) == (name, file)


def test_words_are_gathered_by_object():
    words = parse_words(
        ["liver=3=m.png", "liver=labels.npy"], ["0,1,2,3,4", "liver=5 1 2 3 4"], ["1.2", "liver=7:0.8", "liver=8:2"]
    )
    assert words == (
        ("", GivenWords(boxes=(Box(0, 1, 2, 3, 4),), size=1.2)),
        (
            "liver",
            GivenWords(
                (OutlineFile("m.png", 3), OutlineFile("labels.npy")),
                (Box(5, 1, 2, 3, 4),),
                sizes=((7, 0.8), (8, 2.0)),
            ),
        ),
    )


def test_nothing_typed_is_nothing_said():
    assert parse_words([], [], []) == ()


@pytest.mark.parametrize(
    ("outlined", "boxes", "sizes", "message"),
    [
        (["3="], [], [], r"a drawn mask must be \[NAME=\]FRAME=MASK or \[NAME=\]FILE, got 3="),
        (["liver="], [], [], "a drawn mask must be"),
        ([""], [], [], "a drawn mask must be"),
        ([], ["1,2,3,4"], [], "five whole numbers, got 1,2,3,4"),
        ([], ["liver=1,2,3,4,5.5"], [], "five whole numbers"),
        ([], ["0,1,2,3,4", "0,1,2,3,5"], [], "one box per object, frame 0 has several"),
        ([], [], ["large"], "such as 1.2 or 12:0.8, got large"),
        ([], [], ["a:1.2"], "such as 1.2 or 12:0.8, got a:1.2"),
        ([], [], ["90"], "factor between 0.05 and 20, got 90"),
        ([], [], ["nan"], "factor between"),
        ([], [], ["liver=1.2", "liver=1.3"], "a size of liver must be given once, got 2"),
        ([], [], ["3:1.2", "3:1.3"], "a size on frame 3 must be given once, got 2"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(outlined, boxes, sizes, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_words(outlined, boxes, sizes)
    assert "\n" not in str(caught.value)
