"""Ways down and up a size, as torch goes them; empty channels change nothing."""

import torch
from torch import nn

from fewpoint.models.fused.sizes import convolve, double, fill_channels, halve


def test_halving_takes_the_largest_of_four_and_hands_the_features_on():
    features = torch.arange(16.0).reshape(1, 1, 4, 4)
    halved, kept = halve(features, kernels=None)
    assert halved.flatten().tolist() == [5.0, 7.0, 13.0, 15.0]
    assert kept is features


def test_doubling_sets_the_upsampled_before_those_that_skipped():
    upsampler, features, skipped = (
        nn.ConvTranspose2d(3, 2, 2, stride=2),
        torch.randn(1, 3, 2, 2),
        torch.ones(1, 4, 4, 4),
    )
    doubled = double(upsampler, features, skipped, kernels=None)
    assert torch.equal(doubled, torch.cat([upsampler(features), skipped], dim=1))


def test_empty_channels_change_neither_the_result_nor_the_gradient_of_a_convolution():
    convolution = nn.Conv2d(3, 5, 3, padding=1, bias=False, dtype=torch.float64)
    frames = torch.randn(2, 3, 6, 7, dtype=torch.float64)
    filled = nn.functional.pad(frames, (0, 0, 0, 0, 0, 5))
    results = [convolve(convolution, given) for given in (frames, filled)]
    gradients = [torch.autograd.grad(result.square().sum(), convolution.weight)[0] for result in results]
    assert torch.allclose(*results)
    assert torch.allclose(*gradients)


def test_frames_on_a_cpu_keep_their_channels():
    frames = torch.zeros(2, 3, 4, 4)
    assert fill_channels(frames) is frames
