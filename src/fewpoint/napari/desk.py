"""What all images of a viewer share, and where the project of each is kept. Nothing here knows napari or Qt."""

import atexit
import hashlib
import os
import re
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.core.job import Job
from fewpoint.errors import FewpointError, OutputError
from fewpoint.io.atomic import save_array, write_atomically
from fewpoint.io.images import hash_sequence, read_sequence
from fewpoint.io.projects import SUFFIX, ProjectLog, read_project
from fewpoint.napari.study import Study
from fewpoint.web.following import Following
from fewpoint.web.places import Root
from fewpoint.web.queueing import RunQueue
from fewpoint.web.sessions import Workspace, default_store_folder

LONGEST_NAME = 60
DIGITS = 8  # of a hash, in the names of files


class Desk:
    """The images that are worked on. Runs of all of them wait for each other, as they share the device.

    job: what every run is given: the device, changes of settings. store: the folder for what cannot lie next to its
    image; None for the user's own.
    """

    def __init__(self, job: Job = Job(), store: Path | None = None) -> None:
        self.following = Following(on=False)
        self.queue = RunQueue(job, self.following.follow_up)
        self._store = store or default_store_folder()
        self._open: dict[Path, tuple[Study, Workspace]] = {}
        self.queue.start()
        self.following.start(self.queue)

    def find(self, project: Path) -> Study | None:
        """The study of a project's file, if it is open."""
        found = self._open.get(project.resolve())
        return None if found is None else found[0]

    def open_project(self, project: Path) -> Study:
        """Go on with a project; runs that were interrupted can be resumed."""
        opened = self.find(project)
        if opened is not None:
            return opened
        # Whoever opens napari may read every file: the root that a server would be bounded by is that of the disk.
        root = Root(Path(read_project(project).input.resolve().anchor))
        workspace = Workspace(root, self._store)
        study = Study(self, workspace.open_project(project.resolve()))
        self._open[project.resolve()] = study, workspace
        return study

    def open_image(
        self, frames: np.ndarray, name: str, source: Path | None = None, folder: Path | None = None
    ) -> Study:
        """The project of an image, begun if there is none.

        frames: (T, H, W) or (T, H, W, C). source: the file that it was read from, which the project is then about if it
        holds these very pixels; otherwise a copy lies beside the project. folder: where the project is kept; None for
        beside its file or, without one or the right to write there, a folder of the user's.
        """
        sequence = ImageSequence.from_array(frames)
        if source is not None and _holds(source, sequence):
            project = _place_beside(source, folder or _choose_folder(source, self._store))
            image = source.absolute()
        else:
            stem = _tidy(name) + "-" + hash_sequence(sequence)[:DIGITS]
            project = (folder or self._store) / (stem + SUFFIX)
            image = project.with_name(stem + ".npy")
            _make_folder(project.parent)
            if not image.exists():
                write_atomically(image, lambda file: save_array(sequence.frames, file))
        if not project.exists():
            _make_folder(project.parent)
            ProjectLog.create(project, image, sequence.shape[:3]).close()
        return self.open_project(project)

    def close(self) -> None:
        """End what is going on; runs can be taken up again when their project is opened the next time."""
        self.following.close()
        self.queue.close()
        for _, workspace in self._open.values():
            workspace.close()
        self._open.clear()


_shared: list[Desk] = []


def share_desk() -> Desk:
    """The one desk of this process; what goes on at it ends with the process."""
    if not _shared:
        _shared.append(Desk())
        atexit.register(close_shared)
    return _shared[0]


def find_open(project: Path) -> Study | None:
    """The study of a project's file that is open at the shared desk."""
    return _shared[0].find(project) if _shared else None


def close_shared() -> None:
    """Close the shared desk; the next who asks gets a new one."""
    while _shared:
        _shared.pop().close()


def _holds(source: Path, sequence: ImageSequence) -> bool:
    """Whether a file holds these very pixels in this order of axes, as fewpoint reads it."""
    try:
        read = read_sequence(source)
    except (FewpointError, OSError):
        return False
    return read.shape == sequence.shape and np.array_equal(read.frames, sequence.frames)


def _choose_folder(source: Path, store: Path) -> Path:
    beside = source.absolute().parent
    return beside if os.access(beside, os.W_OK) else store


def _place_beside(source: Path, folder: Path) -> Path:
    """The project of a file, called as the annotator calls it; with a hash if another file of that name has one."""
    project = folder / (source.name + SUFFIX)
    if not project.exists() or read_project(project).input.resolve() == source.resolve():
        return project
    return folder / f"{source.name}-{_hash_path(source)}{SUFFIX}"


def _hash_path(path: Path) -> str:
    """A few digits that tell a path from others of the same name."""
    return hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:DIGITS]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"a project cannot be kept in {folder}: {error.strerror}; choose another folder") from error


def _tidy(name: str) -> str:
    """A layer's name as part of a file's.

    >>> _tidy("CT [1] / liver")
    'CT-1-liver'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:LONGEST_NAME] or "image"
