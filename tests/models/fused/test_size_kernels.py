"""The kernels give what torch gives: on a GPU, or with TRITON_INTERPRET=1 on a CPU."""

import os
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("triton")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET")):
    pytest.skip("Triton needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from fewpoint.models.fused import size_kernels

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") else "cuda"
SHAPES = [(2, 8, 6, 4), (3, 12, 8, 10), (2, 24, 40, 32), (1, 100, 10, 6), (2, 66, 4, 4), (4, 5, 8, 8)]
ROUNDING = {torch.float32: 0.0, torch.bfloat16: 2**-7}  # of one sum: Triton's interpreter cuts off, torch rounds


def draw(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return last(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype))


def last(values: Any) -> Any:
    return values.to(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("shape", SHAPES)
def test_halving_is_max_pooling_and_adds_what_else_pulls_at_the_features(shape, dtype):
    features = torch.relu(draw(*shape, seed=0, dtype=dtype)).requires_grad_()  # with zeros that are equally large
    plain = features.detach().clone().requires_grad_()
    halved, kept = size_kernels.halve(features)
    expected = nn.functional.max_pool2d(plain, 2)
    of_halved, wider = draw(*expected.shape, seed=1, dtype=dtype), draw(shape[0], shape[1] + 4, *shape[2:], seed=2)
    of_kept = last(wider.to(dtype))[:, 4:]  # a part of something wider
    torch.autograd.backward([halved, kept], [of_halved, of_kept])
    torch.autograd.backward([expected, plain], [of_halved, of_kept])
    assert torch.equal(halved, expected)
    assert torch.equal(kept, features)
    assert torch.allclose(features.grad, plain.grad, atol=0, rtol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [8, 24, 3])
def test_batches_side_by_side_are_those_of_torch_with_the_bias_added(shape, width, dtype):
    fine, skipped = draw(*shape, seed=0, dtype=dtype), draw(shape[0], width, *shape[2:], seed=1, dtype=dtype)
    given = [each.requires_grad_() for each in (fine, draw(1, shape[1], 1, 1, seed=2).flatten().detach(), skipped)]
    plain = [each.detach().clone().requires_grad_() for each in given]
    result = size_kernels.set_beside(*given)
    expected = torch.cat([(plain[0].float() + plain[1][:, None, None]).to(dtype), plain[2]], dim=1)
    pull = draw(*expected.shape, seed=3, dtype=dtype)
    result.backward(pull)
    expected.backward(pull)
    assert torch.allclose(result, expected, atol=0, rtol=ROUNDING[dtype])
    assert torch.equal(given[0].grad, plain[0].grad)
    assert torch.equal(given[2].grad, plain[2].grad)
    summed = pull[:, : shape[1]].float().sum((0, 2, 3))  # torch rounds each sum over part of the places on the way
    assert torch.allclose(given[1].grad, summed, atol=1e-3)
