"""What a run found, frame by frame, with what a person drew in its place."""

from pathlib import Path

import numpy as np

from fewpoint.core.project import NamedObject
from fewpoint.core.run_lengths import decode_mask, encode_mask
from fewpoint.web import messages
from fewpoint.web.faults import MissingError
from fewpoint.web.orders import live_folder, shown_folder
from fewpoint.web.said import find_spoken_frames
from fewpoint.web.sessions import Session
from fewpoint.web.shown import MASKS, read_mask, read_probability, read_uncertainty


def find_mask(session: Session, run: int, target: NamedObject, frame: int, file: str = MASKS) -> np.ndarray:
    """(H, W) bool of an object on a frame: as drawn, else as the run has it, else empty."""
    _check_frame(session, frame)
    size = session.project.size
    if file == MASKS and frame in target.brushed:
        return decode_mask(target.brushed[frame], size)
    session.find_run(run)
    found = read_mask(shown_folder(_folder(session, run), target.id) / file, frame, size)
    return np.zeros(size, bool) if found is None else found


def find_present_mask(session: Session, target: NamedObject, frame: int) -> np.ndarray:
    """(H, W) bool of an object on a frame as it is now: as drawn, else as answered at once, else of the last run."""
    _check_frame(session, frame)
    size = session.project.size
    if frame in target.brushed:
        return decode_mask(target.brushed[frame], size)
    if target.id in session.find_live_objects():
        found = read_mask(shown_folder(live_folder(session.runs_folder), target.id) / MASKS, frame, size)
        if found is not None:
            return found
    shown = session.find_shown()
    return np.zeros(size, bool) if shown is None else find_mask(session, shown.id, target, frame)


def describe_mask(mask: np.ndarray, frame: int) -> messages.MaskMessage:
    return messages.MaskMessage(frame=frame, size=list(mask.shape), runs=list(map(list, encode_mask(mask))))


def find_probability(session: Session, run: int, target: NamedObject, frame: int) -> np.ndarray:
    """(H, W) uint8, 255 where the object is certain."""
    _check_frame(session, frame)
    session.find_run(run)
    found = read_probability(shown_folder(_folder(session, run), target.id), frame)
    return np.zeros(session.project.size, np.uint8) if found is None else found


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


def _check_frame(session: Session, frame: int) -> None:
    if not 0 <= frame < len(session.sequence):
        raise MissingError(f"frames go from 0 to {len(session.sequence) - 1}, got {frame}")
