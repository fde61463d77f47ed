"""Arrays as nnInteractive's clients pack them: a short header, then chunks compressed with Blosc2.

    "NNIA", version, codec, number of axes, length of the type's name: a byte each but for the first
    name of the type, as numpy writes it
    side along each axis: int64
    number of chunks: uint32
    each chunk: its length unpacked and packed, uint64 each, and its bytes

Numbers are little-endian.
"""

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from fewpoint.errors import InputError

SUFFIX = ".nnia"
MAGIC, VERSION, ZSTD, LZ4 = b"NNIA", 1, 1, 2
START, COUNT, LENGTHS = struct.Struct("<4sBBBB"), struct.Struct("<I"), struct.Struct("<QQ")
BLOSC_NBYTES = struct.Struct("<4xI")  # a packed chunk says itself how long it will be
MOST_AXES = 4
LONGEST_HEADER = START.size + 255 + 255 * 8
CHUNK_BYTES = 2**30  # Blosc2 counts in 31 bits
LEVEL, WORD = 3, 8
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TYPES += ("float16", "float32", "float64")


@dataclass(frozen=True)
class Declared:
    """What the header of a packed array says. start: where its chunks begin."""

    shape: tuple[int, ...]
    type: str
    start: int

    @property
    def n_bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.type).itemsize

    @classmethod
    def parse(cls, data: bytes, name: str = "what was sent") -> "Declared":
        """From the first bytes of a packed array, at most LONGEST_HEADER of them."""
        try:
            magic, version, codec, axes, length = START.unpack_from(data)
            end = START.size + length
            kind = data[START.size : end].decode("ascii")
            shape = struct.unpack_from(f"<{axes}q", data, end)
        except (struct.error, UnicodeDecodeError):
            raise InputError(
                f"{name} must be a packed array, its header is cut off or damaged; send it again"
            ) from None
        if magic != MAGIC or version != VERSION or codec not in (ZSTD, LZ4):
            raise InputError(f"{name} must be an array packed as nnInteractive's clients of version 2 do; update yours")
        if kind not in TYPES or axes > MOST_AXES or min(shape, default=0) < 1:
            raise InputError(
                f"{name} must be numbers along at most {MOST_AXES} axes, got {kind[:20]!r} of shape {shape[:8]}"
            )
        return cls(shape, kind, end + 8 * axes)


def read_packed(path: Path, most_bytes: int) -> np.ndarray:
    """The array in a file; most_bytes: refused before memory is taken if it is larger."""
    import imagecodecs

    data = path.read_bytes()
    declared = Declared.parse(data[:LONGEST_HEADER])
    if declared.n_bytes > most_bytes:
        raise InputError(f"an array sent may have {most_bytes} bytes here, this one has {declared.n_bytes}")
    values, done = bytearray(declared.n_bytes), 0
    offset = declared.start
    try:
        (chunks,) = COUNT.unpack_from(data, offset)
        offset += COUNT.size
        for _ in range(chunks):
            plain, packed = LENGTHS.unpack_from(data, offset)
            offset += LENGTHS.size
            (says,) = BLOSC_NBYTES.unpack_from(data, offset)
            if plain > len(values) - done or says != plain or packed > len(data) - offset:
                raise ValueError
            piece = data[offset : offset + packed]
            imagecodecs.blosc2_decode(piece, numthreads=1, out=memoryview(values)[done : done + plain])
            offset, done = offset + packed, done + plain
    except (struct.error, ValueError, RuntimeError):
        raise InputError("the array sent is cut off or damaged; send it again") from None
    if done < len(values):
        raise InputError(
            f"the array sent must hold {len(values)} bytes, {len(values) - done} are missing; send it again"
        )
    return np.frombuffer(values, declared.type).reshape(declared.shape)


def pack(array: np.ndarray) -> bytes:
    """The array as these clients read it.

    >>> Declared.parse(pack(np.zeros((2, 3, 4), np.uint8))).shape
    (2, 3, 4)
    """
    import imagecodecs

    array = np.ascontiguousarray(array)
    name = array.dtype.name.encode("ascii")
    raw = array.tobytes()
    parts = [
        START.pack(MAGIC, VERSION, ZSTD, array.ndim, len(name)),
        name,
        struct.pack(f"<{array.ndim}q", *array.shape),
    ]
    pieces = _cut(raw)
    parts.append(COUNT.pack(len(pieces)))
    for piece in pieces:
        packed = imagecodecs.blosc2_encode(
            piece, LEVEL, compressor="zstd", shuffle="noshuffle", typesize=array.itemsize, numthreads=1
        )
        parts += [LENGTHS.pack(len(piece), len(packed)), bytes(packed)]
    return b"".join(parts)


def _cut(raw: bytes) -> list[bytes]:
    """Pieces to compress apart. What does not fill a word is one: zeros of another length are packed so that some
    versions of Blosc2 cannot unpack them.

    >>> [len(piece) for piece in _cut(bytes(21))]
    [16, 5]
    """
    whole = len(raw) - len(raw) % WORD
    starts = range(0, whole, CHUNK_BYTES)
    pieces = [raw[start : min(start + CHUNK_BYTES, whole)] for start in starts]
    return [*pieces, *([raw[whole:]] if whole < len(raw) else [])]
