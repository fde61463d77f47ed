"""Batch norm with a ReLU behind it on CUDA, by Triton: each tensor is read as seldom as the method allows.

Forward: sums over the batch, what follows of them for each channel, and one pass that applies it. Backward the same.
torch's own kernels for bfloat16 with channels last take several times as long, and the ReLU has passes of its own.

A batch (B, C, H, W) with channels last is a table of B * H * W rows and C columns. Importing this needs Triton.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 4096  # entries of the table that a program changes
LAYER = 1024  # entries that a program sums, eight a thread: one read of 16 bytes
AHEAD = {"values": 8, "gradients": 4}  # layers asked for before the first is added, of one tensor or of two
WIDTHS = (8, 32)  # columns of a tile; each further width is compiled anew
UNITS = (8, 4, 1)  # columns that a thread may read at once
MOST_PARTS = 512  # programs that share a sum
ADDED, SETTLED = 128, 8  # parts of a sum added up at once, and channels settled by one program
SETTLING = {"ADDED": ADDED, "SETTLED": SETTLED}
COUNTS = ["rows", "units", "gap", "parts_made"]  # not worth a kernel of their own for each value


def normalise(
    features: Tensor,
    affine: tuple[Tensor, Tensor],
    running: tuple[Tensor, Tensor],
    momentum: float,
    *,
    epsilon: float,
    activate: bool,
) -> Tensor:
    """Batch norm of (B, C, H, W), then a ReLU if asked for; updates the running mean and variance.

    affine: weight and bias (C,). running: mean and variance (C,).
    """
    floor = 0.0 if activate else -float("inf")
    return _NormalisedBatch.apply(features, *affine, running, (momentum, epsilon, floor))


def suits(features: Tensor) -> bool:
    """Whether the kernels can read it: channels last, and places that 32 bits can count."""
    return features.is_contiguous(memory_format=torch.channels_last) and features.numel() < 2**31


class _NormalisedBatch(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        running: tuple[Tensor, Tensor],
        constants: tuple[float, float, float],
    ) -> Tensor:
        momentum, epsilon, floor = constants
        table = _Table(features)
        parts = table.make_parts("values")
        _sum_values[table.share(parts)](features, running[0], parts, **table.shape, **table.layers("values"))
        lines = torch.empty(4, table.columns, device=features.device)
        _settle_values[table.by_channel](
            parts, weight, bias, *running, lines, len(parts), *table.counts, momentum, epsilon, **SETTLING
        )
        result = torch.empty_like(features)
        _apply_values[table.whole](features, lines, result, floor, **table.shape, **table.tile)
        ctx.save_for_backward(features, lines)
        ctx.floor = floor
        return result

    @staticmethod
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        features, lines = ctx.saved_tensors
        gap = _find_gap(gradients)
        if gap is None:
            gradients = gradients.contiguous(memory_format=torch.channels_last)
            gap = features.shape[1]
        table = _Table(features, gap)
        parts = table.make_parts("gradients")
        shape = dict(floor=ctx.floor, gap=gap // table.unit, **table.shape)
        _sum_gradients[table.share(parts)](features, gradients, lines, parts, **shape, **table.layers("gradients"))
        of_affine = torch.empty(2, table.columns, device=features.device)
        pulls = torch.empty(2, table.columns, device=features.device)
        _settle_gradients[table.by_channel](parts, lines, of_affine, pulls, len(parts), *table.counts, **SETTLING)
        result = torch.empty_like(features)
        _apply_gradients[table.whole](features, gradients, lines, pulls, result, **shape, **table.tile)
        return result, of_affine[0], of_affine[1], None, None


class _Table:
    """How a batch is divided among programs.

    unit: columns are counted in so many, so that the compiler knows how wide it may read.
    """

    def __init__(self, features: Tensor, gap: int = 0) -> None:
        self.columns = features.shape[1]
        self.rows = features.numel() // self.columns
        self.device = features.device
        self.unit = next(unit for unit in UNITS if self.columns % unit == 0 and gap % unit == 0)
        self.width = WIDTHS[self.columns > WIDTHS[0]]
        self.tiles_wide = triton.cdiv(self.columns, self.width)
        height = TILE // self.width
        self.whole = (triton.cdiv(self.rows, height), self.tiles_wide)
        self.by_channel = (triton.cdiv(self.columns, SETTLED),)
        self.shape = {"rows": self.rows, "units": self.columns // self.unit}
        self.tile = {"UNIT": self.unit, "HEIGHT": height, "WIDTH": self.width}
        self.counts = (self.rows, self.columns)

    def layers(self, kind: str) -> dict[str, int]:
        """The tile of a sum over values or gradients: several layers of rows."""
        return {"UNIT": self.unit, "AHEAD": AHEAD[kind], "HEIGHT": LAYER // self.width, "WIDTH": self.width}

    def make_parts(self, kind: str) -> Tensor:
        """(parts, 2, C) for two sums, still empty."""
        tiles_high = triton.cdiv(self.rows, AHEAD[kind] * LAYER // self.width)
        n_parts = min(tiles_high, max(1, MOST_PARTS // self.tiles_wide))
        return torch.empty(n_parts, 2, self.columns, device=self.device)

    def share(self, parts: Tensor) -> tuple[int, int]:
        """The programs that make the parts of a sum."""
        return len(parts), self.tiles_wide


def _find_gap(gradients: Tensor) -> int | None:
    """Entries from one row to the next of a batch with channels last, which may be a part of a wider one; or None."""
    _, _, height, width = gradients.shape
    gap = gradients.stride(3)
    return gap if gradients.stride() == (height * width * gap, 1, width * gap, gap) else None


@triton.jit
def _own_columns(columns, WIDTH: tl.constexpr):
    """The columns of a program's tile, and which of them there are."""
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    return column, column < columns


@triton.jit
def _read_line(lines, number: tl.constexpr, column, inside, columns):
    """One of the lines of a value a column: mean, 1 / deviation, slope and offset."""
    return tl.load(lines + number * columns + column, inside, 0.0)


@triton.jit
def _layer_rows(start, AHEAD: tl.constexpr, HEIGHT: tl.constexpr):
    """The rows of a tile of several layers, (AHEAD, HEIGHT, 1)."""
    return start + tl.arange(0, AHEAD)[:, None, None] * HEIGHT + tl.arange(0, HEIGHT)[None, :, None]


@triton.jit
def _store_part(parts, first, second, column, inside, columns):
    """A program's part of two sums, from (HEIGHT, WIDTH) of each."""
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
    AHEAD: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sums of x - centre and of its square, one of each a column and program."""
    columns = units * UNIT
    column, inside = _own_columns(columns, WIDTH)
    middle = tl.load(centre + column, inside, 0.0)[None, None, :]
    first, second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    tall = AHEAD * HEIGHT
    for start in range(tl.program_id(0) * tall, rows, tl.num_programs(0) * tall):
        row = _layer_rows(start, AHEAD, HEIGHT)
        here = (row < rows) & inside[None, None, :]
        read = tl.load(values + row * columns + column[None, None, :], here, 0.0).to(tl.float32)
        off = tl.where(here, read - middle, 0.0)
        first += tl.sum(off, 0)
        second += tl.sum(off * off, 0)
    _store_part(parts, first, second, column, inside, columns)


@triton.jit
def _add_parts(parts, column, inside, columns, parts_made, ADDED: tl.constexpr, SETTLED: tl.constexpr):
    """Both sums over all parts, for some columns."""
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
    """Mean, 1 / deviation, slope and offset of each column, and the running averages moved on."""
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
    column, inside = _own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    slope = _read_line(lines, 2, column, inside, columns)[None, :]
    offset = _read_line(lines, 3, column, inside, columns)[None, :]
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
    AHEAD: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Sums of the gradients that pass the floor, and of their products with the normalised values."""
    columns = units * UNIT
    column, inside = _own_columns(columns, WIDTH)
    mean = _read_line(lines, 0, column, inside, columns)[None, None, :]
    sharpness = _read_line(lines, 1, column, inside, columns)[None, None, :]
    slope = _read_line(lines, 2, column, inside, columns)[None, None, :]
    offset = _read_line(lines, 3, column, inside, columns)[None, None, :]
    first, second = tl.zeros((HEIGHT, WIDTH), tl.float32), tl.zeros((HEIGHT, WIDTH), tl.float32)
    tall = AHEAD * HEIGHT
    for start in range(tl.program_id(0) * tall, rows, tl.num_programs(0) * tall):
        row = _layer_rows(start, AHEAD, HEIGHT)
        here = (row < rows) & inside[None, None, :]
        read = tl.load(values + row * columns + column[None, None, :], here, 0.0).to(tl.float32)
        pull = tl.load(gradients + row * (gap * UNIT) + column[None, None, :], here, 0.0).to(tl.float32)
        pull = tl.where(read * slope + offset > floor, pull, 0.0)
        first += tl.sum(pull, 0)
        second += tl.sum(pull * (read - mean) * sharpness, 0)
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
    """slope * gradient, where it passes the floor, plus the pulls of value and constant."""
    columns = units * UNIT
    column, inside = _own_columns(columns, WIDTH)
    row = tl.program_id(0) * HEIGHT + tl.arange(0, HEIGHT)
    here = (row < rows)[:, None] & inside[None, :]
    slope = _read_line(lines, 2, column, inside, columns)[None, :]
    offset = _read_line(lines, 3, column, inside, columns)[None, :]
    by_value = tl.load(pulls + column, inside, 0.0)[None, :]
    constant = tl.load(pulls + columns + column, inside, 0.0)[None, :]
    place = row[:, None] * columns + column[None, :]
    read = tl.load(values + place, here, 0.0).to(tl.float32)
    pull = tl.load(gradients + row[:, None] * (gap * UNIT) + column[None, :], here, 0.0).to(tl.float32)
    pull = tl.where(read * slope + offset > floor, pull, 0.0)
    tl.store(result + place, (slope * pull + by_value * read + constant).to(result.dtype.element_ty), here)
