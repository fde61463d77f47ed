"""What goes over the network: requests and answers, typed in this one place.

`static/types.js` mirrors these for the page; a test compares the names.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fewpoint.core.actions import Action
from fewpoint.io.projects import RunRecord, RunState

LONGEST_PATH = 4096

Frame = Annotated[int, Field(ge=0)]
Pair = Annotated[list[int], Field(min_length=2, max_length=2)]
Share = Annotated[float, Field(ge=0, le=1)]
EntryKind = Literal["folder", "input", "project"]
SequenceKind = Literal["volume", "video", "frames"]
LiveState = Literal["off", "starting", "ready", "failed"]


class Strict(BaseModel):
    """Nothing that is not asked for is taken."""

    model_config = ConfigDict(extra="forbid")


class ErrorMessage(Strict):
    """What went wrong, in one plain line."""

    detail: str


class Health(Strict):
    """opened: the project given on the command line, if one was. device: empty until it is known."""

    version: str
    device: str
    root: str
    opened: str | None = None


class FileEntry(Strict):
    name: str
    path: str
    kind: EntryKind
    size_bytes: int


class FileListing(Strict):
    """What a folder below the root holds. parent: None for the root itself."""

    path: str
    parent: str | None
    entries: list[FileEntry]


class Uploaded(Strict):
    path: str


class OpenRequest(Strict):
    """Either an input or a project file, as a path below the root."""

    input: Annotated[str, Field(max_length=LONGEST_PATH)] | None = None
    project: Annotated[str, Field(max_length=LONGEST_PATH)] | None = None

    @model_validator(mode="after")
    def check_one(self) -> "OpenRequest":
        if (self.input is None) == (self.project is None):
            raise ValueError("give either input or project")
        return self


class ProjectEntry(Strict):
    id: str
    name: str
    input: str
    changed_at: str
    running: bool


class PointMessage(Strict):
    id: int
    frame: Frame
    y: int
    x: int
    positive: bool


class BoxMessage(Strict):
    """bottom and right are exclusive. share: of the frame, which bounds the object."""

    frame: Frame
    top: int
    left: int
    bottom: int
    right: int
    share: Share


class ObjectMessage(Strict):
    """box: the largest of its boxes, which bounds it. size, sizes: factors of its masks' size, by frame as text."""

    name: str
    colour: Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]
    points: list[PointMessage]
    absent: list[Frame]
    brushed: list[Frame]
    box: BoxMessage | None
    boxes: list[BoxMessage]
    size: float
    sizes: dict[str, float]


class WindowMessage(Strict):
    """Pixel values shown as black and white, and the smallest and largest there are."""

    low: float
    high: float
    full_low: float
    full_high: float


class SettingsMessage(Strict):
    preset: str
    seed: int


class BoundMessage(Strict):
    """fraction: the share given for all objects, else that of the first box, else None: it is estimated."""

    fraction: Share | None
    origin: str


class RunMessage(Strict):
    """ahead: runs that go first while this one waits. priors: by object, its share of each frame as now estimated."""

    id: int
    state: RunState
    ahead: int
    phase: str
    epoch: int
    epochs: int
    seconds_left: float | None
    message: str
    error: str
    priors: dict[str, list[float]] | None
    best: bool
    refined_from: int | None
    started_at: str | None
    seconds: float
    version: int
    objects: list[str]


class LiveMessage(Strict):
    """How masks follow what is said, at once.

    stamp: grows with every change of this. number: grows with every answer. version: of the project that was answered.
    objects: those whose masks are the answer's; the others have those of the last run. rough: those of them of which
    nothing has been learnt yet. newer: objects about which something was said since the last run was begun. due: a run
    will begin by itself.
    """

    on: bool
    state: LiveState
    stamp: int
    number: int
    version: int
    objects: list[str]
    rough: list[str]
    seconds: float
    newer: list[str]
    due: bool
    message: str


class ProjectMessage(Strict):
    """path: where the project is kept. frames_key: changes with the frames; put it into their addresses as v."""

    id: str
    name: str
    input: str
    path: str
    notes: list[str]
    frames: int
    height: int
    width: int
    channels: int
    kind: SequenceKind
    is_grey: bool
    window: WindowMessage
    spacing_mm: list[float] | None
    frame_names: list[str]
    frames_key: str
    version: int
    can_undo: bool
    can_redo: bool
    objects: list[ObjectMessage]
    settings: SettingsMessage
    bound: BoundMessage
    runs: list[RunMessage]
    live: LiveMessage


class FrameQuery(Strict):
    """axis: 0 for a frame, 1 or 2 for the plane across all frames at a row or column. low, high: black and white."""

    axis: Annotated[int, Field(ge=0, le=2)] = 0
    low: Annotated[float, Field(allow_inf_nan=False)] | None = None
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None
    v: Annotated[str, Field(max_length=64)] = ""


class ActionRequest(Strict):
    """base_version: refused unless the project is still at this version; if left out, the action always counts."""

    base_version: int | None = None
    action: Annotated[Action, Field(discriminator="kind")]


class ActionResult(Strict):
    version: int
    project: ProjectMessage


class RunRequest(Strict):
    """refine: go on from the networks of the last run instead of starting from scratch."""

    refine: bool = False


class LiveRequest(Strict):
    """on: whether masks follow what is said, and learning goes on by itself."""

    on: bool


class SizeRequest(Strict):
    """A size to try out, as in the action set_size."""

    object: str
    size: Annotated[float, Field(allow_inf_nan=False)] | None
    frame: Frame | None = None


class MaskMessage(Strict):
    """The object's pixels as (start, length) in row-major order."""

    frame: Frame
    size: Pair
    runs: list[Pair]


class ObjectQuery(Strict):
    object: str


class MaskQuery(ObjectQuery):
    """as: runs, or png for an image of 0 and 255."""

    as_: Annotated[Literal["runs", "png"], Field(alias="as")] = "runs"


class UncertaintyMessage(Strict):
    """How doubtful each frame's mask is, and the frame most worth a look; None if all are brushed."""

    frames: list[Share]
    next: int | None


class ExportRequest(Strict):
    """probabilities: also, as floats, in a format that holds them."""

    format: Annotated[str, Field(max_length=40)]
    probabilities: bool = False


class ExportMessage(Strict):
    """name: for the download. path: where the files lie on the server."""

    name: str
    path: str
    files: list[str]


class FormatEntry(Strict):
    name: str
    label: str
    available: bool
    needs: str


class HelloEvent(Strict):
    kind: Literal["hello"] = "hello"
    version: int


class ProjectEvent(Strict):
    kind: Literal["project"] = "project"
    project: ProjectMessage


class RunEvent(Strict):
    kind: Literal["run"] = "run"
    run: RunMessage


class PreviewEvent(Strict):
    """A running training has new preview masks."""

    kind: Literal["preview"] = "preview"
    run: int


class LiveEvent(Strict):
    """Masks were answered, or cannot be."""

    kind: Literal["live"] = "live"
    live: LiveMessage


Event = HelloEvent | ProjectEvent | RunEvent | PreviewEvent | LiveEvent


def describe_run(record: RunRecord, objects: list[str]) -> RunMessage:
    """A run as its record has it, without how far it is."""
    return RunMessage(
        id=record.id,
        state=record.state,
        ahead=0,
        phase="",
        epoch=0,
        epochs=0,
        seconds_left=None,
        message=record.message,
        error=record.error,
        priors=None,
        best=record.best,
        refined_from=record.refined_from,
        started_at=record.started_at,
        seconds=record.seconds,
        version=record.version,
        objects=objects,
    )
