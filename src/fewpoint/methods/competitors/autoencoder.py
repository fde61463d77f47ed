"""Features of superpixels, learnt on the sequence alone: the deepest layer of a network that redraws its frames.

The encoder and decoder of a U-Net, each level three 3 x 3 convolutions with batch norm and ReLU. There are no skip
connections: with them the frames could be redrawn without the deepest layer, which would then learn nothing.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from fewpoint.core import ImageSequence, PointSet, SuperpixelMap
from fewpoint.learning.samples import reduce_sequence
from fewpoint.learning.working import WorkingSize
from fewpoint.methods.competitors.settings import AutoencoderSettings

CONVOLUTIONS = 3


class Autoencoder(nn.Module):
    """Frames (B, C, H, W), sides multiples of 2 ** (levels - 1), to frames of the same shape."""

    def __init__(self, channels: int, settings: AutoencoderSettings) -> None:
        super().__init__()
        widths = [settings.base_width * 2**level for level in range(settings.levels)]
        self.encoder = nn.ModuleList(map(make_block, [channels, *widths[:-1]], widths))
        self.decoder = nn.ModuleList(map(make_block, widths[:0:-1], widths[-2::-1]))
        self.head = nn.Conv2d(widths[0], channels, 1)

    def encode(self, frames: Tensor) -> Tensor:
        """(B, D, h, w) deepest features."""
        features = self.encoder[0](frames)
        for block in self.encoder[1:]:
            features = block(nn.functional.max_pool2d(features, 2))
        return features

    def forward(self, frames: Tensor) -> Tensor:
        features = self.encode(frames)
        for block in self.decoder:
            features = block(nn.functional.interpolate(features, scale_factor=2.0, mode="bilinear"))
        return self.head(features)


def make_block(inputs: int, outputs: int) -> nn.Sequential:
    """Three 3 x 3 convolutions, each with batch norm and ReLU."""
    layers: list[nn.Module] = []
    for number in range(CONVOLUTIONS):
        layers += [
            nn.Conv2d(outputs if number else inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)


def learn_features(
    sequence: ImageSequence,
    superpixels: SuperpixelMap,
    settings: AutoencoderSettings,
    *,
    focus: np.ndarray | None = None,
    seed: int,
    device: torch.device,
) -> np.ndarray:
    """(total, D) float32 mean deepest features of each superpixel.

    focus: (T, H, W) weights of the squared error, such as weigh_focus gives; None weighs all pixels alike.
    """
    size = WorkingSize.fit(sequence.size, settings.max_side, 2 ** (settings.levels - 1))
    frames = reduce_sequence(sequence, size)
    center, scale = frames.mean((0, 2, 3), keepdim=True), frames.std((0, 2, 3), keepdim=True).clamp(min=1e-3)
    layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format  # the faster one on each
    frames = ((frames - center) / scale).to(device, memory_format=layout)
    weights = torch.ones(len(frames), 1, *size.padded)
    if focus is not None:
        weights = size.reduce_frames(torch.from_numpy(focus[:, np.newaxis].astype(np.float32)))
    network = build_autoencoder(frames.shape[1], settings, seed)
    network = network.to(device, memory_format=layout)  # pyright: ignore[reportCallIssue] - torch's stub lacks it
    train(network, frames, weights.to(device), settings, seed)
    return pool_features(network, frames, superpixels, size)


def build_autoencoder(channels: int, settings: AutoencoderSettings, seed: int) -> Autoencoder:
    """An untrained network, He-initialised from the seed."""
    network, generator = Autoencoder(channels, settings), torch.Generator().manual_seed(seed)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network


def train(network: Autoencoder, frames: Tensor, weights: Tensor, settings: AutoencoderSettings, seed: int) -> None:
    """Descend the weighted mean squared error of the redrawn frames."""
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
    steps = settings.epochs * math.ceil(max(len(frames), settings.frames_per_epoch) / settings.batch)
    network.train()
    for _ in range(steps):
        index = torch.randint(len(frames), (settings.batch,), generator=generator).to(frames.device)
        with torch.autocast(frames.device.type, torch.bfloat16, enabled=frames.is_cuda):
            redrawn = network(frames[index])
        loss = weighted_error(redrawn.float(), frames[index], weights[index])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.eval()


def weighted_error(redrawn: Tensor, frames: Tensor, weights: Tensor) -> Tensor:
    """Mean squared error over (B, C, h, w), each pixel counting by its (B, 1, h, w) weight.

    >>> weighted_error(torch.tensor([[[[1.0, 2.0]]]]), torch.zeros(1, 1, 1, 2), torch.tensor([[[[3.0, 1.0]]]]))
    tensor(1.7500)
    """
    return ((redrawn - frames).square() * weights).sum() / (weights.sum() * frames.shape[1])


def weigh_focus(points: PointSet, shape: tuple[int, int, int], sigma: float) -> np.ndarray:
    """(T, H, W) float32: a Gaussian round each frame's nearest click, sigma a share of the longer side.

    On a frame without a click, every pixel counts as much as one that is a sigma away from a click.
    """
    rows, columns = np.indices(shape[1:])
    reach = sigma * max(shape[1:])
    weights = np.full(shape, np.exp(-0.5), np.float32)
    for frame in np.unique(points.frames):
        places = points.coordinates[points.frames == frame, 1:]
        squares = [(rows - y) ** 2 + (columns - x) ** 2 for y, x in places]
        weights[frame] = np.exp(-0.5 * np.min(squares, axis=0) / reach**2)
    return weights


@torch.no_grad()
def pool_features(network: Autoencoder, frames: Tensor, superpixels: SuperpixelMap, size: WorkingSize) -> np.ndarray:
    """(total, D) float32 means of the upsampled deepest features over each superpixel.

    A superpixel too small for the working size has the features of the pixel at its place there.
    """
    labels = size.reduce_labels(superpixels.labels, border=-1)
    pooled = []
    for frame, count in enumerate(superpixels.counts.tolist()):
        features = network.encode(frames[frame : frame + 1]).contiguous(memory_format=torch.channels_last)
        features = nn.functional.interpolate(features, size.padded, mode="bilinear")[0].permute(1, 2, 0).flatten(0, 1)
        own = torch.from_numpy(labels[frame].astype(np.int64)).flatten().to(frames.device)
        valid = own >= 0
        sums = features.new_zeros(count, features.shape[1]).index_add_(0, own[valid], features[valid])
        areas = torch.bincount(own[valid], minlength=count)
        means = (sums / areas.clamp(min=1)[:, None]).cpu().numpy()
        missing = np.flatnonzero(areas.cpu().numpy() == 0)
        if len(missing):
            means[missing] = _sample(features, superpixels.labels[frame], missing, size)
        pooled.append(means)
    return np.concatenate(pooled).astype(np.float32)


def _sample(features: Tensor, labels: np.ndarray, regions: np.ndarray, size: WorkingSize) -> np.ndarray:
    """(R, D) features (h w, D) at the working pixel of each region's first pixel."""
    _, first = np.unique(labels, return_index=True)
    places = np.stack(np.unravel_index(first[regions], labels.shape), axis=1) * size.reduced // size.full
    return features[torch.from_numpy(places[:, 0] * size.padded[1] + places[:, 1])].cpu().numpy()
