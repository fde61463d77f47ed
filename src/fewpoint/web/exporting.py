"""Masks as files: python -m fewpoint.web.exporting, a process of its own, so that the server goes on answering.

Reads its order as JSON from standard input and prints the names of the files as JSON.
"""

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fewpoint.core import AnySegmentation, ObjectLabel, ProbabilityMaps, Segmentation
from fewpoint.core.project import NamedObject
from fewpoint.core.run_lengths import decode_mask
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import replace_folder, write_file_atomically
from fewpoint.io.extras import is_installed
from fewpoint.io.formats import FILM, Outputs
from fewpoint.io.projects import RunRecord, read_project
from fewpoint.io.runs import load_result
from fewpoint.pipeline.exports import convert_run, join_results
from fewpoint.web import messages
from fewpoint.web.faults import MissingError
from fewpoint.web.orders import result_folder
from fewpoint.web.sessions import Session

COMMAND = (sys.executable, "-m", "fewpoint.web.exporting")
EXPORTS_FOLDER = "exports"
NAME = re.compile(r"run-[0-9]+-[a-z0-9-]+")
REFUSED = 3

LABELS = {
    "png": "PNG, one file a frame",
    "nifti": "NIfTI (.nii.gz)",
    "nrrd": "NRRD",
    "mha": "MetaImage (.mha)",
    "tiff": "TIFF stack",
    "zarr": "OME-Zarr",
    "dicom-seg": "DICOM SEG, for inputs that are a DICOM series",
    "coco": "COCO annotations (.json)",
    FILM: "a film of the outlines (.mp4)",
}
EXTRAS = {"zarr": "zarr", "dicom-seg": "dicom", FILM: "video"}


@dataclass(frozen=True)
class ExportOrder:
    """project: its file. version: of the project, for what was brushed. run: its folder. out: a folder to fill."""

    project: str
    version: int
    objects: tuple[int, ...]
    run: str
    format: str
    probabilities: bool
    out: str


def list_formats() -> list[messages.FormatEntry]:
    """All that masks can be written as, and what is missing for it here."""
    return [
        messages.FormatEntry(name=name, label=label, available=not (missing := _missing(name)), needs=missing)
        for name, label in LABELS.items()
    ]


def export_masks(session: Session, record: RunRecord, format_name: str, probabilities: bool) -> messages.ExportMessage:
    """Write the masks of a run in a format, in a process of its own."""
    if format_name not in LABELS:
        raise InputError(f"the format must be one of {', '.join(LABELS)}, got {format_name}")
    if not record.best:
        raise InputError(f"run {record.id} has no masks yet")
    name = f"run-{record.id}-{format_name}"
    out = session.runs_folder / EXPORTS_FOLDER / name
    order = ExportOrder(
        project=str(session.log.path),
        version=session.log.history.version,
        objects=record.objects,
        run=str(session.runs_folder / str(record.id)),
        format=format_name,
        probabilities=probabilities,
        out=str(out),
    )
    done = subprocess.run(COMMAND, input=json.dumps(asdict(order)), capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        raise InputError(done.stderr.strip().splitlines()[-1])
    if done.returncode:
        last = (done.stderr.strip() or "it was killed").splitlines()[-1]
        raise FewpointError(f"the export failed: {last[:300]}")
    return messages.ExportMessage(name=name, path=str(out), files=json.loads(done.stdout))


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
    project = read_project(order.project, order.version).project
    kept = [each for each in project.objects if result_folder(Path(order.run), each.id).exists()]
    if not kept:
        raise InputError("none of the objects of this run is left in the project; undo, or run again")
    outputs = Outputs.of([order.format], probabilities=order.probabilities)
    out = Path(order.out)
    out.parent.mkdir(parents=True, exist_ok=True)

    runs = [result_folder(Path(order.run), target.id) for target in kept]

    def edit(first: Segmentation) -> AnySegmentation:
        if len(kept) == 1:
            return draw(first, kept[0])
        results = [first, *map(load_result, runs[1:])]
        drawn = tuple(draw(result, target) for result, target in zip(results, kept, strict=True))
        return join_results(tuple(label_of(target) for target in kept), drawn)

    replace_folder(out, lambda folder: convert_run(runs[0], outputs, folder, edit))
    files = sorted(path for path in out.rglob("*") if path.is_file())
    archive = out.with_name(out.name + ".zip")
    archive.unlink(missing_ok=True)
    if len(files) > 1:
        write_file_atomically(archive, lambda path: _pack(files, out, path))
    return [path.relative_to(out).as_posix() for path in files]


def draw(result: Segmentation, target: NamedObject) -> Segmentation:
    """The result with the frames that a person brushed as they were drawn, and sure of it."""
    masks, probabilities = np.array(result.masks), np.array(result.probabilities.values)
    for frame, stretches in target.brushed.items():
        masks[frame] = decode_mask(stretches, masks.shape[1:])
        probabilities[frame] = masks[frame]
    return replace(result, masks=masks, probabilities=ProbabilityMaps(probabilities))


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
        files = write_export(ExportOrder(**{**table, "objects": tuple(table["objects"])}))
    except FewpointError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(REFUSED)
    print(json.dumps(files))


if __name__ == "__main__":
    main()
