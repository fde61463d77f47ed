"""A result in the formats that users ask for, at the end of a run or later."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence, ObjectResult, PointSet, Result
from fewpoint.core.labels import describe_ties, share_pixels
from fewpoint.core.paging import make_frames, walk
from fewpoint.errors import InputError
from fewpoint.io.atomic import place_new, read_json
from fewpoint.io.formats import FILM_FILE, Outputs
from fewpoint.io.images import hash_sequence, read_sequence
from fewpoint.io.pacs.fetching import locate_again
from fewpoint.io.runs import MANIFEST_FILE, load_result
from fewpoint.io.video import write_video
from fewpoint.report.film import draw_film

Edit = Callable[[Result], Result]

KEPT = np.float32(2)  # claim of an object on a pixel that is not to be taken from it: above any probability


def write_film(sequence: ImageSequence, result: Result, folder: Path) -> Path:
    """Write every frame with the outline of its mask, or of each object in its colour, as a video."""
    labels = result.labels
    colours = tuple(label.colour for label in labels.objects)
    write_video(draw_film(sequence, labels.values, colours), folder / FILM_FILE)
    return folder / FILM_FILE


def write_missing(sequence: ImageSequence, result: Result, outputs: Outputs, folder: Path) -> None:
    """Write into the folder of a finished run what it does not hold yet."""
    names = [name for name in outputs.resolve(result.source) if not outputs.is_written(result, name, folder)]
    replace(outputs, formats=tuple(names)).write(result, folder)
    if outputs.film and not (folder / FILM_FILE).exists():
        write_film(sequence, result, folder)


def join_objects(
    objects: tuple[ObjectResult, ...], clicks: tuple[PointSet, ...] = (), kept: tuple[bool, ...] = ()
) -> tuple[tuple[ObjectResult, ...], tuple[str, ...]]:
    """Objects that were segmented separately, changed so that no pixel is in two masks, and notes about such pixels.

    A pixel in several masks goes to the likeliest object; ties go to the first. clicks: the points on each object,
    whose pixels it keeps in any case. kept: whether each object keeps all of its mask but for clicks on others.
    """
    masks, ties = [make_frames(each.masks.shape, bool) for each in objects], 0
    claims = [_claim_frames(*each) for each in zip_longest(objects, clicks, kept)]
    for places, of_frame in zip(zip(*map(walk, masks), strict=True), zip(*claims, strict=True), strict=True):
        owner, tied = share_pixels(of_frame)
        ties += tied
        for number, place in enumerate(places, start=1):
            place[:] = owner == number
    alone = tuple(replace(each, masks=own) for each, own in zip(objects, masks, strict=True))
    return alone, describe_ties(ties)


def _claim_frames(found: ObjectResult, clicks: PointSet | None, kept: bool | None) -> Iterator[np.ndarray]:
    """(H, W) float32 of each frame: the probability in the mask, -inf outside it, inf on its own clicks.

    kept: if true, more than any probability in the mask.
    """
    for frame, (mask, probability) in enumerate(zip(walk(found.masks), walk(found.probabilities.values), strict=True)):
        claims = np.where(mask, KEPT if kept else probability.astype(np.float32), np.float32(-np.inf))
        if clicks is not None:
            claims[tuple(clicks.coordinates[clicks.frames == frame, 1:].T)] = np.inf
        yield claims


def convert_run(folder: Path, outputs: Outputs, out: Path, edit: Edit | None = None) -> tuple[Path, ...]:
    """Write the result of a finished run in other formats; returns the files.

    out: the run's own folder, or another, in which nothing is overwritten that differs from what is to be written.
    The input is read again for a film, and its headers for DICOM SEG; it must be where it was.
    edit: changes the result first, such as when a person has drawn some of the masks.
    """
    result = load_result(folder) if edit is None else edit(load_result(folder))
    outputs.check(result.source, result.names)
    sequence = read_input(folder, result) if outputs.film else None

    def write(place: Path) -> tuple[Path, ...]:
        written = outputs.write(result, place)
        return written if sequence is None else (*written, write_film(sequence, result, place))

    return write(out) if out.resolve() == folder.resolve() else place_new(out, write)


def read_input(folder: Path, result: Result) -> ImageSequence:
    """The frames that a run was made on; InputError if they are gone or have changed."""
    source = result.source
    if source is None:
        raise InputError(f"{folder} does not say where its input is, so it cannot be drawn; run again")
    sequence = read_sequence(locate_again(source), **asdict(source.reading))
    manifest = read_json(folder / MANIFEST_FILE)
    if hash_sequence(sequence) != manifest.get("identity", manifest).get("sequence"):
        raise InputError(f"{source.path} must hold the frames that were segmented, but has changed since; restore it")
    return sequence
