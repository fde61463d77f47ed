"""Masks as files: python -m fewpoint.web.exporting, a separate process, so that the server goes on answering.

What is exported is what is shown (web/view.py), which is kept as a result first, or the result of a run.

Reads its order as JSON from standard input and prints the names of the files as JSON.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore

import numpy as np

from fewpoint.core import ObjectLabel, ProbabilityMaps, Result
from fewpoint.core.job import FILM
from fewpoint.core.labels import LabelMap
from fewpoint.core.paging import make_frames, walk
from fewpoint.core.project import NamedObject
from fewpoint.core.run_lengths import decode_mask
from fewpoint.core.workers import python_module, safe_environment
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import read_json, replace_folder, write_file_atomically, write_json
from fewpoint.io.extras import is_installed
from fewpoint.io.formats import FILES, FILM_FILE, GRIDS, Outputs, write_label_map
from fewpoint.io.images import read_sequence
from fewpoint.io.pacs.fetching import locate_again
from fewpoint.io.projects import RunRecord, read_project, runs_folder
from fewpoint.io.sources import read_source, write_source
from fewpoint.io.video import write_video
from fewpoint.report.film import draw_film
from fewpoint.runs.exports import convert_run, join_objects
from fewpoint.web import messages
from fewpoint.web.faults import BusyError, MissingError
from fewpoint.web.keeping import EXPORTS_FOLDER
from fewpoint.web.orders import has_result, result_folder, shown_folder
from fewpoint.web.results import ObjectMasks
from fewpoint.web.sessions import Session
from fewpoint.web.shown import MASKS

COMMAND = python_module("fewpoint.web.exporting")
MOST_AT_WORK, LONGEST_WAIT_S, LONGEST_EXPORT_S = 2, 600.0, 3600.0
MOST_ASKED_FOR = 8  # at once; each that waits keeps a thread of the server
_at_work = BoundedSemaphore(MOST_AT_WORK)
_asked_for = BoundedSemaphore(MOST_ASKED_FOR)
FRAMES_FILE, SOURCE_FILE = "frames.json", "source.json"
NAME = re.compile(r"run-[0-9]+-[a-z0-9-]+")
REFUSED = 3

LABELS = {
    "png": "PNG, one file per frame",
    "nifti": "NIfTI (.nii.gz)",
    "nrrd": "NRRD",
    "mha": "MetaImage (.mha)",
    "tiff": "TIFF stack",
    "zarr": "OME-Zarr",
    "dicom-seg": "DICOM SEG, for inputs that are a DICOM series",
    "rtstruct": "DICOM RTSTRUCT, for inputs that are a DICOM series",
    "coco": "COCO annotations (.json)",
    FILM: "a video of the outlines (.mp4)",
}
EXTRAS = {"zarr": "zarr", "dicom-seg": "dicom", "rtstruct": "dicom", FILM: "video"}


@dataclass(frozen=True)
class ExportOrder:
    """project: its file. version: of the project, for what was brushed. run: its number. out: a folder to fill."""

    project: str
    version: int
    run: int
    format: str
    probabilities: bool
    out: str


def list_formats() -> list[messages.FormatEntry]:
    """All that masks can be written as, and what is missing for it here."""
    return [
        messages.FormatEntry(
            name=name,
            label=label,
            available=not (missing := _missing(name)),
            needs=missing,
            probabilities=name in GRIDS,
        )
        for name, label in LABELS.items()
    ]


def export_masks(session: Session, record: RunRecord, request: messages.ExportRequest) -> messages.ExportMessage:
    """Write the masks of a run in a format, in a separate process."""
    format_name = request.format
    if format_name not in LABELS:
        raise InputError(f"the format must be one of {', '.join(LABELS)}, got {format_name}")
    if not record.best:
        raise InputError(f"run {record.id} has no masks yet")
    name = f"run-{record.id}-{format_name}"
    out = session.runs_folder / EXPORTS_FOLDER / name
    order = ExportOrder(
        project=str(session.log.path),
        version=session.log.history.version,
        run=record.id,
        format=format_name,
        probabilities=request.probabilities,
        out=str(out),
    )
    session.exporting[record.id] += 1
    try:
        _describe_frames(session, session.runs_folder / str(record.id))
        done = _run_export(order)
    finally:
        session.exporting[record.id] -= 1
    if done.returncode == REFUSED:
        raise InputError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        last = (done.stderr.strip() or "it was killed").splitlines()[-1]
        raise FewpointError(f"the export failed: {last[:300]}")
    return messages.ExportMessage(name=name, path=str(out), files=json.loads(done.stdout))


def _describe_frames(session: Session, run: Path) -> None:
    """Leave what masks without a run folder are of for whoever writes them."""
    if not has_result(run):
        write_json(run / FRAMES_FILE, {"names": list(session.sequence.names)})
        write_source(session.source, run / SOURCE_FILE)


def _run_export(order: ExportOrder) -> subprocess.CompletedProcess[str]:
    """An export in its process; others wait while as many as may are at work."""
    told, environment = json.dumps(asdict(order)), safe_environment(os.environ)
    with _waiting_for_turn():
        try:
            return subprocess.run(
                COMMAND,
                input=told,
                timeout=LONGEST_EXPORT_S,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            minutes = f"{LONGEST_EXPORT_S / 60:.0f} minutes"
            raise FewpointError(f"the export took longer than {minutes}, and was ended") from None


@contextmanager
def _waiting_for_turn() -> Iterator[None]:
    """Wait until an export may be at work; BusyError if many wait already."""
    if not _asked_for.acquire(blocking=False):
        raise BusyError(f"{MOST_ASKED_FOR} exports are at work or wait; try again when one is done")
    try:
        if not _at_work.acquire(timeout=LONGEST_WAIT_S):
            raise BusyError("too many exports are at work; try again later")
        try:
            yield
        finally:
            _at_work.release()
    finally:
        _asked_for.release()


def find_export(session: Session, name: str) -> Path:
    """The one file that a visitor downloads: the export itself, or a zip of it."""
    folder = session.runs_folder / EXPORTS_FOLDER
    if not NAME.fullmatch(name) or not (folder / name).is_dir():
        raise MissingError(f"there is no export {name[:80]!r}; make it first")
    if (folder / f"{name}.zip").exists():
        return folder / f"{name}.zip"
    return next(path for path in (folder / name).rglob("*") if path.is_file())


def write_export(order: ExportOrder) -> list[str]:
    """Write the masks as `fewpoint convert` does, of several objects as one label map; returns the files in `out`."""
    run = runs_folder(Path(order.project)) / str(order.run)
    targets, shape = find_targets(order), read_project(order.project).project.shape
    outputs = Outputs.of([order.format], probabilities=order.probabilities)
    out = Path(order.out)
    out.parent.mkdir(parents=True, exist_ok=True)

    def fill(folder: Path) -> None:
        if has_result(run):
            convert_run(result_folder(run), outputs, folder, lambda result: edit(result, targets))
        else:
            write_kept(run, tuple(filter(None, targets)), shape, outputs, folder)

    replace_folder(out, fill)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    archive = out.with_name(out.name + ".zip")
    archive.unlink(missing_ok=True)
    if len(files) > 1:
        write_file_atomically(archive, lambda path: _pack(files, out, path))
    return [path.relative_to(out).as_posix() for path in files]


def find_targets(order: ExportOrder) -> tuple[NamedObject | None, ...]:
    """The objects of a run, in its order, as the project now has them; None for one that was removed since."""
    now = read_project(order.project, order.version)
    run = (now.runs | now.answers)[order.run]
    before = read_project(order.project, run.version).project
    objects = {each.id: each for each in now.project.objects}
    segmented = (each for each in before.objects if each.id in run.objects)
    return tuple(objects.get(each.id) for each in sorted(segmented, key=lambda each: each.name))


def write_kept(
    run: Path, targets: tuple[NamedObject, ...], shape: tuple[int, int, int], outputs: Outputs, folder: Path
) -> None:
    """Write masks that are there as the page shows them alone: of a kept answer, or of a run that was ended."""
    if not any((shown_folder(run, each.id) / MASKS).exists() for each in targets):
        raise InputError(f"the masks of run {run.name} are missing or of an earlier version of fewpoint; run again")
    if outputs.probabilities:
        raise InputError("these masks have no probabilities; leave them out, or export only what was learnt")
    names, source = tuple(map(str, read_json(run / FRAMES_FILE)["names"])), read_source(run / SOURCE_FILE)
    outputs.check(source, names)
    labels = LabelMap(label_kept(run, targets, shape), tuple(map(label_of, targets)), names, source)
    for name in outputs.formats:
        write_label_map(labels, name, folder / FILES[name])
    if outputs.film:
        frames = read_sequence(locate_again(source), **asdict(source.reading))
        colours = tuple(each.colour for each in labels.objects)
        write_video(draw_film(frames, labels.values, colours), folder / FILM_FILE)


def label_kept(run: Path, targets: tuple[NamedObject, ...], shape: tuple[int, int, int]) -> np.ndarray:
    """(T, H, W) uint8, n for the n-th object; a pixel that was drawn goes to the object that it was drawn for."""
    masks = [ObjectMasks(shape, shown_folder(run, each.id) / MASKS, each.brushed) for each in targets]
    values = make_frames(shape, np.uint8)
    for frame, place in enumerate(walk(values)):
        for number in sorted(range(len(targets)), key=lambda each: (frame not in targets[each].brushed, each)):
            place[masks[number].cut(0, frame) & (place == 0)] = number + 1
    return values


def edit(result: Result, targets: tuple[NamedObject | None, ...]) -> Result:
    """The objects that are still in the project, as they are called, coloured and drawn there."""
    kept = [(part, target) for part, target in zip(result.split(), targets, strict=True) if target is not None]
    if not kept:
        raise InputError("none of the objects of this run is left in the project; undo, or run again")
    objects = tuple(replace(draw(part, target).only, label=label_of(target)) for part, target in kept)
    if len(objects) == 1:
        return replace(result, objects=objects, notes=())
    objects, notes = join_objects(objects)
    return replace(result, objects=objects, notes=notes)


def draw(result: Result, target: NamedObject) -> Result:
    """The result with the frames that a person brushed as they were drawn, and sure of it."""
    masks, probabilities = np.array(result.masks), np.array(result.probabilities.values)
    for frame, stretches in target.brushed.items():
        masks[frame] = decode_mask(stretches, masks.shape[1:])
        probabilities[frame] = masks[frame]
    drawn = replace(result.only, masks=masks, probabilities=ProbabilityMaps(probabilities))
    return replace(result, objects=(drawn,))


def label_of(target: NamedObject) -> ObjectLabel:
    """The object's name and colour.

    >>> label_of(NamedObject(3, "left lung", "#e69f00")).colour
    (230, 159, 0)
    """
    red, green, blue = bytes.fromhex(target.colour.removeprefix("#"))
    return ObjectLabel(target.name, (red, green, blue))


def _pack(files: list[Path], folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(folder).as_posix())


def _missing(name: str) -> str:
    extra = EXTRAS.get(name)
    return "" if extra is None or is_installed(extra) else f"pip install 'fewpoint[{extra}]'"


def main() -> None:
    table = json.loads(sys.stdin.read())
    try:
        files = write_export(ExportOrder(**table))
    except FewpointError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(REFUSED)
    print(json.dumps(files))


if __name__ == "__main__":
    main()
