"""What a file declares but cannot hold is refused before memory is taken for it."""

import struct
import zipfile
import zlib

import imagecodecs
import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.io.decoding import load_array, load_arrays
from fewpoint.io.images import read_sequence
from fewpoint.io.sizes import check_declared_size, check_fits_memory


def make_file(path, n_bytes):
    path.write_bytes(bytes(n_bytes))
    return path


@pytest.mark.parametrize(
    ("shape", "stored", "refused"),
    [
        ((100, 100, 100), 1000, False),
        ((100, 100, 100), 10, False),  # small enough not to matter
        ((1000, 1000, 100), 1000, True),
        ((1000, 1000, 100), 100_000, False),
        ((2000, 2000, 1000), 10_000_000, True),  # 400 to 1: fine for a small mask, not for four gigabytes
        ((2000, 2000, 1000), 20_000_000, False),
        ((0, 5), 10, True),
        ((-1, 5), 10, True),
        ((), 10, True),
    ],
)
def test_declared_pixels_must_fit_into_the_file(tmp_path, shape, stored, refused, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**22}[name])
    path = make_file(tmp_path / "a", 1)
    if not refused:
        check_declared_size(path, shape, 1, stored)
        return
    with pytest.raises(InputError, match="declare"):
        check_declared_size(path, shape, 1, stored)


def test_pixels_must_fit_into_half_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**20}[name])
    check_fits_memory(tmp_path, 2**31)
    with pytest.raises(InputError, match=r"memory of 4\.0 GiB, .* holds 3\.0 GiB"):
        check_fits_memory(tmp_path, 3 * 2**30)


@pytest.mark.parametrize("load", [lambda path: load_array(path, "a"), load_arrays], ids=["one", "all"])
def test_an_array_of_a_run_that_says_it_is_larger_than_it_is_takes_no_memory(tmp_path, load):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("a.npy", "w") as entry:
        header = {"descr": "|b1", "fortran_order": False, "shape": (99_999, 99_999, 9)}
        np.lib.format.write_array_header_1_0(entry, header)
    with pytest.raises(InputError, match=r"a\.npz must hold a numeric NumPy array"):
        load(tmp_path / "a.npz")


@pytest.mark.usefixtures("trusting")
def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    """A hundred megabytes of zeros packed a thousand to one, on a machine with less memory."""
    np.savez_compressed(tmp_path / "a.npz", np.zeros((100, 1000, 1000), np.uint8))
    assert (tmp_path / "a.npz").stat().st_size < 200_000
    monkeypatch.setattr("os.sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**14}[name])
    with pytest.raises(InputError, match="half of this machine's memory"):
        read_sequence(tmp_path / "a.npz")


def test_a_picture_of_absurd_size_is_refused(tmp_path):
    data = bytearray(imagecodecs.png_encode(np.zeros((4, 5), np.uint16)))
    data[16:24] = struct.pack(">II", 200_000, 200_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    (tmp_path / "0.png").write_bytes(data)
    with pytest.raises(InputError, match=r"0\.png declares 298.0 GiB"):
        read_sequence(tmp_path)


def test_links_that_go_in_circles_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="a"):
        read_sequence(tmp_path / "a")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "self").symlink_to(tmp_path / "folder", target_is_directory=True)
    with pytest.raises(InputError, match="no frames in"):
        read_sequence(tmp_path / "folder")
