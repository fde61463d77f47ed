"""Files that a visitor sends, each lot in a new folder that is called as they are."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fewpoint.errors import InputError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors
from fewpoint.io.stacks import natural_order
from fewpoint.web.places import UPLOADS_FOLDER, Root

MOST_FILES = 10_000
MOST_BYTES, SPARE_BYTES = 2**36, 2**30  # of all uploads together; what they leave of the disk
LONGEST_NAME = 200  # bytes
PIECE = 2**20
HEADER_SUFFIXES = (".mhd", ".nhdr")


def store_files(files: Sequence[tuple[str, BinaryIO]], root: Root) -> str:
    """Keep named files below the root; returns what to open: the file, its header, or the folder of all."""
    names = [check_name(name) for name, _ in files]
    if not names:
        raise InputError("no file was sent; choose at least one")
    if len(set(names)) < len(names):
        raise InputError("two files have one name; send them from one folder at a time")
    check_quota(root, sum(_measure(stream) for _, stream in files))
    folder = root.new_upload_folder(name_lot(names))
    temporary = folder.with_name(folder.name + PARTIAL_SUFFIX)
    with explaining_write_errors(folder):
        temporary.mkdir(parents=True)
        try:
            for name, (_, stream) in zip(names, files, strict=True):
                with open(temporary / name, "xb") as kept:
                    shutil.copyfileobj(stream, kept, PIECE)
            os.rename(temporary, folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return root.name(_choose(folder, names))


def check_quota(root: Root, wanted: int) -> None:
    """Raise InputError if uploads would take more than they may, or the disk's last room."""
    there = root.uploads
    taken = sum(path.stat().st_size for path in there.rglob("*") if path.is_file()) if there.is_dir() else 0
    if taken + wanted > MOST_BYTES:
        raise InputError(
            f"files sent may take {MOST_BYTES / 2**30:.0f} GiB in all, {taken / 2**30:.1f} are used; "
            f"delete some in {UPLOADS_FOLDER}"
        )
    if wanted + SPARE_BYTES > shutil.disk_usage(root.path).free:
        raise InputError("there is not enough room on the server's disk for these files; delete some first")


def _measure(stream: BinaryIO) -> int:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    return size


def name_lot(names: list[str]) -> str:
    """What a lot of files is called: as its header or only file without the ending, or as its first file.

    >>> name_lot(["scan.nii.gz"]), name_lot(["a.raw", "a.mhd"]), name_lot(["0002.png", "0001.png"])
    ('scan', 'a', '0001 and 1 more')
    """
    headers = [name for name in names if name.lower().endswith(HEADER_SUFFIXES)]
    first = (headers or sorted(names, key=natural_order))[0]
    stem = re.sub(r"(\.[A-Za-z][A-Za-z0-9]{0,4}){1,2}$", "", first) or first
    return stem if len(names) == 1 or headers else f"{stem} and {len(names) - 1} more"


def check_name(given: str) -> str:
    """The last part of a name as a browser gives it, if it can be a file's.

    >>> check_name("series\\\\IM0001.dcm")
    'IM0001.dcm'
    """
    name = PurePosixPath(given.replace("\\", "/")).name
    if not name or name.startswith(".") or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise InputError(f"a file must have a plain name of at most {LONGEST_NAME} bytes, got {given[:40]!r}")
    return name


def _choose(folder: Path, names: list[str]) -> Path:
    headers = [name for name in names if name.lower().endswith(HEADER_SUFFIXES)]
    if len(names) == 1 or len(headers) == 1:
        return folder / (headers or names)[0]
    return folder
