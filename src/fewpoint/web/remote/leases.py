"""Who may use which session, and for how long: each has a token, a folder of its own, and at most one image."""

import secrets
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.nifti import write_nifti
from fewpoint.io.packed import read_packed
from fewpoint.io.sizes import check_fits_memory
from fewpoint.web.faults import FullError, GoneError, StaleError
from fewpoint.web.following import Following
from fewpoint.web.places import Root
from fewpoint.web.queueing import RunQueue
from fewpoint.web.remote.limits import Limits
from fewpoint.web.remote.works import ANSWER_S, Work
from fewpoint.web.sessions import Workspace

FOLDER, LOCK_FILE = "remote", "in-use.lock"
SWEEP_S = 2.0
END_S = 30.0  # within which what works for a session must have ended
SPARE_BYTES = 2**30  # of the disk that images leave
LARGEST_IMAGE = 8 * 2**30  # bytes unpacked
GONE = "there is no such session; it may have been left alone for too long: connect again"
WIDER = {"bool": "uint8", "float16": "float32", "int64": "float64", "uint64": "float64"}  # what NIfTI does not have


class Lease:
    """One session of a client. busy: held by whoever works with it."""

    def __init__(self, folder: Path, now: float) -> None:
        self.token = secrets.token_urlsafe(32)
        self.folder = folder
        self.seen_at = self.used_at = now
        self.busy = threading.Lock()
        self.work: Work | None = None
        self.images = 0

    def need_work(self) -> Work:
        if self.work is None:
            raise InputError("there is no image in this session yet; send one first")
        return self.work


class Leases:
    """All sessions of clients. place: a folder in which one for this server is made, and removed when it ends."""

    def __init__(
        self,
        place: Path,
        limits: Limits,
        following: Following,
        queue: RunQueue,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._place, self._following, self._queue, self._clock = place / FOLDER, following, queue, clock
        self._leases: dict[str, Lease] = {}
        self._leaving: list[Lease] = []
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._sweep, daemon=True)

    def start(self) -> None:
        """Make the folder, and remove those that servers which were killed left behind; once is enough."""
        if self._thread.is_alive():
            return
        with explaining_write_errors(self._place):
            self._place.mkdir(parents=True, exist_ok=True)
            for left in self._place.iterdir():
                _remove_unused(left)
            self.folder = Path(tempfile.mkdtemp(prefix="server-", dir=self._place))
        self._lock = FileLock(self.folder / LOCK_FILE)
        self._lock.acquire()
        self.workspace = Workspace(Root.of(self.folder), self.folder)
        self._thread.start()

    def close(self) -> None:
        """End all sessions, and return what they take on disk."""
        with self._changed:
            self._closed = True
            self._leaving += self._leases.values()
            self._leases.clear()
            self._changed.notify_all()
        self._thread.join()
        self.workspace.close()
        self._lock.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def claim(self) -> Lease:
        """A new session."""
        with self._changed:
            if self._closed or len(self._leases) >= self.limits.most_sessions:
                raise FullError(f"all {self.limits.most_sessions} sessions of this server are in use; try again later")
            lease = Lease(Path(tempfile.mkdtemp(prefix="session-", dir=self.folder)), self._clock())
            self._leases[lease.token] = lease
            return lease

    def find(self, token: str | None) -> Lease:
        """The session of a token, which has given a sign of life."""
        with self._changed:
            lease = self._leases.get(token or "")
            if lease is None:
                raise GoneError(GONE)
            lease.seen_at = self._clock()
            return lease

    @contextmanager
    def use(self, token: str | None) -> Iterator[Lease]:
        """The session of a token, to oneself."""
        lease = self.find(token)
        if not lease.busy.acquire(timeout=ANSWER_S):
            raise StaleError("this session is still busy with an earlier request; wait for its answer")
        try:
            lease.used_at = self._clock()
            yield self.find(token)
        finally:
            lease.used_at = lease.seen_at = self._clock()
            lease.busy.release()

    def release(self, token: str | None) -> None:
        """End a session; what it takes is returned soon."""
        with self._changed:
            lease = self._leases.pop(token or "", None)
            if lease is not None:
                self._leaving.append(lease)
                self._changed.notify_all()

    def count_left_s(self, lease: Lease) -> float:
        """Seconds until a session ends if nothing is marked."""
        return max(0.0, self.limits.idle_s - (self._clock() - lease.used_at))

    def open_image(self, lease: Lease, sent: Path, spacing: tuple[float, ...]) -> tuple[int, ...]:
        """Begin with an image that was sent packed as (1, a, b, c); returns its shape."""
        image = call(read_packed, sent, LARGEST_IMAGE)
        if image.ndim != 4 or image.shape[0] != 1:
            raise InputError(f"an image must have the shape (1, a, b, c), a single channel, got {image.shape}")
        if image.dtype.kind == "f" and not np.isfinite(image).all():
            raise InputError("an image must have finite values, got NaN or infinite ones; replace them first")
        self._end_work(lease)
        lease.images += 1
        path = lease.folder / f"image-{lease.images}.nii"
        store_image(image[0], spacing, path)
        lease.work = Work(self.workspace.open_input(path), self._following, self._queue, self.limits.preset)
        lease.work.get_ready()
        return image.shape

    def check_room(self, n_bytes: int) -> None:
        """Raise InputError if something of this size does not fit on the disk or into memory."""
        check_fits_memory(Path("what is sent"), n_bytes)
        if n_bytes + SPARE_BYTES > shutil.disk_usage(self.folder).free:
            raise InputError("there is not enough room on the server's disk for this image; send a smaller one")

    def _sweep(self) -> None:
        """End sessions that were released or left alone."""
        while True:
            with self._changed:
                if not (self._leaving or self._closed):
                    self._changed.wait(SWEEP_S)
                now = self._clock()
                for lease in [each for each in self._leases.values() if self._is_left(each, now)]:
                    self._leaving.append(self._leases.pop(lease.token))
                leaving, self._leaving = self._leaving, []
            for lease in leaving:
                try:
                    self._end(lease)
                except Exception:  # nothing that one session does may keep the others from being ended
                    traceback.print_exc()
            if self._closed and not self._leaving:
                return

    def _is_left(self, lease: Lease, now: float) -> bool:
        is_old = now - lease.seen_at > self.limits.alive_s or now - lease.used_at > self.limits.idle_s
        return is_old and not lease.busy.locked()

    def _end(self, lease: Lease) -> None:
        if lease.work is not None:
            lease.work.stop()
        with lease.busy:
            self._end_work(lease)
            shutil.rmtree(lease.folder, ignore_errors=True)

    def _end_work(self, lease: Lease) -> None:
        """End what works for the image of a session, and remove all of it."""
        work, lease.work = lease.work, None
        if work is None:
            return
        work.close()
        until = time.monotonic() + END_S
        while self._queue.is_busy_with(work.session) and time.monotonic() < until:
            time.sleep(0.05)
        self.workspace.forget(work.session)
        self.workspace.pixels.drop(work.session.id)
        for left in list(lease.folder.glob("image-*")):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def store_image(values: np.ndarray, spacing: tuple[float, ...], path: Path) -> None:
    """Keep a client's array (a, b, c) as a volume whose stored axes are c, b and a."""
    values = values.astype(WIDER.get(values.dtype.name, values.dtype), copy=False)
    affine = np.diag([*reversed(spacing), 1.0])
    a, b, c = values.shape
    geometry = Geometry.from_affine(affine, (c, b, a))
    write_nifti(values, Source(str(path), "array", geometry), path)


def _remove_unused(folder: Path) -> None:
    """Remove what a server that is gone has left; one that is there holds the lock."""
    lock = FileLock(folder / LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)
