"""A run small enough for tests, which can be told to die: python tiny_runs.py FOLDER METHOD MOMENT…

The method is "default" or "paper". Each moment is first run into FOLDER/MOMENT by a process that kills itself there,
then again to the end by another. A moment is a stage as "started:STAGE" or "finished:STAGE", "frame:N" of the
superpixels, "epoch:N", or "write:N", the N-th time that a file is about to be safe on disk. "never" runs without dying.
"""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path

from fewpoint.core import AreaBound, EpochFinished, PointSet, StageFinished, StageProgress, StageStarted
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.runs import RunFolder
from fewpoint.learning import checkpoints
from fewpoint.learning.settings import (
    AugmentationSettings,
    ClickSettings,
    PhaseSettings,
    RiskSettings,
    RoundSettings,
    StoppingSettings,
    TrainingSettings,
    WarmUpSettings,
)
from fewpoint.methods.default import DefaultSettings
from fewpoint.methods.paper import PaperSettings
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as pipeline
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings

SUPERPIXELS = SuperpixelSettings(count=100)
NETWORK = NetworkSettings(base_width=3, levels=3, multiple=1, head_prior=0.0)
TRAINING = TrainingSettings(max_side=32, batch=2, frames_per_epoch=6, weight_decay=1e-4, statistics="sequence")
AUGMENTATION = AugmentationSettings(blur=0.5, flips=True, rotation=10.0)

# One network from the points and one of a further round, on whole frames, without what evens probabilities out.
TINY = DefaultSettings(
    clicks=ClickSettings(),
    superpixels=SUPERPIXELS,
    network=NETWORK,
    training=TRAINING,
    warmup=WarmUpSettings(epochs=5, rate=5e-2, prior=0.5),
    augmentation=AUGMENTATION,
    rounds=RoundSettings(
        networks=1, rounds=1, sparse_rounds=0, surest=0.0, round_epochs=6, round_rate=5e-2, heldout=0.0
    ),
    diffusion=DiffusionSettings(enabled=False),
)

# All three phases and tracking.
TINY_PAPER = PaperSettings(
    superpixels=SUPERPIXELS,
    network=NETWORK,
    training=TRAINING,
    risk=RiskSettings(keep=1.0),
    phases=PhaseSettings(5, 5e-2, 0.5, "one-cycle", 4, 1e-3, 1, 1e-3),
    stopping=StoppingSettings(variance=1.0, window=2, minimum=3),
    augmentation=AUGMENTATION,
    tracking=TrackingSettings(radius=0.1),
)

METHODS = {settings.method: settings for settings in (TINY, TINY_PAPER)}


def make_task(settings: DefaultSettings | PaperSettings = TINY, seed: int = 0, absent: tuple[int, ...] = ()) -> Task:
    """Five frames of 40 x 48 pixels whose object is under 0.25 of a frame, a click on each frame not absent."""
    phantom = make_phantom(n_frames=5, size=(40, 48))
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] not in absent]
    return Task(phantom.sequence, PointSet.from_rows(rows, absent), AreaBound(0.25), settings, seed, "cpu")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(moment: str):
    """A listener that kills the process at the moment."""
    kind, _, what = moment.partition(":")

    def listen(event) -> None:
        now = {
            StageStarted: lambda: ("started", event.stage),
            StageFinished: lambda: ("finished", event.stage),
            StageProgress: lambda: ("frame", str(event.done)),
            EpochFinished: lambda: ("epoch", str(event.record.epoch)),
        }.get(type(event), lambda: ("other", ""))()
        if now == (kind, what):
            die()

    return listen


def die_at_write(count: int) -> None:
    """Kill the process when it waits for the count-th file to be on disk."""
    real, written = os.fsync, []

    def fsync(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) == count:
            die()
        real(descriptor)

    os.fsync = fsync


def run_into(folder: Path, method: str, moment: str = "never") -> None:
    task = make_task(METHODS[method])
    kind, _, what = moment.partition(":")
    if kind == "write":
        die_at_write(int(what))
    with RunFolder.open(folder, task.identity()) as run:
        pipeline.run_task(task, run, die_at(moment))


class StoppedError(Exception):
    """Raised to end a run."""


def stop_and_go_on(task: Task, folder: Path, stop: int):
    """The result of a run that was stopped after so many epochs, and started again."""
    told = []

    def listen(event) -> None:
        told.append(event)
        if sum(isinstance(each, EpochFinished) for each in told) == stop:
            raise StoppedError

    try:
        with RunFolder.open(folder, task.identity()) as run:
            pipeline.run_task(task, run, listen)
    except StoppedError:
        with RunFolder.open(folder, task.identity()) as run:
            return pipeline.run_task(task, run)
    raise AssertionError(f"the run ended before epoch {stop}")


def run_in_child(folder: Path, method: str, moment: str) -> int:
    """The exit status of a process of its own; negative for a signal."""
    child = os.fork()
    if child == 0:
        run_into(folder, method, moment)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def import_once() -> None:
    """Import what a run imports when it first needs it, so that not every child has to."""
    solver = "ortools.graph.python.min_cost_flow"
    for name in ("filelock", "scipy.ndimage", "skimage.measure", "skimage.segmentation", solver):
        import_module(name)


if __name__ == "__main__":
    import_once()
    checkpoints.LEAST_SECONDS = 0  # one after every epoch, however short
    # Drawing the report takes longer than all the rest and nothing is taken up from it.
    pipeline.write_report = lambda *given: None
    root, method, *moments = sys.argv[1:]
    for moment in moments:
        folder = Path(root) / moment.replace(":", "-")
        statuses = [run_in_child(folder, method, moment)]
        if moment != "never":
            statuses.append(run_in_child(folder, method, "never"))
        print(moment, *statuses, flush=True)
