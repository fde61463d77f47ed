"""The forward pass of a MultiResUNet on CUDA."""

from functools import partial

from torch import Tensor, nn

from fewpoint.models.fused.available import Kernels, find_kernels
from fewpoint.models.fused.branches import Branch
from fewpoint.models.fused.norms import add_normalised, join_scales, normalise
from fewpoint.models.fused.sizes import convolve, double, fill_channels, halve
from fewpoint.models.multires_unet import MultiResBlock, MultiResUNet, ResidualPath


class FusedNetwork(nn.Module):
    """A MultiResUNet with another forward pass: its modules are those of the plain network, under the same names.

    Only networks as wide as the paper's run kernels: for others, compiling takes longer than they save.
    """

    def __init__(self, network: MultiResUNet) -> None:
        super().__init__()
        self.settings = network.settings
        self.encoder, self.paths = network.encoder, network.paths
        self.upsamplers, self.decoder = network.upsamplers, network.decoder
        self.head = network.head
        self.training = network.training

    def forward(self, frames: Tensor) -> Tensor:
        kernels = self._choose_kernels(frames)
        skipped = []
        features = run_block(self.encoder[0], fill_channels(frames), kernels)
        for path, block in zip(reversed(self.paths), self.encoder[1:], strict=True):
            halved, features = halve(features, kernels)
            skipped.append(Branch(partial(run_path, path, kernels=kernels), features))
            features = run_block(block, halved, kernels)
        for upsampler, block in zip(self.upsamplers, self.decoder, strict=True):
            features = run_block(block, double(upsampler, features, skipped.pop().join(), kernels), kernels)
        return self.head(features)

    def _choose_kernels(self, frames: Tensor) -> Kernels | None:
        return find_kernels() if self.settings.is_wide and frames.is_cuda else None


def run_block(block: MultiResBlock, features: Tensor, kernels: Kernels | None) -> Tensor:
    """What the block's forward returns."""
    shortcut = Branch(partial(convolve, block.shortcut.convolution), features)
    *units, last = block.chain
    scales = []
    for unit in units:
        features = normalise(convolve(unit.convolution, features), unit.norm, kernels)
        scales.append(features)
    scales.append(convolve(last.convolution, features))
    return join_scales(scales, last.norm, shortcut.join(), block.shortcut.norm, block.norm, kernels)


def run_path(path: ResidualPath, features: Tensor, kernels: Kernels | None) -> Tensor:
    """What the path's forward returns."""
    for unit, shortcut in zip(path.units, path.shortcuts, strict=True):
        ours, skipping = unit.convolution(features), shortcut.convolution(features)
        features = add_normalised(ours, unit.norm, skipping, shortcut.norm, kernels)
    return features
