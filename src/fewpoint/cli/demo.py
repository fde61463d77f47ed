"""`fewpoint demo`: the main job on a synthetic sequence whose truth is known."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.voice import say
from fewpoint.core import AreaBound

OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the result; an unfinished run in it is continued.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the phantom and of the training.")]

FRAMES, SIDE, COLOURS = 16, 64, 3
SHORTER = ["warmup.epochs=10", "rounds.round_epochs=10"]  # enough for frames as small as these


def demo_command(out: OutPath = Path("runs/demo"), seed: Seed = 0) -> None:
    """Segment a synthetic sequence and score it.

    The sequence shows a moving, deforming object among distractors, clicked once a frame; its truth is known exactly.
    The bound is a box drawn round the object where it is largest, as a person would.
    """
    from fewpoint.cli.progress import show_progress
    from fewpoint.core.settings import override_from_text
    from fewpoint.evaluation.metrics import score_masks
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.evaluation.truth import largest_box
    from fewpoint.io.runs import RunFolder
    from fewpoint.methods.registry import preset
    from fewpoint.pipeline.task import Task
    from fewpoint.runs.runner import run_task

    phantom = make_phantom(FRAMES, (SIDE, SIDE), seed, channels=COLOURS)
    _, y0, x0, y1, x1 = largest_box(phantom.truth)
    bound = AreaBound.from_box((y0, x0, y1, x1), phantom.sequence.size)
    task = Task(phantom.sequence, phantom.points, bound, override_from_text(preset("fast"), SHORTER), seed)
    with RunFolder.open(out, task.identity()) as folder, show_progress() as listener:
        result = run_task(task, folder, listener)
    score = score_masks(result.masks, phantom.truth).pooled
    say(f"F1 {score.f1:.3f}, precision {score.precision:.3f}, recall {score.recall:.3f} against the phantom's truth")
    say(f"report: {out / 'report.html'}")
