"""`fewpoint demo`: the main job on a synthetic sequence whose truth is known, then on a photograph of a retina."""

import shutil
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.voice import say
from fewpoint.core import AreaBound
from fewpoint.core.job import Job

OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the results; unfinished runs in it are continued.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the phantom and of the training.")]

FRAMES, SIDE, COLOURS = 16, 64, 3
SHORTER = (("warmup.epochs", 10), ("rounds.round_epochs", 10))  # enough for frames as small or as few as these
# On the optic disc, the bright spot from which the vessels come, to the right and to the left of them: frame, y, x.
CLICKS = "frame,y,x\n0,640,272\n0,650,160\n"


def demo_command(out: OutPath = Path("runs/demo"), seed: Seed = 0) -> None:
    """Segment a synthetic sequence and score it, then the optic disc on a photograph of a retina.

    The sequence shows a moving, deforming object among distractors, clicked once a frame, with exact ground truth.
    The size limit is a box around the object where it is largest. The photograph comes with scikit-image; the disc is
    clicked twice.
    """
    say(f"1 of 2: a synthetic sequence of {FRAMES} frames, one click a frame")
    segment_phantom(out / "phantom", seed)
    photograph = Path(str(files("skimage").joinpath("data", "retina.jpg")))
    if photograph.is_file():
        say("2 of 2: the optic disc on a photograph of a retina, two clicks")
        segment_disc(photograph, out, seed)
    else:
        say("2 of 2: skipped, this installation of scikit-image has no photograph of a retina")


def segment_phantom(folder: Path, seed: int) -> None:
    """Run on the synthetic sequence; say how good the masks are and where the report is."""
    from fewpoint.cli.progress import show_progress
    from fewpoint.evaluation.metrics import score_masks
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.evaluation.truth import largest_box
    from fewpoint.io.runs import RunFolder
    from fewpoint.methods.registry import preset
    from fewpoint.methods.resolve import change_settings
    from fewpoint.pipeline.task import Task
    from fewpoint.runs.runner import run_task

    phantom = make_phantom(FRAMES, (SIDE, SIDE), seed, channels=COLOURS)
    _, y0, x0, y1, x1 = largest_box(phantom.truth)
    bound = AreaBound.from_box((y0, x0, y1, x1), phantom.sequence.size)
    task = Task(phantom.sequence, phantom.points, bound, change_settings("", preset("fast"), SHORTER), seed)
    with RunFolder.open(folder, task.identity()) as run, show_progress() as listener:
        result = run_task(task, run, listener)
    score = score_masks(result.masks, phantom.truth).pooled
    say(f"F1 {score.f1:.3f}, precision {score.precision:.3f}, recall {score.recall:.3f} against the phantom's truth")
    say_where(folder)


def segment_disc(photograph: Path, out: Path, seed: int) -> None:
    """Run on the photograph as if it were a user's; say how large the disc is, and where picture and report are."""
    from fewpoint.cli.progress import show_progress
    from fewpoint.io.atomic import explaining_write_errors
    from fewpoint.runs.jobs import run_job

    folder, frames, points = out / "retina", out / "input" / "frames", out / "input" / "points.csv"
    with explaining_write_errors(out):
        frames.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(photograph, frames / photograph.name)
        points.write_text(CLICKS)
    job = Job(str(frames), str(points), preset="fast", changes=SHORTER, seed=seed, name="retina")
    with show_progress() as listener:
        result = run_job(job, folder, listener)
    say(f"the optic disc covers {result.shares[0]:.1%} of the photograph; clicks: {points}")
    say_where(folder)


def say_where(folder: Path) -> None:
    """Where the picture and the report of a finished run are."""
    say(f"picture: {folder / 'overlay.png'}")
    say(f"report:  {folder / 'report.html'}")
