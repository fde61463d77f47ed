"""Preloads libraries that take seconds: the GPU's while the CPU prepares the samples, the report's while waiting."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from threading import Thread

import numpy as np
import torch

from fewpoint.io.runs import RunFolder
from fewpoint.learning.samples import SampleSet
from fewpoint.pipeline import stages

_tried: set[tuple] = set()  # what this process has tried out: a refinement need not again
REPORT_MODULES = ("matplotlib.figure", "matplotlib.backends.backend_svg", "jinja2")


def preload(tasks: stages.Tasks, folder: RunFolder | None, device: torch.device) -> Callable[[], None]:
    """Start, if on a GPU, and return a function that waits: nothing else may use the GPU while a step is recorded.

    That function also loads the libraries of the report, if there is to be one. A network of a shape that this process
    has tried out is not tried again.

    tasks: whose network is to learn, with their bounds. folder: of the run; a finished one has nothing to learn.
    """
    if device.type != "cuda" or (folder is not None and folder.finished):
        return lambda: None
    task = next(iter(tasks.values()))
    thread = Thread(target=_try_out, args=(tasks, device))
    thread.start()

    def wait() -> None:
        if folder is not None and task.outputs.report:
            for name in REPORT_MODULES:
                import_module(name)
        thread.join()

    return wait


def _try_out(tasks: stages.Tasks, device: torch.device) -> None:
    with suppress(Exception):  # whatever is wrong, the run itself will hit it and say so
        shape = _shape_of(tasks, device)
        if shape not in _tried:
            take_empty_step(tasks, device)
            _tried.add(shape)


def _shape_of(tasks: stages.Tasks, device: torch.device) -> tuple:
    """What libraries load and kernels are compiled for."""
    task = next(iter(tasks.values()))
    size, plan = stages.fit_size(tasks), task.plan
    return (size.padded, task.sequence.shape[-1], len(tasks), plan.network, plan.training.batch, device)


def take_empty_step(tasks: stages.Tasks, device: torch.device) -> None:
    """One training step and one prediction like those to come, on blank frames.

    The augmentation is loaded while the network is.
    """
    learning = stages.prepare_learning(tasks, (_empty_samples(tasks, device),) * len(tasks), seed=0)
    trainer = learning.trainer
    with ThreadPoolExecutor(1) as pool:
        augmented = pool.submit(trainer.try_augmenting)
        trainer.try_once()
        learning.predict()
        augmented.result()


def _empty_samples(tasks: stages.Tasks, device: torch.device) -> SampleSet:
    """A batch of black frames of the working size, each a single region with a click."""
    task = next(iter(tasks.values()))
    size, batch, channels = stages.fit_size(tasks), task.plan.training.batch, task.sequence.shape[-1]
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
