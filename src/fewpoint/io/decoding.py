"""One file -> one array, exactly as stored; a truncated or damaged file is an error, never grey pixels."""

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core import paging
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.sizes import check_declared_size

if TYPE_CHECKING:
    from PIL import Image

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_SIZE_OFFSET, PNG_BIT_DEPTH_OFFSET = 16, 24
LARGEST_PIXEL_BYTES = 8  # four channels of 16 bits
ZIP_SIGNATURE = b"PK"


@contextmanager
def explaining_read_errors(path: Path) -> Iterator[None]:
    """Turn whatever a decoder raises into one InputError that names the file.

    Decoders raise RuntimeError, SyntaxError, struct.error and more on damaged files, hence the wide net.
    """
    try:
        yield
    except (FewpointError, MemoryError):
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {_one_line(error.strerror or error)}; {_remedy(error)}") from error
    except Exception as error:
        raise InputError(f"cannot read {path}: {_one_line(error)}; {_remedy(error)}") from error


@contextmanager
def naming(file: object) -> Iterator[None]:
    """Put the name of a file before errors of what it holds."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Libraries below Python, such as ITK's, print besides the errors that they raise."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


def check_exists(path: Path) -> None:
    """Raise InputError if there is neither a file nor a folder."""
    with explaining_read_errors(path):
        if not path.exists():
            raise InputError(f"{path} does not exist; check the path")


def decode_image(path: Path) -> np.ndarray:
    """Read one PNG or JPEG as (H, W, 1) or (H, W, 3) uint8 or uint16, without its alpha channel."""
    with explaining_read_errors(path):
        return _decode_16_bit_png(path) if _is_16_bit_png(path) else _decode_8_bit(path)


def load_array(path: Path, key: str) -> np.ndarray:
    """Load a .npy as a memory map, or from a .npz the array called `key` or else the only one there is."""
    with _explaining_numpy_errors(path), open(path, "rb") as stream:
        if stream.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        stream.seek(0)  # numpy leaves a damaged archive open when it is given the path
        with np.load(stream, allow_pickle=False) as archive:
            name = _choose_array(archive.files, key, path)
            entry = _find_entry(archive, name)
            check_declared_size(path, (entry.file_size,), 1)
            return _read_entry(archive, name)


def load_arrays(path: Path, names: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """The arrays of a .npz by name, or those of some names that it has; one that holds Python objects is refused."""
    with _explaining_numpy_errors(path), open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
        check_declared_size(path, (sum(entry.file_size for entry in archive.zip.infolist()),), 1)
        return {name: _read_entry(archive, name) for name in archive.files if not names or name in names}


def _read_entry(archive: "np.lib.npyio.NpzFile", name: str) -> np.ndarray:
    """One array of a .npz; a large one goes into a file, a frame at a time."""
    entry = _find_entry(archive, name)
    with _zip_of(archive).open(entry) as stream:
        is_first = np.lib.format.read_magic(stream) == (1, 0)
        read_header = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        shape, in_columns, dtype = read_header(stream)
        if math.prod(shape) * dtype.itemsize > entry.file_size:  # numpy would make room for all of it first
            raise ValueError("an array that is larger than what is stored of it")
        if entry.file_size < paging.LARGE_BYTES or in_columns or dtype.hasobject or len(shape) < 2:
            return archive[name]
        frames = (np.frombuffer(stream.read(math.prod(shape[1:]) * dtype.itemsize), dtype) for _ in range(shape[0]))
        return paging.gather_frames((frame.reshape(shape[1:]) for frame in frames), shape, dtype)


def _find_entry(archive: "np.lib.npyio.NpzFile", name: str) -> zipfile.ZipInfo:
    return next(entry for entry in _zip_of(archive).infolist() if entry.filename in (name, f"{name}.npy"))


def _zip_of(archive: "np.lib.npyio.NpzFile") -> zipfile.ZipFile:
    if archive.zip is None:
        raise ValueError("the archive is closed")
    return archive.zip


def _one_line(reason: object) -> str:
    return " ".join(str(reason).split())[:200] or type(reason).__name__


def _remedy(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "make it readable"
    return "it may be truncated or damaged, export or copy it again"


def _is_16_bit_png(path: Path) -> bool:
    with open(path, "rb") as stream:
        start = stream.read(PNG_BIT_DEPTH_OFFSET + 1)
    return start.startswith(PNG_SIGNATURE) and start[PNG_BIT_DEPTH_OFFSET:] == b"\x10"


def _decode_16_bit_png(path: Path) -> np.ndarray:
    """Pillow would reduce 16-bit colour to 8 bits."""
    import imagecodecs

    data = path.read_bytes()
    width, height = struct.unpack(">II", data[PNG_SIZE_OFFSET : PNG_SIZE_OFFSET + 8])
    check_declared_size(path, (height, width), LARGEST_PIXEL_BYTES)
    pixels = imagecodecs.png_decode(data)
    if pixels.ndim == 2:
        return pixels[..., np.newaxis]
    has_alpha = pixels.shape[-1] in (2, 4)
    return pixels[..., :-1] if has_alpha else pixels


def _decode_8_bit(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path, formats=("PNG", "JPEG")) as image:
        pixels = np.asarray(_to_grey_or_colour(image))
    return pixels if pixels.ndim == 3 else pixels[..., np.newaxis]


def _to_grey_or_colour(image: "Image.Image") -> "Image.Image":
    """Expand one bit to 0 and 255 and a palette to its colours; drop alpha."""
    if image.mode in ("L", "RGB"):
        return image
    return image.convert("L" if image.mode in ("1", "LA") else "RGB")


@contextmanager
def _explaining_numpy_errors(path: Path) -> Iterator[None]:
    """NumPy's own text advises to allow pickled objects, which would run code from the file."""
    with explaining_read_errors(path):
        try:
            yield
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(
                f"{path} must hold a numeric NumPy array, but it is empty, truncated, damaged or holds Python objects; "
                "write it again with numpy.save or numpy.savez"
            ) from error


def _choose_array(names: list[str], key: str, path: Path) -> str:
    if key in names:
        return key
    if len(names) != 1:
        found = ", ".join(names) or "none"
        raise InputError(f"{path} must hold one array or one called {key}, it holds: {found}; rename or remove some")
    return names[0]
