"""Compare this tree with that of the commit in BASE, stage by stage and to the bit: make shadow [CASE="box live"]

Each tree's own drive.py runs the cases. What BASE leaves is kept in the user's cache, by commit, processor and
libraries; it is made once, in an environment of its own. Without history masks are compared with those in kept/.
"""

import sys
import time
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from shadow import keep, trees
from shadow.trees import BUILD, HERE, TREE, ShadowError, find_packages, read_index

FOLDER = TREE / "tests" / "shadow"
# Stages that are called otherwise since BASE: by the last part of the name there, that here.
RENAMED: dict[str, str] = {}


@dataclass(frozen=True)
class Verdict:
    """What came out for a case. text: for people; what differs first, if anything does."""

    equal: bool
    text: str


@dataclass(frozen=True)
class Gone:
    """A stage that a commit took away on purpose, by a pattern of its name; see the file `gone`."""

    commit: str
    pattern: str
    reason: str


def main(names: list[str]) -> int:
    try:
        verdicts = compare_trees(names)
    except ShadowError as error:
        print(f"shadow: {error}", file=sys.stderr)
        return 2
    for case, verdict in verdicts.items():
        print(f"{case:<16} {verdict.text}")
    differing = sum(not verdict.equal for verdict in verdicts.values())
    print(f"{differing} of {len(verdicts)} cases differ" if differing else f"all {len(verdicts)} cases agree")
    return 1 if differing else 0


def compare_trees(names: list[str]) -> dict[str, Verdict]:
    """Run cases, all if none is named, and compare; without history with the kept masks."""
    ours, out = choose_cases(names, HERE.list_cases()), BUILD / "present"
    if not trees.has_history(TREE):
        print("there is no history to compare with: masks are compared with those in tests/shadow/kept")
        record(ours, out)
        return {case: Verdict(*keep.compare(out / case)) for case in ours}
    commit = trees.find_commit(TREE, (FOLDER / "BASE").read_text(encoding="utf-8").strip())
    cache, theirs = trees.record_base(commit, names)
    before = find_packages(cache, theirs)
    print(f"BASE ran {', '.join(sorted(before))} of commit {commit[:12]}", flush=True)
    if record(ours, out) & before:
        raise ShadowError("both sides ran the package of one folder: nothing was compared")
    gone = read_gone(FOLDER / "gone")
    return {case: compare_case(cache / case, out / case, gone) for case in dict.fromkeys([*ours, *theirs])}


def record(cases: list[str], out: Path) -> set[str]:
    """Have this tree record cases; returns the folder of the package that did."""
    began = time.monotonic()
    HERE.record(cases, out)
    packages = find_packages(out, cases)
    print(f"here ran {', '.join(packages)} in {time.monotonic() - began:.0f} s", flush=True)
    return packages


def choose_cases(names: list[str], known: list[str]) -> list[str]:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ShadowError(f"there is no case {unknown[0]}; there are {', '.join(known)}")
    return names or known


def read_gone(path: Path) -> list[Gone]:
    """Lines of a commit, a pattern and a reason."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    parts = [line.split(maxsplit=2) for line in lines]
    if any(len(each) < 3 for each in parts):
        raise ShadowError(f"each line of {path} must have a commit, a stage and a reason")
    return [Gone(*each) for each in parts]


def compare_case(theirs: Path, ours: Path, gone: list[Gone]) -> Verdict:
    """The first difference between two recorded folders of a case, in the order of BASE's stages."""
    case = theirs.name
    for folder, where in ((theirs, "in BASE"), (ours, "here")):
        if not folder.exists():
            return Verdict(is_gone(gone, case), f"there is no such case {where}")
    stages, others = _read_stages(theirs), _read_stages(ours)
    found, left = [], dict(others)
    for stage, objects in stages.items():
        now = left.pop(rename(stage), None)
        if now is None:
            found += [] if is_gone(gone, f"{case}/{stage}") else [f"{stage} is missing here"]
            continue
        pairs = {name: (objects.get(name), now.get(name)) for name in sorted({*objects, *now})}
        told = {name: describe(theirs, ours, *pair) for name, pair in pairs.items()}
        told = {name: text for name, text in told.items() if text and not is_gone(gone, f"{case}/{stage}/{name}")}
        if told:
            name, text = next(iter(told.items()))
            found.append(f"{stage}: {name} {text}" + (f", and {len(told) - 1} more there" if len(told) > 1 else ""))
    found += [f"{stage} is missing in BASE" for stage in left]
    if not found:
        return Verdict(True, f"equal, {len(stages)} stages")
    later = f"; later stages: {len(found) - 1} more" if len(found) > 1 else ""
    return Verdict(False, f"differs first at {found[0]}{later}")


def rename(stage: str) -> str:
    """What a stage of BASE is called here."""
    step, _, name = stage.rpartition("/")
    return f"{step}/{RENAMED.get(name, name)}"


def is_gone(gone: list[Gone], name: str) -> bool:
    """Whether CASE, CASE/STEP/STAGE or CASE/STEP/STAGE/OBJECT, or its stage wherever it is, is gone on purpose."""
    stage = "/".join(name.split("/")[2:])
    return any(fnmatch(name, each.pattern) or fnmatch(stage, each.pattern) for each in gone)


def describe(theirs: Path, ours: Path, before: str | None, now: str | None) -> str:
    """How a file differs from the one in BASE; nothing if it does not."""
    if before is None or now is None:
        return "is missing in BASE" if before is None else "is missing here"
    one, other = (theirs / before).read_bytes(), (ours / now).read_bytes()
    if one == other:
        return ""
    if not before.endswith(".npy") or not now.endswith(".npy"):
        count = sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
        return f"differs in {count} of {len(one)} bytes"
    return describe_arrays(np.load(theirs / before), np.load(ours / now))


def describe_arrays(one: np.ndarray, other: np.ndarray) -> str:
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"was {one.dtype} {one.shape} and is {other.dtype} {other.shape}"
    differs = (one != other) & ~((one != one) & (other != other))
    with np.errstate(invalid="ignore"):  # of two infinities
        apart = np.abs(one[differs].astype(np.float64) - other[differs].astype(np.float64))
    most = apart.max(where=np.isfinite(apart), initial=0)
    return f"differs in {len(apart)} of {one.size} elements, by {most:.3g} at most"


def _read_stages(case: Path) -> dict[str, dict[str, str]]:
    """The files of each stage by object."""
    return {
        stage["name"]: {name: each["file"] for name, each in stage["objects"].items()}
        for stage in read_index(case)["stages"]
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
