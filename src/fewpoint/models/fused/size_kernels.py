"""Halving and doubling the size on CUDA, by Triton: each tensor is read and written as rarely as possible.

torch stores in 64 bits where each maximum was found; here the backward pass searches for it again, and adds the other
gradients of the features on the way. Importing this needs Triton.
"""
# Triton is not on every machine.
# pyright: reportMissingImports=false

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from fewpoint.models.fused.kernel_launches import launch
from fewpoint.models.fused.kernel_tables import COUNTS, Table, find_gap, own_columns, read_part


def halve(features: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum of each two by two places of (B, C, H, W), both sides even; and the features, for other uses.

    Both gradients of the features are added in one pass. Of several equal maxima the first gets the gradient.
    """
    return _Halved.apply(features)


def set_beside(fine: Tensor, bias: Tensor, skipped: Tensor) -> Tensor:
    """A batch plus a (C,) bias, followed by the channels of another."""
    return _SideBySide.apply(fine, bias, skipped)


class _Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(features)
        height, width = features.shape[2:]
        result = torch.empty_like(features[:, :, : height // 2, : width // 2], memory_format=torch.channels_last)
        table = Table(result)
        launch(_take_largest, table.tiled, features, result, width // 2, **table.shape, **table.summed)
        return result, features.view_as(features)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Tensor:
        of_result, of_features = grad_outputs
        (features,) = ctx.saved_tensors
        of_result = of_result.contiguous(memory_format=torch.channels_last)
        of_features, gap = find_gap(of_features)
        table, total = Table(of_result, gap), torch.empty_like(features)
        across = of_result.shape[-1]
        shape = dict(gap=gap // table.unit, **table.shape)
        launch(_add_largest, table.tiled, features, of_result, of_features, total, across, **shape, **table.summed)
        return total


class _SideBySide(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fine: Tensor, bias: Tensor, skipped: Tensor) -> Tensor:
        ctx.widths, ctx.bias_type = (fine.shape[1], skipped.shape[1]), bias.dtype
        shape = (fine.shape[0], sum(ctx.widths), *fine.shape[2:])
        result = torch.empty(shape, dtype=fine.dtype, device=fine.device, memory_format=torch.channels_last)
        table = Table(result, *ctx.widths)
        widths = [each // table.unit for each in ctx.widths]
        launch(_set_beside, table.whole, fine, bias, skipped, result, *widths, **table.shape, **table.tile)
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        of_fine, of_skipped = grad_outputs[0].split(ctx.widths, dim=1)
        of_fine, gap = find_gap(of_fine)
        result = torch.empty_like(of_fine, memory_format=torch.channels_last)
        table = Table(result, gap)
        parts = table.make_parts(sums=1)
        shape = dict(gap=gap // table.unit, **table.shape)
        launch(_copy_and_sum, table.share(parts), of_fine, result, parts, **shape, **table.summed)
        return result, parts.sum((0, 1)).to(ctx.bias_type), of_skipped


@triton.jit
def _find_corners(row, across):
    """For rows of a table of half the size, `across` places wide: the first of the four rows that each comes from."""
    return row // across * (4 * across) + row % across * 2


@triton.jit(do_not_specialize=COUNTS)
def _take_largest(values, result, across, rows, units, UNIT: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    """The maximum of four rows, two neighbours of one line and two of the next."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    place = _find_corners(row, across)[:, None] * columns + column[None, :]
    below = place + 2 * across * columns
    above = tl.maximum(
        tl.load(values + place, here, 0.0).to(tl.float32), tl.load(values + place + columns, here, 0.0).to(tl.float32)
    )
    beneath = tl.maximum(
        tl.load(values + below, here, 0.0).to(tl.float32), tl.load(values + below + columns, here, 0.0).to(tl.float32)
    )
    largest = tl.maximum(above, beneath).to(result.dtype.element_ty)
    tl.store(result + row[:, None] * columns + column[None, :], largest, here)


@triton.jit
def _store_sum(result, others, place, other, pull, here):
    """A gradient plus the other at its place."""
    total = pull + tl.load(others + other, here, 0.0).to(tl.float32)
    tl.store(result + place, total.to(result.dtype.element_ty), here)


@triton.jit(do_not_specialize=COUNTS)
def _add_largest(
    values,
    gradients,
    others,
    result,
    across,
    gap,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The other gradients of four rows, plus the gradient of their maximum for the first row that attains it."""
    columns, gaps = units * UNIT, gap * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    corner = _find_corners(row, across)[:, None]
    place, other = corner * columns + column[None, :], corner * gaps + column[None, :]
    below, other_below = place + 2 * across * columns, other + 2 * across * gaps
    pull = tl.load(gradients + row[:, None] * columns + column[None, :], here, 0.0).to(tl.float32)
    first = tl.load(values + place, here, 0.0).to(tl.float32)
    second = tl.load(values + place + columns, here, 0.0).to(tl.float32)
    third = tl.load(values + below, here, 0.0).to(tl.float32)
    fourth = tl.load(values + below + columns, here, 0.0).to(tl.float32)
    largest = tl.maximum(tl.maximum(first, second), tl.maximum(third, fourth))
    in_first = first == largest
    in_second = (second == largest) & (first < largest)
    in_third = (third == largest) & (first < largest) & (second < largest)
    in_fourth = (first < largest) & (second < largest) & (third < largest)
    _store_sum(result, others, place, other, tl.where(in_first, pull, 0.0), here)
    _store_sum(result, others, place + columns, other + gaps, tl.where(in_second, pull, 0.0), here)
    _store_sum(result, others, below, other_below, tl.where(in_third, pull, 0.0), here)
    _store_sum(result, others, below + columns, other_below + gaps, tl.where(in_fourth, pull, 0.0), here)


@triton.jit(do_not_specialize=COUNTS)
def _set_beside(
    first,
    bias,
    second,
    result,
    first_units,
    second_units,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Two batches side by side, the first plus its bias."""
    columns, width = units * UNIT, first_units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = (tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT))[:, None]
    across = column[None, :]
    shift = tl.load(bias + column, column < width, 0.0).to(tl.float32)
    total = read_part(first, row, across, rows, 0, width) + shift[None, :]
    total += read_part(second, row, across, rows, width, second_units * UNIT)
    here = (row < rows) & inside[None, :]
    tl.store(result + row * columns + across, total.to(result.dtype.element_ty), here)


@triton.jit(do_not_specialize=COUNTS)
def _copy_and_sum(
    values, result, parts, gap, rows, units, UNIT: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr
):
    """The rows without the gaps between them, and a sum per column and program."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    total = tl.zeros((HEIGHT, WIDTH), tl.float32)
    for start in range(tl.program_id(0) * HEIGHT, rows, tl.num_programs(0) * HEIGHT):
        row = start + tl.arange(0, HEIGHT)[:, None]
        here = (row < rows) & inside[None, :]
        read = tl.load(values + row * (gap * UNIT) + column[None, :], here, 0.0)
        tl.store(result + row * columns + column[None, :], read, here)
        total += read.to(tl.float32)
    tl.store(parts + tl.program_id(0) * columns + column, tl.sum(total, 0), inside)
