"""The kernels give what batch norm and ReLU in float32 give: on a GPU, or with TRITON_INTERPRET=1 on a CPU."""

import os
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("triton")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET")):
    pytest.skip("Triton needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from fewpoint.models.fused import norm_kernels

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"
SHAPES = [(2, 8, 6, 5), (3, 12, 7, 9), (2, 24, 40, 33), (1, 100, 9, 9), (2, 66, 5, 5), (4, 5, 8, 8)]
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 1e-2}


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def last(values: Any) -> Any:
    return values.to(memory_format=torch.channels_last)


def make_norm(channels: int, seed: int) -> nn.BatchNorm2d:
    """A batch norm that has seen something."""
    norm = nn.BatchNorm2d(channels, device=DEVICE)
    norm.weight.data, norm.bias.data = (draw(channels, seed=seed + shift) + 1 for shift in (1, 2))
    norm.running_mean, norm.running_var = draw(channels, seed=seed + 3), draw(channels, seed=seed + 4).abs()
    return norm


def make_features(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> Tensor:
    return last((2 * draw(*shape, seed=seed) + 1.5).to(dtype)).requires_grad_()


def pull_back(result: Tensor, features: list[Tensor], norms: list[nn.BatchNorm2d]) -> list[Tensor]:
    """The result, the gradients of features, weights and biases, and the running averages."""
    batch, channels, *size = result.shape
    pull = last(draw(batch, channels + 4, *size, seed=5).to(features[0].dtype))[:, 4:]  # a part of something wider
    result.backward(pull.to(result.dtype))
    learnt = [each.grad for each in (*features, *(own for norm in norms for own in (norm.weight, norm.bias)))]
    seen = [own for norm in norms for own in (norm.running_mean, norm.running_var)]
    return [each.detach().float() for each in (result, *learnt, *seen)]


def differentiate(shape: tuple[int, ...], dtype: torch.dtype, activate: bool, ours: bool) -> list[Tensor]:
    features, norm = make_features(shape, dtype, seed=0), make_norm(shape[1], seed=0)
    if ours:
        result = norm_kernels.normalise(features, norm_kernels.measure(features, norm), activate)
    else:
        result = torch.relu(norm(features.float())) if activate else norm(features.float())
    return pull_back(result, [features], [norm])


def differentiate_sum(shape: tuple[int, ...], dtype: torch.dtype, ours: bool) -> list[Tensor]:
    features, norms = [make_features(shape, dtype, seed) for seed in (0, 10)], [make_norm(shape[1], s) for s in (0, 20)]
    if ours:
        settled = [norm_kernels.measure(each, norm) for each, norm in zip(features, norms, strict=True)]
        result = norm_kernels.add(features[0], settled[0], features[1], settled[1])
    else:
        result = torch.relu(torch.relu(norms[0](features[0].float())) + norms[1](features[1].float()))
    return pull_back(result, features, norms)


def differentiate_join(widths: tuple[int, int, int], dtype: torch.dtype, ours: bool) -> list[Tensor]:
    """Two scales, a third and a shortcut with norms of their own, and the norm of their sum."""
    sizes = (*widths, sum(widths))
    features = [make_features((2, width, 9, 11), dtype, seed) for seed, width in enumerate(sizes)]
    norms = [make_norm(width, seed=10 * seed) for seed, width in enumerate((widths[2], sizes[3], sizes[3]))]
    *scales, shortcut = features
    if ours:
        settled = norm_kernels.measure(scales[2], norms[0]), norm_kernels.measure(shortcut, norms[1])
        joined, parts = norm_kernels.join(scales, settled[0], shortcut, settled[1], norms[2].running_mean)
        result = norm_kernels.normalise(joined, norm_kernels.measure(joined, norms[2], parts), activate=True)
    else:
        first, second, last, shortcut = (each.float() for each in features)
        side_by_side = torch.cat([first, second, torch.relu(norms[0](last))], dim=1)
        result = torch.relu(norms[2](side_by_side + norms[1](shortcut)))
    return pull_back(result, features, norms)


@pytest.mark.parametrize("activate", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_result_gradients_and_running_averages_are_those_of_torch(shape, dtype, activate):
    found, expected = (differentiate(shape, dtype, activate, ours) for ours in (True, False))
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine - theirs).abs().max() <= TOLERANCE[dtype] * theirs.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sum_of_two_norms_is_that_of_torch(shape, dtype):
    found, expected = (differentiate_sum(shape, dtype, ours) for ours in (True, False))
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine - theirs).abs().max() <= TOLERANCE[dtype] * theirs.abs().max()


@pytest.mark.parametrize(("dtype", "allowed"), [(torch.float32, 1e-4), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("widths", [(8, 16, 24), (16, 32, 56), (4, 8, 12), (1, 3, 2)])
def test_scales_joined_with_a_shortcut_are_those_of_torch(widths, dtype, allowed):
    # In bfloat16 the sum is rounded before its norm: a ReLU at the edge may then let another gradient through.
    found, expected = (differentiate_join(widths, dtype, ours) for ours in (True, False))
    compared = [pair for pair in zip(found, expected, strict=True) if pair[1].norm() > 1e-3]
    assert len(compared) == len(expected) - 1  # the shortcut's bias, which the norm takes away again, has no gradient
    for mine, theirs in compared:
        assert (mine - theirs).norm() <= allowed * theirs.norm()


def test_running_averages_are_recalled_as_torch_predicts_by_them():
    features, norm = make_features((2, 24, 6, 5), torch.float32, seed=0).detach(), make_norm(24, seed=0).eval()
    found = norm_kernels.normalise(features, norm_kernels.recall(norm), activate=True)
    assert torch.allclose(found, torch.relu(norm(features)), atol=1e-5)
