"""One image that is worked on, as a project on disk. Nothing here knows napari or Qt."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np
from pydantic import BaseModel

from fewpoint.core.actions import Action, AddObject, Brush, ClearBrush, MarkAbsent, RenameObject, SetSettings, SetSize
from fewpoint.core.project import FIRST_OBJECT, NamedObject, Project, apply_action
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.projects import ENDED, SUFFIX, RunRecord
from fewpoint.napari.clicks import Clicks, find_changes
from fewpoint.web.following import Following
from fewpoint.web.messages import ObjectQuery
from fewpoint.web.orders import shown_folder
from fewpoint.web.queueing import RunQueue, find_finished
from fewpoint.web.results import ObjectMasks, find_masks, find_present_masks, measure_uncertainty
from fewpoint.web.sessions import Session
from fewpoint.web.shown import PREVIEW, map_probabilities

Hear = Callable[[BaseModel], None]


class Shared(Protocol):
    """What all studies share: napari.desk.Desk."""

    queue: RunQueue
    following: Following


@dataclass(frozen=True)
class Standing:
    """How a run stands. done: share of its epochs that are over."""

    number: int
    state: str
    done: float
    words: str

    @property
    def is_over(self) -> bool:
        return self.state in ENDED

    def __str__(self) -> str:
        """
        >>> str(Standing(2, "running", 0.25, "learning, 12 s left"))
        'run 2: running 25%, learning, 12 s left'
        """
        share = f" {self.done:.0%}" if self.state == "running" and self.done else ""
        return f"run {self.number}: {self.state}{share}" + (f", {self.words}" if self.words else "")


class Study:
    """What a person says of one image, and what was found; each word is on disk before it counts."""

    def __init__(self, shared: Shared, session: Session) -> None:
        self._shared, self.session = shared, session
        self._looked: set[tuple[int, int]] = set()

    @property
    def project(self) -> Project:
        return self.session.project

    @property
    def path(self) -> Path:
        """The project's file."""
        return self.session.log.path

    @property
    def name(self) -> str:
        """What people call it, without the digits that tell copies of images apart."""
        return re.sub(r"-[0-9a-f]{8}$", "", self.path.name.removesuffix(SUFFIX))

    @property
    def has_result(self) -> bool:
        return self.session.find_shown() is not None

    @property
    def can_refine(self) -> bool:
        """Whether there is a finished run to go on from."""
        return find_finished(self.session) is not None

    def watch(self, hear: Hear) -> Callable[[], None]:
        """Have all that happens told, in any thread; returns what ends that. Masks follow clicks only if watched."""
        return self.session.broadcast.subscribe(hear)

    def say(self, *actions: Action) -> None:
        """Change the project; InputError for what has no meaning here."""
        for action in actions:
            self.session.do(action)
        if actions:
            self._shared.following.hear(self.session)

    def set_clicks(self, name: str, clicks: Clicks) -> None:
        """Give an object these clicks and no others."""
        self.say(*find_changes(self.project.find(name), clicks))

    def add_object(self, name: str = "") -> NamedObject:
        """A further object; without a name it gets one with a number."""
        taken = {each.name for each in self.project.objects}
        numbered = (f"{FIRST_OBJECT} {number}" for number in count(2))
        name = name or next(each for each in numbered if each not in taken)
        self.say(AddObject(name))
        return self.project.find(name)

    def find_object(self, number: int) -> NamedObject:
        """The object with a number, which stays the same when it is renamed."""
        return self.session.find_object(ObjectQuery(number=number))

    def rename_object(self, number: int, name: str) -> None:
        target = self.find_object(number)
        if target.name != name:
            self.say(RenameObject(target.name, name))

    def set_size(self, name: str, size: float, frame: int | None = None) -> None:
        """Make the masks of an object so many times larger, on all frames or on one."""
        self.say(SetSize(name, size, frame))

    def try_size(self, name: str, size: float, frame: int | None = None) -> None:
        """Show what set_size would do, in live mode, without saying it."""
        tried = apply_action(SetSize(name, size, frame), self.project, 0)
        self._shared.following.try_out(self.session, tried)

    def set_preset(self, preset: str) -> None:
        if preset != self.project.preset:
            self.say(SetSettings(preset, self.project.seed))

    def outline(self, frame: int, labels: np.ndarray) -> None:
        """Say that (H, W) label values are right on a frame: of every object that was shown or is painted there."""
        numbered = dict(enumerate(self.project.objects, start=1))
        unknown = sorted(set(np.unique(labels).tolist()) - {0, *numbered})
        if unknown:
            raise InputError(
                f"label {unknown[0]} belongs to no object, there are {len(numbered)}; add an object or paint with "
                f"labels 1 to {len(numbered)}"
            )
        meant = {each.name for each in self.project.clicked}
        masks = {each.name: labels == value for value, each in numbered.items()}
        drawn = [
            Brush(name, frame, encode_mask(mask)) for name, mask in masks.items() if name in meant or bool(mask.any())
        ]
        if not drawn:
            raise InputError("there is nothing on this frame to be right about; paint the object first")
        self.say(*drawn)

    def clear_outline(self, frame: int) -> None:
        """Take back that a frame is right."""
        self.say(*(ClearBrush(each.name, frame) for each in self.project.objects if frame in each.brushed))

    def is_outlined(self, frame: int) -> bool:
        return any(frame in each.brushed for each in self.project.objects)

    def mark_absent(self, name: str, frame: int) -> None:
        """Say that an object is not on a frame."""
        self.say(MarkAbsent(name, frame))

    def follow(self, on: bool) -> None:
        """Let masks follow what is said at once, and learning go on by itself; or no longer."""
        self._shared.following.turn(self.session, on)

    def run(self, refine: bool) -> int:
        """Begin a run, or a refinement of the last one; returns its number."""
        begun = self._shared.queue.add(self.session, refine)
        self._shared.following.note_run(self.session)
        return begun.id

    def cancel(self, number: int) -> None:
        """Stop a run; what it has found so far is kept."""
        self._shared.queue.cancel(self.session, number)
        self._shared.following.rest(self.session)

    def resume(self, number: int) -> None:
        """Go on with a run that was interrupted, or that failed."""
        self._shared.queue.resume(self.session, number)
        self._shared.following.note_run(self.session)

    def list_runs(self) -> list[Standing]:
        """How all runs stand, the last one first."""
        return [self.describe_run(number) for number in sorted(self.session.log.runs, reverse=True)]

    def describe_run(self, number: int) -> Standing:
        told = self.session.describe_run(number)
        done = told.epoch / told.epochs if told.epochs else 0.0
        left = "" if told.seconds_left is None else f"{told.seconds_left:.0f} s left"
        took = f"{told.seconds:.0f} s" if told.state == "finished" else ""
        message = "" if left else told.message  # once there is a pace, how far it is matters more
        words = (told.error, message, told.phase, left, took)
        return Standing(number, told.state, done, ", ".join(filter(None, words)))

    def find_masks(self, target: NamedObject) -> ObjectMasks:
        """An object's masks as they are now; of the first run as it goes, while nothing else is known."""
        present, going = find_present_masks(self.session, target), self._find_going()
        if present.path is None and going is not None and target.id in going.objects:
            return find_masks(self.session, going.id, target, PREVIEW)
        return present

    def make_labels(self) -> np.ndarray:
        """(T, H, W) uint8, the number of the object at each pixel as they are listed, from 1."""
        labels = np.zeros(self.project.shape, np.uint8)
        for value, target in enumerate(self.project.objects, start=1):
            masks = self.find_masks(target)
            for frame, label in enumerate(labels):
                label[masks.cut(0, frame) & (label == 0)] = value
        return labels

    def read_probability(self, name: str) -> np.ndarray | None:
        """(T, H, W) float32 of the run shown; None if it knows nothing of the object."""
        shown = self.session.find_shown()
        if shown is None:
            return None
        folder = shown_folder(self.session.runs_folder / str(shown.id), self.project.find(name).id)
        values = map_probabilities(folder)
        return None if values is None else values / np.float32(255)

    def find_next(self) -> int:
        """The frame most worth a look that was not looked at since the run shown; all in turn, then again."""
        shown = self.session.find_shown()
        if shown is None:
            raise InputError("which frame to look at is known after a run; run first")
        worths = np.array(measure_uncertainty(self.session, shown.id).frames)
        fresh = [frame for frame in range(len(worths)) if (shown.id, frame) not in self._looked and worths[frame] > 0]
        if not fresh:
            self._looked.clear()
            fresh = list(range(len(worths)))
        best = max(fresh, key=lambda frame: worths[frame])
        self._looked.add((shown.id, best))
        return best

    def _find_going(self) -> RunRecord | None:
        return next((each for each in self.session.log.runs.values() if each.state not in ENDED), None)


def keep_painted(present: np.ndarray, shown: np.ndarray, new: np.ndarray) -> np.ndarray:
    """New (T, H, W) labels, but as painted on frames where a person has changed what was shown.

    present: what the layer holds. shown: what was put there last.

    >>> shown, new = np.zeros((2, 1, 1), int), np.ones((2, 1, 1), int)
    >>> keep_painted(np.array([[[0]], [[3]]]), shown, new).ravel().tolist()
    [1, 3]
    """
    painted = find_painted(present, shown)
    kept = new.copy()
    kept[painted] = present[painted]
    return kept


def find_painted(present: np.ndarray, shown: np.ndarray) -> list[int]:
    """The frames on which a person has changed what was shown."""
    return [frame for frame in range(len(shown)) if not np.array_equal(present[frame], shown[frame])]
