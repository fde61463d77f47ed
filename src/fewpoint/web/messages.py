"""What goes over the network: requests and answers, typed in this one place.

`static/types.js` mirrors these for the page; a test compares the names.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fewpoint.core.actions import Action
from fewpoint.core.run_lengths import Stretches
from fewpoint.io.projects import RunRecord, RunState, Verdict

LONGEST_PATH = 4096

Frame = Annotated[int, Field(ge=0)]
Pair = Annotated[list[int], Field(min_length=2, max_length=2)]
Share = Annotated[float, Field(ge=0, le=1)]
EntryKind = Literal["folder", "input", "series", "project"]
WorkState = Literal["new", "clicked", "run", "accepted", "rejected", "exported"]
SequenceKind = Literal["volume", "video", "frames"]
LiveState = Literal["off", "starting", "ready", "failed"]


class Strict(BaseModel):
    """Nothing that is not asked for is taken."""

    model_config = ConfigDict(extra="forbid")


class ErrorMessage(Strict):
    """What went wrong, in one plain line."""

    detail: str


class Health(Strict):
    """opened: the project given on the command line, if one was. device: empty until it is known.

    windows: level and width of grey values by name, in Hounsfield units. labels: names that are offered for objects,
    with their codes in SNOMED CT. pacs: the address of the PACS that series can be opened from, empty without one.
    """

    version: str
    device: str
    root: str
    opened: str | None = None
    windows: dict[str, list[float]] = {}
    labels: dict[str, str] = {}
    pacs: str = ""


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


class WorkEntry(Strict):
    """A study: an input, and how far it is. people: who worked on it. health: of the last run's worst object."""

    input: str
    project: str | None
    state: WorkState
    people: list[str]
    points: int
    runs: int
    health: float | None


class SeriesEntry(Strict):
    """A series of a DICOM folder. path: of one of its images, which is opened for it."""

    path: str
    patient: str
    study: str
    description: str
    modality: str
    images: int


class PacsStudy(Strict):
    """A study in the PACS. patient: its ID. date: as DICOM writes it, year first."""

    uid: str
    patient: str
    date: str
    description: str
    modalities: str


class PacsSeries(Strict):
    """A series of images in the PACS. images: 0 if it does not say how many there are."""

    uid: str
    number: int
    modality: str
    description: str
    images: int


class FetchRequest(Strict):
    """A series of the PACS by its UIDs."""

    study: Annotated[str, Field(max_length=64)]
    series: Annotated[str, Field(max_length=64)]


class StoredMessage(Strict):
    """A segmentation in the PACS, by its UIDs. is_new: it was not there before."""

    series: str
    instance: str
    is_new: bool


class QueueEntry(Strict):
    """A run that waits or goes, of whichever project."""

    project: str
    name: str
    run: int
    state: RunState
    ahead: int
    epoch: int
    epochs: int


class StorageMessage(Strict):
    """Bytes on disk: of each run by its number, of each export by its name, and of the upload if the input is one."""

    runs: dict[str, int]
    exports: dict[str, int]
    upload: int | None


class ReviewMessage(Strict):
    """Whether the masks are accepted. by: who said so. current: nothing was said about the project since."""

    verdict: Verdict
    by: str
    current: bool


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
    """box: the largest of its boxes, which bounds it. size, sizes: factors of its masks' size, by frame as text.

    bound: the share of a frame that it covers at most, of its box or as given for all; None if it is estimated.
    number: stays the same when it gets another name.
    """

    number: int
    name: str
    colour: Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]
    points: list[PointMessage]
    absent: list[Frame]
    brushed: list[Frame]
    box: BoxMessage | None
    boxes: list[BoxMessage]
    size: float
    sizes: dict[str, float]
    bound: Share | None
    locked: bool


class WindowMessage(Strict):
    """Pixel values shown as black and white, and the smallest and largest there are."""

    low: float
    high: float
    full_low: float
    full_high: float


class LookMessage(Strict):
    """How a project was last looked at. low, high: values shown as black and white, None for those of the file."""

    low: Annotated[float, Field(allow_inf_nan=False)] | None = None
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None


class SettingsMessage(Strict):
    preset: str
    seed: int


class FigureMessage(Strict):
    """What is known of the masks of an object in a run.

    pixels: of all frames. largest: the frame with most of them. bound: the largest share that was taken for possible,
    bound_origin: where it came from. health: from 0 to 1, the higher the more the masks can be trusted.
    """

    pixels: int
    largest: Frame
    volume_ml: float | None = None
    bound: Share | None = None
    bound_origin: str = ""
    health: float | None = None


class RunMessage(Strict):
    """ahead: runs that go first while this one waits. priors: by object, its share of each frame as now estimated.

    words: what the run was told. notes: what a person should know before trusting its masks. figures: by object.
    """

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
    words: str
    notes: list[str]
    figures: dict[str, FigureMessage]


class ShownMessage(Strict):
    """Which masks of an object are shown. stamp: another one is another mask. rough: nothing is learnt of it yet."""

    stamp: str
    rough: bool


class ViewMessage(Strict):
    """A frame that was answered before all others. number, objects, rough: see LiveMessage. stamp: see ShownMessage."""

    frame: Frame
    number: int
    stamp: str
    objects: list[str]
    rough: list[str]


class LiveMessage(Strict):
    """How masks follow what is said, at once.

    stamp: grows with every change of this. number: grows with every answer. version: of the project that was answered.
    objects: those whose masks are the answer's; the others have those of the last run. rough: those of them of which
    nothing has been learnt yet. partly: they are there on frames near the last click, the others follow. newer: objects
    about which something was said since the last run was begun. due: a run will begin by itself. view: a frame whose
    masks are newer than all this says, as somebody looks at it; those of the others follow. shown: of each object that
    has masks, which are shown but for that frame and those that were drawn, be they of an answer or not.
    """

    on: bool
    state: LiveState
    stamp: int
    number: int
    version: int
    objects: list[str]
    rough: list[str]
    partly: bool
    seconds: float
    newer: list[str]
    due: bool
    message: str
    view: ViewMessage | None
    shown: dict[str, ShownMessage]


class ProjectMessage(Strict):
    """path: where the project is kept. frames_key: changes with the frames; put it into their addresses as v.

    directions: the side of the patient (R, L, A, P, S, I) that frames, rows and columns go to; None if they have none.
    unit: of the pixel values, empty if it is not known. own_points: a file of points lies with the images.
    can_undo, can_redo: who did something that they can undo or redo. fraction: the largest share of a frame given for
    objects without a box. shown: the run or kept answer whose masks are shown of objects about which nothing was said
    since, None if there are none. answers: masks that were answered live and are kept, told as runs are; they have no
    probabilities. from_pacs: the images were fetched from a PACS.
    """

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
    directions: list[str] | None
    unit: str
    own_points: bool
    from_pacs: bool
    look: LookMessage
    frame_names: list[str]
    frames_key: str
    version: int
    can_undo: list[str]
    can_redo: list[str]
    objects: list[ObjectMessage]
    settings: SettingsMessage
    fraction: Share | None
    runs: list[RunMessage]
    answers: list[RunMessage]
    shown: int | None
    review: ReviewMessage
    live: LiveMessage


class FrameQuery(Strict):
    """axis: 0 for a frame, 1 or 2 for the plane across all frames at a row or column. low, high: black and white."""

    axis: Annotated[int, Field(ge=0, le=2)] = 0
    low: Annotated[float, Field(allow_inf_nan=False)] | None = None
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None
    v: Annotated[str, Field(max_length=64)] = ""


class PlaceQuery(Strict):
    """A pixel of a frame."""

    frame: Frame
    y: Frame
    x: Frame


class ValueMessage(Strict):
    """The pixel's value in each channel."""

    values: list[float]


class MeasureMessage(Strict):
    """areas: pixels of an object on each frame, of the masks as they are now."""

    areas: list[int]


class ActionRequest(Strict):
    """base_version: refused unless the project is still at this version; if left out, the action always counts.

    by: who does it, BROWSER/TAB for a page; an undo takes back what the same one did. view: the frame that they look
    at, whose mask then comes before those of the others.
    """

    base_version: int | None = None
    by: Annotated[str, Field(max_length=80)] = ""
    view: Frame | None = None
    action: Annotated[Action, Field(discriminator="kind")]


class ActionResult(Strict):
    version: int
    project: ProjectMessage


class RunRequest(Strict):
    """refine: go on from the networks of the last run instead of starting from scratch.

    warm_start: begin with the networks that the last finished run of another project left. added: further inputs on the
    same grid, below the root, whose channels are learnt from.
    """

    refine: bool = False
    warm_start: bool = False
    added: Annotated[list[Annotated[str, Field(max_length=LONGEST_PATH)]], Field(max_length=8)] = []


class ReviewRequest(Strict):
    """by: who says so."""

    verdict: Verdict
    by: Annotated[str, Field(max_length=80)] = ""


class ExportAllRequest(Strict):
    format: Annotated[str, Field(max_length=40)]
    probabilities: bool = False


class LiveRequest(Strict):
    """on: whether masks follow what is said, and learning goes on by itself."""

    on: bool


class SizeRequest(Strict):
    """A size to try out, as in the action set_size. view: as in ActionRequest."""

    object: str
    size: Annotated[float, Field(allow_inf_nan=False)] | None
    frame: Frame | None = None
    view: Frame | None = None


class MaskMessage(Strict):
    """The object's pixels as (start, length) in row-major order. frame: or the row or column of another plane."""

    frame: Frame
    size: Pair
    runs: list[Pair]


class ObjectQuery(Strict):
    """An object by its name, or by its number, which it keeps if somebody renames it meanwhile."""

    object: str = ""
    number: int | None = None


class PlaneQuery(ObjectQuery):
    """axis: 0 for a frame, 1 or 2 for the plane across all frames at a row or column."""

    axis: Annotated[int, Field(ge=0, le=2)] = 0


class MaskQuery(PlaneQuery):
    """as: runs, or png for an image of 0 and 255."""

    as_: Annotated[Literal["runs", "png"], Field(alias="as")] = "runs"


class StrokeRequest(Strict):
    """The mask of a plane as it is now painted: of a frame, or across the frames at a row (axis 1) or column (2)."""

    object: str
    axis: Annotated[int, Field(ge=0, le=2)]
    index: Frame
    runs: Stretches
    by: Annotated[str, Field(max_length=80)] = ""


class EditRequest(Strict):
    """A change of an object's masks by name, on a frame or on all that have one.

    fill: between drawn frames. islands: only the largest part stays. smooth: an even outline. copy: from the frame
    before, or after if value is above 0. threshold: where the probability is at least value. ball: a stroke of a ball
    through places (frame, y, x), value pixels in radius; erase: it takes away.
    """

    object: str
    edit: Literal["fill", "islands", "smooth", "copy", "threshold", "ball"]
    frame: Frame = 0
    everywhere: bool = False
    value: Annotated[float, Field(allow_inf_nan=False, ge=-1, le=500)] | None = None
    places: Annotated[list[Annotated[list[float], Field(min_length=3, max_length=3)]], Field(max_length=2000)] = []
    erase: bool = False
    by: Annotated[str, Field(max_length=80)] = ""


class ImportRequest(Strict):
    """path: of points or masks below the root; None for the points that lie with the images."""

    object: str
    path: Annotated[str, Field(max_length=LONGEST_PATH)] | None = None
    by: Annotated[str, Field(max_length=80)] = ""


class AgreementQuery(ObjectQuery):
    """other: the run to compare with."""

    other: int


class AgreementMessage(Strict):
    """dice: twice the pixels that both have, over the pixels of both; None if both are empty."""

    dice: float | None


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
    """probabilities: whether it holds those, too."""

    name: str
    label: str
    available: bool
    needs: str
    probabilities: bool


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


def describe_run(record: RunRecord, names: dict[int, str]) -> RunMessage:
    """A run as its record has it, without how far it is. names: of the objects that are there now, by number."""
    objects = [names.get(number, f"removed object {number}") for number in record.objects]
    figures = {names[int(number)]: each for number, each in record.figures.items() if int(number) in names}
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
        words=record.words,
        notes=list(record.notes),
        figures={name: FigureMessage(**each) for name, each in figures.items()},
    )
