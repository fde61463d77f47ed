"""Refuse what a file declares but cannot hold, before memory is taken for it."""

import math
import os
from pathlib import Path

from fewpoint.errors import InputError

DENSEST = 1100  # deflate, the densest packing of volumes and stacks, cannot reach 1033 to 1
SLACK_BYTES = 2**20
LARGE_BYTES, LARGE_DENSEST = 2**31, 250  # images this large do not pack as densely, bombs do
MEMORY_SHARE = 0.5  # the work on a sequence takes as much again


def check_declared_size(
    path: Path, shape: tuple[int, ...], item_bytes: int, stored_bytes: int | None = None, densest: int = DENSEST
) -> None:
    """Raise InputError if the pixels that a file declares do not fit into it, or not into this machine's memory.

    stored_bytes: given if pixels are packed in other files. densest: largest ratio of declared to stored bytes.
    """
    if not shape or min(shape) < 1:
        raise InputError(f"{path} must declare at least one pixel, it declares the shape {shape}; export it again")
    declared = math.prod(shape) * item_bytes
    stored = path.stat().st_size if stored_bytes is None else stored_bytes
    most = min(densest, LARGE_DENSEST) if declared > LARGE_BYTES else densest
    if declared > most * stored + SLACK_BYTES:
        raise InputError(
            f"{path} declares {_in_gib(declared)} of pixels, more than a file of its size can hold; "
            "it may be truncated or damaged, export or copy it again"
        )
    check_fits_memory(path, declared)


def check_fits_memory(path: Path, needed_bytes: int) -> None:
    """Raise InputError if pixels would take more than half of this machine's memory, as far as that is known."""
    if not hasattr(os, "sysconf"):
        return
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed_bytes > MEMORY_SHARE * installed:
        raise InputError(
            f"pixels must fit into half of this machine's memory of {_in_gib(installed)}, {path} holds "
            f"{_in_gib(needed_bytes)}; crop or reduce it first"
        )


def _in_gib(n_bytes: int) -> str:
    """
    >>> _in_gib(3 * 2**29)
    '1.5 GiB'
    """
    return f"{n_bytes / 2**30:.1f} GiB"
