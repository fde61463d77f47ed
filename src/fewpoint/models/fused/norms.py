"""Batch norms with the sums and ReLUs that follow them, by kernels if given and able, else by torch.

kernels: None leaves everything to torch, here and in sizes.py.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from fewpoint.models.fused.available import Kernels, suits
from fewpoint.models.joining import join_channels
from fewpoint.models.multires_unet import Norm


def normalise(features: Tensor, norm: Norm, kernels: Kernels | None) -> Tensor:
    """ReLU of the norm of (B, C, H, W)."""
    chosen = _choose(kernels, norm, features)
    if chosen is None:
        return torch.relu_(norm(features))
    features = _lay_out(features)
    return chosen.normalise(features, _settle(norm, features, chosen), activate=True)


def add_normalised(
    unit: Tensor, unit_norm: Norm, shortcut: Tensor, shortcut_norm: Norm, kernels: Kernels | None
) -> Tensor:
    """ReLU of the sum of a unit's features, normalised and through a ReLU, and a shortcut's, normalised."""
    chosen = _choose(kernels, unit_norm, unit, shortcut)
    if chosen is None:
        return torch.relu(torch.relu_(unit_norm(unit)) + shortcut_norm(shortcut))
    unit, shortcut = _lay_out(unit), _lay_out(shortcut)
    settled = _settle(unit_norm, unit, chosen), _settle(shortcut_norm, shortcut, chosen)
    return chosen.add(unit, settled[0], shortcut, settled[1])


def join_scales(
    scales: list[Tensor], last_norm: Norm, shortcut: Tensor, shortcut_norm: Norm, norm: Norm, kernels: Kernels | None
) -> Tensor:
    """ReLU of the norm of scales side by side plus a shortcut.

    The last scale and the shortcut are still to be normalised; the last scale then gets a ReLU.
    """
    chosen = _choose(kernels, norm, *scales, shortcut)
    if chosen is None:
        joined = join_channels([*scales[:-1], torch.relu_(last_norm(scales[-1]))])
        return torch.relu_(norm(joined + shortcut_norm(shortcut)))
    *scales, shortcut = map(_lay_out, (*scales, shortcut))
    settled = _settle(last_norm, scales[-1], chosen), _settle(shortcut_norm, shortcut, chosen)
    joined, parts = chosen.join(scales, settled[0], shortcut, settled[1], norm.running_mean)
    return chosen.normalise(joined, _settle(norm, joined, chosen, parts), activate=True)


def _choose(kernels: Kernels | None, norm: Norm, *batches: Tensor) -> ModuleType | None:
    """The kernels, if they support what is asked: training or prediction with batch norms, not measuring statistics.

    They do not count batches; nothing reads the counts.
    """
    asked = isinstance(norm, nn.BatchNorm2d) and norm.training == torch.is_grad_enabled()
    return kernels.norms if kernels is not None and asked and all(map(suits, batches)) else None


def _settle(norm: Norm, features: Tensor, kernels: ModuleType, parts: Tensor | None = None) -> Any:
    """This norm for the kernels, by statistics of the features or, in prediction, by its running averages."""
    return kernels.measure(features, norm, parts) if norm.training else kernels.recall(norm)


def _lay_out(features: Tensor) -> Tensor:
    """The features with channels last, as they nearly always are."""
    return features.contiguous(memory_format=torch.channels_last)
