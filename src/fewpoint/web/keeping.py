"""Masks that are shown become a result with a number, as those of runs have: in the history, on disk, for good."""

import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from fewpoint.core.project import NamedObject
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.projects import RunRecord
from fewpoint.web.figures import count_words, gather_figures
from fewpoint.web.orders import shown_folder
from fewpoint.web.results import find_present_masks
from fewpoint.web.sessions import Session
from fewpoint.web.shown import write_packed
from fewpoint.web.view import Shown, choose_view

EXPORTS_FOLDER = "exports"


def keep_view(session: Session, previews: bool = True) -> RunRecord:
    """The run or answer that holds all masks as they are shown; it is made if there is none.

    previews: as in choose_view.
    """
    with session.lock:
        view = choose_view(session, previews)
        drawn = [each.id for each in session.project.objects if each.brushed]
        targets = [each for each in session.project.objects if each.brushed or _has_masks(view.get(each.id))]
        if not targets:
            raise InputError("there are no masks yet; click on the object first")
        results = {each.result for each in view.values()}
        shown = session.find_shown()
        if shown is not None and results == {shown.id} and set(drawn) <= set(shown.objects):
            return shown
        answer = None if session.live.view is None else session.live.view.number
        key = (session.log.history.version, answer, tuple(each.stamp for each in view.values()))
        if session.kept is None or session.kept[0] != key or not session.find_run(session.kept[1]).best:
            session.kept = (key, _keep(session, view, targets).id)
        return session.find_run(session.kept[1])


def keep_answers(session: Session) -> None:
    """Masks that were answered live are about to be replaced: keep them, in the place of those kept so before."""
    with session.lock, suppress(FewpointError):  # a full disk keeps nobody from a run's masks
        if all(each.result is not None for each in choose_view(session, previews=False).values()):
            return
        kept = keep_view(session, previews=False)
        for record in list(session.log.answers.values()):
            if record.best and record.id != kept.id and not _is_needed(session, record.id):
                delete_answer(session, record)


def delete_answer(session: Session, record: RunRecord) -> None:
    """Remove what a kept answer left on disk; its number is not given again."""
    folder = session.runs_folder / str(record.id)
    with explaining_write_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)
    session.record_answer(replace(record, state="deleted", best=False, figures={}, notes=()))


def _is_needed(session: Session, number: int) -> bool:
    """Whether a person chose, accepted or exported an answer."""
    choice, exports = session.log.choice, session.runs_folder / EXPORTS_FOLDER
    chosen = choice is not None and choice.run == number
    exported = number in session.exporting or any(exports.glob(f"run-{number}-*"))
    return chosen or exported or session.log.review.result == number


def _keep(session: Session, view: dict[int, Shown], targets: list[NamedObject]) -> RunRecord:
    number = max(session.log.results, default=0) + 1
    folder = session.runs_folder / str(number)
    for target, packed in zip(targets, _pack_apart(session, view, targets), strict=True):
        write_packed(packed, shown_folder(folder, target.id))
    project, shown = session.project, session.find_shown()
    figures, _ = gather_figures(folder, {each.name: each.id for each in targets})
    rough = [each.name for each in targets if each.id in view and view[each.id].rough]
    record = RunRecord(
        number,
        session.log.history.version,
        tuple(each.id for each in targets),
        "finished",
        refined_from=None if shown is None else shown.id,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        best=True,
        words=count_words(project),
        notes=tuple(f"{name}: a live preview, from the image alone, before any training" for name in rough),
        figures=figures,
    )
    session.record_answer(record)
    return record


def _pack_apart(session: Session, view: dict[int, Shown], targets: list[NamedObject]) -> list[np.ndarray]:
    """(T, H, W / 8) uint8 of each object, no pixel in two of them: first comes what was drawn, then what is newer."""
    frames, height, width = session.project.shape
    masks = [find_present_masks(session, each, view) for each in targets]
    packed = [np.zeros((frames, height, -(-width // 8)), np.uint8) for _ in targets]
    settled = [each.id not in view or view[each.id].result is not None for each in targets]
    for frame in range(frames):
        taken = np.zeros((height, width), bool)
        for place in sorted(range(len(targets)), key=lambda n: (frame not in targets[n].brushed, settled[n], n)):
            mask = masks[place].cut(0, frame) & ~taken
            taken |= mask
            packed[place][frame] = np.packbits(mask, axis=-1)
    return packed


def _has_masks(shown: Shown | None) -> bool:
    return shown is not None and shown.path.exists()
