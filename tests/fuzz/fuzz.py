"""Damage whole files of every kind at random and read them: python tests/fuzz/fuzz.py --help

Prints one line for each failure: whatever is not an error of ours in one line, takes longer than LONGEST_READ_S, brings
out a canary that lies outside, or runs what lies in a file. At the end come the counts, the longest reading, and the
largest memory in MiB of this process and of those that decode for it. The exit code is 1 if anything failed.
"""

import argparse
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import tifffile

from fewpoint.batch.checks import Defaults, check_rows, read_checks
from fewpoint.batch.manifest import read_rows
from fewpoint.batch.progress import read_progress
from fewpoint.batch.status import read_status
from fewpoint.bench.suite import read_suite
from fewpoint.core import Geometry, ImageSequence, Source
from fewpoint.core.job import Job
from fewpoint.errors import FewpointError
from fewpoint.io.apart.forker import Forker
from fewpoint.io.images import read_sequence
from fewpoint.io.jobs import read_changes
from fewpoint.io.points import read_points
from fewpoint.io.projects import read_project
from fewpoint.io.runs import load_result, read_told

sys.path.append(str(Path(__file__).parents[1]))  # what tests make files with

from corpus import save_samples
from mutations import damage

LONGEST_READ_S, MOST_MEMORY_MB = 90, 2048
CANARY = b"canary-7f3a" * 64
POINT_SUFFIXES = (".csv", ".mrk.json", ".fcsv")
GEOMETRY = Geometry.from_affine(np.eye(4), (8, 8, 8))
SEQUENCE = ImageSequence(np.zeros((8, 8, 8, 1), np.uint8), tuple("abcdefgh"), Source("", "nifti", GEOMETRY))


def read(path: Path) -> bytes:
    """What a user gets to see of a file."""
    if path.parent.name == "single" and path.name.endswith(POINT_SUFFIXES):
        read_points(path, SEQUENCE)
    elif path.suffix == ".fewpoint":
        read_project(path)
    elif path.name == "settings.toml":
        read_changes(path)
    elif path.parent.name == "run":
        load_result(path.parent)
        read_told(path.parent)
    elif path.name == "suite.toml":
        read_suite(path)
    elif path.parent.name == "study":
        check_rows(read_rows(path.parent / "study.csv"), Defaults(Job(preset="fast", device="cpu")), {}, print_nothing)
    elif "batch" in (path.parent.name, path.parent.parent.name):
        read_status(path.parent if path.parent.name == "batch" else path.parent.parent)
        read_checks(path)
        read_progress(path)
    else:
        return read_sequence(_find_whole(path)).frames.tobytes()
    return b""


def _find_whole(path: Path) -> Path:
    """The input that a file is a part of."""
    if path.suffix == ".raw":
        return path.with_suffix(".mhd" if path.stem == "c" else ".nhdr")
    zarr = [folder for folder in path.parents if folder.suffix == ".zarr"]
    return zarr[-1] if zarr else path if path.parent.name == "single" else path.parent


def print_nothing(*given: object) -> None:
    pass


def try_file(path: Path) -> str:
    """What came of reading: "read", "refused", or the failure in one line."""
    try:
        shown = read(path)
    except FewpointError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {error!r}"
    except BaseException:
        return " | ".join(traceback.format_exc().splitlines()[-6:])
    return "the canary came out" if CANARY[:22] in shown else "read"


def fuzz(folder: Path, inputs: int, seconds: float, seed: int) -> int:
    """Damage and read until there were so many inputs or so much time is over; returns how many failed."""
    save_samples(folder / "inside")
    canary = folder / "canary.raw"
    canary.write_bytes(CANARY)
    tifffile.imwrite(canary.with_suffix(".tif"), np.frombuffer(CANARY, np.uint8).reshape(22, 32))
    dice, counts, failed, longest = random.Random(seed), {"read": 0, "refused": 0}, 0, 0.0
    files = sorted(path for path in (folder / "inside").rglob("*") if path.is_file() and path.name != ".lock")
    whole = {path: path.read_bytes() for path in files}
    end = time.monotonic() + seconds
    while sum(counts.values()) + failed < inputs and time.monotonic() < end:
        path, began = dice.choice(files), time.monotonic()
        damaged = damage(path.name, whole[path], dice, str(canary))
        path.write_bytes(damaged)
        outcome, taken = try_file(path), time.monotonic() - began
        path.write_bytes(whole[path])
        if taken > LONGEST_READ_S:
            outcome = f"took {taken:.0f} s"
        longest = max(longest, taken)
        if outcome in counts:
            counts[outcome] += 1
        else:
            failed += 1
            print(f"{path.relative_to(folder)} ({len(damaged)} bytes): {outcome}", flush=True)
    memory = measure_memory()
    print(f"read {counts['read']} refused {counts['refused']} failed {failed} longest_s {longest:.1f} memory {memory}")
    return failed + (memory > MOST_MEMORY_MB)


def measure_memory() -> int:
    """The most in MiB that this process or one that decoded for it took, once the latter are gone."""
    Forker.of_this_process().close()
    # Not getrusage of this process, which begins with what the one that started it took.
    (own,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(1 if fuzz(Path(folder), given.inputs, given.seconds, given.seed) else 0)


if __name__ == "__main__":
    main()
