"""The folder of a series on a PACS: fetched once and kept in the cache, so that later steps need no PACS."""

import hashlib
import logging
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors, read_json, remove, replace_folder, write_json
from fewpoint.io.pacs.addresses import SeriesAddress, is_remote, parse_series
from fewpoint.io.pacs.service import FETCH, Pacs, SeriesEntry

logger = logging.getLogger(__name__)

ORIGIN_FILE = ".origin.json"  # beside the images; readers pass over hidden files
CACHE_VARIABLE, LIMIT_VARIABLE = "FEWPOINT_CACHE", "FEWPOINT_DICOMWEB_GB"
USUAL_GB = 20.0
MOST_NAMED = 6
STALE_SECONDS = 2 * FETCH.seconds


def locate(path: str | Path) -> Path:
    """Where an input lies on this machine: a path as it is; a series on a PACS is fetched unless it is kept."""
    if not is_remote(path):
        return Path(path)
    address = parse_series(path)
    folder = kept_folder() / hashlib.sha256(str(address).encode()).hexdigest()[:32]
    with holding(folder):
        if not _is_whole(folder):
            fetch_series(Pacs.at(address.service), address, folder)
            _make_room(folder)
        os.utime(folder / ORIGIN_FILE)  # used last
    return folder


def locate_again(source: Source) -> Path:
    """Where the input of a finished run lies now; one from a PACS that is kept no longer is fetched again."""
    path = Path(source.path)
    return locate(source.origin) if source.origin and not path.exists() else path


def find_origin(folder: Path) -> str:
    """The address that a folder was fetched from; empty for one that was not."""
    with suppress(InputError):
        return str(parse_series(str(read_json(folder / ORIGIN_FILE)["address"]))) if folder.is_dir() else ""
    return ""


def fetch_series(pacs: Pacs, address: SeriesAddress, folder: Path) -> SeriesAddress:
    """Write the images of a series into a folder, which is whole or not there; returns the series.

    If the address names a study alone, it must have one series of images.
    """
    chosen = choose_series(address, pacs.list_series(address.study))
    series = address.of_series(chosen.uid)

    def fill(temporary: Path) -> None:
        size = pacs.fetch(series, temporary, chosen.images)
        count = len(list(temporary.iterdir()))
        write_json(temporary / ORIGIN_FILE, {"address": str(series), "images": count, "bytes": size})
        logger.info("fetched %d images, %.1f MB, from %s", count, size / 1e6, address.service)

    replace_folder(folder, fill)
    return series


def choose_series(address: SeriesAddress, listed: list[SeriesEntry]) -> SeriesEntry:
    """The series that an address names, or the only one; else one line that lists them."""
    if not listed:
        raise InputError(f"{address.service} has no images of the study {address.study}; check its UID")
    found = [each for each in listed if address.series in ("", each.uid)]
    if len(found) == 1:
        return found[0]
    named = ", ".join(map(str, listed[:MOST_NAMED])) + (", …" if len(listed) > MOST_NAMED else "")
    wrong = f"no series {address.series} of images" if address.series else f"{len(listed)} series of images"
    raise InputError(f"the study has {wrong}; add /series/UID to the address, with one of: {named}")


def kept_folder() -> Path:
    """Where series are kept, in the user's cache folder; nobody else may look into it."""
    cache = os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "fewpoint"
    folder = Path(cache).expanduser() / "dicomweb"
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    return folder


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Keep other processes from fetching the same series."""
    import filelock

    lock = filelock.FileLock(folder.with_name(folder.name + ".lock"), timeout=STALE_SECONDS)
    try:
        with lock:
            yield
    except filelock.Timeout:
        raise InputError("another process has been fetching this series for too long; end it and try again") from None


def _is_whole(folder: Path) -> bool:
    """Whether a folder holds all that was fetched into it."""
    try:
        origin = read_json(folder / ORIGIN_FILE)
    except InputError:
        return False
    sizes = [file.stat().st_size for file in folder.iterdir() if file.name != ORIGIN_FILE]
    return (len(sizes), sum(sizes)) == (origin.get("images"), origin.get("bytes"))


def _make_room(kept: Path) -> None:
    """Remove what was not used for longest, until all that is kept is within its limit; never the one just fetched."""
    folders = {}
    for entry in kept.parent.iterdir():
        with suppress(OSError, InputError):
            if entry.name.endswith(PARTIAL_SUFFIX):
                if time.time() - entry.stat().st_mtime > STALE_SECONDS:
                    remove(entry)
            elif entry.is_dir():
                folders[entry] = (entry / ORIGIN_FILE).stat().st_mtime, int(read_json(entry / ORIGIN_FILE)["bytes"])
    excess = sum(size for _, size in folders.values()) - _find_limit()
    for folder, (_, size) in sorted(folders.items(), key=lambda each: each[1]):
        if excess <= 0:
            return
        if folder != kept:
            remove(folder)
            excess -= size


def _find_limit() -> float:
    """Bytes that may be kept."""
    given = os.environ.get(LIMIT_VARIABLE, "")
    try:
        limit = float(given) if given else USUAL_GB
    except ValueError:
        limit = -1.0
    if not 0 <= limit < math.inf:
        raise InputError(f"{LIMIT_VARIABLE} must be a number of gigabytes, 0 or more, got {given[:40]!r}")
    return limit * 1e9
