"""A step on several processor cores: chunks of a batch, each with a copy of the network."""

from collections.abc import Callable, Iterable
from copy import deepcopy

import torch
from torch import Tensor, nn

from fewpoint.core.threads import free_cores
from fewpoint.learning.devices import start_threads

Descend = Callable[[nn.Module, Tensor, torch.Generator], Tensor]
LARGEST_SEED = 2**62


class Parts:
    """A network and copies that share its weights; each copy has its own gradients and batch statistics.

    The result depends on the number of chunks, never on how many cores work on them.
    """

    def __init__(self, network: nn.Module, count: int) -> None:
        self.networks = [network, *(_share_weights(network) for _ in range(count - 1))]
        self._pool = start_threads(min(count, free_cores()))

    def descend(self, descend: Descend, index: Tensor, noise: torch.Generator) -> Tensor:
        """Leave the mean gradient over all frames of the index in the first network, and return the mean figures.

        descend: leaves the gradients of some frames in a network, with its own random numbers. noise: seeds them.
        """
        chunks = index.chunk(len(self.networks))
        networks = self.networks[: len(chunks)]
        seeds = torch.randint(LARGEST_SEED, (len(chunks),), generator=noise).tolist()
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        for copied in networks[1:]:
            copied.zero_grad()
        figures = list(self._pool.map(descend, networks, chunks, generators))
        weights = [len(chunk) / len(index) for chunk in chunks]
        _mean_gradients(networks, weights)
        return sum((weight * each for weight, each in zip(weights, figures, strict=True)), start=torch.zeros(()))


def gradients_of(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The gradients of those parameters that have one."""
    return [each.grad for each in parameters if each.grad is not None]


def _share_weights(network: nn.Module) -> nn.Module:
    """A copy whose parameters use the network's memory, so that a step of one is a step of both."""
    copied = deepcopy(network)
    for own, shared in zip(copied.parameters(), network.parameters(), strict=True):
        own.data = shared.data
    return copied


def _mean_gradients(networks: list[nn.Module], weights: list[float]) -> None:
    """Give the first network the weighted mean of all networks' gradients."""
    first, *others = (gradients_of(network.parameters()) for network in networks)
    torch._foreach_mul_(first, weights[0])  # pyright: ignore[reportPrivateImportUsage] - no public twin
    for gradients, weight in zip(others, weights[1:], strict=True):
        torch._foreach_add_(first, gradients, alpha=weight)  # pyright: ignore[reportPrivateImportUsage] - no public twin
