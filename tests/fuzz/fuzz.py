"""Damage whole files of every kind at random and read them: python tests/fuzz/fuzz.py --help

Prints one line for each failure: whatever is not an error of ours in one line, takes longer than LONGEST_READ_S, brings
out a canary that lies outside, or runs what lies in a file. At the end come the counts, the longest reading, and the
largest memory of the process in MiB. The exit code is 1 if anything failed.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from fewpoint.core import Geometry, ImageSequence, Source
from fewpoint.errors import FewpointError
from fewpoint.io.images import read_sequence
from fewpoint.io.jobs import read_changes
from fewpoint.io.points import read_points
from fewpoint.io.projects import read_project
from fewpoint.io.runs import load_result, read_told

sys.path.append(str(Path(__file__).parents[1]))  # what tests make files with

from corpus import save_samples
from mutations import damage

LONGEST_READ_S, MOST_MEMORY_MB = 20, 2048
CANARY = b"canary-7f3a" * 64
POINT_SUFFIXES = (".csv", ".mrk.json", ".fcsv")
GEOMETRY = Geometry.from_affine(np.eye(4), (8, 8, 8))
SEQUENCE = ImageSequence(np.zeros((8, 8, 8, 1), np.uint8), tuple("abcdefgh"), Source("", "nifti", GEOMETRY))


def read(path: Path) -> bytes:
    """What a user gets to see of a file."""
    if path.name.endswith(POINT_SUFFIXES) and path.parent.name == "single":
        read_points(path, SEQUENCE)
    elif path.suffix == ".fewpoint":
        read_project(path)
    elif path.suffix == ".toml":
        read_changes(path)
    elif path.parent.name == "run":
        load_result(path.parent)
        read_told(path.parent)
    else:
        return read_sequence(path if path.parent.name == "single" else path.parent).frames.tobytes()
    return b""


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
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"read {counts['read']} refused {counts['refused']} failed {failed} longest_s {longest:.1f} memory {memory}")
    return failed + (memory > MOST_MEMORY_MB)


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
