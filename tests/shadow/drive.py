"""Run cases with the package of this tree and record every stage: python -P tests/shadow/drive.py [CASE...] OUT

Each tree has its own, written for that tree's functions; compare.py runs those of two trees and compares. What is
recorded is described in recorder.py and stages.py.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

if __name__ == "__main__":  # this tree's package, here and in processes that are started, and one thread each
    TESTS = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(TESTS.parent / "src"), str(TESTS)]
    os.environ |= {"PYTHONPATH": sys.path[0], "OMP_NUM_THREADS": "1", "FEWPOINT_TRUST": ""}

import fewpoint
from shadow.cases import CASES, Bench
from shadow.recorder import Recorder
from shadow.stages import ORDER, Stages

PACKAGE, SOURCES = Path(os.path.abspath(fewpoint.__file__)).parent, Path(__file__).resolve().parents[2] / "src"


def run_case(name: str, out: Path, stages: Stages, changes: dict[str, object]) -> None:
    """Record one case; it appears in `out` when it is whole."""
    stages.recorder = Recorder(name, out, ORDER)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        CASES[name](Bench(Path(folder), stages, changes))
    seconds = round(time.monotonic() - began, 1)
    stages.recorder.finish({"package": str(PACKAGE), "seconds": seconds})
    print(f"{name}: {seconds} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--float32", action="store_true", help="compute nothing in bfloat16")
    parser.add_argument("--list", action="store_true", help="name the cases, those that take longest first")
    parser.add_argument("names", nargs="*", metavar="CASE... OUT")
    given = parser.parse_args()
    if given.list:
        print("\n".join(CASES))
        return 0
    *names, out = given.names or parser.error("OUT is missing")
    unknown = set(names) - set(CASES)
    if unknown:
        parser.error(f"there is no case {min(unknown)}; there are {', '.join(CASES)}")
    if PACKAGE.parent != SOURCES:
        parser.error(f"the package must be that of {SOURCES}, it is {PACKAGE}")
    print(f"package: {PACKAGE}", flush=True)
    changes, stages, failed = {"training.precision": "float32"} if given.float32 else {}, Stages(), []
    stages.watch()
    for name in names or CASES:
        try:
            run_case(name, Path(out).absolute(), stages, changes)
        except Exception:
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return min(1, len(failed))


if __name__ == "__main__":
    sys.exit(main())
