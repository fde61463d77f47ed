"""The masks of a study in one folder, by the names of its runs, as other programs expect them."""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from fewpoint import __version__
from fewpoint.core import ImageSequence, LabelMap, ObjectLabel, Result
from fewpoint.core.job import AUTO
from fewpoint.core.relabelling import Relabelling
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import explaining_write_errors, read_json, replace_folder, write_json, write_new, write_text
from fewpoint.io.coco import write_study
from fewpoint.io.formats import FILES, GRIDS, choose_format, write_label_map
from fewpoint.io.images import list_pictures
from fewpoint.io.nifti import write_nifti
from fewpoint.io.runs import load_result, read_finished
from fewpoint.report.montage import encode_png
from fewpoint.report.tiles import render_frame
from fewpoint.runs.exports import read_input
from fewpoint.superpixels.intensity import window_of

MARK_FILE = ".fewpoint-collection.json"
MARK_FORMAT = "fewpoint collection"
RUNS_FOLDER = "runs"
NIFTI = ".nii.gz"
REFERRING = ("dicom-seg", "rtstruct")  # files that refer to one series, with the objects of one run
BIDS_VERSION = "1.9.0"

Tell = Callable[[str], None]


class Layout(StrEnum):
    """flat: NAME.nii.gz and the like. nnunet: imagesTr, labelsTr and dataset.json. bids: derivatives, sub-NAME/anat.
    coco: one annotations.json for all, and images/NAME.
    """

    NNUNET = "nnunet"
    BIDS = "bids"
    COCO = "coco"
    FLAT = "flat"


@dataclass(frozen=True)
class Choice:
    """How a study is written.

    labels: what its objects are called and numbered. format: of the masks of the flat layout. images: whether the
    frames are written beside the masks, for nnunet and coco.
    """

    layout: Layout = Layout.FLAT
    labels: Relabelling = field(default_factory=Relabelling)
    format: str = AUTO
    images: bool = True


@dataclass(frozen=True)
class Collection:
    """What was written. runs: files of each run, by its name. files: those about all of them."""

    out: Path
    layout: Layout
    runs: dict[str, tuple[Path, ...]]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Study:
    """Finished runs by name, the objects of all of them in the order of their numbers, and how to write them."""

    runs: dict[str, Path]
    objects: tuple[ObjectLabel, ...]
    choice: Choice

    def load(self, name: str) -> Result:
        """The result of a run, with objects called as in the study."""
        return self.choice.labels.apply(load_result(self.runs[name]))

    def number(self, result: Result) -> LabelMap:
        """The masks of a run, with the numbers that objects have in the study."""
        places = {label.name: number for number, label in enumerate(self.objects, start=1)}
        table = np.array([0, *(places[each.name] for each in result.objects)], np.uint8)
        labels = result.labels
        return replace(labels, values=table[labels.values], objects=self.objects)

    def read_frames(self, name: str, result: Result) -> ImageSequence:
        """The frames of a run, in their old place."""
        return read_input(self.runs[name], result)


def collect_runs(
    folders: Iterable[Path], out: Path, choice: Choice = Choice(), tell: Tell = lambda line: None
) -> Collection:
    """Write the masks of finished runs into one folder, which is whole or not there.

    folders: run folders, and folders of a batch or of runs, of which those are taken that are finished. out: new, or
    of an earlier collection, which is replaced. tell: gets a line about each run that is left out.
    """
    runs = find_runs(folders, tell)
    study = Study(runs, _number_objects(runs, choice.labels), choice)
    _refuse_foreign(out)
    write = {
        Layout.FLAT: _write_flat,
        Layout.NNUNET: _write_nnunet,
        Layout.BIDS: _write_bids,
        Layout.COCO: _write_coco,
    }[choice.layout]
    done: list[Collection] = []

    def fill(place: Path) -> None:
        done.append(write(study, place))
        mark = {
            "format": MARK_FORMAT,
            "layout": str(choice.layout),
            "runs": {name: str(run) for name, run in runs.items()},
        }
        write_json(place / MARK_FILE, mark)

    with explaining_write_errors(out):
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
    replace_folder(out, fill)
    return _move(done[0], out)


def find_runs(folders: Iterable[Path], tell: Tell) -> dict[str, Path]:
    """Finished runs by the names of their folders, sorted; InputError if there is none or two have one name."""
    found: dict[str, Path] = {}
    for run in (run for folder in folders for run in _list_runs(folder, tell)):
        name = run.resolve().name
        if found.get(name, run).resolve() != run.resolve():
            raise InputError(
                f"each run needs a name of its own, {found[name]} and {run} have the same; rename a folder"
            )
        found[name] = run
    if not found:
        raise InputError("no finished run was found; give run folders, or the --out of fewpoint batch")
    return dict(sorted(found.items()))


def _list_runs(folder: Path, tell: Tell) -> list[Path]:
    """The folder itself if it is a run, else the finished runs in it; unfinished ones are told."""
    if not folder.is_dir():
        raise InputError(f"{folder} must be the folder of a finished run, or one that holds such; it is not there")
    if _is_run(folder):
        read_finished(folder)
        return [folder]
    inner = folder / RUNS_FOLDER if (folder / RUNS_FOLDER).is_dir() else folder
    runs = [path for path in sorted(inner.iterdir()) if path.is_dir() and _is_run(path)]
    if not runs:
        raise InputError(f"{folder} must be the folder of a finished run, or one that holds such; it is neither")
    finished = []
    for run in runs:
        try:
            read_finished(run)
            finished.append(run)
        except InputError:
            tell(f"{run.name} is not finished and left out")
    return finished


def _is_run(folder: Path) -> bool:
    return (folder / "manifest.json").is_file()


def _number_objects(runs: dict[str, Path], labels: Relabelling) -> tuple[ObjectLabel, ...]:
    names = set()
    for run in runs.values():
        described = read_finished(run)["result"]
        names |= {each.get("name", "object") for each in described.get("objects", [described])}
    labels.check(names)
    return labels.number(names)


def _refuse_foreign(out: Path) -> None:
    """Refuse a folder that holds anything but an earlier collection."""
    if not out.exists():
        return
    with explaining_write_errors(out):
        is_empty = out.is_dir() and not any(out.iterdir())
    if is_empty:
        return
    try:
        is_ours = read_json(out / MARK_FILE).get("format") == MARK_FORMAT
    except InputError:
        is_ours = False
    if not is_ours:
        raise RunConflictError(f"{out} is not empty and holds no collection; give another --out")


def _move(collection: Collection, out: Path) -> Collection:
    """The same with the paths that files have in the end."""

    def place(path: Path) -> Path:
        return out / path.relative_to(collection.out)

    runs = {name: tuple(map(place, files)) for name, files in collection.runs.items()}
    return replace(collection, out=out, runs=runs, files=tuple(map(place, collection.files)))


# Flat: one file or folder a run


def _write_flat(study: Study, out: Path) -> Collection:
    runs = {}
    for name in study.runs:
        result = study.load(name)
        format_name = choose_format(result.source) if study.choice.format == AUTO else study.choice.format
        labels = result.labels if format_name in REFERRING else study.number(result)
        path = out / f"{name}{_suffix(format_name)}"
        write_label_map(labels, format_name, path)
        runs[name] = (path,)
    table = _write_labels_table(study.objects, out / "labels.tsv")
    return Collection(out, Layout.FLAT, runs, (table,))


def _suffix(format_name: str) -> str:
    """What is added to the name of a run; nothing for a folder of pictures."""
    if format_name in GRIDS:
        return GRIDS[format_name].suffix
    return "" if format_name == "png" else Path(FILES[format_name]).suffix


def _write_labels_table(objects: tuple[ObjectLabel, ...], path: Path) -> Path:
    """Numbers, names and colours, as BIDS has them."""
    rows = [f"{number}\t{label.name}\t#{bytes(label.colour).hex()}" for number, label in enumerate(objects, start=1)]
    write_text(path, "\n".join(["index\tname\tcolor", *rows]) + "\n")
    return path


# nnU-Net v2: a raw dataset


def _write_nnunet(study: Study, out: Path) -> Collection:
    (out / "labelsTr").mkdir()
    if study.choice.images:
        (out / "imagesTr").mkdir()
    runs, channels = {}, {}
    for name in study.runs:
        result = study.load(name)
        labels = study.number(result)
        path = out / "labelsTr" / f"{name}{NIFTI}"
        write_nifti(labels.values, labels.source, path)
        images = _write_channels(study.read_frames(name, result), name, out) if study.choice.images else ()
        runs[name], channels[name] = (path, *images), len(images)
        if len(set(channels.values())) > 1:
            counts = ", ".join(f"{name} {count}" for name, count in channels.items())
            raise InputError(
                f"all runs of a dataset for nnU-Net must have as many channels, got {counts}; collect them apart"
            )
    content = {
        "channel_names": {str(index): f"channel {index}" for index in range(max(channels.values()) or 1)},
        "labels": {"background": 0, **{label.name: number for number, label in enumerate(study.objects, start=1)}},
        "numTraining": len(runs),
        "file_ending": NIFTI,
    }
    write_json(out / "dataset.json", content)
    return Collection(out, Layout.NNUNET, runs, (out / "dataset.json",))


def _write_channels(sequence: ImageSequence, name: str, out: Path) -> tuple[Path, ...]:
    paths = []
    for channel in range(sequence.shape[-1]):
        paths.append(out / "imagesTr" / f"{name}_{channel:04d}{NIFTI}")
        write_nifti(sequence.frames[..., channel], sequence.source, paths[-1])
    return tuple(paths)


# BIDS: derivatives


def _write_bids(study: Study, out: Path) -> Collection:
    runs = {}
    for name in study.runs:
        result = study.load(name)
        labels = study.number(result)
        folder, stem = name_in_bids(name, None if result.source is None else result.source.path)
        path = out / folder / f"{stem}_desc-fewpoint_dseg{NIFTI}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise InputError(f"two runs would be {path.relative_to(out)} in BIDS, {name} is one; rename its folder")
        write_nifti(labels.values, labels.source, path)
        table = _write_labels_table(study.objects, path.with_name(f"{stem}_desc-fewpoint_dseg.tsv"))
        runs[name] = (path, table)
    content = {
        "Name": "Masks by fewpoint",
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "fewpoint", "Version": __version__}],
    }
    write_json(out / "dataset_description.json", content)
    return Collection(out, Layout.BIDS, runs, (out / "dataset_description.json",))


def name_in_bids(name: str, path: str | None) -> tuple[Path, str]:
    """Folder and stem of a run; if the input is called as BIDS has it, with its entities.

    >>> name_in_bids("p1", "/data/sub-01_ses-2_acq-hi_T1w.nii.gz")[1], name_in_bids("Patient 7", None)[1]
    ('sub-01_ses-2_acq-hi', 'sub-Patient7')
    """
    stem = Path(path or "").name.partition(".")[0]
    entities = [part for part in stem.split("_") if re.fullmatch(r"[a-z]+-[A-Za-z0-9]+", part)]
    if not entities or not entities[0].startswith("sub-"):
        entities = [f"sub-{re.sub(r'[^A-Za-z0-9]', '', name) or 'run'}"]
    session = [part for part in entities[1:2] if part.startswith("ses-")]
    return Path(entities[0], *session, "anat"), "_".join(entities)


# COCO: one file for all


def _write_coco(study: Study, out: Path) -> Collection:
    runs: dict[str, tuple[Path, ...]] = {}

    def walk_parts() -> Iterator[tuple[LabelMap, list[str]]]:
        for name in study.runs:
            result = study.load(name)
            if study.choice.images:
                paths = _write_pictures(study, name, result, out / "images" / name)
                files = [path.relative_to(out / "images").as_posix() for path in paths]
            else:
                paths, files = (), _find_pictures(name, result)
            runs[name] = paths
            yield study.number(result), files

    write_study(walk_parts(), out / "annotations.json")
    return Collection(out, Layout.COCO, runs, (out / "annotations.json",))


def _find_pictures(name: str, result: Result) -> list[str]:
    """The whole paths of an input's own pictures, which loaders find whatever folder they are told to look in."""
    own = {} if result.source is None else list_pictures(result.source)
    if not own.keys() >= set(result.names):
        raise InputError(f"the input of {name} is not a folder of images any more; leave out --no-images")
    return [str(own[frame]) for frame in result.names]


def _write_pictures(study: Study, name: str, result: Result, folder: Path) -> tuple[Path, ...]:
    """The input's own pictures, or every frame as one of 8 bits."""
    folder.mkdir(parents=True)
    sequence = study.read_frames(name, result)
    own = {} if result.source is None else list_pictures(result.source)
    if own.keys() >= set(result.names):
        return tuple(Path(shutil.copyfile(own[frame], folder / own[frame].name)) for frame in result.names)
    window, paths = window_of(sequence), []
    for frame, picture in zip(sequence.names, sequence.frames, strict=True):
        data = encode_png(render_frame(picture, window))
        paths.append(folder / f"{frame}.png")
        write_new(paths[-1], lambda stream, data=data: stream.write(data))
    return tuple(paths)
