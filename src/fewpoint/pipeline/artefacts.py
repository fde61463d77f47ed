"""What stages leave in a run folder, reused at the next start."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from fewpoint.core import SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.io.atomic import save_arrays, write_atomically
from fewpoint.io.decoding import load_array
from fewpoint.io.runs import SUPERPIXELS_FILE, RunFolder
from fewpoint.io.schema import expecting_ours

Result = TypeVar("Result")


def keep(
    folder: RunFolder | None,
    name: str,
    compute: Callable[[], Result],
    save: Callable[[Result, BinaryIO], None],
    load: Callable[[Path], Result],
) -> tuple[Result, bool]:
    """The stage's artefact, read if the folder has it, else computed and written; and whether it was read.

    One that cannot be read any more is made anew.
    """
    if folder is None:
        return compute(), False
    path = folder.artefact(name)
    found = load_or_none(path, load)
    if found is not None:
        return found, True
    result = compute()
    write_atomically(path, lambda file: save(result, file))
    return result, False


def load_or_none(path: Path, load: Callable[[Path], Result]) -> Result | None:
    """What a file of ours holds; None if it is not there, or damaged."""
    if not path.exists():
        return None
    try:
        with expecting_ours(path):
            return load(path)
    except InputError:
        return None


def keep_superpixels(folder: RunFolder | None, compute: Callable[[], SuperpixelMap]) -> tuple[SuperpixelMap, bool]:
    def save(superpixels: SuperpixelMap, file: BinaryIO) -> None:
        save_arrays({"labels": superpixels.labels}, file)

    return keep(folder, SUPERPIXELS_FILE, compute, save, lambda path: SuperpixelMap(load_array(path, "labels")))
