"""Arrays as nnInteractive's clients pack them."""

import struct

import imagecodecs
import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.packed import CHUNK_BYTES, TYPES, Declared, pack, read_packed

MOST = 2**20
START = b"NNIA" + bytes([1, 1, 3, 5]) + b"uint8" + struct.pack("<3q", 2, 3, 4)


def make_packed(header: bytes = START, says: int = 24, values: bytes = bytes(range(24))) -> bytes:
    """A packed array written down by hand, byte by byte."""
    packed = imagecodecs.blosc2_encode(values, typesize=1)
    return header + struct.pack("<IQQ", 1, says, len(packed)) + packed


@pytest.fixture
def send(tmp_path):
    def send(data: bytes) -> np.ndarray:
        (tmp_path / "sent.nnia").write_bytes(data)
        return call(read_packed, tmp_path / "sent.nnia", MOST)

    return send


def test_an_array_written_by_hand_is_read(send):
    np.testing.assert_array_equal(send(make_packed()), np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_comes_back_to_the_bit(send, kind):
    array = (np.random.default_rng(0).random((1, 5, 4, 3)) * 100).astype(kind)
    found = send(pack(array))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_an_array_longer_than_a_chunk_comes_in_several(send, monkeypatch):
    monkeypatch.setattr("fewpoint.io.packed.CHUNK_BYTES", 8)
    data = pack(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))
    assert struct.unpack_from("<I", data, len(START)) == (3,) and CHUNK_BYTES > 8
    assert send(data).ravel().tolist() == list(range(24))


@pytest.mark.parametrize("length", [1, 7, 8, 100, 707_658])
def test_zeros_of_any_length_come_back(send, length):
    assert send(pack(np.zeros((1, 1, length), np.uint8))).shape == (1, 1, length)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "its header is cut off"),
        (START[:20], "its header is cut off"),
        (make_packed()[:-5], "cut off or damaged"),
        (make_packed(says=25), "cut off or damaged"),
        (make_packed(START.replace(b"NNIA", b"GIF8")), "nnInteractive's clients of version 2"),
        (make_packed(START.replace(b"uint8", b"objec")), "must be numbers"),
        (START + struct.pack("<I", 0), "24 are missing"),
        (START[:13] + struct.pack("<3q", -2, 3, -4), "must be numbers"),
        (START[:13] + struct.pack("<3q", 2**40, 2**40, 2**40) + bytes(40), "may have 1048576 bytes here"),
    ],
)
def test_what_cannot_be_an_array_is_refused_in_one_line(send, data, told):
    with pytest.raises(InputError, match=told) as refused:
        send(data)
    assert "\n" not in str(refused.value)


def test_what_a_header_declares_is_known_before_anything_is_unpacked():
    assert Declared.parse(START) == Declared((2, 3, 4), "uint8", len(START))
    assert Declared.parse(START).n_bytes == 24
