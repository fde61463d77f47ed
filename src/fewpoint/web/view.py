"""Whose masks are shown of each object. Page, exports, comparisons, measures and edits all ask here."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fewpoint.web.orders import live_folder, shown_folder
from fewpoint.web.said import find_spoken_of
from fewpoint.web.shown import MASKS, PREVIEW

if TYPE_CHECKING:
    from fewpoint.web.sessions import Session

PREVIEWED_FROM = 0.7  # the share of a first run's learning after which its previews are better than a rough mask


@dataclass(frozen=True)
class Preview:
    """The last preview of a run that goes on. count: how many there were. share: of its learning that was done."""

    run: int
    count: int
    share: float


@dataclass(frozen=True)
class Shown:
    """The masks of an object that are shown. path: their file, which may not be there.

    stamp: another one is another mask. rough: nothing has been learnt of the object yet. result: the number of the run
    or kept answer that they are of; None as long as they may still change.
    """

    path: Path
    stamp: str
    rough: bool = False
    result: int | None = None

    @property
    def is_preview(self) -> bool:
        return self.path.name == PREVIEW


def choose_view(session: "Session", previews: bool = True) -> dict[int, Shown]:
    """What is shown of each object by its number, but for frames that a person drew; an object may have no masks yet.

    previews: whether those of a run that goes on count.
    """
    with session.lock:
        live, shown, answered = session.live, session.find_shown(), session.find_live_objects()
        previewed = _find_previewed(session, answered) if previews else frozenset()
        view = {}
        for number in (each.id for each in session.project.objects):
            at_once = shown_folder(live_folder(session.runs_folder), number) / MASKS
            if number in previewed and session.preview is not None:
                preview = session.preview
                path = shown_folder(session.runs_folder / str(preview.run), number) / PREVIEW
                view[number] = Shown(path, f"preview {session.token} {preview.run} {preview.count}")
            elif number in answered and at_once.exists():
                stamp = f"live {session.token} {live.number}{' partly' if live.partly else ''}"
                view[number] = Shown(at_once, stamp, rough=number in live.rough)
            elif shown is not None:
                path = shown_folder(session.runs_folder / str(shown.id), number) / MASKS
                view[number] = Shown(path, f"result {shown.id} {shown.state}", result=shown.id)
        return view


def _find_previewed(session: "Session", answered: frozenset[int]) -> frozenset[int]:
    """The objects of which the preview of a run is shown rather than what was answered at once, which knows all that
    was said, or than the masks of an object about which nothing was."""
    preview = session.preview
    record = None if preview is None else session.log.runs.get(preview.run)
    if preview is None or record is None or record.state != "running":
        return frozenset()
    objects = frozenset(record.objects)
    if not session.live.on:
        return objects
    unanswered = objects - answered if session.find_shown() is None else frozenset[int]()
    if record.refined_from is not None or preview.share < PREVIEWED_FROM:
        return unanswered
    newer = find_spoken_of(session.project, session.project_at(record.version))
    return unanswered | ((objects & answered & session.live.rough) - newer)
