"""Random changes of frames that leave the object where it is, as torch operations on the device."""

import math

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from fewpoint.learning.settings import AugmentationSettings


def augment_frames(frames: Tensor, settings: AugmentationSettings, generator: torch.Generator) -> Tensor:
    """A random combination of gamma contrast, bilateral blur and Gaussian noise; frames (B, C, h, w) in [0, 1]."""
    batch = len(frames)
    draws = torch.rand(3, 2, batch, 1, 1, 1, generator=generator, device=frames.device)
    chosen = (draws[:, 0] < settings.probability).float()
    strength = draws[:, 1]
    exponent = torch.exp(chosen[0] * (2 * strength[0] - 1) * math.log(settings.gamma))
    frames = frames.clamp(0, 1) ** exponent
    frames = _blur_drawn(frames, chosen[1] * strength[1], settings.blur)
    noise = torch.randn(frames.shape, generator=generator, device=frames.device)
    return frames + chosen[2] * strength[2] * settings.noise * noise


def _blur_drawn(frames: Tensor, amounts: Tensor, deviation: float) -> Tensor:
    """Frames blurred by amounts (B, 1, 1, 1) from 0 to 1; on a CPU those with an amount of 0 cost nothing."""
    if frames.device.type != "cpu":  # a recorded step cannot depend on what is drawn
        return torch.lerp(frames, blur_bilaterally(frames, deviation), amounts)
    drawn = amounts.flatten().nonzero()[:, 0]
    some = frames[drawn]
    return frames.index_copy(0, drawn, torch.lerp(some, blur_bilaterally(some, deviation), amounts[drawn]))


def blur_bilaterally(frames: Tensor, deviation: float) -> Tensor:
    """Mean over the 3x3 neighbourhood, weighted by nearness and by similarity of intensity."""
    total, weight = torch.zeros_like(frames), torch.zeros_like(frames[:, :1])
    padded = torch.nn.functional.pad(frames, (1, 1, 1, 1), mode="replicate")
    height, width = frames.shape[2:]
    for dy in range(3):
        for dx in range(3):
            shifted = padded[:, :, dy : dy + height, dx : dx + width]
            distance = (shifted - frames).square().sum(1, keepdim=True)
            nearness = math.exp(-0.5 * ((dy - 1) ** 2 + (dx - 1) ** 2))
            share = nearness * torch.exp(-0.5 * distance / deviation**2)
            total, weight = total + share * shifted, weight + share
    return total / weight


def flip_randomly(frames: Tensor, maps: list[Tensor], generator: torch.Generator) -> tuple[Tensor, list[Tensor]]:
    """Mirror each frame (B, C, h, w) and its maps (B, h, w) together, along either axis with probability one half."""
    flags = torch.rand(2, len(frames), generator=generator, device=frames.device) < 0.5
    for axis, flag in zip((-1, -2), flags, strict=True):
        frames = torch.where(flag[:, None, None, None], frames.flip(axis), frames)
        maps = [torch.where(flag[:, None, None], each.flip(axis), each) for each in maps]
    return frames, maps


def warp_maps(maps: list[Tensor], grid: Tensor) -> list[Tensor]:
    """Sample (B, h, w) maps at a grid (B, h, w, 2) of draw_warps; 0 beyond the frame."""
    return [grid_sample(each[:, None], grid, align_corners=False)[:, 0] for each in maps]


def warp_frames(frames: Tensor, labels: Tensor, border: int, grid: Tensor) -> tuple[Tensor, Tensor]:
    """Sample frames and labels at a grid of draw_warps; beyond the frame, its mirror image and the label `border`."""
    frames = grid_sample(frames, grid, padding_mode="reflection", align_corners=False)
    moved = grid_sample(labels[:, None].float(), grid, mode="nearest", align_corners=False)[:, 0].round().long()
    return frames, torch.where((grid.abs() <= 1).all(-1), moved, border)


def draw_warps(shape: torch.Size, settings: AugmentationSettings, generator: torch.Generator) -> Tensor:
    """(B, h, w, 2) sampling grids: random rotation, scale, stretch by up to the root of the scale, and shift."""
    batch, _, height, width = shape
    draws = torch.rand(5, batch, generator=generator, device=generator.device) * 2 - 1
    angle = draws[0] * math.radians(settings.rotation)
    scale = torch.exp(draws[1] * math.log(settings.scale))
    stretch = torch.exp(draws[2] * math.log(settings.scale) / 2)
    cosine, sine = torch.cos(angle) * scale, torch.sin(angle) * scale
    rows = (
        torch.stack([cosine * stretch, -sine * height / width, draws[3] * settings.shift], -1),
        torch.stack([sine * width / height, cosine / stretch, draws[4] * settings.shift], -1),
    )
    return affine_grid(torch.stack(rows, 1), list(shape), align_corners=False)
