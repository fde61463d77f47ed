"""`fewpoint segment`: from frames and points to a run folder."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.core import AreaBound, ImageSequence, PointSet, Segmentation
from fewpoint.errors import InputError

if TYPE_CHECKING:
    from fewpoint.pipeline.config import Settings

InputPath = Annotated[Path, typer.Argument(metavar="INPUT", help="Frames: a folder of images, a TIFF stack, .npy or .npz.")]
PointsPath = Annotated[
    Path | None, typer.Option("--points", help="CSV frame,y,x in pixels, or 2dlocs.csv; may be left out where INPUT has one.")
]
OutPath = Annotated[Path, typer.Option("--out", help="Run folder; an unfinished run in it is continued.")]
MaxFraction = Annotated[
    float | None, typer.Option("--max-fraction", help="Largest share of a frame that the object covers, a generous guess.")
]
LargestBox = Annotated[
    str | None,
    typer.Option("--largest-box", metavar="FRAME,Y0,X0,Y1,X1", help="A box round the object where it is largest."),
]
Preset = Annotated[str, typer.Option("--preset", help="auto, fast or paper; auto picks by device.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same masks (on a CPU).", min=0)]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; may be repeated.")
]
ConfigPath = Annotated[Path | None, typer.Option("--config", help="TOML file of settings, a table a section.")]
NoTracking = Annotated[bool, typer.Option("--no-tracking", help="Threshold the network instead of tracking.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]


def segment_command(  # noqa: PLR0913 - one argument an option
    input_path: InputPath,
    out: OutPath,
    points_path: PointsPath = None,
    max_fraction: MaxFraction = None,
    largest_box: LargestBox = None,
    preset: Preset = "auto",
    device: Device = "auto",
    seed: Seed = 0,
    assignments: Assignments = None,
    config: ConfigPath = None,
    no_tracking: NoTracking = False,
    as_json: AsJson = False,
) -> None:
    """Segment the clicked object on every frame of INPUT."""
    if max_fraction is not None and largest_box is not None:
        raise typer.BadParameter("give --max-fraction or --largest-box, not both.")
    from fewpoint.io.images import read_sequence

    settings = build_settings(preset, device, config, [*(assignments or []), *_tracking_off(no_tracking)])
    sequence = read_sequence(input_path)
    points = _read_points(input_path, points_path, sequence)
    bound = _read_bound(max_fraction, largest_box, sequence)

    from fewpoint.cli.progress import show_progress
    from fewpoint.io.runs import RunFolder
    from fewpoint.pipeline.run import run_task
    from fewpoint.pipeline.task import Task

    task = Task(sequence, points, bound, settings, seed, device)
    with RunFolder.open(out, task.identity()) as folder, show_progress(quiet=as_json) as listener:
        result = run_task(task, folder, listener)
        _tell(result, folder.path, folder.manifest, as_json)


def build_settings(preset: str, device: str, config: Path | None, assignments: list[str]) -> "Settings":
    """A preset, changed by a file and then by single assignments."""
    from fewpoint.pipeline import config as settings_module

    chosen = settings_module.preset(preset, _resolve_device(preset, device))
    if config is not None:
        chosen = settings_module.override_from_toml(chosen, config)
    return settings_module.override_from_text(chosen, assignments)


def _resolve_device(preset: str, device: str) -> str:
    """The kind of device; asks torch only where the preset depends on it."""
    if preset != "auto":
        return device
    from fewpoint.learning.devices import choose_device

    return choose_device(device).type


def _tracking_off(no_tracking: bool) -> list[str]:
    return ["tracking.enabled=false"] if no_tracking else []


def _read_points(input_path: Path, points_path: Path | None, sequence: ImageSequence) -> PointSet:
    from fewpoint.io.points import find_points, read_points

    found = points_path or find_points(input_path)
    if found is None:
        raise InputError(f"points on the object are needed and {input_path} holds none; give --points FILE")
    return read_points(found, sequence)


def _read_bound(max_fraction: float | None, largest_box: str | None, sequence: ImageSequence) -> AreaBound | None:
    if max_fraction is not None:
        return AreaBound(max_fraction)
    if largest_box is None:
        return None
    try:
        frame, y0, x0, y1, x1 = (int(part) for part in largest_box.split(","))
    except ValueError:
        raise typer.BadParameter(f"--largest-box must be FRAME,Y0,X0,Y1,X1 in whole pixels, got {largest_box}.") from None
    if not 0 <= frame < len(sequence):
        raise InputError(f"the box is on frame {frame}, but the sequence has frames 0 to {len(sequence) - 1}")
    return AreaBound.from_box((y0, x0, y1, x1), sequence.size)


def _tell(result: Segmentation, folder: Path, manifest: dict, as_json: bool) -> None:
    """Say what came out and where it lies."""
    summary = manifest["result"]
    if as_json:
        print(json.dumps({"out": str(folder), "seconds": manifest["seconds"], **summary}))
        return
    print(
        f"{summary['frames_with_object']} of {summary['frames']} frames show the object, "
        f"{summary['mean_share']:.2%} of a frame on average (bound {result.bound.fraction:.2%})"
    )
    for warning in summary["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"masks:  {folder / 'masks'}")
    print(f"report: {folder / 'report.html'}")
