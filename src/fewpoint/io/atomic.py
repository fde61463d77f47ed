"""Files and folders that are either whole or not there, whenever the process dies."""

import errno
import filecmp
import glob
import json
import logging
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from fewpoint.core.paging import let_go
from fewpoint.errors import FewpointError, InputError, OutputError, RunConflictError

logger = logging.getLogger(__name__)

PARTIAL_SUFFIX = ".partial"
WRITTEN_BYTES = 2**24  # at once
LITTLE_PRESSED = 1  # of 9: the usual 6 takes twice as long, for files hardly smaller
DICOM_START, INSTANCE_TAG = 1024, b"\x02\x00\x03\x00UI"  # bytes in which a DICOM file says which instance it is
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file next to its place and move it there once it is safely on disk.

    On any failure the earlier file stays as it was. A killed process leaves at most a `*.partial` file behind.
    """
    temporary = _name_partial(path)
    with explaining_write_errors(path):
        try:
            write_new(temporary, write)
            os.replace(temporary, path)
            logger.debug("wrote %s", path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_file_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """The same for libraries that write to a path: `write` gets one of the same name in a separate folder."""
    temporary = _name_partial(path)
    with explaining_write_errors(path):
        temporary.mkdir()
        try:
            write(temporary / path.name)
            with open(temporary / path.name, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(temporary / path.name, path)
            logger.debug("wrote %s", path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_new(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that must not exist yet, and wait until it is on disk."""
    with open(path, "xb") as stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())


def place_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that must not exist yet, and that is whole or not there, as write_atomically does."""
    temporary = _name_partial(path)
    with explaining_write_errors(path):
        try:
            write_new(temporary, write)
            try:
                os.link(temporary, path)  # unlike a rename, refused if the name is taken
            except FileExistsError:
                raise
            except OSError:  # a disk that knows no links
                if path.exists():
                    raise
                os.rename(temporary, path)
            logger.debug("wrote %s", path)
        finally:
            with suppress(OSError):
                temporary.unlink()


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a new folder next to `folder`, then put it in the place of `folder`."""
    temporary = _name_partial(folder)
    with explaining_write_errors(folder):
        temporary.mkdir()
        try:
            fill(temporary)
            _move_into_place(temporary, folder)
            logger.debug("wrote %s", folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def place_new(folder: Path, write: Callable[[Path], tuple[Path, ...]]) -> tuple[Path, ...]:
    """Let `write` write files into a folder, made if need be, without replacing any that is there and differs.

    write: gets an empty folder next to their place and returns what it wrote. If one of them is there with other
    content, none is placed. DICOM files of one instance are the same, though each says when it was written.
    """
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        temporary = _name_partial(folder / "new")
        temporary.mkdir()
        try:
            written = {path: folder / path.relative_to(temporary) for path in write(temporary)}
            for path, place in written.items():
                if place.exists() and not _is_same(path, place):
                    raise RunConflictError(
                        f"{place} is there already and differs, perhaps from another run; give another --out, "
                        "or collect several runs with fewpoint collect"
                    )
            for path, place in written.items():
                if not place.exists():
                    os.replace(path, place)
                    logger.debug("wrote %s", place)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return tuple(written.values())


def _is_same(one: Path, other: Path) -> bool:
    """Whether two files, or all files below two folders, hold the same bytes."""
    if one.is_dir() != other.is_dir():
        return False
    if not one.is_dir():
        return filecmp.cmp(one, other, shallow=False) or None is not read_instance(one) == read_instance(other)
    names = [{path.relative_to(root) for path in root.rglob("*") if path.is_file()} for root in (one, other)]
    return names[0] == names[1] and all(_is_same(one / name, other / name) for name in names[0])


def read_instance(path: Path) -> bytes | None:
    """The unique identifier of what a DICOM file holds, by the group at its beginning; None if it is no such file."""
    with open(path, "rb") as stream:
        start = stream.read(DICOM_START)
    _, found, rest = start.partition(INSTANCE_TAG)
    length = int.from_bytes(rest[:2], "little")
    return rest[2 : 2 + length] if start[128:132] == b"DICM" and found else None


def remove(path: Path) -> None:
    """Remove a file or a whole folder; one that is not there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_partial(path: Path) -> None:
    """Remove what killed or failed writes of a file left beside it."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.*{PARTIAL_SUFFIX}"):
        with suppress(OSError):
            remove(leftover)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically."""
    write_atomically(path, lambda stream: stream.write(text.encode("utf-8")))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically, indented for people."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} must be JSON, got {error}; remove it or write it again") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(content).__name__}; write it again")
    return content


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write a compressed .npz atomically; the same arrays always give the same bytes."""
    write_atomically(path, lambda stream: save_arrays(arrays, stream))


def save_arrays(arrays: dict[str, np.ndarray], stream: BinaryIO) -> None:
    """Write a compressed .npz to an open file."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=LITTLE_PRESSED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                save_array(array, entry)


def save_array(array: np.ndarray, stream: IO[bytes]) -> None:
    """Write a .npy to an open file, as numpy.save does, without taking into memory what lies in a file."""
    if not (isinstance(array, np.memmap) and array.size and array.flags.c_contiguous):
        np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)
        return
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    rows = array.reshape(-1, array.shape[-1])
    for start in range(0, len(rows), step := max(1, WRITTEN_BYTES // max(1, rows[:1].nbytes))):
        stream.write(rows[start : start + step].tobytes())
        let_go(array)


@contextmanager
def explaining_write_errors(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into one OutputError that names the path."""
    try:
        yield
    except FewpointError:
        raise
    except Exception as error:
        refusal = _find_refusal(error)
        if refusal is None:
            raise
        if refusal.errno in NO_SPACE:
            raise OutputError(
                f"the disk is full or the quota used up: {path} could not be written; free some space and run again"
            ) from error
        reason = refusal.strerror or refusal
        raise OutputError(f"cannot write {path}: {reason}; give a folder you can write to") from error


def _find_refusal(error: BaseException | None) -> OSError | None:
    """The system's error behind one; torch, for one, raises its own on top when a write fails."""
    while error is not None and not isinstance(error, OSError):
        error = error.__context__
    return error


def _name_partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.{secrets.token_hex(4)}{PARTIAL_SUFFIX}")


def _move_into_place(temporary: Path, folder: Path) -> None:
    """A folder cannot be renamed over a filled one, so the earlier one steps aside first."""
    if not folder.exists():
        os.rename(temporary, folder)
        return
    earlier = _name_partial(folder)
    os.rename(folder, earlier)
    try:
        os.rename(temporary, folder)
    except BaseException:
        os.rename(earlier, folder)
        raise
    shutil.rmtree(earlier, ignore_errors=True)
