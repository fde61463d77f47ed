"""Results read, converted, collected and evaluated from Python, and a notebook's view of them."""

import sys
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import fewpoint
from fewpoint import Relabelling, Saving
from fewpoint.api.watching import NotebookLine, Progress, watch
from fewpoint.core import StageStarted, StepsTaken, ignore
from fewpoint.io.images import read_sequence
from finished_runs import make_result, save_run
from synthetic import save_frames
from volumes import save_nifti

SHAPE = (4, 30, 24)
PIXELS = np.random.default_rng(0).integers(0, 255, SHAPE).astype(np.uint8)
LABELS = np.zeros(SHAPE, np.uint8)
LABELS[1:3, 8:20, 6:15] = 1
LABELS[1:3, 22:28, 16:22] = 2


@pytest.fixture
def run(tmp_path):
    volume = save_nifti(tmp_path / "scan.nii.gz", np.ascontiguousarray(PIXELS.T), np.diag([0.5, 0.7, 3.0, 1.0]))
    return save_run(tmp_path / "run", read_sequence(volume), LABELS, ("liver", "spleen"))


def test_a_result_is_read_with_its_frames_unless_they_are_gone(run, tmp_path):
    result = fewpoint.load_result(run)
    assert result.sequence is not None and result.sequence.shape == (*SHAPE, 1)
    assert fewpoint.load_result(run, frames=False).sequence is None
    (tmp_path / "scan.nii.gz").unlink()
    assert fewpoint.load_result(run).sequence is None


def test_runs_and_results_are_converted_alike(run, tmp_path):
    result = fewpoint.load_result(run)
    labels = Relabelling({"liver": "left lobe"})
    for given, name in ((run, "one"), (result, "two")):
        paths = fewpoint.convert(given, Saving(("nifti", "coco"), probabilities=True), tmp_path / name, labels=labels)
        assert [path.name for path in paths] == [
            *("masks.nii.gz", "masks.json", "probabilities-1.nii.gz", "probabilities-2.nii.gz")
        ]
    assert (tmp_path / "one" / "masks.json").read_bytes() == (tmp_path / "two" / "masks.json").read_bytes()
    assert "left lobe" in (tmp_path / "one" / "masks.json").read_text()
    with pytest.raises(fewpoint.InputError, match="give out"):
        fewpoint.convert(result)


def test_runs_are_collected(run, tmp_path):
    done = fewpoint.collect(run, tmp_path / "study", "bids")
    assert done.runs["run"][0] == tmp_path / "study" / "sub-run" / "anat" / "sub-run_desc-fewpoint_dseg.nii.gz"


def test_masks_are_evaluated_from_results_arrays_and_files_in_millimetres(run):
    result, truth = fewpoint.load_result(run), LABELS == 1
    moved = np.roll(truth, 1, axis=0)
    one = fewpoint.evaluate(result["liver"], moved)
    assert (one.surfaces.unit, one.volume.unit, one.volume_error) == ("mm", "ml", 0.0)
    assert one.hd95 == 3.0
    given = fewpoint.evaluate(truth, moved, spacing_mm=(3.0, 0.7, 0.5))
    assert (given.pooled, given.surfaces) == (one.pooled, one.surfaces)
    assert given.volume.truth == pytest.approx(one.volume.truth)
    assert fewpoint.evaluate(truth, moved).surfaces.unit == "px"
    by_number = fewpoint.evaluate_objects(run, LABELS)
    assert {number: each.f1 for number, each in by_number.items()} == {1: 1.0, 2: 1.0}


def test_a_batch_is_planned_from_rows(tmp_path):
    save_frames(PIXELS[..., np.newaxis], tmp_path / "frames")
    (tmp_path / "points.csv").write_text("frame,y,x\n1,10,10\n")
    good = {"name": "a", "input": str(tmp_path / "frames"), "points": str(tmp_path / "points.csv")}
    defaults = fewpoint.Job(preset="fast", device="cpu")
    plan = fewpoint.plan_batch([good, {"input": str(tmp_path / "gone")}], tmp_path / "out", defaults)
    assert [(row.name, row.action) for row in plan.rows] == [("a", "run")]
    assert [row.place for row in plan.bad] == ["row 2"]
    with pytest.raises(fewpoint.InputError, match="1 of 2 rows cannot be run, nothing was started; the first is row 2"):
        fewpoint.run_batch([good, {"input": str(tmp_path / "gone")}], tmp_path / "out", defaults)


@pytest.mark.parametrize("with_frames", [True, False])
def test_a_notebook_shows_a_result_as_a_picture_with_words(run, with_frames):
    result = fewpoint.load_result(run, frames=with_frames)
    with Image.open(BytesIO(result._repr_png_())) as picture:
        colours = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    for each in result.objects:
        assert (np.abs(colours.astype(int) - each.label.colour).max(axis=1) < 40).any()
    html = result._repr_html_()
    assert html.startswith("<div><img") and "liver: 2 of 4 frames" in html and "spleen" in html


def test_names_are_escaped_in_a_notebook():
    sequence = fewpoint.ImageSequence.from_array(PIXELS)
    assert "<script>" not in make_result(sequence, np.minimum(LABELS, 1), ("<script>",))._repr_html_()


def test_progress_in_a_notebook_is_one_line_that_follows(monkeypatch):
    shown: list[str] = []

    class Handle:
        def update(self, content: str) -> None:
            shown.append(content)

    def display(content: str, display_id: bool) -> Handle:
        assert display_id
        shown.append(content)
        return Handle()

    fake = SimpleNamespace(HTML=str, display=display)
    shell = SimpleNamespace(kernel=None)
    module = SimpleNamespace(display=fake, get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    listener = watch(None, None, ignore)
    listener(StageStarted("learning", 4))
    listener(StepsTaken(4, 5, 5, 4))
    assert len(shown) == 2 and "learning 100%" in shown[-1] and 'value="1.000"' in shown[-1]
    line = NotebookLine()
    line(Progress("learning", message="mind <this>", warning=True))
    assert "warning: mind &lt;this&gt;" in shown[-1]


def test_nothing_is_shown_outside_a_notebook_unless_asked_for(capsys):
    watch(None, None, ignore)(StageStarted("learning", 4))
    assert capsys.readouterr() == ("", "")
    watch(True, None, ignore)(StageStarted("learning", 4))
    assert capsys.readouterr().err == "learning\n"
