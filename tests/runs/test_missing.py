"""NaN and infinity in frames are background: the run says so, no mask holds them, and no point may lie on them."""

from pathlib import Path

import nibabel
import numpy as np
import pytest

import fewpoint
from fewpoint.cli.main import run as run_command
from fewpoint.core import ImageSequence, Message
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.images import hash_sequence, read_sequence
from fewpoint.io.points import write_points
from fewpoint.runs.live import Live
from synthetic import save_settings
from tiny_runs import TINY
from volumes import save_nifti

PHANTOM = make_phantom(n_frames=5, size=(40, 48))
PIXELS = PHANTOM.sequence.frames[..., 0].astype(np.float32)
MISSING = np.zeros(PIXELS.shape, bool)
MISSING[:, :, :5] = MISSING[:, 35:] = True  # background
for index, mask in enumerate(PHANTOM.truth):  # and a few in the object itself, away from the click
    rows = np.argwhere(mask)
    click = PHANTOM.points.coordinates[PHANTOM.points.frames == index][0, 1:]
    far = rows[np.abs(rows - click).sum(axis=1) > 3][:6]
    MISSING[index, far[:, 0], far[:, 1]] = True
FRAMES = PIXELS.copy()
FRAMES[MISSING] = np.nan
FRAMES[0][MISSING[0]] = np.inf
FRAMES[1][MISSING[1]] = -np.inf
SAID = f"{MISSING.sum()} pixels of all frames are NaN or infinite: they are taken as background, and no mask holds them"
GIVEN = {"settings": TINY, "device": "cpu"}


@pytest.fixture
def volume(tmp_path) -> Path:
    """A NIfTI volume with points and settings next to it."""
    write_points(PHANTOM.points, tmp_path / "points.csv")
    save_settings(TINY, tmp_path / "tiny.toml")
    return save_nifti(tmp_path / "scan.nii.gz", np.ascontiguousarray(FRAMES.T), np.diag([1, 1, 3.0, 1.0]))


def call(volume: Path, out: Path, *options: object) -> int:
    folder = volume.parent
    given = ["segment", volume, "--points", folder / "points.csv", "--out", out, "--config", folder / "tiny.toml"]
    return run_command(list(map(str, [*given, "--device", "cpu", "--max-fraction", "0.3", *options])))


def test_from_python_they_are_background_and_the_run_says_so():
    told = []
    result = fewpoint.segment(FRAMES, PHANTOM.points, 0.3, listener=told.append, **GIVEN)
    assert Message(SAID, warning=True) in told
    assert result.masks.any() and not (result.masks & MISSING).any()
    assert not result.probabilities.values[MISSING].any()
    filled = np.where(MISSING, PIXELS[~MISSING].min(), PIXELS)
    plain = fewpoint.segment(filled, PHANTOM.points, 0.3, **GIVEN)
    np.testing.assert_array_equal(result.masks, plain.masks & ~MISSING)


def test_from_the_command_line_too_in_every_file_that_is_written(volume, tmp_path, capsys):
    assert call(volume, tmp_path / "run") == 0
    assert f"warning: {SAID}" in capsys.readouterr().err.splitlines()
    assert SAID in (tmp_path / "run" / "summary.json").read_text()
    stored = np.asarray(nibabel.load(tmp_path / "run" / "masks.nii.gz").dataobj).T
    assert stored.any() and not stored[MISSING].any()
    assert not fewpoint.recut(tmp_path / "run", threshold=0.01).masks[MISSING].any()
    refined = fewpoint.refine(tmp_path / "run", None, PHANTOM.points.coordinates[:3], device="cpu")
    assert not refined.masks[MISSING].any()
    live = Live(read_sequence(volume))
    assert not live.answer(PHANTOM.points, {})[""][MISSING].any()
    live.take(tmp_path / "run")
    assert live.answer(PHANTOM.points, {})[""].any() and not live.answer(PHANTOM.points, {})[""][MISSING].any()


def test_a_point_on_one_is_refused_in_one_line(volume, tmp_path, capsys):
    with pytest.raises(fewpoint.InputError, match="frame 2, y 3, x 2 is NaN or infinite, which is taken as background"):
        fewpoint.segment(FRAMES, [(2, 3, 2)], 0.3, **GIVEN)
    (tmp_path / "points.csv").write_text("frame,y,x\n2,3,2\n", encoding="utf-8")
    assert call(volume, tmp_path / "run") == 1
    told = capsys.readouterr().err
    assert "frame 2, y 3, x 2 is NaN or infinite" in told and len(told.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_pixel_with_a_value_in_another_channel_is_no_background():
    both = np.stack([FRAMES, PIXELS], axis=-1)
    sequence = ImageSequence.from_array(both)
    assert sequence.missing is None and sequence.notes == ()
    assert (sequence.frames[..., 0][MISSING] == PIXELS[~MISSING].min()).all()
    np.testing.assert_array_equal(sequence.frames[..., 1], PIXELS)


def test_frames_without_any_value_are_refused():
    with pytest.raises(fewpoint.InputError, match="all of them are NaN or infinite"):
        ImageSequence.from_array(np.full((2, 4, 4), np.nan))


def test_frames_that_lack_other_pixels_are_other_frames():
    filled = ImageSequence.from_array(np.where(MISSING, PIXELS[~MISSING].min(), PIXELS))
    assert hash_sequence(ImageSequence.from_array(FRAMES)) != hash_sequence(filled)
    cropped = ImageSequence.from_array(FRAMES).crop((30, 40), (0, 10))
    np.testing.assert_array_equal(cropped.missing, MISSING[:, 30:, :10])


def test_other_methods_leave_them_out_too():
    """This one draws a disc round each click, whatever lies there."""
    plain, result = (
        fewpoint.segment(frames, PHANTOM.points, 0.3, method="half-disc", device="cpu") for frames in (PIXELS, FRAMES)
    )
    assert (plain.masks & MISSING).any()
    np.testing.assert_array_equal(result.masks, plain.masks & ~MISSING)


def test_a_run_that_is_stopped_leaves_them_out_too(volume, tmp_path):
    from fewpoint.core.job import EVERY, GivenBound, Job
    from fewpoint.io.jobs import read_changes
    from fewpoint.runs.jobs import StoppedError, run_until_stopped
    from fewpoint.runs.partial import LastLook

    look, folder = LastLook(), volume.parent
    job = Job(str(volume), str(folder / "points.csv"), bounds=((EVERY, GivenBound(0.3)),), device="cpu")
    job = Job(**{**vars(job), "changes": read_changes(folder / "tiny.toml")})

    def stop(event) -> None:
        if look.saw_something:
            raise StoppedError

    result, stopped = run_until_stopped(job, tmp_path / "run", stop, look)
    assert stopped and result.masks.any() and not result.masks[MISSING].any()
