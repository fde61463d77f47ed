"""Files that a visitor sends, each lot in a new folder."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from fewpoint.errors import InputError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors
from fewpoint.web.places import Root

MOST_FILES = 10_000
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
    folder = root.new_upload_folder()
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
