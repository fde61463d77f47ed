"""`fewpoint segment`: from frames and points to a run folder."""

import json
import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.outputs import Formats, Probabilities
from fewpoint.core import AreaBound, ImageSequence, Message, PointSet
from fewpoint.errors import InputError

if TYPE_CHECKING:
    from fewpoint.core.project import Project
    from fewpoint.pipeline.config import Settings


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
        "a video, a TIFF stack, an OME-Zarr, an .npy or an .npz; see fewpoint info. Or a .fewpoint project of the "
        "annotator, with its points, bound, preset and seed.",
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
        "May be left out where INPUT comes with a 2dlocs.csv.",
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
        help="Pixel values that matter: LEVEL,WIDTH, or lung, bone, brain or soft for CT. Else measured.",
    ),
]
MaxFraction = Annotated[
    list[str] | None,
    typer.Option(
        "--max-fraction",
        metavar="[NAME=]F",
        help="Largest share of a frame that the object covers, a generous guess between 0 and 1; of several objects "
        "that of each, or NAME=F for one of them; may be repeated.",
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
Preset = Annotated[
    PresetName, typer.Option("--preset", help="auto is accurate on CUDA and fast elsewhere; paper needs a GPU.")
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", metavar="NAME", help="Another method than fewpoint's own, for comparison; see fewpoint info."
    ),
]
Device = Annotated[DeviceName, typer.Option("--device", help="Where to compute; auto takes a GPU where there is one.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same masks on a CPU.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; may be repeated; see fewpoint info."),
]
ConfigPath = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML file of settings, one table a section.")
]
NoTracking = Annotated[bool, typer.Option("--no-tracking", help="Threshold the probabilities instead of tracking.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="MIN",
        help="Minutes until the masks are there: epochs, and at need networks, are left out so that it fits.",
    ),
]
Refine = Annotated[
    Path | None,
    typer.Option(
        "--refine",
        metavar="DIR",
        help="Continue from the networks of a finished run on the same INPUT, with changed points: much faster. "
        "Bound and settings are that run's unless given.",
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
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and no progress.")]


def segment_command(  # noqa: PLR0913 - one argument an option
    input_path: InputPath,
    out: OutPath,
    points_path: PointsPath = None,
    axis: Axis = AxisName.AUTO,
    channels: Channels = None,
    added: Added = None,
    window: Window = None,
    max_fraction: MaxFraction = None,
    largest_box: LargestBox = None,
    preset: Preset = PresetName.AUTO,
    method: Method = None,
    device: Device = DeviceName.AUTO,
    seed: Seed = 0,
    assignments: Assignments = None,
    config: ConfigPath = None,
    no_tracking: NoTracking = False,
    time_limit: TimeLimit = None,
    refined: Refine = None,
    warm_start: WarmStart = None,
    formats: Formats = None,
    probabilities: Probabilities = False,
    as_json: AsJson = False,
) -> None:
    """Segment the clicked object, or several, on every frame of INPUT."""
    fractions, boxes = _by_object("--max-fraction", max_fraction), _by_object("--largest-box", largest_box)
    if fractions.keys() & boxes.keys():
        raise typer.BadParameter("give --max-fraction or --largest-box, not both")
    bounds = {name: _parse_fraction(text) for name, text in fractions.items()}
    _refuse_combinations(preset, method, time_limit, refined, warm_start)
    from fewpoint.cli.competitors import CompetitorTask, choose_settings, is_competitor, run_competitor
    from fewpoint.io.images import parse_window, read_sequence
    from fewpoint.io.projects import is_project, read_project

    project = read_project(input_path) if is_project(input_path) else None
    if project is not None:
        input_path, points_path = project.input, points_path or project.path
        preset = project.project.preset if preset == PresetName.AUTO else preset
        seed = seed or project.project.seed
    changes = [*(assignments or []), *(["tracking.enabled=false"] if no_tracking else [])]
    previous = None
    if refined is not None:
        from fewpoint.pipeline.previous import load_previous

        previous = load_previous(refined)
    if method is None:
        base = previous.settings if previous is not None and preset == PresetName.AUTO else None
        settings = build_settings(preset, device, config, changes, base)
    else:
        settings = choose_settings(method, config, changes)
    sequence = read_sequence(
        input_path,
        axis=axis,
        channels=_parse_channels(channels),
        added=tuple(added or ()),
        window=None if window is None else parse_window(window),
    )
    points = _read_points(input_path, points_path, sequence)
    bounds |= {name: _read_box(text, sequence) for name, text in boxes.items()}
    if not bounds and project is not None:
        bounds = _bounds_of(project.project)
    bound, own_bounds = bounds.pop("", None), tuple(sorted(bounds.items()))

    from fewpoint.cli.progress import show_progress
    from fewpoint.io.formats import FILES, Outputs
    from fewpoint.io.runs import RunFolder

    outputs = Outputs.of(formats or [], probabilities=probabilities)
    if is_competitor(method):
        if own_bounds:
            raise InputError(f"{method} segments one object, a bound is given for {own_bounds[0][0]}; give it without")
        task, run = CompetitorTask(method, sequence, points, bound, settings, seed, device, outputs), run_competitor
    else:
        from fewpoint.pipeline.run import run_task
        from fewpoint.pipeline.task import Task

        limit_s = None if time_limit is None else 60 * time_limit
        model = None
        if warm_start is not None:
            from fewpoint.pipeline.model import load_model

            model = load_model(warm_start)
        task = Task(sequence, points, bound, settings, seed, device, outputs, limit_s, previous, model, own_bounds)
        task.check_previous()
        run = run_task
    with RunFolder.open(out, task.identity()) as folder:
        with show_progress(quiet=as_json) as listener:
            for note in sequence.source.notes:
                listener(Message(note, warning=True))
            run(task, folder, listener)
        masks = [folder.path / FILES[name] for name in outputs.resolve(sequence.source)]
        _tell(folder.path, folder.manifest, masks, as_json)


def _refuse_combinations(
    preset: str, method: str | None, time_limit: float | None, refined: Path | None, warm_start: Path | None
) -> None:
    """BadParameter for options that make no sense together, before anything is read."""
    if method is not None and preset != PresetName.AUTO:
        raise typer.BadParameter("give --method or --preset, not both")
    if time_limit is not None and not 0 < time_limit < math.inf:
        raise typer.BadParameter(f"--time-limit must be minutes above 0, got {time_limit:g}")
    if time_limit is not None and method is not None:
        raise typer.BadParameter("--time-limit shortens fewpoint's own schedule, it cannot be given with --method")
    if method is not None and (refined is not None or warm_start is not None):
        raise typer.BadParameter("--refine and --warm-start are for fewpoint's own networks, not for --method")
    if refined is not None and (warm_start is not None or time_limit is not None):
        raise typer.BadParameter("--refine has its own short schedule: leave out --warm-start and --time-limit")


def build_settings(
    preset: str, device: str, config: Path | None, assignments: list[str], base: "Settings | None" = None
) -> "Settings":
    """A preset, or the settings `base`, changed by a file and then by single assignments."""
    from fewpoint.pipeline import config as settings_module

    chosen = base or settings_module.preset(preset, _resolve_device(preset, device))
    if config is not None:
        chosen = settings_module.override_from_toml(chosen, config)
    return settings_module.override_from_text(chosen, assignments)


def _resolve_device(preset: str, device: str) -> str:
    """The kind of device; asks torch only where the preset depends on it."""
    if preset != PresetName.AUTO:
        return device
    from fewpoint.learning.devices import choose_device

    return choose_device(device).type


def _parse_channels(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--channels must be whole numbers such as 0,2, got {text}") from None


def _read_points(input_path: Path, points_path: Path | None, sequence: ImageSequence) -> PointSet:
    from fewpoint.io.points import find_points, read_points

    found = points_path or find_points(input_path)
    if found is None:
        raise InputError(f"points on the object are needed and {input_path} comes with none; give --points FILE")
    return read_points(found, sequence)


def _by_object(option: str, given: list[str] | None) -> dict[str, str]:
    """The values of an option by the object that they are given for, "" for all that have none of their own."""
    values: dict[str, str] = {}
    for text in given or ():
        name, _, value = text.rpartition("=")
        if name in values:
            raise typer.BadParameter(f"{option} must be given once{' for ' + name if name else ''}, got {text} too")
        values[name.strip()] = value
    return values


def _parse_fraction(text: str) -> AreaBound:
    try:
        return AreaBound(float(text))
    except ValueError:
        raise typer.BadParameter(f"--max-fraction must be a number between 0 and 1, got {text}") from None


def _read_box(text: str, sequence: ImageSequence) -> AreaBound:
    frame, *box = _parse_box(text)
    if not 0 <= frame < len(sequence):
        raise InputError(
            f"the box is on frame {frame}, but the sequence has frames 0 to {len(sequence) - 1}; frames count from zero"
        )
    return AreaBound.from_box(tuple(box), sequence.size)


def _bounds_of(project: "Project") -> dict[str, AreaBound]:
    """The bounds that a person has drawn, by object; that of a single one by no name."""
    clicked = project.clicked or project.objects[:1]
    bounds = {each.name if len(clicked) > 1 else "": project.bound_of(each.name) for each in clicked}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _parse_box(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 5:
        raise typer.BadParameter(f"--largest-box must be five whole numbers FRAME,Y0,X0,Y1,X1, got {text}")
    return numbers


def _tell(folder: Path, manifest: dict, masks: list[Path], as_json: bool) -> None:
    """Say what came out and where it lies."""
    summary = manifest["result"]
    if as_json:
        costs = {name: manifest[name] for name in ("seconds", "memory_mb", "cuda_mb", "time_limit")}
        print(json.dumps({"out": str(folder), **costs, **summary}))
        return
    for line in _describe_objects(summary):
        print(line)
    for warning in summary["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    if manifest["time_limit"]:
        print(f"time limit: {manifest['time_limit']}")
    for line in _describe_costs(manifest):
        print(line)
    for path in masks:
        print(f"masks:  {path}")
    print(f"report: {folder / 'report.html'}")


def _describe_objects(summary: dict) -> list[str]:
    """A line an object; where there are several, with their numbers and names, and what is to be said of all."""
    lines = [
        f"{each['frames_with_object']} of {each['frames']} frames show {each.get('name', 'the object')}, "
        f"{each['mean_share']:.2%} of a frame on average (bound {each['bound']:.2%})"
        for each in summary.get("objects", [summary])
    ]
    if "objects" not in summary:
        return lines
    return [*(f"{number}: {line}" for number, line in enumerate(lines, start=1)), *summary["notes"]]


def _describe_costs(manifest: dict) -> list[str]:
    """Where the time went, a row a stage, then all of it with the largest memory."""
    from fewpoint.io.memory import PeakMemory

    seconds = manifest["seconds"]
    total = sum(seconds.values())
    rows = [f"{stage:<12}{value:8.1f} s {value / total:5.0%}" for stage, value in seconds.items()]
    memory = PeakMemory(manifest["memory_mb"], manifest["cuda_mb"]).describe()
    return [*rows, f"{'all':<12}{total:8.1f} s, memory at most {memory}"]
