"""What stages leave in a run folder, reused at the next start."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from fewpoint.core import SuperpixelMap
from fewpoint.io.atomic import save_arrays, write_atomically
from fewpoint.io.decoding import load_array
from fewpoint.io.runs import RunFolder

Result = TypeVar("Result")


def keep(
    folder: RunFolder | None,
    name: str,
    compute: Callable[[], Result],
    save: Callable[[Result, BinaryIO], None],
    load: Callable[[Path], Result],
) -> tuple[Result, bool]:
    """The stage's artefact, read if the folder has it, else computed and written; and whether it was read."""
    if folder is None:
        return compute(), False
    path = folder.artefact(name)
    if path.exists():
        return load(path), True
    result = compute()
    write_atomically(path, lambda file: save(result, file))
    return result, False


def keep_superpixels(folder: RunFolder | None, compute: Callable[[], SuperpixelMap]) -> tuple[SuperpixelMap, bool]:
    def save(superpixels: SuperpixelMap, file: BinaryIO) -> None:
        save_arrays({"labels": superpixels.labels}, file)

    return keep(folder, "superpixels.npz", compute, save, lambda path: SuperpixelMap(load_array(path, "labels")))
