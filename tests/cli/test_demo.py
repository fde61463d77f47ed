"""`fewpoint demo` shows a result whose truth is known, and one on a photograph."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from fewpoint.cli import demo
from fewpoint.cli.main import run
from tiny_runs import TINY

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> tuple[Path, list[str]]:
    """The folder and the lines of a demo that trains next to nothing."""
    out = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        for module in ("registry", "resolve"):
            patch.setattr(f"fewpoint.methods.{module}.preset", lambda *_: TINY)
        assert run(["demo", "--out", str(out)]) == 0
    return out, said.getvalue().splitlines()


def test_the_synthetic_sequence_comes_first_with_its_score(shown):
    out, lines = shown
    assert lines[0] == "1 of 2: a synthetic sequence of 16 frames, one click a frame"
    score = r"F1 [01]\.\d{3}, precision [01]\.\d{3}, recall [01]\.\d{3} against the phantom's truth"
    assert re.fullmatch(score, lines[1])
    assert lines[2:4] == [f"picture: {out / 'phantom' / 'overlay.png'}", f"report:  {out / 'phantom' / 'report.html'}"]


def test_the_photograph_comes_second_with_its_picture_and_report(shown):
    out, lines = shown
    assert lines[4] == "2 of 2: the optic disc on a photograph of a retina, two clicks"
    assert re.fullmatch(r"the optic disc covers \d+\.\d% of the photograph; clicks: \S+points\.csv", lines[5])
    assert lines[6:] == [f"picture: {out / 'retina' / 'overlay.png'}", f"report:  {out / 'retina' / 'report.html'}"]


def test_pictures_reports_and_what_a_user_would_give_are_there(shown):
    out, _ = shown
    places = [f"{name}/{kind}" for name in ("phantom", "retina") for kind in ("overlay.png", "report.html")]
    assert [place for place in (*places, "input/frames/retina.jpg") if not (out / place).is_file()] == []
    assert (out / "input" / "points.csv").read_text() == demo.CLICKS


def test_without_the_photograph_the_demo_ends_with_a_line_that_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "segment_phantom", lambda *_: None)
    monkeypatch.setattr(demo, "files", lambda package: tmp_path)
    demo.demo_command(tmp_path / "out")
    assert capsys.readouterr().out.splitlines()[-1] == (
        "2 of 2: skipped, this installation of scikit-image has no photograph of a retina"
    )
