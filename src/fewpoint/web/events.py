"""What the process of a run reports to the server."""

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
