"""`fewpoint segment`: from frames and points to a run folder."""

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.outputs import AsJson, FormatName, Formats, Probabilities, print_json
from fewpoint.cli.storing import Store, describe_stored, reach_pacs, with_seg
from fewpoint.cli.trust import Trust
from fewpoint.cli.voice import say
from fewpoint.core.bound import read_share
from fewpoint.core.job import AddedWords, Bounds, BoxOnFrame, Changes, GivenBound, Job, OutputChoice
from fewpoint.core.source import Reading
from fewpoint.errors import InputError
from fewpoint.io.apart.forker import warm_up

if TYPE_CHECKING:
    from fewpoint.io.pacs.service import Pacs
    from fewpoint.io.pacs.storing import Stored

LOOKED_AT = 6  # frames that are named at the end of a run


class PresetName(StrEnum):
    AUTO = "auto"
    ACCURATE = "accurate"
    FAST = "fast"
    PAPER = "paper"


class AxisName(StrEnum):
    AUTO = "auto"
    FIRST = "0"
    SECOND = "1"
    THIRD = "2"
    SAGITTAL = "sagittal"
    CORONAL = "coronal"
    AXIAL = "axial"


class DeviceName(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


InputPath = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="The frames: a folder of PNG, JPEG or TIFF images, a NIfTI, NRRD or MetaImage volume, a DICOM series, "
        "a video, a TIFF stack, an OME-Zarr, an .npy or an .npz; see fewpoint info. Or a series on a PACS, "
        "dicomwebs://HOST/ROOT/studies/UID/series/UID. Or a .fewpoint project of the "
        "annotator, with its points, bounds, preset and seed, unless they are given here.",
    ),
]
OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the result; an unfinished run in it is continued.")
]
PointsPath = Annotated[
    Path | None,
    typer.Option(
        "--points",
        metavar="FILE",
        help="Clicks on the object: CSV with the header frame,y,x, in pixels from zero; i,j,k, in voxels; "
        "ras_x,ras_y,ras_z or lps_x,lps_y,lps_z, in millimetres; 3D Slicer's .mrk.json or .fcsv; a 2dlocs.csv; or a "
        ".fewpoint project. A column object names several objects. "
        "May be left out if INPUT comes with a 2dlocs.csv.",
    ),
]
Axis = Annotated[
    AxisName, typer.Option("--axis", help="Axis along which a volume is cut; auto takes that of the widest spacing.")
]
Channels = Annotated[
    str | None,
    typer.Option("--channels", metavar="N,N,…", help="Channels to keep, counted from zero over INPUT and --with."),
]
Added = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="FILE", help="Another file on INPUT's grid, for its channels; may be repeated."),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LEVEL,WIDTH",
        help="Pixel values that matter: LEVEL,WIDTH, or lung, bone, brain or soft for CT. Measured if not given.",
    ),
]
MaxFraction = Annotated[
    list[str] | None,
    typer.Option(
        "--max-fraction",
        metavar="[NAME=]F",
        help="Bound: the largest share of a frame that the object covers, a generous guess, as 5% or 0.05; of several "
        "objects that of each, or NAME=F for one of them; may be repeated.",
    ),
]
LargestBox = Annotated[
    list[str] | None,
    typer.Option(
        "--largest-box",
        metavar="[NAME=]FRAME,Y0,X0,Y1,X1",
        help="Instead: a box round the object on the frame where it is largest. With neither, a bound is estimated.",
    ),
]
Outlined = Annotated[
    list[str] | None,
    typer.Option(
        "--outlined",
        metavar="[NAME=]FRAME=MASK",
        help="A drawn mask of one frame, an image that is not zero on the object: every pixel of that frame is then "
        "known. Or [NAME=]FILE, a volume or folder of masks, of which each frame that is not empty counts; without a "
        "NAME 1 is the first of several objects by name, 2 the second. May be repeated.",
    ),
]
Boxes = Annotated[
    list[str] | None,
    typer.Option(
        "--box",
        metavar="[NAME=]FRAME,Y0,X0,Y1,X1",
        help="A box round the object on any frame, outside of which it is not; may be repeated.",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="[NAME=][FRAME:]FACTOR",
        help="How many times larger the masks should be than what is found, such as 1.2, or 12:0.8 for frame 12 alone; "
        "may be repeated.",
    ),
]
Preset = Annotated[
    PresetName | None,
    typer.Option(
        "--preset",
        show_default="auto, or the project's",
        help="auto is accurate on CUDA and fast elsewhere; paper needs a GPU.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", metavar="NAME", help="A method other than fewpoint's own, for comparison; see fewpoint info."
    ),
]
Device = Annotated[DeviceName, typer.Option("--device", help="Where to compute; auto takes a GPU if there is one.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        show_default="0, or the project's",
        help="The same seed gives the same masks on a CPU.",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; may be repeated; see fewpoint info."),
]
ConfigPath = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file of settings, one table per section.")
]
NoTracking = Annotated[bool, typer.Option("--no-tracking", help="Threshold the probabilities instead of tracking.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="MIN",
        help="Minutes until the masks are there: epochs and, if needed, networks are left out so that it fits.",
    ),
]
Refine = Annotated[
    Path | None,
    typer.Option(
        "--refine",
        metavar="DIR",
        help="Continue from the networks of a finished run on the same INPUT, with changed points or words: much "
        "faster. Bound, settings, outlines, boxes and sizes are that run's unless given.",
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
Witness = Annotated[
    str | None,
    typer.Option(
        "--witness",
        metavar="NAME",
        help="A pretrained model, see fewpoint models list, that has a say in the masks where it is believed.",
    ),
]


def segment_command(  # noqa: PLR0913 - one argument per option
    input_path: InputPath,
    out: OutPath,
    points_path: PointsPath = None,
    axis: Axis = AxisName.AUTO,
    channels: Channels = None,
    added: Added = None,
    window: Window = None,
    max_fraction: MaxFraction = None,
    largest_box: LargestBox = None,
    outlined: Outlined = None,
    boxes: Boxes = None,
    sizes: Sizes = None,
    preset: Preset = None,
    method: Method = None,
    device: Device = DeviceName.AUTO,
    seed: Seed = None,
    assignments: Assignments = None,
    config: ConfigPath = None,
    no_tracking: NoTracking = False,
    time_limit: TimeLimit = None,
    refined: Refine = None,
    warm_start: WarmStart = None,
    witness: Witness = None,
    formats: Formats = None,
    probabilities: Probabilities = False,
    store: Store = None,
    as_json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Segment the clicked object, or several, on every frame of INPUT."""
    warm_up(input_path)
    refuse_combinations(preset, method, time_limit, refined, warm_start)
    if witness is not None and (method is not None or time_limit is not None):
        raise typer.BadParameter("--witness is for fewpoint's own method without --time-limit")
    if no_tracking and method is None and preset in (PresetName.ACCURATE, PresetName.FAST):
        raise typer.BadParameter(f"--no-tracking is for the preset paper, {preset} does not track; leave it out")
    if method is not None:
        _refuse_unknown(method)
    from fewpoint.io.jobs import settle_job
    from fewpoint.io.pacs.addresses import is_remote, name_input

    job = Job(
        input=name_input(input_path) if is_remote(input_path) else str(input_path),
        points=_text(points_path) or "",
        reading=parse_reading(axis, channels, added, window),
        bounds=parse_bounds(max_fraction, largest_box),
        method=method,
        preset=None if preset is None else str(preset),
        changes=gather_changes(config, assignments, no_tracking),
        seed=seed,
        device=str(device),
        outputs=OutputChoice.of([str(name) for name in with_seg(formats, store)], probabilities=probabilities),
        time_limit_s=None if time_limit is None else 60 * time_limit,
        refine=_text(refined),
        warm_start=_text(warm_start),
        name=out.name,
        added_words=parse_words(outlined, boxes, sizes),
        witness=witness,
    )
    job = settle_job(job)
    _run(job, out, as_json, reach_pacs(store, job.input))


def _run(job: Job, out: Path, as_json: bool, pacs: "Pacs | None") -> None:
    """Run a job by its method, showing how it goes, store its masks if asked, and say what came out."""
    from fewpoint.cli.progress import show_progress
    from fewpoint.io.formats import FILES, Outputs
    from fewpoint.io.pacs.storing import store_seg
    from fewpoint.io.runs import read_finished
    from fewpoint.runs.jobs import run_job

    with show_progress(quiet=as_json) as listener:
        result = run_job(job, out, listener)
    masks = [out / FILES[name] for name in Outputs(**vars(job.outputs)).resolve(result.source)]
    stored = None if pacs is None else store_seg(out / FILES[FormatName.DICOM_SEG], pacs)
    _tell(out, read_finished(out), masks, as_json, stored)


def refuse_combinations(
    preset: str | None, method: str | None, time_limit: float | None, refined: Path | None, warm_start: Path | None
) -> None:
    """BadParameter for options that make no sense together, before anything is read."""
    if method is not None and preset is not None:
        raise typer.BadParameter("give --method or --preset, not both")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise typer.BadParameter(f"--time-limit must be minutes above 0, got {time_limit:g}")
    if time_limit is not None and method is not None:
        raise typer.BadParameter("--time-limit shortens fewpoint's own schedule, it cannot be given with --method")
    if method is not None and (refined is not None or warm_start is not None):
        raise typer.BadParameter("--refine and --warm-start are for fewpoint's own networks, not for --method")
    if refined is not None and (warm_start is not None or time_limit is not None):
        raise typer.BadParameter("--refine has its own short schedule: leave out --warm-start and --time-limit")


def _refuse_unknown(method: str) -> None:
    """SettingsError for a method that there is not, or that only the bench can run."""
    from fewpoint.methods.registry import list_methods

    if method not in list_methods():
        from fewpoint.bench.methods import check_blind  # loads torch

        check_blind(method)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def gather_changes(config: Path | None, assignments: list[str] | None, no_tracking: bool = False) -> Changes:
    """Settings to change from the options --config, --set and --no-tracking, in this order."""
    from fewpoint.io.jobs import parse_changes, read_changes

    typed = parse_changes([*(assignments or []), *(["tracking.enabled=false"] if no_tracking else [])])
    return (*(() if config is None else read_changes(config)), *typed)


def parse_reading(axis: AxisName, channels: str | None, added: list[Path] | None, window: str | None) -> Reading:
    """How to read the input, from the options --axis, --channels, --with and --window."""
    from fewpoint.io.images import parse_window

    return Reading(
        axis=str(axis),
        channels=_parse_channels(channels),
        added=tuple(map(str, added or ())),
        window=None if window is None else parse_window(window),
    )


def _parse_channels(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--channels must be whole numbers such as 0,2, got {text}") from None


def parse_bounds(fractions: list[str] | None, boxes: list[str] | None) -> Bounds:
    """Bounds by object from the options --max-fraction and --largest-box."""
    by_fraction, by_box = _by_object("--max-fraction", fractions), _by_object("--largest-box", boxes)
    if by_fraction.keys() & by_box.keys():
        raise typer.BadParameter("give --max-fraction or --largest-box, not both")
    bounds = {name: GivenBound(_parse_fraction(text)) for name, text in by_fraction.items()}
    bounds |= {name: GivenBound(box=_parse_box(text)) for name, text in by_box.items()}
    return tuple(sorted(bounds.items(), key=lambda each: each[0]))


def parse_words(outlined: list[str] | None, boxes: list[str] | None, sizes: list[str] | None) -> AddedWords:
    """Words by object from the options --outlined, --box and --size."""
    from fewpoint.io import given_words

    try:
        return given_words.parse_words(outlined or (), boxes or (), sizes or ())
    except InputError as error:
        raise typer.BadParameter(str(error)) from None


def _by_object(option: str, given: list[str] | None) -> dict[str, str]:
    """The values of an option by the object that they are given for, "" for all that have none."""
    values: dict[str, str] = {}
    for text in given or ():
        name, _, value = text.rpartition("=")
        if name in values:
            raise typer.BadParameter(f"{option} must be given once{' for ' + name if name else ''}, got {text} too")
        values[name.strip()] = value
    return values


def _parse_fraction(text: str) -> float:
    try:
        return read_share(text)
    except ValueError:
        raise typer.BadParameter(f"--max-fraction must be a share of a frame, as 5% or 0.05, got {text[:40]}") from None


def _parse_box(text: str) -> BoxOnFrame:
    try:
        frame, y0, x0, y1, x1 = (int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--largest-box must be five whole numbers FRAME,Y0,X0,Y1,X1, got {text}") from None
    return frame, y0, x0, y1, x1


def _tell(folder: Path, manifest: dict, masks: list[Path], as_json: bool, stored: "Stored | None") -> None:
    """Say what came out and where it lies."""
    summary, report = manifest["result"], folder / "report.html"
    if as_json:
        places = {
            "out": str(folder),
            "masks": [str(path) for path in masks],
            "report": str(report) if report.exists() else None,
        }
        costs = {name: manifest[name] for name in ("seconds", "memory_mb", "cuda_mb", "time_limit")}
        print_json("segment", {**places, **describe_stored(stored), **costs, **summary})
        return
    for line in _describe_objects(summary):
        say(line)
    for warning in summary["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if manifest["time_limit"]:
        say(f"time limit: {manifest['time_limit']}")
    for line in (*_describe_costs(manifest), *_suggest_frames(summary)):
        say(line)
    for path in masks:
        say(f"masks:  {path}")
    say(f"report: {report}")
    if stored is not None:
        say(f"stored: {stored}")


def _describe_objects(summary: dict) -> list[str]:
    """One line per object; if there are several, with their numbers and names, and then the notes."""
    lines = [
        f"{each['frames_with_object']} of {each['frames']} frames show {_call(each['name'])}, "
        f"{each['mean_share']:.2%} of a frame on average (bound {each['bound']:.2%})"
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
            lines.append(
                f"look first at frame{'s' if len(frames) > 1 else ''} {listed}{whose}, health {each['health']:.2f}"
            )
    return lines


def _call(name: str) -> str:
    from fewpoint.core.result import UNNAMED

    return "the object" if name == UNNAMED.name else name


def _describe_costs(manifest: dict) -> list[str]:
    """Where the time went, one row per stage, then all of it with the largest memory."""
    from fewpoint.io.memory import PeakMemory

    seconds = manifest["seconds"]
    total = sum(seconds.values())
    rows = [f"{stage:<12}{value:8.1f} s {value / total:5.0%}" for stage, value in seconds.items()]
    memory = PeakMemory(manifest["memory_mb"], manifest["cuda_mb"]).describe()
    return [*rows, f"{'all':<12}{total:8.1f} s, memory at most {memory}"]
