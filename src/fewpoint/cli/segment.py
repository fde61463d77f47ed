"""`fewpoint segment`: from frames and points to a run folder."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.grouping import grouped
from fewpoint.cli.options import (
    MaxFraction,
    MethodOptions,
    OutputOptions,
    PresetName,
    ReadingOptions,
    Sizes,
    parse_bounds,
    parse_points,
    parse_words,
)
from fewpoint.cli.outputs import FormatName, print_json
from fewpoint.cli.storing import Store, describe_stored, reach_pacs, with_seg
from fewpoint.cli.voice import say, tell
from fewpoint.core.job import Job, OutputChoice
from fewpoint.io.apart.forker import warm_up

if TYPE_CHECKING:
    from fewpoint.io.pacs.service import Pacs
    from fewpoint.io.pacs.storing import Stored

LOOKED_AT = 6  # frames that are named at the end of a run

InputPath = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        rich_help_panel="Input",
        help="The frames: a folder of PNG, JPEG or TIFF images, a NIfTI, NRRD or MetaImage volume, a DICOM series, "
        "a video, a TIFF stack, an OME-Zarr, an .npy or an .npz; see fewpoint info. Or a series on a PACS, "
        "dicomwebs://HOST/ROOT/studies/UID/series/UID. Or a .fewpoint project of the "
        "annotator, with its annotations, size limits, preset and seed, unless given here.",
    ),
]
OutPath = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        rich_help_panel="Output",
        help="Folder for the result; an unfinished run in it is continued.",
    ),
]
PointFileNames = Annotated[
    list[str] | None,
    typer.Option(
        "--points",
        metavar="[NAME=]FILE",
        rich_help_panel="Annotations",
        help="Clicks on the object: CSV with the header frame,y,x, in pixels from zero; i,j,k, in voxels; "
        "ras_x,ras_y,ras_z or lps_x,lps_y,lps_z, in millimetres; 3D Slicer's .mrk.json or .fcsv; a 2dlocs.csv; or a "
        ".fewpoint project. A column object names several objects. "
        "May be repeated: files without a NAME are read together, those with one are objects. "
        "Not needed if INPUT has a 2dlocs.csv.",
    ),
]
Added = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="FILE", help="Another file on INPUT's grid, for its channels; may be repeated."),
]
Refine = Annotated[
    Path | None,
    typer.Option(
        "--refine",
        metavar="DIR",
        rich_help_panel="Method",
        help="Continue from the networks of a finished run on the same INPUT, with corrected annotations: much "
        "faster. Size limit, settings, drawn masks, boxes and sizes are that run's unless given.",
    ),
]
WarmStart = Annotated[
    Path | None,
    typer.Option(
        "--warm-start",
        metavar="RUN",
        help="Start from the networks of a finished run on another sequence of the same kind: its folder or model.npz.",
    ),
]
LargestBox = Annotated[
    list[str] | None,
    typer.Option(
        "--largest-box",
        metavar="[NAME=]FRAME,Y0,X0,Y1,X1",
        help="Instead of --max-fraction: a box around the object where it is largest. With neither it is estimated.",
    ),
]
Outlined = Annotated[
    list[str] | None,
    typer.Option(
        "--outlined",
        metavar="[NAME=]FRAME=MASK",
        rich_help_panel="Annotations",
        help="A drawn mask of one frame, an image that is not zero on the object, used exactly as it "
        "is. Or [NAME=]FILE, a volume or folder of masks, of which empty frames are ignored; without a "
        "NAME, 1 is the first of several objects by name, 2 the second. May be repeated.",
    ),
]
Boxes = Annotated[
    list[str] | None,
    typer.Option(
        "--box",
        metavar="[NAME=]FRAME,Y0,X0,Y1,X1",
        help="A box around the object on a frame; nothing outside it is the object. May be repeated.",
    ),
]


@dataclass(frozen=True)
class FileOptions:
    """What is read besides the frames."""

    points: PointFileNames = None
    added: Added = None
    refined: Refine = None
    warm_start: WarmStart = None


@dataclass(frozen=True)
class SaidOptions:
    """What is said about objects besides points."""

    max_fraction: MaxFraction = None
    largest_box: LargestBox = None
    outlined: Outlined = None
    boxes: Boxes = None
    sizes: Sizes = None


@dataclass(frozen=True)
class KeptOptions(OutputOptions):
    """What is written, said and stored."""

    store: Store = None

    def to_choice(self) -> OutputChoice:
        names = [str(name) for name in with_seg(self.formats, self.store)]
        return OutputChoice.of(names, probabilities=self.probabilities)


@grouped
def segment_command(
    input_path: InputPath,
    out: OutPath,
    files: FileOptions,
    reading: ReadingOptions,
    said: SaidOptions,
    how: MethodOptions,
    wanted: KeptOptions,
) -> None:
    """Segment the clicked object, or several, on every frame of INPUT."""
    warm_up(input_path)
    _refuse_combinations(how, files)
    from fewpoint.io.jobs import settle_job
    from fewpoint.io.pacs.addresses import is_remote, name_input

    job = replace(
        how.to_job(),
        input=name_input(input_path) if is_remote(input_path) else str(input_path),
        points=parse_points(files.points),
        reading=reading.to_reading(files.added),
        bounds=parse_bounds(said.max_fraction, said.largest_box),
        outputs=wanted.to_choice(),
        refine=_text(files.refined),
        warm_start=_text(files.warm_start),
        name=out.name,
        added_words=parse_words(said.outlined, said.boxes, said.sizes),
    )
    job = settle_job(job)
    _run(job, out, wanted.as_json, reach_pacs(wanted.store, job.input))


def _run(job: Job, out: Path, as_json: bool, pacs: "Pacs | None") -> None:
    """Run a job by its method, showing how it goes, store its masks if asked, and say what came out."""
    from fewpoint.cli.progress import show_progress
    from fewpoint.io.formats import FILES, Outputs
    from fewpoint.io.pacs.storing import store_seg
    from fewpoint.io.runs import MANIFEST_FILE, read_finished
    from fewpoint.io.schema import expecting_ours
    from fewpoint.runs.jobs import run_job

    with show_progress(quiet=as_json) as listener:
        result = run_job(job, out, listener)
    masks = [out / FILES[name] for name in Outputs(**vars(job.outputs)).resolve(result.source)]
    stored = None if pacs is None else store_seg(out / FILES[FormatName.DICOM_SEG], pacs)
    manifest = read_finished(out)
    with expecting_ours(out / MANIFEST_FILE):
        _tell(out, manifest, masks, as_json, stored)


def _refuse_combinations(how: MethodOptions, files: FileOptions) -> None:
    how.refuse_combinations(files.refined is not None, files.warm_start is not None)
    if how.witness is not None and how.method is not None:
        raise typer.BadParameter("--witness is for fewpoint's own method")
    if how.no_tracking and how.method is None and how.preset in (PresetName.ACCURATE, PresetName.FAST):
        raise typer.BadParameter(f"--no-tracking is for the preset paper, {how.preset} does not track; leave it out")
    if how.method is not None:
        _refuse_unknown(how.method)


def _refuse_unknown(method: str) -> None:
    """SettingsError for a method that there is not, or that only the bench can run."""
    from fewpoint.methods.registry import list_methods

    if method not in list_methods():
        from fewpoint.bench.methods import check_blind  # loads torch

        check_blind(method)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _tell(folder: Path, manifest: dict, masks: list[Path], as_json: bool, stored: "Stored | None") -> None:
    """Say what came out and where it lies."""
    summary, report = manifest["result"], folder / "report.html"
    if as_json:
        places = {
            "out": str(folder),
            "masks": [str(path) for path in masks],
            "report": str(report) if report.exists() else None,
        }
        costs = {name: manifest[name] for name in ("seconds", "memory_mb", "cuda_mb")}
        print_json("segment", {**places, **describe_stored(stored), **costs, **summary})
        return
    for line in _describe_objects(summary):
        say(line)
    for warning in summary["warnings"]:
        tell(f"warning: {warning}")
    for line in (*_describe_costs(manifest), *_suggest_frames(summary)):
        say(line)
    for path in masks:
        say(f"masks:  {path}")
    if stored is not None:
        say(f"stored: {stored}")
    say(f"report: {report}", bold=True)


def _describe_objects(summary: dict) -> list[str]:
    """One line per object; if there are several, with their numbers and names, and then the notes."""
    lines = [
        f"{each['frames_with_object']} of {each['frames']} frames show {_call(each['name'])}, "
        f"{each['mean_share']:.2%} of a frame on average (size limit {each['bound']:.2%})"
        for each in summary["objects"]
    ]
    if len(lines) == 1:
        return lines
    return [*(f"{number}: {line}" for number, line in enumerate(lines, start=1)), *summary["notes"]]


def _suggest_frames(summary: dict) -> list[str]:
    """Which frames to look at first, of each object that has any."""
    lines = []
    for each in summary["objects"]:
        frames = each["look_first"]
        whose = f" of {each['name']}" if len(summary["objects"]) > 1 else ""
        if frames:
            listed = ", ".join(map(str, frames[:LOOKED_AT]))
            plural = "s" if len(frames) > 1 else ""
            lines.append(f"review first: frame{plural} {listed}{whose}; quality check {each['health']:.2f}")
    return lines


def _call(name: str) -> str:
    from fewpoint.core.result import UNNAMED

    return "the object" if name == UNNAMED.name else name


def _describe_costs(manifest: dict) -> list[str]:
    """Where the time went, one row per stage, then all of it with the largest memory."""
    from fewpoint.cli.progress import name_stage
    from fewpoint.io.memory import PeakMemory

    seconds = manifest["seconds"]
    total = sum(seconds.values())
    rows = [f"{name_stage(stage):<12}{value:8.1f} s {value / total:5.0%}" for stage, value in seconds.items()]
    memory = PeakMemory(manifest["memory_mb"], manifest["cuda_mb"]).describe()
    return [*rows, f"{'all':<12}{total:8.1f} s, memory at most {memory}"]
