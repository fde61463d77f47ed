"""Damage whole files at random and read them: python fuzz_readers.py FOLDER SECONDS SEED

Prints one line for each failure, which is whatever is not an InputError of one line, and at the end how many were read
and refused, and the largest memory of the process in MiB. A file still being read after LONGEST_READ_S is a hang.
"""

import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from fewpoint.core import Geometry, ImageSequence, Source
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points

LONGEST_READ_S = 20
POINT_SUFFIXES = (".csv", ".json", ".fcsv")
GEOMETRY = Geometry.from_affine(np.eye(4), (8, 8, 8))
SEQUENCE = ImageSequence(np.zeros((8, 8, 8, 1), np.uint8), tuple("abcdefgh"), Source("", "nifti", GEOMETRY))


class TooSlowError(Exception):
    """A read took longer than LONGEST_READ_S."""


def damage(data: bytes, dice: random.Random) -> bytes:
    """Cut, flip, overwrite, repeat or fill with large numbers; most damage falls on the header."""
    content = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 4, 16])):
        if not content:
            return b""
        reach = len(content) if dice.random() < 0.4 else min(len(content), 600)
        place = dice.randrange(reach)
        kind = dice.randrange(5)
        if kind == 0:
            del content[place:]
        elif kind == 1:
            content[place] ^= 1 << dice.randrange(8)
        elif kind == 2:
            content[place : place + 4] = dice.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"9999", dice.randbytes(4)])
        elif kind == 3:
            content[place:place] = content[place : place + dice.randrange(64)]
        else:
            del content[place : place + dice.randrange(1, 16)]
    return bytes(content)


def read(path: Path) -> None:
    if path.name.endswith(POINT_SUFFIXES):
        read_points(path, SEQUENCE)
    else:
        read_sequence(path if path.parent.name == "single" else path.parent)


def try_file(path: Path) -> str:
    """What came of reading: "read", "refused", or the failure in one line."""
    signal.alarm(LONGEST_READ_S)
    try:
        read(path)
    except InputError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {error!r}"
    except BaseException:
        return " | ".join(traceback.format_exc().splitlines()[-6:])
    finally:
        signal.alarm(0)
    return "read"


def raise_too_slow(*_: object) -> None:
    raise TooSlowError


def main(folder: Path, seconds: float, seed: int) -> None:
    dice, counts = random.Random(seed), {"read": 0, "refused": 0}
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = {path: path.read_bytes() for path in files}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path = dice.choice(files)
        path.write_bytes(damage(whole[path], dice))
        outcome = try_file(path)
        if outcome in counts:
            counts[outcome] += 1
        else:
            print(f"{path.name} ({len(path.read_bytes())} bytes): {outcome}", flush=True)
        path.write_bytes(whole[path])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"read {counts['read']} refused {counts['refused']} memory {memory}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, raise_too_slow)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
