"""Features side by side."""

import pytest
import torch

from fewpoint.models.joining import join_channels


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_features_and_gradients_are_those_of_a_concatenation_each_in_one_piece(layout):
    generator = torch.Generator().manual_seed(0)
    parts = [
        torch.randn(2, channels, 4, 6, generator=generator).to(memory_format=layout).requires_grad_()
        for channels in (4, 1, 8)
    ]
    weight = torch.randn(2, 13, 4, 6, generator=generator).to(memory_format=layout)
    seen = []
    for part in parts:
        part.register_hook(seen.append)
    joined = join_channels(parts)
    assert torch.equal(joined, torch.cat(parts, dim=1)) and joined.is_contiguous(memory_format=layout)
    (joined * weight).sum().backward()
    for part, wanted in zip(parts, weight.split([4, 1, 8], dim=1), strict=True):
        assert torch.equal(part.grad, wanted)
    assert all(gradient.is_contiguous(memory_format=layout) for gradient in seen)


def test_gradients_agree_with_finite_differences():
    parts = [torch.randn(1, channels, 2, 2, dtype=torch.float64, requires_grad=True) for channels in (1, 2)]
    assert torch.autograd.gradcheck(lambda *each: join_channels(list(each)).square(), parts)
