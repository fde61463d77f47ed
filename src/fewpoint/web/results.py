"""What a run found, frame by frame or across the frames, with what a person drew in its place."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewpoint.core.actions import BrushFrames
from fewpoint.core.project import NamedObject
from fewpoint.core.run_lengths import Stretches, decode_mask, encode_mask, find_stretches
from fewpoint.io.large_json import write_json
from fewpoint.web import messages
from fewpoint.web.faults import MissingError
from fewpoint.web.orders import live_folder, shown_folder
from fewpoint.web.said import find_spoken_frames
from fewpoint.web.sessions import Session
from fewpoint.web.shown import MASKS, count_pixels, read_plane, read_probability, read_uncertainty, read_view
from fewpoint.web.view import Shown, choose_view


@dataclass(frozen=True, eq=False)
class ObjectMasks:
    """The masks of one object on all frames.

    shape: frames, height, width. path: a file of masks, which may not be there yet, None if there is none.
    drawn: frames whose mask a person drew. views: a folder in which single frames may lie that are newer, see
    web/shown.py; None if there is none.
    """

    shape: tuple[int, int, int]
    path: Path | None
    drawn: dict[int, Stretches]
    views: Path | None = None

    def cut(self, axis: int, index: int) -> np.ndarray:
        """(rows, columns) bool of a frame, or across the frames at a row (axis 1) or column (axis 2)."""
        if not 0 <= index < self.shape[axis]:
            raise MissingError(f"planes along axis {axis} go from 0 to {self.shape[axis] - 1}, got {index}")
        if axis == 0 and index in self.drawn:
            return decode_mask(self.drawn[index], self.shape[1:])
        if axis == 0 and self.views is not None and (view := read_view(self.views, index, self.shape[1:])) is not None:
            return view
        found = None if self.path is None else read_plane(self.path, axis, index, self.shape[1:])
        plane = np.zeros(np.delete(self.shape, axis), bool) if found is None else found
        for frame, runs in self.drawn.items() if axis else ():
            plane[frame] = np.take(decode_mask(runs, self.shape[1:]), index, axis=axis - 1)
        return plane

    def count(self) -> np.ndarray:
        """(T,) pixels on each frame."""
        found = None if self.path is None else count_pixels(self.path)
        areas = np.zeros(self.shape[0], np.int64) if found is None else found
        for frame, runs in self.drawn.items():
            areas[frame] = sum(length for _, length in runs)
        return areas

    def whole(self) -> np.ndarray:
        """(T, H, W) bool."""
        return np.stack([self.cut(0, frame) for frame in range(self.shape[0])])


def find_masks(session: Session, run: int, target: NamedObject, file: str = MASKS) -> ObjectMasks:
    """The masks of a run; a frame that was drawn is as it was drawn, except in a preview."""
    session.find_run(run)
    path = shown_folder(_folder(session, run), target.id) / file
    return ObjectMasks(session.project.shape, path, target.brushed if file == MASKS else {})


def find_present_masks(session: Session, target: NamedObject, view: Mapping[int, Shown] | None = None) -> ObjectMasks:
    """An object's masks as they are shown now, with what was drawn. view: what choose_view says, if it was asked."""
    shown = (choose_view(session) if view is None else view).get(target.id)
    views = None
    if target.id in session.find_viewed_objects() and not (shown is not None and shown.is_preview):
        views = shown_folder(live_folder(session.runs_folder), target.id)
    return ObjectMasks(session.project.shape, None if shown is None else shown.path, target.brushed, views)


def write_mask(mask: np.ndarray, index: int) -> str:
    """A MaskMessage as text; one of a million stretches is not held up by checking what was made here."""
    return write_json({"frame": index, "size": mask.shape, "runs": find_stretches(mask)})


def draw_plane(session: Session, request: messages.StrokeRequest) -> BrushFrames:
    """The change that gives a plane the mask painted on it: of all frames whose pixels differ there."""
    target = session.project.find(request.object)
    masks = find_present_masks(session, target)
    before = masks.cut(request.axis, request.index)
    after = decode_mask(request.runs, before.shape)
    if request.axis == 0:
        return BrushFrames(target.name, ((request.index, request.runs),))
    changed = []
    for frame in np.flatnonzero((before != after).any(axis=1)).tolist():
        mask = masks.cut(0, frame).copy()
        mask[(request.index,) if request.axis == 1 else (slice(None), request.index)] = after[frame]
        changed.append((frame, encode_mask(mask)))
    return BrushFrames(target.name, tuple(changed))


def find_probability(session: Session, run: int, target: NamedObject, axis: int, index: int) -> np.ndarray:
    """(rows, columns) uint8, 255 where the object is certain."""
    shape = session.project.shape
    if not 0 <= index < shape[axis]:
        raise MissingError(f"planes along axis {axis} go from 0 to {shape[axis] - 1}, got {index}")
    session.find_run(run)
    found = read_probability(shown_folder(_folder(session, run), target.id), axis, index)
    return np.zeros(np.delete(shape, axis), np.uint8) if found is None else found


def measure_agreement(session: Session, target: NamedObject, run: int | None, other: int) -> messages.AgreementMessage:
    """The Dice coefficient of an object's masks in two results. run: None for what is shown, with what was drawn."""
    one, two = (
        find_present_masks(session, target)
        if number is None
        else replace(find_masks(session, number, target), drawn={})
        for number in (run, other)
    )
    both = sum(int((one.cut(0, frame) & two.cut(0, frame)).sum()) for frame in range(one.shape[0]))
    total = int(one.count().sum() + two.count().sum())
    return messages.AgreementMessage(dice=2 * both / total if total else None)


def measure_uncertainty(session: Session, run: int) -> messages.UncertaintyMessage:
    """The largest doubt over the objects on each frame; there is none where something was said since, or drawn."""
    record, folder = session.find_run(run), _folder(session, run)
    doubts = []
    for target in session.project.objects:
        found = read_uncertainty(shown_folder(folder, target.id)) if target.id in record.objects else None
        if found is not None:
            found[sorted(target.brushed)] = 0
            doubts.append(found)
    if not doubts:
        raise MissingError(f"run {run} has no masks yet")
    frames = np.clip(np.max(doubts, axis=0), 0, 1)
    frames[sorted(find_spoken_frames(session.project, session.project_at(record.version)))] = 0
    worst = int(frames.argmax())
    return messages.UncertaintyMessage(frames=frames.tolist(), next=worst if frames[worst] > 0 else None)


def _folder(session: Session, run: int) -> Path:
    return session.runs_folder / str(run)
