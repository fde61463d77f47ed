"""A step in mixed precision: all weights are cast in one call, while autocast would cast each on its own."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from fewpoint.learning.parts import Descend, Parts, gradients_of

CONVOLUTIONS = (nn.Conv2d, nn.ConvTranspose2d)


class MixedPrecision:
    """A network and a copy whose convolutions are in bfloat16; everything else, above all the norms, is shared.

    What is learnt is what autocast would learn, without a kernel for each weight and for each gradient.
    parts: the number of chunks that a batch is divided into, see Parts.
    """

    def __init__(self, network: nn.Module, parts: int = 1) -> None:
        kept = [each for each in network.modules() if not isinstance(each, CONVOLUTIONS) and not list(each.children())]
        self._copy = deepcopy(network, {id(module): module for module in kept})
        self._whole = _convolution_weights(network)
        for module in self._copy.modules():
            if isinstance(module, CONVOLUTIONS):
                module.bfloat16()
        self._halves = _convolution_weights(self._copy)
        self._parts = Parts(self._copy, parts) if parts > 1 else None

    def descend(self, descend: Descend, index: Tensor, noise: torch.Generator) -> Tensor:
        """Leave the gradients of the frames of the index in the network, and return the figures.

        descend: leaves gradients in a network that it is given, and returns figures.
        """
        with torch.no_grad():
            torch._foreach_copy_(self._halves, self._whole)  # pyright: ignore[reportPrivateImportUsage] - no public twin
        for half in self._halves:
            half.grad = None
        if self._parts is None:
            figures = descend(self._copy, index, noise)
        else:
            figures = self._parts.descend(descend, index, noise)
        gradients = [torch.empty_like(weight) for weight in self._whole]
        learnt = gradients_of(self._halves)
        torch._foreach_copy_(gradients, learnt)  # pyright: ignore[reportPrivateImportUsage] - no public twin
        for weight, gradient in zip(self._whole, gradients, strict=True):
            weight.grad = gradient
        return figures


def _convolution_weights(network: nn.Module) -> list[Tensor]:
    """Weights and biases of all convolutions, in the network's order."""
    modules = (module for module in network.modules() if isinstance(module, CONVOLUTIONS))
    return [parameter for module in modules for parameter in module.parameters()]
