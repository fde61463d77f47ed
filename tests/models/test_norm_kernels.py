"""The kernels give what batch norm and ReLU in float32 give: on a GPU, or with TRITON_INTERPRET=1 on a CPU."""

import os

import pytest
import torch
from torch import Tensor
from torch.nn import functional

pytest.importorskip("triton")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET")):
    pytest.skip("Triton needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from fewpoint.models import norm_kernels

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"
SHAPES = [(2, 8, 6, 5), (3, 12, 7, 9), (2, 24, 40, 33), (1, 100, 9, 9), (2, 66, 5, 5), (4, 5, 8, 8)]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-2}


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def last(values: Tensor) -> Tensor:
    return values.to(memory_format=torch.channels_last)


def differentiate(shape: tuple[int, ...], dtype: torch.dtype, activate: bool, ours: bool) -> list[Tensor]:
    """The result, the gradients of features, weight and bias, and the running averages."""
    channels = shape[1]
    features = last((2 * draw(*shape, seed=0) + 1.5).to(dtype)).requires_grad_()
    affine = [(draw(channels, seed=seed) + 1).requires_grad_() for seed in (1, 2)]
    running = [draw(channels, seed=3), draw(channels, seed=4).abs()]
    if ours:
        result = norm_kernels.normalise(features, affine, running, 0.1, epsilon=1e-5, activate=activate)
    else:
        result = functional.batch_norm(features.float(), *running, *affine, True, 0.1, 1e-5)
        result = torch.relu(result) if activate else result
    pull = last(draw(shape[0], channels + 4, *shape[2:], seed=5).to(dtype))[:, 4:]  # a part of something wider
    result.backward(pull.to(result.dtype))
    return [each.detach().float() for each in (result, features.grad, *(each.grad for each in affine), *running)]


@pytest.mark.parametrize("activate", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_result_gradients_and_running_averages_are_those_of_torch(shape, dtype, activate):
    found, expected = (differentiate(shape, dtype, activate, ours) for ours in (True, False))
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine - theirs).abs().max() <= TOLERANCE[dtype] * theirs.abs().max()


def test_a_batch_with_channels_first_is_left_to_torch():
    assert not norm_kernels.suits(torch.zeros(2, 8, 4, 4))
    assert norm_kernels.suits(last(torch.zeros(2, 8, 4, 4)))
