"""How Triton kernels see a batch of features, and divide it among programs.

A batch (B, C, H, W) with channels last is a table of B * H * W rows and C columns. Importing this needs Triton.
"""
# Triton is not on every machine.
# pyright: reportMissingImports=false

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 4096  # entries of the table that a program changes
SUMMED = 1024  # entries that a program sums at a time, eight per thread: one read of 16 bytes
WIDTHS = (8, 32)  # columns of a tile; each further width is compiled again
UNITS = (8, 4, 1)  # columns that a thread may read at once
MOST_PARTS = 512  # partial sums, one per program
# Counts: not worth a separate kernel for each value.
COUNTS = ["rows", "units", "gap", "first_units", "second_units", "last_units", "across"]


class Table:
    """How a batch is divided among programs.

    unit: columns, and gaps between rows of others, are counted in multiples of this, so that the compiler knows how
    wide it may read.
    """

    def __init__(self, features: Tensor, *gaps: int) -> None:
        self.columns = features.shape[1]
        self.rows = features.numel() // self.columns
        self.device = features.device
        self.unit = next(unit for unit in UNITS if all(each % unit == 0 for each in (self.columns, *gaps)))
        self.width = WIDTHS[self.columns > WIDTHS[0]]
        self.tiles_wide = triton.cdiv(self.columns, self.width)
        height = TILE // self.width
        self.whole = (triton.cdiv(self.rows, height), self.tiles_wide)
        self.shape = {"rows": self.rows, "units": self.columns // self.unit}
        self.tile = {"UNIT": self.unit, "HEIGHT": height, "WIDTH": self.width}
        self.summed = {**self.tile, "HEIGHT": SUMMED // self.width}
        self.tiled = (triton.cdiv(self.rows, SUMMED // self.width), self.tiles_wide)
        self.counts = (self.rows, self.columns)

    def make_parts(self, sums: int = 2) -> Tensor:
        """(parts, sums, C) for partial sums over the rows, uninitialised."""
        tiles_high = triton.cdiv(self.rows, SUMMED // self.width)
        n_parts = min(tiles_high, max(1, MOST_PARTS // self.tiles_wide))
        return torch.empty(n_parts, sums, self.columns, device=self.device)

    def share(self, parts: Tensor) -> tuple[int, int]:
        """The programs that compute the partial sums."""
        return len(parts), self.tiles_wide


def find_gap(gradients: Tensor) -> tuple[Tensor, int]:
    """Gradients with channels last, and the entries from row to row: they may be a slice of a wider batch."""
    _, columns, height, width = gradients.shape
    gap = gradients.stride(3)
    if gradients.stride() == (height * width * gap, 1, width * gap, gap):
        return gradients, gap
    return gradients.contiguous(memory_format=torch.channels_last), columns


@triton.jit
def own_columns(columns, WIDTH: tl.constexpr):
    """The columns of a program's tile, and which of them exist."""
    column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    return column, column < columns


@triton.jit
def read_part(values, row, column, rows, before, width):
    """Columns of one of several batches side by side, at its place among them, and 0 elsewhere."""
    here = (row < rows) & (column >= before) & (column < before + width)
    return tl.load(values + row * width + (column - before), here, 0.0).to(tl.float32)
