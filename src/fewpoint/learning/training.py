"""One epoch of training, eager on CPUs and as a captured CUDA graph on GPUs."""

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from fewpoint.learning.adam import Adam
from fewpoint.learning.augment import augment_frames, draw_warps, flip_randomly, warp_frames, warp_maps
from fewpoint.learning.mixed_precision import MixedPrecision
from fewpoint.learning.objectives import Objective, measure_risks
from fewpoint.learning.parts import Parts
from fewpoint.learning.prediction import choose_layout, is_mixed, run_network
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import AugmentationSettings, TrainingSettings
from fewpoint.models.networks import Network

Result = TypeVar("Result")


@dataclass(frozen=True)
class StepMeans:
    """Means over the steps of an epoch, of one object."""

    loss: float
    positive_risk: float
    negative_risk: float
    ascent_share: float


@dataclass(frozen=True)
class Recipe:
    """What a training step descends, and how. objectives: one per object."""

    objectives: tuple[Objective, ...]
    training: TrainingSettings
    augmentation: AugmentationSettings


def _ignore(steps: int) -> None:
    """Reports to nobody."""


class Trainer:
    """A network, its optimiser and its random numbers; the only mutable thing in learning.

    All of it goes into state_dict, so that a run can stop after any epoch and continue to the bit.
    objects: the samples of each object; they share frames and superpixels, those of `samples`.
    """

    def __init__(self, network: Network, objects: tuple[SampleSet, ...], recipe: Recipe, seed: int) -> None:
        samples = objects[0]
        device = samples.frames.device
        layout = choose_layout(network, device, recipe.training)
        self.network = network.to(device, memory_format=layout)  # pyright: ignore[reportCallIssue] - torch's stub lacks it
        self.samples = samples
        self.objects = objects
        self.recipe = recipe
        self._order = torch.Generator().manual_seed(seed)
        self._noise = torch.Generator(device).manual_seed(seed)
        self._optimiser = Adam(network.parameters(), recipe.training.weight_decay)
        self._priors = torch.zeros(samples.n_frames, len(objects), device=device)
        self._totals = torch.zeros(4, len(objects), device=device)
        self._index = torch.zeros(recipe.training.batch, dtype=torch.int64, device=device)
        self._replay: Callable[[], None] | None = None
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._copies = _copy_network(self.network, recipe.training, device)

    @property
    def steps_per_epoch(self) -> int:
        return count_steps(self.samples.n_frames, self.recipe.training)

    def run_epoch(
        self, priors: Tensor, rates: list[float], tell: Callable[[int], None] = _ignore
    ) -> tuple[StepMeans, ...]:
        """Train on frames_per_epoch frames or once round the sequence; rates holds the learning rate of each step.

        priors: (T, K). tell: called after each step with the number of steps done. Returns the means of each object.
        """
        return finish(self.take_steps(priors, rates, tell))

    def take_steps(
        self, priors: Tensor, rates: list[float], tell: Callable[[int], None] = _ignore
    ) -> Generator[None, None, tuple[StepMeans, ...]]:
        """run_epoch, with a pause after each step, in which others may take theirs.

        On a GPU a step is only launched, on the trainer's own stream: several trainers fill what one leaves idle.
        """
        self._record_step()
        self._be_learning()
        self._priors.copy_(priors)
        self._totals.zero_()
        batches = self._draw_batches().to(self._index.device)
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())
        for number, (index, rate) in enumerate(zip(batches, rates, strict=True), start=1):
            self._step(index, rate)
            tell(number)
            yield
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
        return tuple(StepMeans(*means) for means in (self._totals / len(batches)).T.tolist())

    def try_steps(self, count: int) -> None:
        """Take steps as in an epoch, to see how long they take: for benchmarks, whose trainer is thrown away."""
        self._record_step()
        self._be_learning()
        batches = self._draw_batches().to(self._index.device)
        for number in range(count):
            self._step(batches[number % len(batches)], 0.0)

    def _record_step(self) -> None:
        """On a GPU, record the step that epochs replay."""
        if self._index.is_cuda and self._replay is None:
            self._be_learning()
            self._replay = self._capture()

    def _be_learning(self) -> None:
        if not self.network.training:  # switching takes milliseconds, in which a GPU is idle
            self.network.train()

    def is_finite(self) -> bool:
        """Whether all weights are numbers; a last step can break them after the last loss was sound."""
        weights: list[Tensor] = list(self.network.parameters())
        norms = torch._foreach_norm(weights)  # pyright: ignore[reportPrivateImportUsage] - no public twin
        return bool(torch.stack(norms).isfinite().all())

    def state_dict(self) -> dict:
        return {
            "network": self.network.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "order": self._order.get_state(),
            "noise": self._noise.get_state(),
            "device": self._noise.device.type,
        }

    def copy_learnt(self) -> dict[str, Any]:
        """A copy of the weights and of Adam's moments."""
        return _clone({"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()})

    def return_to(self, learnt: dict[str, Any]) -> None:
        """Go on from weights and moments that copy_learnt returned; random numbers go on as they are."""
        self.network.load_state_dict(learnt["network"])
        self._optimiser.load_state_dict(learnt["optimiser"])

    def load_state_dict(self, state: dict) -> None:
        """Continue from a state; before the first epoch only, since a captured graph refers to its memory.

        From a state of another kind of device only weights and moments are taken, not the noise, which means nothing
        here: training continues, but not to the bit.
        """
        self.return_to(state)
        self._order.set_state(state["order"])
        if state["device"] == self._noise.device.type:
            self._noise.set_state(state["noise"])

    def _draw_batches(self) -> Tensor:
        """(steps, batch) frames in random order; in a batch without any point the first frame is replaced by one with.

        Each of several objects has its own place in the batch, whose frame is replaced by one with its points if no
        frame that stays has any.
        """
        batch = self.recipe.training.batch
        needed = self.steps_per_epoch * batch
        rounds = math.ceil(needed / self.samples.n_frames)
        order = torch.cat([torch.randperm(self.samples.n_frames, generator=self._order) for _ in range(rounds)])
        batches = order[:needed].reshape(-1, batch)
        places = torch.arange(batch)
        for place, samples in enumerate(self.objects):
            clicked = torch.from_numpy(samples.has_point)
            staying = batches[:, (places <= place) | (places >= len(self.objects))]
            without = ~clicked[staying].any(1)
            candidates = clicked.nonzero()[:, 0]
            drawn = torch.randint(len(candidates), (len(batches),), generator=self._order)
            batches[without, place] = candidates[drawn][without]
        return batches

    def _step(self, index: Tensor, rate: float) -> None:
        """One step on the frames of the index, at a learning rate."""
        with torch.cuda.stream(self._stream):  # does nothing without one
            self._index.copy_(index)
            self._optimiser.set_rate(rate)
            if self._replay is None:
                self._train_batch()
            else:
                self._replay()

    def _train_batch(self) -> None:
        """One step on the frames in self._index; nothing here waits for the device."""
        self._optimiser.forget_gradients()
        if self._copies is None:
            figures = self._descend(self.network, self._index, self._noise)
        else:
            figures = self._copies.descend(self._descend, self._index, self._noise)
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.training.clip_norm)
        self._optimiser.step()
        self._totals += figures

    def _descend(self, network: nn.Module, index: Tensor, noise: torch.Generator) -> Tensor:
        """Leave the gradients of the risk of some frames in the network, and return the figures of StepMeans."""
        samples, recipe = self.samples, self.recipe
        frames, labels, maps = self._augment(index, noise)
        logits = run_network(network, samples.standardise(frames), recipe.training)
        risk = measure_risks(recipe.objectives, logits, labels, maps, index, self._priors[index])
        risk.objective.sum().backward()
        return torch.stack([risk.objective, risk.positive, risk.negative, risk.ascends.float()]).detach()

    def _augment(self, index: Tensor, noise: torch.Generator) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Frames of the index changed at random, and their labels and the objective's maps, which move with them."""
        settings, samples = self.recipe.augmentation, self.samples
        frames, labels = samples.frames[index], samples.labels[index]
        maps = [each[index] for objective in self.recipe.objectives for each in objective.maps]
        if settings.flips:
            frames, (labels, *maps) = flip_randomly(frames, [labels, *maps], noise)
        if settings.warps:
            grid = draw_warps(frames.shape, settings, noise)
            frames, labels = warp_frames(frames, labels, samples.regions, grid)
            maps = warp_maps(maps, grid)
        return augment_frames(frames, settings, noise), labels, maps

    def _capture(self) -> Callable[[], None]:
        """Record one step as a CUDA graph, leaving weights, optimiser and random numbers as they were."""
        before = _clone(self.state_dict())
        totals = self._totals.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._train_batch()  # what a first step sets up is not recorded
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._noise)
        with _uncounted(self.network), torch.cuda.graph(graph):
            self._train_batch()
        self.return_to(before)
        self._noise.set_state(before["noise"])
        self._totals.copy_(totals)
        return graph.replay


def _copy_network(
    network: nn.Module, settings: TrainingSettings, device: torch.device
) -> Parts | MixedPrecision | None:
    """The copies that take steps for a network; None if it takes them itself."""
    parts = settings.parts if device.type == "cpu" else 1
    if is_mixed(device, settings):
        return MixedPrecision(network, parts)
    return Parts(network, parts) if parts > 1 else None


def finish(steps: Generator[None, None, Result]) -> Result:
    """Take all steps and return their result."""
    return alternate([steps])[0]


def count_steps(n_frames: int, settings: TrainingSettings) -> int:
    """Training steps of an epoch on this many frames."""
    return math.ceil(max(n_frames, settings.frames_per_epoch) / settings.batch)


def alternate(works: list[Generator[None, None, Result]]) -> list[Result]:
    """Take a step of each in turn until all have ended, and return their results."""
    results: dict[int, Result] = {}
    while going := [number for number in range(len(works)) if number not in results]:
        for number in going:
            try:
                next(works[number])
            except StopIteration as end:
                results[number] = end.value
    return [results[number] for number in range(len(works))]


@contextmanager
def _uncounted(network: nn.Module) -> Iterator[None]:
    """Keep batch norms from counting batches: nothing reads the counts, and each costs a kernel per step."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    counts = [norm.num_batches_tracked for norm in norms]
    for norm in norms:
        norm.num_batches_tracked = None
    try:
        yield
    finally:
        for norm, count in zip(norms, counts, strict=True):
            norm.num_batches_tracked = count


def _clone(state: Any) -> Any:
    """A deep copy of a nested state."""
    if isinstance(state, dict):
        return {key: _clone(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_clone(value) for value in state]
    return state.clone() if isinstance(state, Tensor) else state
