"""Batch norms with the sums and ReLUs that follow them on CUDA, by Triton: each tensor is read as rarely as possible.

Forward: sums over the batch, what follows from them for each channel, and one pass that applies it. Backward likewise.
torch's kernels for bfloat16 with channels last take several times as long, and the ReLU has separate passes.

Importing this needs Triton.
"""
# Triton is not on every machine.
# pyright: reportMissingImports=false

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from fewpoint.models.fused.kernel_launches import launch
from fewpoint.models.fused.kernel_tables import COUNTS, Table, find_gap, own_columns, read_part

ADDED, SETTLED = 128, 8  # partial sums added up at once, and channels settled by one program
SETTLING = {"ADDED": ADDED, "SETTLED": SETTLED}
ACTIVE, OPEN = 0.0, -float("inf")  # what a norm's result is at least, with a ReLU and without


class Norm(NamedTuple):
    """A batch norm as applied to one batch.

    weight, bias: (C,). lines: (4, C), made by measure from the batch or by recall from earlier batches.
    """

    weight: Tensor
    bias: Tensor
    lines: Tensor


@torch.no_grad()
def measure(features: Tensor, norm: nn.BatchNorm2d, parts: Tensor | None = None) -> Norm:
    """The norm for this batch (B, C, H, W); updates its running averages.

    parts: partial sums over the batch, if they are known, see join.
    """
    table = Table(features)
    if parts is None:
        parts = table.make_parts()
        launch(_sum_values, table.share(parts), features, norm.running_mean, parts, **table.shape, **table.summed)
    lines = torch.empty(4, table.columns, device=table.device)
    given = (parts, norm.weight, norm.bias, norm.running_mean, norm.running_var, lines)
    numbers = (len(parts), *table.counts, norm.momentum, norm.eps)
    launch(_settle_values, _by_channel(table), *given, *numbers, **SETTLING)
    return Norm(norm.weight, norm.bias, lines)


@torch.no_grad()
def recall(norm: nn.BatchNorm2d) -> Norm:
    """The norm by its running averages."""
    mean, variance = cast(Tensor, norm.running_mean), cast(Tensor, norm.running_var)  # a network's norms keep both
    sharpness = torch.rsqrt(variance + norm.eps)
    slope = norm.weight * sharpness
    lines = torch.stack([mean, sharpness, slope, norm.bias - mean * slope])
    return Norm(norm.weight, norm.bias, lines)


def normalise(features: Tensor, norm: Norm, activate: bool) -> Tensor:
    """Batch norm of (B, C, H, W), then a ReLU if asked for."""
    return _NormalisedBatch.apply(features, *norm, ACTIVE if activate else OPEN)


def add(unit: Tensor, unit_norm: Norm, shortcut: Tensor, shortcut_norm: Norm) -> Tensor:
    """ReLU of the sum of two batches, each normalised, the first through a ReLU."""
    return _AddedBatches.apply(unit, *unit_norm, shortcut, *shortcut_norm)


def join(
    scales: Sequence[Tensor], last_norm: Norm, shortcut: Tensor, shortcut_norm: Norm, centre: Tensor
) -> tuple[Tensor, Tensor]:
    """Three batches side by side plus a normalised one of the same total width; and its partial sums, for measure.

    scales: the last is still to be normalised, with a ReLU. centre: (C,) running mean of the next norm.
    """
    return _JoinedBatches.apply(*scales, *last_norm, shortcut, *shortcut_norm, centre)


class _NormalisedBatch(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, lines: Tensor, floor: float) -> Tensor:
        ctx.save_for_backward(features, lines)
        ctx.floor = floor
        table, result = Table(features), torch.empty_like(features)
        launch(_apply_values, table.whole, features, lines, result, floor, **table.shape, **table.tile)
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        features, lines = ctx.saved_tensors
        return *_go_back(features, grad_outputs[0], lines, ctx.floor), None, None


def _go_back(features: Tensor, gradients: Tensor, lines: Tensor, floor: float) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a norm's features, weight and bias."""
    gradients, gap = find_gap(gradients)
    table = Table(features, gap)
    parts, result = table.make_parts(), torch.empty_like(features)
    shape = dict(floor=floor, gap=gap // table.unit, **table.shape)
    launch(_sum_gradients, table.share(parts), features, gradients, lines, parts, **shape, **table.summed)
    (of_weight, of_bias), pulls = _settle_back(parts, table, lines)
    launch(_apply_gradients, table.whole, features, gradients, lines, pulls, result, **shape, **table.tile)
    return result, of_weight, of_bias


def _settle_back(parts: Tensor, table: Table, lines: Tensor) -> Tensor:
    """(2, 2, C): the gradients of weight and bias, and the pulls of value and constant."""
    results = torch.empty(2, 2, table.columns, device=table.device)
    launch(_settle_gradients, _by_channel(table), parts, lines, *results, len(parts), *table.counts, **SETTLING)
    return results


def _by_channel(table: Table) -> tuple[int]:
    """The programs that settle what follows from sums."""
    return (triton.cdiv(table.columns, SETTLED),)


class _AddedBatches(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        unit: Tensor,
        unit_weight: Tensor,
        unit_bias: Tensor,
        unit_lines: Tensor,
        shortcut: Tensor,
        weight: Tensor,
        bias: Tensor,
        lines: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(unit, unit_lines, shortcut, lines)
        table, result = Table(unit), torch.empty_like(unit)
        launch(_add_values, table.whole, unit, unit_lines, shortcut, lines, result, **table.shape, **table.tile)
        return result

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        unit, unit_lines, shortcut, lines = ctx.saved_tensors
        gradients, gap = find_gap(grad_outputs[0])
        table = Table(unit, gap)
        given = (unit, unit_lines, shortcut, lines, gradients)
        unit_parts, parts = table.make_parts(), table.make_parts()
        shape = dict(gap=gap // table.unit, **table.shape)
        launch(_sum_both, table.share(parts), *given, unit_parts, parts, **shape, **table.summed)
        of_unit_affine, unit_pulls = _settle_back(unit_parts, table, unit_lines)
        of_affine, pulls = _settle_back(parts, table, lines)
        of_unit, of_shortcut = torch.empty_like(unit), torch.empty_like(shortcut)
        launch(_apply_both, table.whole, *given, unit_pulls, pulls, of_unit, of_shortcut, **shape, **table.tile)
        return of_unit, *of_unit_affine, None, of_shortcut, *of_affine, None


class _JoinedBatches(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        first: Tensor,
        second: Tensor,
        last: Tensor,
        last_weight: Tensor,
        last_bias: Tensor,
        last_lines: Tensor,
        shortcut: Tensor,
        weight: Tensor,
        bias: Tensor,
        lines: Tensor,
        centre: Tensor,
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(last, last_lines, shortcut, lines)
        ctx.widths = [each.shape[1] for each in (first, second, last)]
        table = Table(shortcut, *ctx.widths)
        parts, result = table.make_parts(), torch.empty_like(shortcut)
        given = (first, second, last, last_lines, shortcut, lines, centre)
        widths = [width // table.unit for width in ctx.widths]
        launch(_join_scales, table.share(parts), *given, result, parts, *widths, **table.shape, **table.summed)
        ctx.mark_non_differentiable(parts)
        return result, parts

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        gradients, _ = grad_outputs
        last, last_lines, shortcut, lines = ctx.saved_tensors
        of_first, of_second, of_last = gradients.split(ctx.widths, dim=1)
        back = _go_back(last, of_last, last_lines, ACTIVE)
        return of_first, of_second, *back, None, *_go_back(shortcut, gradients, lines, OPEN), None, None


@triton.jit
def _read_line(lines, number: tl.constexpr, column, inside, columns):
    """One of the lines, which hold one value per column: mean, 1 / deviation, slope and offset."""
    return tl.load(lines + number * columns + column, inside, 0.0)


@triton.jit
def _read_lines(lines, column, inside, columns):
    """All four lines."""
    mean = _read_line(lines, 0, column, inside, columns)
    sharpness = _read_line(lines, 1, column, inside, columns)
    return mean, sharpness, _read_line(lines, 2, column, inside, columns), _read_line(lines, 3, column, inside, columns)


@triton.jit
def _read_pulls(pulls, column, inside, columns):
    """The pulls of value and constant at each column."""
    return tl.load(pulls + column, inside, 0.0), tl.load(pulls + columns + column, inside, 0.0)


@triton.jit
def _store_part(parts, first, second, column, inside, columns):
    """A program's partial sums, two of them, from (HEIGHT, WIDTH) each."""
    place = parts + tl.program_id(0) * 2 * columns + column
    tl.store(place, tl.sum(first, 0), inside)
    tl.store(place + columns, tl.sum(second, 0), inside)


@triton.jit(do_not_specialize=COUNTS)
def _sum_values(
    values,
    centre,
    parts,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sums of x - centre and of its square, one of each per column and program."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    middle = tl.load(centre + column, inside, 0.0)[None, :]
    first, second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    for start in range(tl.program_id(0) * HEIGHT, rows, tl.num_programs(0) * HEIGHT):
        row = start + tl.arange(0, HEIGHT)[:, None]
        here = (row < rows) & inside[None, :]
        read = tl.load(values + row * columns + column[None, :], here, 0.0).to(tl.float32)
        off = tl.where(here, read - middle, 0.0)
        first += off
        second += off * off
    _store_part(parts, first, second, column, inside, columns)


@triton.jit
def _add_parts(parts, column, inside, columns, parts_made, ADDED: tl.constexpr, SETTLED: tl.constexpr):
    """Both totals of all partial sums, for some columns."""
    first, second = tl.zeros((ADDED, SETTLED), tl.float32), tl.zeros((ADDED, SETTLED), tl.float32)
    for start in range(0, parts_made, ADDED):
        part = start + tl.arange(0, ADDED)
        here = (part < parts_made)[:, None] & inside[None, :]
        place = parts + part[:, None] * 2 * columns + column[None, :]
        first += tl.load(place, here, 0.0)
        second += tl.load(place + columns, here, 0.0)
    return tl.sum(first, 0), tl.sum(second, 0)


@triton.jit(do_not_specialize=["parts_made", "rows", "columns"])
def _settle_values(
    parts,
    weight,
    bias,
    running_mean,
    running_variance,
    lines,
    parts_made,
    rows,
    columns,
    momentum,
    epsilon,
    ADDED: tl.constexpr,
    SETTLED: tl.constexpr,
):
    """Mean, 1 / deviation, slope and offset of each column, and the running averages updated."""
    column = tl.program_id(0) * SETTLED + tl.arange(0, SETTLED)
    inside = column < columns
    first, second = _add_parts(parts, column, inside, columns, parts_made, ADDED, SETTLED)
    known_mean = tl.load(running_mean + column, inside, 0.0)
    known_variance = tl.load(running_variance + column, inside, 0.0)
    count = rows.to(tl.float32)
    off = first / count
    mean, variance = known_mean + off, tl.maximum(second / count - off * off, 0.0)
    unbiased = variance * count / tl.maximum(count - 1.0, 1.0)
    tl.store(running_mean + column, known_mean + momentum * off, inside)
    tl.store(running_variance + column, known_variance + momentum * (unbiased - known_variance), inside)
    sharpness = 1.0 / tl.sqrt(variance + epsilon)
    slope = sharpness * tl.load(weight + column, inside, 0.0)
    tl.store(lines + column, mean, inside)
    tl.store(lines + columns + column, sharpness, inside)
    tl.store(lines + 2 * columns + column, slope, inside)
    tl.store(lines + 3 * columns + column, tl.load(bias + column, inside, 0.0) - mean * slope, inside)


@triton.jit(do_not_specialize=COUNTS)
def _apply_values(
    values, lines, result, floor, rows, units, UNIT: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr
):
    """slope * x + offset, at least the floor."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    _, _, slope, offset = _read_lines(lines, column, inside, columns)
    place = row[:, None] * columns + column[None, :]
    read = tl.load(values + place, here, 0.0).to(tl.float32)
    tl.store(result + place, tl.maximum(read * slope + offset, floor).to(result.dtype.element_ty), here)


@triton.jit(do_not_specialize=COUNTS)
def _sum_gradients(
    values,
    gradients,
    lines,
    parts,
    floor,
    gap,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sums of the gradients that pass the floor, and of their products with the normalised values."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    mean, sharpness, slope, offset = _read_lines(lines, column, inside, columns)
    first, second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    for start in range(tl.program_id(0) * HEIGHT, rows, tl.num_programs(0) * HEIGHT):
        row = start + tl.arange(0, HEIGHT)[:, None]
        here = (row < rows) & inside[None, :]
        read = tl.load(values + row * columns + column[None, :], here, 0.0).to(tl.float32)
        pull = tl.load(gradients + row * (gap * UNIT) + column[None, :], here, 0.0).to(tl.float32)
        pull = tl.where(read * slope + offset > floor, pull, 0.0)
        first += pull
        second += pull * (read - mean) * sharpness
    _store_part(parts, first, second, column, inside, columns)


@triton.jit(do_not_specialize=["parts_made", "rows", "columns"])
def _settle_gradients(
    parts, lines, of_affine, pulls, parts_made, rows, columns, ADDED: tl.constexpr, SETTLED: tl.constexpr
):
    """The gradients of weight and bias, and by how much the values and a constant pull at each column."""
    column = tl.program_id(0) * SETTLED + tl.arange(0, SETTLED)
    inside = column < columns
    first, second = _add_parts(parts, column, inside, columns, parts_made, ADDED, SETTLED)
    tl.store(of_affine + column, second, inside)
    tl.store(of_affine + columns + column, first, inside)
    mean = _read_line(lines, 0, column, inside, columns)
    sharpness = _read_line(lines, 1, column, inside, columns)
    slope = _read_line(lines, 2, column, inside, columns)
    count = rows.to(tl.float32)
    by_value = -slope * sharpness * second / count
    tl.store(pulls + column, by_value, inside)
    tl.store(pulls + columns + column, -slope * first / count - by_value * mean, inside)


@triton.jit(do_not_specialize=COUNTS)
def _apply_gradients(
    values,
    gradients,
    lines,
    pulls,
    result,
    floor,
    gap,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """slope * gradient, if it passes the floor, plus the pulls of value and constant."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    _, _, slope, offset = _read_lines(lines, column, inside, columns)
    by_value, constant = _read_pulls(pulls, column, inside, columns)
    place = row[:, None] * columns + column[None, :]
    read = tl.load(values + place, here, 0.0).to(tl.float32)
    pull = tl.load(gradients + row[:, None] * (gap * UNIT) + column[None, :], here, 0.0).to(tl.float32)
    pull = tl.where(read * slope + offset > floor, pull, 0.0)
    tl.store(result + place, (slope * pull + by_value * read + constant).to(result.dtype.element_ty), here)


@triton.jit(do_not_specialize=COUNTS)
def _add_values(
    unit,
    unit_lines,
    shortcut,
    lines,
    result,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """max(max(line of the unit, 0) + line of the shortcut, 0)."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * columns + column[None, :]
    _, _, unit_slope, unit_offset = _read_lines(unit_lines, column, inside, columns)
    _, _, slope, offset = _read_lines(lines, column, inside, columns)
    active = tl.maximum(tl.load(unit + place, here, 0.0).to(tl.float32) * unit_slope + unit_offset, 0.0)
    total = active + tl.load(shortcut + place, here, 0.0).to(tl.float32) * slope + offset
    tl.store(result + place, tl.maximum(total, 0.0).to(result.dtype.element_ty), here)


@triton.jit
def _pass_back(pull, unit, shortcut, unit_slope, unit_offset, slope, offset):
    """The gradients that reach the line of the unit and that of the shortcut."""
    above = unit * unit_slope + unit_offset
    pull = tl.where(tl.maximum(above, 0.0) + shortcut * slope + offset > 0.0, pull, 0.0)
    return tl.where(above > 0.0, pull, 0.0), pull


@triton.jit(do_not_specialize=COUNTS)
def _sum_both(
    unit,
    unit_lines,
    shortcut,
    lines,
    gradients,
    unit_parts,
    parts,
    gap,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """What _sum_gradients sums, for both norms of a sum."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    unit_mean, unit_sharpness, unit_slope, unit_offset = _read_lines(unit_lines, column, inside, columns)
    mean, sharpness, slope, offset = _read_lines(lines, column, inside, columns)
    unit_first, unit_second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    first, second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    for start in range(tl.program_id(0) * HEIGHT, rows, tl.num_programs(0) * HEIGHT):
        row = start + tl.arange(0, HEIGHT)[:, None]
        here = (row < rows) & inside[None, :]
        place = row * columns + column[None, :]
        through = tl.load(unit + place, here, 0.0).to(tl.float32)
        past = tl.load(shortcut + place, here, 0.0).to(tl.float32)
        pull = tl.load(gradients + row * (gap * UNIT) + column[None, :], here, 0.0).to(tl.float32)
        unit_pull, pull = _pass_back(pull, through, past, unit_slope, unit_offset, slope, offset)
        unit_first += unit_pull
        unit_second += unit_pull * (through - unit_mean) * unit_sharpness
        first += pull
        second += pull * (past - mean) * sharpness
    _store_part(unit_parts, unit_first, unit_second, column, inside, columns)
    _store_part(parts, first, second, column, inside, columns)


@triton.jit(do_not_specialize=COUNTS)
def _apply_both(
    unit,
    unit_lines,
    shortcut,
    lines,
    gradients,
    unit_pulls,
    pulls,
    of_unit,
    of_shortcut,
    gap,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """What _apply_gradients gives, for both norms of a sum."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * columns + column[None, :]
    _, _, unit_slope, unit_offset = _read_lines(unit_lines, column, inside, columns)
    _, _, slope, offset = _read_lines(lines, column, inside, columns)
    through = tl.load(unit + place, here, 0.0).to(tl.float32)
    past = tl.load(shortcut + place, here, 0.0).to(tl.float32)
    pull = tl.load(gradients + row[:, None] * (gap * UNIT) + column[None, :], here, 0.0).to(tl.float32)
    unit_pull, pull = _pass_back(pull, through, past, unit_slope, unit_offset, slope, offset)
    by_value, constant = _read_pulls(unit_pulls, column, inside, columns)
    tl.store(of_unit + place, (unit_slope * unit_pull + by_value * through + constant).to(unit.dtype.element_ty), here)
    by_value, constant = _read_pulls(pulls, column, inside, columns)
    tl.store(of_shortcut + place, (slope * pull + by_value * past + constant).to(unit.dtype.element_ty), here)


@triton.jit(do_not_specialize=COUNTS)
def _join_scales(
    first,
    second,
    last,
    last_lines,
    shortcut,
    lines,
    centre,
    result,
    parts,
    first_units,
    second_units,
    last_units,
    rows,
    units,
    UNIT: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Batches side by side, the last by its line and a ReLU, plus the shortcut's line; and what _sum_values sums."""
    columns = units * UNIT
    column, inside = own_columns(columns, WIDTH)
    before, last_columns = (first_units + second_units) * UNIT, last_units * UNIT
    among_last = inside & (column >= before)
    _, _, last_slope, last_offset = _read_lines(last_lines, column - before, among_last, last_columns)
    _, _, slope, offset = _read_lines(lines, column, inside, columns)
    middle = tl.load(centre + column, inside, 0.0)
    total, squares = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    across = column[None, :]
    for start in range(tl.program_id(0) * HEIGHT, rows, tl.num_programs(0) * HEIGHT):
        row = start + tl.arange(0, HEIGHT)[:, None]
        here = (row < rows) & inside[None, :]
        place = row * columns + across
        joined = tl.load(shortcut + place, here, 0.0).to(tl.float32) * slope + offset
        joined += read_part(first, row, across, rows, 0, first_units * UNIT)
        joined += read_part(second, row, across, rows, first_units * UNIT, second_units * UNIT)
        # Outside the last scale its line is 0 as well.
        joined += tl.maximum(read_part(last, row, across, rows, before, last_columns) * last_slope + last_offset, 0.0)
        kept = joined.to(result.dtype.element_ty)
        tl.store(result + place, kept, here)
        off = tl.where(here, kept.to(tl.float32) - middle, 0.0)
        total += off
        squares += off * off
    _store_part(parts, total, squares, column, inside, columns)
