"""Libraries that take seconds to load: a GPU's while the processor prepares the samples, the report's meanwhile."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from threading import Thread

import numpy as np
import torch

from fewpoint.io.runs import RunFolder
from fewpoint.learning.samples import SampleSet
from fewpoint.models.kernel_launches import compile_side_by_side
from fewpoint.models.norms import find_kernels
from fewpoint.pipeline import stages
from fewpoint.pipeline.task import Task

REPORT_MODULES = ("matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2")


def wake(task: Task, folder: RunFolder | None, device: torch.device) -> Callable[[], None]:
    """Begin, on a GPU, and return what waits until it is done: nobody else may use the GPU while a step is recorded.

    Who waits loads the libraries of the report meanwhile, where there is to be one.

    task: the one whose network is to learn, with its bound. folder: of the run; a finished one has nothing to learn.
    """
    if device.type != "cuda" or (folder is not None and folder.finished):
        return lambda: None
    thread = Thread(target=_try_out, args=(task, device))
    thread.start()

    def wait() -> None:
        if folder is not None and task.outputs.report:
            for name in REPORT_MODULES:
                import_module(name)
        thread.join()

    return wait


def _try_out(task: Task, device: torch.device) -> None:
    with suppress(Exception):  # whatever is wrong, the run itself will meet it and say so
        take_empty_step(task, device)


def take_empty_step(task: Task, device: torch.device) -> None:
    """One training step and one prediction as they are to come, on frames without anything on them.

    What changes frames is loaded beside the network, and kernels of our own are compiled beside each other.
    """
    learning = stages.prepare_learning(task, _empty_samples(task, device), seed=0)
    trainer = learning.trainer
    with ThreadPoolExecutor(1) as beside:
        augmented = beside.submit(trainer.try_augmenting)
        if trainer.network.fused and find_kernels() is not None:
            with compile_side_by_side():
                trainer.try_once()
        trainer.try_once()
        learning.predict()
        augmented.result()


def _empty_samples(task: Task, device: torch.device) -> SampleSet:
    """A batch of black frames of the working size, each one region that is clicked on."""
    size, batch, channels = stages.fit_size(task), task.settings.training.batch, task.sequence.shape[-1]
    one = torch.ones(batch, 1, device=device)
    return SampleSet(
        frames=torch.zeros(batch, channels, *size.padded, device=device),
        labels=torch.zeros(batch, *size.padded, dtype=torch.int64, device=device),
        positive=one,
        unlabelled=one,
        areas=one,
        clicked=one.bool(),
        center=torch.zeros(channels, device=device),
        scale=torch.ones(channels, device=device),
        has_point=np.ones(batch, bool),
        absent=np.zeros(batch, bool),
        size=size,
    )
