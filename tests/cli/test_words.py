"""Outlined frames, boxes and sizes from the command line."""

import numpy as np
import pytest
from PIL import Image

from fewpoint.core import Box, Words
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import read_told
from fewpoint.runs.previous import load_previous


@pytest.fixture(autouse=True)
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)


def test_words_reach_the_run_and_a_refinement_is_told_them_too_unless_others_are_given(case, call):
    truth = read_masks(case.folder / "truth")
    mask = case.folder / "truth" / "0002.png"
    first = case.segment("--outlined", f"2={mask}", "--box", "3,1,1,47,39", "--size", "1.5", "--size", "4:0.8")
    assert call(*first).code == 0
    words = Words.of({2: truth[2]}, (Box(3, 1, 1, 47, 39),), 1.5, {4: 0.8})
    assert read_told(case.out)[1] == (("", words),)
    base = ["segment", case.frames, "--points", case.points, "--device", "cpu", "--refine", case.out]
    assert call(*base, "--out", case.folder / "second").code == 0
    assert load_previous(case.folder / "second").words == (("", words),)
    again = ["--outlined", f"5={case.folder / 'truth' / '0005.png'}", "--size", "1", "--box", "3,1,1,40,39"]
    assert call(*base, *again, "--out", case.folder / "third").code == 0
    newer = Words.of({2: truth[2], 5: truth[5]}, (Box(3, 1, 1, 40, 39),), 1.0, {4: 0.8})
    assert load_previous(case.folder / "third").words == (("", newer),)


def test_another_word_is_another_run(case, call):
    assert call(*case.segment("--size", "1.5")).code == 0
    outcome = call(*case.segment("--size", "1.6"))
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "different drawn masks, boxes or sizes" in outcome.err


def test_a_method_outside_the_pipeline_gives_outlined_frames_as_drawn_and_needs_no_points(case, call):
    truth = read_masks(case.folder / "truth")
    options = ["--method", "half-disc", "--device", "cpu", "--max-fraction", "0.2", "--out", case.out]
    outcome = call("segment", case.frames, *options, "--outlined", f"2={case.folder / 'truth' / '0002.png'}")
    assert outcome.code == 0, outcome.err
    np.testing.assert_array_equal(read_masks(case.out)[2], truth[2])


@pytest.mark.parametrize(
    ("options", "code", "fragment"),
    [
        (["--outlined", "2="], 2, "[NAME=]FRAME=MASK or [NAME=]FILE"),
        (["--outlined", "2=none.png"], 1, "none.png does not exist"),
        (["--outlined", "9=frames/0000.png"], 1, "the sequence has frames 0 to 5"),
        (["--outlined", "2=small.png"], 1, "as large as the frames, 48 x 40 (height x width), they are 4 x 5"),
        (["--outlined", "liver=2=truth/0002.png"], 1, "names the object liver, but the points name none"),
        (["--outlined", "2=empty.png"], 1, "lies outside the drawn mask of the object on frame 2"),
        (["--box", "1,2,3"], 2, "[NAME=]FRAME,Y0,X0,Y1,X1"),
        (["--box", "9,0,0,4,4"], 1, "a box is on frame 9, but the sequence has frames 0 to 5"),
        (["--box", "2,0,0,2,2"], 1, "lies outside the box of the object there, 0,0,2,2"),
        (["--size", "big"], 2, "[NAME=][FRAME:]FACTOR"),
        (["--size", "50"], 2, "factor between 0.05 and 20, got 50"),
        (["--size", "9:1.5"], 1, "a size is on frame 9"),
    ],
)
def test_a_word_that_cannot_be_meant_is_refused_in_one_line_and_leaves_no_folder(
    case, call, monkeypatch, options, code, fragment
):
    monkeypatch.chdir(case.folder)
    Image.fromarray(np.ones((4, 5), np.uint8)).save("small.png")
    Image.fromarray(np.zeros((48, 40), np.uint8)).save("empty.png")
    outcome = call(*case.segment(*options))
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1), outcome.err
    assert fragment in outcome.err
    assert not case.out.exists()
