"""Options that several commands share, and what they mean for a job."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import AsJson, Formats, Probabilities
from fewpoint.cli.trust import Trust
from fewpoint.core.bound import read_share
from fewpoint.core.job import (
    AddedWords,
    Bounds,
    BoxOnFrame,
    Changes,
    GivenBound,
    Job,
    OutputChoice,
    PointFiles,
)
from fewpoint.core.plain_text import parse_whole
from fewpoint.core.source import Reading
from fewpoint.errors import InputError


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


Axis = Annotated[
    AxisName,
    typer.Option(
        "--axis",
        rich_help_panel="Input",
        help="Axis along which a volume is cut; auto takes that of the widest spacing.",
    ),
]
Channels = Annotated[
    str | None,
    typer.Option("--channels", metavar="N,N,…", help="Channels to keep, counted from zero over INPUT and --with."),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="LEVEL,WIDTH",
        help="Range of pixel values to use: LEVEL,WIDTH, or lung, bone, brain or soft for CT. Measured if not given.",
    ),
]
MaxFraction = Annotated[
    list[str] | None,
    typer.Option(
        "--max-fraction",
        metavar="[NAME=]F",
        rich_help_panel="Annotations",
        help="Size limit: the largest share of a frame that the object covers, a generous guess, as 5% or 0.05; with "
        "several objects for each, or NAME=F for one of them; may be repeated.",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="[NAME=][FRAME:]FACTOR",
        rich_help_panel="Annotations",
        help="How many times larger the masks should be than found, such as 1.2, or 12:0.8 for frame 12 alone; "
        "may be repeated.",
    ),
]
Preset = Annotated[
    PresetName | None,
    typer.Option(
        "--preset",
        rich_help_panel="Method",
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
Device = Annotated[
    DeviceName,
    typer.Option("--device", rich_help_panel="Machine", help="Where to compute; auto takes a GPU if there is one."),
]
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
Witness = Annotated[
    str | None,
    typer.Option(
        "--witness",
        metavar="NAME",
        help="Refine masks with a pretrained model (fewpoint models list).",
    ),
]


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read."""

    axis: Axis = AxisName.AUTO
    channels: Channels = None
    window: Window = None

    def to_reading(self, added: list[Path] | None = None) -> Reading:
        """added: further files on the same grid."""
        from fewpoint.io.images import parse_window

        return Reading(
            axis=str(self.axis),
            channels=_parse_channels(self.channels),
            added=tuple(map(str, added or ())),
            window=None if self.window is None else parse_window(self.window),
        )


@dataclass(frozen=True)
class MethodOptions:
    """By what masks are made, and where."""

    preset: Preset = None
    method: Method = None
    device: Device = DeviceName.AUTO
    seed: Seed = None
    assignments: Assignments = None
    config: ConfigPath = None
    no_tracking: NoTracking = False
    witness: Witness = None

    def refuse_combinations(self, refines: bool, starts_warm: bool) -> None:
        """BadParameter for options that make no sense together, before anything is read."""
        if self.method is not None and self.preset is not None:
            raise typer.BadParameter("give --method or --preset, not both")
        if self.method is not None and (refines or starts_warm):
            raise typer.BadParameter("--refine and --warm-start are for fewpoint's own networks, not for --method")
        if refines and starts_warm:
            raise typer.BadParameter("--refine starts from the networks of its own run: leave out --warm-start")

    def to_job(self) -> Job:
        """A job that says nothing but this."""
        return Job(
            method=self.method,
            preset=None if self.preset is None else str(self.preset),
            changes=_gather_changes(self.config, self.assignments, self.no_tracking),
            seed=self.seed,
            device=str(self.device),
            witness=self.witness,
        )


@dataclass(frozen=True)
class OutputOptions:
    """What is written and said."""

    formats: Formats = None
    probabilities: Probabilities = False
    as_json: AsJson = False
    trust: Trust = False

    def to_choice(self) -> OutputChoice:
        return OutputChoice.of([str(name) for name in self.formats or ()], probabilities=self.probabilities)


def _gather_changes(config: Path | None, assignments: list[str] | None, no_tracking: bool = False) -> Changes:
    """Settings to change from the options --config, --set and --no-tracking, in this order."""
    from fewpoint.io.jobs import parse_changes, read_changes

    typed = parse_changes([*(assignments or []), *(["tracking.enabled=false"] if no_tracking else [])])
    return (*(() if config is None else read_changes(config)), *typed)


def _parse_channels(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else tuple(parse_whole(part) for part in text.split(","))
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


def parse_points(given: list[str] | None) -> str | PointFiles:
    """The files of the option --points: one without a name, several, or none."""
    from fewpoint.io.given_words import split_name
    from fewpoint.io.projects import is_project

    named = (("", text) if Path(text).is_file() else split_name(text) for text in given or ())
    files = tuple((name, str(Path(path))) for name, path in named)
    if any(is_project(Path(path)) and (name or len(files) > 1) for name, path in files):
        raise typer.BadParameter("--points takes a project alone and without a NAME: its objects have names")
    if len({bool(name) for name, _ in files}) > 1:
        raise typer.BadParameter("--points must name the objects of all files or of none, as NAME=FILE")
    return files[0][1] if len(files) == 1 and not files[0][0] else files or ""


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
        frame, y0, x0, y1, x1 = (parse_whole(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--largest-box must be five whole numbers FRAME,Y0,X0,Y1,X1, got {text}") from None
    return frame, y0, x0, y1, x1
