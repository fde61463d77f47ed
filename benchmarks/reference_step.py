"""A training step the plain way, beside ours: python benchmarks/reference_step.py [--preset paper] [--sides 256 512].

The reference is how the paper's schedule is usually run: the paper's network with its own channel counts, batches of
two, channels first, one operation after another; float16 with a scaled loss on CUDA, float32 on a CPU. Ours is the
step of a preset. Both see the same frames and superpixels; they take turns, and the median of their turns is told.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import torch

from fewpoint.core import AreaBound, SuperpixelMap
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.learning.devices import choose_device, cpu_threads, describe_device
from fewpoint.learning.risk import pu_risk
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import RiskSettings
from fewpoint.learning.working import WorkingSize
from fewpoint.methods.registry import PRESETS, OwnSettings
from fewpoint.models.networks import build_network
from fewpoint.models.pooling import pool_regions
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline.stages import prepare_learning
from fewpoint.pipeline.task import Task

FRAMES, BATCH = 8, 2
WARM_UP = 2


def make_blocks(frames: int, size: tuple[int, int], counts: tuple[int, int]) -> SuperpixelMap:
    """Superpixels as blocks, counts of them down and across."""
    rows, columns = (np.arange(side) * count // side for side, count in zip(size, counts, strict=True))
    labels = (rows[:, None] * counts[1] + columns).astype(np.int32)
    return SuperpixelMap(np.broadcast_to(labels, (frames, *size)).copy())


def make_case(side: int, settings: OwnSettings, device: torch.device) -> tuple[Task, tuple[SampleSet, ...]]:
    """A phantom of side x side pixels in about 1200 superpixels, worked on at its own size."""
    phantom = make_phantom(FRAMES, (side, side), channels=3)
    task = Task(phantom.sequence, phantom.points, AreaBound(0.2), settings, device=device.type)
    size = WorkingSize.fit((side, side), side, 16)
    blocks = make_blocks(FRAMES, (side, side), (35, 35))
    return task, build_samples(phantom.sequence, blocks, [phantom.points], size, device)


class Plain:
    """The paper's network and what trains it, the plain way."""

    def __init__(self, samples: SampleSet) -> None:
        self.samples, self.device = samples, samples.frames.device
        shape, random = NetworkSettings(multiple=1), torch.Generator()
        self.network = build_network(samples.frames.shape[1], shape, (0.01,), random).to(self.device)
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=1e-4, weight_decay=0.01)
        self.halved = self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.halved)
        self.priors = torch.full((BATCH,), 0.1, device=self.device)

    def step(self) -> None:
        """One step on frames drawn at random."""
        index = torch.randint(self.samples.n_frames, (BATCH,), device=self.device)
        self.learn(self.samples.frames[index], index)

    def learn(self, frames: torch.Tensor, index: torch.Tensor) -> None:
        """One step on (2, C, h, w) frames, those of the index."""
        samples = self.samples
        self.optimiser.zero_grad()
        logits = self.predict(frames)
        pooled = pool_regions(logits, samples.labels[index], samples.regions)
        risk = pu_risk(pooled, samples.positive[index], samples.unlabelled[index], self.priors, RiskSettings())
        self.scaler.scale(risk.objective).backward()
        self.scaler.step(self.optimiser)
        self.scaler.update()

    def predict(self, frames: torch.Tensor) -> torch.Tensor:
        """(B, h, w) logits."""
        with torch.autocast(self.device.type, torch.float16, enabled=self.halved):
            return self.network(self.samples.standardise(frames))[:, 0]


def our_step(task: Task, samples: tuple[SampleSet, ...]) -> Callable[[], None]:
    """The step of the task's settings, ready to be called."""
    trainer = prepare_learning({"": task}, samples, seed=0).trainer
    return lambda: trainer.try_steps(1)


def take_turns(
    steps: Sequence[Callable[[], object]],
    turns: int,
    device: torch.device,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Median seconds of each step; they are called in turn, so that what else the machine does meets all alike."""
    finish = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    seconds: list[list[float]] = [[] for _ in steps]
    for turn in range(WARM_UP + turns):
        for step, taken in zip(steps, seconds, strict=True):
            finish()
            started = clock()
            step()
            finish()
            if turn >= WARM_UP:
                taken.append(clock() - started)
    return [median(taken) for taken in seconds]


def compare_steps(side: int, settings: OwnSettings, device: torch.device, turns: int) -> tuple[float, float]:
    """Milliseconds a frame of the reference and of ours."""
    task, samples = make_case(side, settings, device)
    with cpu_threads(settings.training.threads):
        plain, ours = take_turns([Plain(samples[0]).step, our_step(task, samples)], turns, device)
    return 1e3 * plain / BATCH, 1e3 * ours / settings.training.batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", choices=sorted(PRESETS), default="paper")
    parser.add_argument("--sides", type=int, nargs="+", default=[256, 512])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    device = choose_device(given.device)
    print(f"training step on {describe_device(device)}, milliseconds a frame")
    for side in given.sides:
        plain, ours = compare_steps(side, PRESETS[given.preset], device, given.turns)
        print(
            f"{side} x {side}: reference {plain:.1f}, {given.preset} {ours:.1f}, ratio {plain / ours:.2f}", flush=True
        )


if __name__ == "__main__":
    main()
