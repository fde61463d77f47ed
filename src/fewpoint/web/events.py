"""What the processes of a project report to the server: that of a run, and that which answers at once."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter


class Progressed(BaseModel):
    """epoch, epochs: over the whole run; 0 before learning begins."""

    kind: Literal["progress"] = "progress"
    phase: str
    epoch: int
    epochs: int
    seconds_left: float | None


class PriorsSeen(BaseModel):
    """The share of each frame that an object is now taken to cover."""

    kind: Literal["priors"] = "priors"
    object: int
    priors: list[float]


class Previewed(BaseModel):
    """New preview masks are on disk."""

    kind: Literal["preview"] = "preview"


class Noted(BaseModel):
    kind: Literal["note"] = "note"
    text: str
    warning: bool


class Ended(BaseModel):
    """The last event of a run; a process that dies without it has crashed."""

    kind: Literal["ended"] = "ended"
    state: Literal["finished", "failed", "cancelled"]
    error: str


WorkerEvent = Progressed | PriorsSeen | Previewed | Noted | Ended
_reader: TypeAdapter[WorkerEvent] = TypeAdapter(Annotated[WorkerEvent, Field(discriminator="kind")])


def read_event(line: str) -> WorkerEvent:
    """
    >>> read_event('{"kind": "preview"}')
    Previewed(kind='preview')
    """
    return _reader.validate_json(line)


class Prepared(BaseModel):
    """Orders for masks can be answered from now on."""

    kind: Literal["prepared"] = "prepared"
    seconds: float


class Answered(BaseModel):
    """Masks are on disk. number, version: of the order. objects: numbers of those that have masks.

    rough: nothing has been learnt yet. partly: masks of some frames are there, the others follow: of those near the
    last word, or if view is given of this frame alone, as it will stay. note: what the person should know about them,
    if anything.
    """

    kind: Literal["answered"] = "answered"
    number: int
    version: int
    objects: list[int]
    rough: bool
    seconds: float
    partly: bool = False
    view: int | None = None
    note: str = ""


class Refused(BaseModel):
    """An order could not be answered; number: 0 if it could not even be read."""

    kind: Literal["refused"] = "refused"
    number: int
    error: str


LiveNews = Prepared | Answered | Refused
_news_reader: TypeAdapter[LiveNews] = TypeAdapter(Annotated[LiveNews, Field(discriminator="kind")])


def read_news(line: str) -> LiveNews:
    """
    >>> read_news('{"kind": "prepared", "seconds": 2.5}')
    Prepared(kind='prepared', seconds=2.5)
    """
    return _news_reader.validate_json(line)
