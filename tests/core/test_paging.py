"""Large arrays lie in files and leave memory behind those who walk over them."""

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import paging
from fewpoint.core.paging import gather_frames, let_go, make_frames, stack_arrays, walk
from fewpoint.errors import OutputError

SHAPE = (64, 512, 512)  # 16 MiB of bytes


@pytest.fixture
def large(monkeypatch) -> np.ndarray:
    """An array in a file, of which each frame holds its number."""
    monkeypatch.setattr(paging, "LARGE_BYTES", 1)
    monkeypatch.setattr(paging, "KEPT_BYTES", 2**20)
    return gather_frames((np.full(SHAPE[1:], number) for number in range(SHAPE[0])), SHAPE, np.uint8)


def resident_mib(array: np.ndarray) -> float:
    """How much of an array's file the system counts as memory of this process."""
    start = array.__array_interface__["data"][0]
    entry = re.search(rf"^{start:x}-.*?^Rss:\s+(\d+) kB", Path("/proc/self/smaps").read_text(), re.M | re.S)
    return int(entry[1]) / 2**10


def test_small_arrays_stay_in_memory_and_large_ones_lie_in_a_file(monkeypatch):
    assert not isinstance(make_frames((2, 3), np.uint8), np.memmap)
    monkeypatch.setattr(paging, "LARGE_BYTES", 6)
    assert isinstance(make_frames((2, 3), np.uint8), np.memmap)
    assert not make_frames((2, 3), np.uint8).any()


def test_frames_in_a_file_are_what_was_gathered(large):
    np.testing.assert_array_equal(large[:, 7, 9], np.arange(SHAPE[0]))
    assert [int(frame[3, 3]) for frame in walk(large[::2])] == list(range(0, SHAPE[0], 2))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which pages are in memory")
@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, 10:500, 10:20]])
def test_a_walk_leaves_little_in_memory(large, part):
    most = max(resident_mib(large) for number, _ in enumerate(walk(large[part])) if number % 7 == 0)
    assert most < 3  # MiB, of 16
    assert resident_mib(large) == 0


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which pages are in memory")
def test_what_was_written_is_there_after_it_left_memory(large):
    large[5] = 200
    let_go(large[5:].view(np.ndarray))
    assert resident_mib(large) == 0
    assert (large[5] == 200).all()


def test_changes_that_are_nowhere_but_in_memory_are_kept(tmp_path):
    np.save(tmp_path / "frames.npy", np.zeros((4, 3), np.uint8))
    own = np.load(tmp_path / "frames.npy", mmap_mode="c")
    own[:] = 7
    let_go(own[1:])
    assert (own == 7).all()


def test_stacking_keeps_the_order(large):
    stacked = stack_arrays([large, 255 - large], np.uint8)
    np.testing.assert_array_equal(stacked, np.stack([large, 255 - large]))


def test_a_full_disk_is_told_in_one_line_before_anything_is_lost(monkeypatch):
    def refuse(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(paging, "LARGE_BYTES", 1)
    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    with pytest.raises(OutputError, match=rf"must fit into {tempfile.gettempdir()}: No space .* TMPDIR") as caught:
        make_frames((3, 4), np.uint8)
    assert "\n" not in str(caught.value)
