"""What models/fused is worth: python benchmarks/fused_step.py --device cuda [--side 256] [--repeats 30].

A training step of the paper's network (forward, backward, clipped gradients, Adam) on the same random grey frames,
convolutions in bfloat16 on CUDA, three ways:

- plain: the network as in models/multires_unet.py;
- fused: models/fused, on CUDA only;
- default, max-autotune-no-cudagraphs, reduce-overhead, max-autotune: the plain network under torch.compile in that
  mode.

On CUDA a step is captured as a CUDA graph, as the Trainer does it, except in the last two modes, which capture graphs
themselves: there casts, clipping and Adam are launched one by one. The first step is reported apart, for it is the
one that compiles. A way that fails says why, and the others go on. On a CPU, for a quick look at whether all of it
runs: --device cpu --side 16 --batch 2 --levels 2 --repeats 2.
"""

import argparse
import gc
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from statistics import quantiles

import torch
from torch import Tensor, nn

from fewpoint.learning.adam import Adam
from fewpoint.learning.devices import choose_device, describe_device
from fewpoint.learning.mixed_precision import MixedPrecision
from fewpoint.models.fused import fuse
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings

WARM_UP = 3  # steps before one is captured; compilers and libraries settle in them
RATE, WEIGHT_DECAY, CLIP_NORM = 1e-4, 0.01, 5.0


@dataclass(frozen=True)
class Way:
    """How a network is run.

    mode: of torch.compile; empty leaves the network uncompiled. captured: whether a step becomes a CUDA graph of ours.
    """

    fused: bool = False
    mode: str = ""
    captured: bool = True


WAYS = {
    "plain": Way(),
    "fused": Way(fused=True),
    "default": Way(mode="default"),
    "max-autotune-no-cudagraphs": Way(mode="max-autotune-no-cudagraphs"),
    "reduce-overhead": Way(mode="reduce-overhead", captured=False),
    "max-autotune": Way(mode="max-autotune", captured=False),
}
ON_CPU = ("plain", "max-autotune-no-cudagraphs")


@dataclass(frozen=True)
class Timing:
    """first_s: seconds of the first step. steps_ms: of each measured one. losses: of the first step and of the last."""

    first_s: float
    steps_ms: list[float]
    losses: tuple[float, float]
    memory_gb: float

    @property
    def median_ms(self) -> float:
        return sorted(self.steps_ms)[len(self.steps_ms) // 2]


class Step:
    """A network with its optimiser and a batch that it learns again and again."""

    def __init__(self, way: Way, settings: NetworkSettings, frames: Tensor, targets: Tensor) -> None:
        self.frames, self.targets, self.way = frames, targets, way
        plain = build_network(1, settings, (0.1,), torch.Generator().manual_seed(0))
        plain = plain.to(frames.device, memory_format=torch.channels_last).train()
        self.network = fuse(plain) if way.fused else plain
        for module in self.network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.num_batches_tracked = None  # as in the Trainer: a kernel per norm for what nothing reads
        self.optimiser = Adam(self.network.parameters(), WEIGHT_DECAY)
        self.optimiser.set_rate(RATE)
        self.halves = MixedPrecision(self.network) if frames.is_cuda else None
        self.run: Callable[[Tensor], Tensor] | None = None
        self.loss = torch.zeros((), device=frames.device)

    def take(self) -> None:
        """One step; nothing here waits for the device."""
        self.optimiser.forget_gradients()
        if self.way.mode and not self.way.captured:
            torch.compiler.cudagraph_mark_step_begin()
        index, noise = self.targets, torch.Generator()  # which descend has no use for
        if self.halves is None:
            loss = self.descend(self.network, index, noise)
        else:
            loss = self.halves.descend(self.descend, index, noise)
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP_NORM)
        self.optimiser.step()
        self.loss.copy_(loss)

    def descend(self, network: nn.Module, index: Tensor, noise: torch.Generator) -> Tensor:
        if self.run is None:
            self.run = torch.compile(network, mode=self.way.mode) if self.way.mode else network
        with torch.autocast(self.frames.device.type, torch.bfloat16, enabled=self.halves is not None):
            logits = self.run(self.frames)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float().reshape_as(self.targets), self.targets)
        loss.backward()
        return loss.detach()

    def capture(self) -> Callable[[], None]:
        """The step as a CUDA graph; takes some on the way."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.take()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.take()
        return graph.replay


def time_way(way: Way, settings: NetworkSettings, given: argparse.Namespace, device: torch.device) -> Timing:
    """Steps of one way, from scratch."""
    random = torch.Generator().manual_seed(1)
    shape = (given.batch, 1, given.side, given.side)
    frames = torch.randn(shape, generator=random).to(device, memory_format=torch.channels_last)
    targets = (torch.rand(given.batch, given.side, given.side, generator=random) < 0.2).float().to(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    step = Step(way, settings, frames, targets)
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    step.take()
    wait()
    first_s, first_loss = time.perf_counter() - started, step.loss.item()
    take = step.capture() if way.captured and device.type == "cuda" else step.take
    for _ in range(WARM_UP):
        take()
    steps_ms = [_time_once(take, wait) for _ in range(given.repeats)]
    memory = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0
    return Timing(first_s, steps_ms, (first_loss, step.loss.item()), memory)


def _time_once(take: Callable[[], None], wait: Callable[[], None]) -> float:
    wait()
    started = time.perf_counter()
    take()
    wait()
    return 1e3 * (time.perf_counter() - started)


def describe(name: str, timing: Timing, plain: Timing | None) -> str:
    """One line of the table."""
    lower, _, upper = quantiles(timing.steps_ms, n=4)
    ratio = f"{plain.median_ms / timing.median_ms:.2f}" if plain is not None else "?"
    first, last = timing.losses
    return (
        f"{name:28} {timing.median_ms:9.2f} ms ({lower:.2f} to {upper:.2f}), {ratio} times as fast as plain; "
        f"first step {timing.first_s:.1f} s; loss {first:.4f} to {last:.4f}; {timing.memory_gb:.1f} GB"
    )


def measure(given: argparse.Namespace, device: torch.device) -> None:
    """Print a line for each way as soon as it is known."""
    settings = NetworkSettings(levels=given.levels)
    timings: dict[str, Timing] = {}
    for name in given.ways:
        if device.type == "cpu" and name not in ON_CPU:
            print(f"{name:28} needs CUDA", flush=True)
            continue
        try:
            timings[name] = time_way(WAYS[name], settings, given, device)
            print(describe(name, timings[name], timings.get("plain")), flush=True)
        except Exception as problem:  # whatever it is, the other ways are still worth knowing
            text = str(problem).strip() or "no reason given"
            print(f"{name:28} failed: {type(problem).__name__}: {text.splitlines()[0]}", flush=True)
            traceback.print_exc()
        _forget(WAYS[name], device)


def _forget(way: Way, device: torch.device) -> None:
    """Free what a way compiled and allocated."""
    if way.mode:
        torch.compiler.reset()
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--side", type=int, default=256, help="pixels, a multiple of 2 ** (levels - 1)")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--levels", type=int, default=5, help="the paper's network has five")
    parser.add_argument("--repeats", type=int, default=30, help="steps measured, two or more")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = parser.parse_args()
    device = choose_device(given.device)
    print(
        f"training step, {given.batch} frames of {given.side} x {given.side}, on {describe_device(device)}, "
        f"torch {torch.__version__}",
        flush=True,
    )
    measure(given, device)


if __name__ == "__main__":
    main()
