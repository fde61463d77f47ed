"""Masks for trees without history: python -P tests/shadow/keep.py writes them anew, and how equal they must be.

Another processor or library rounds otherwise, as float32 does in place of bfloat16: the masks of a case must be as much
like those kept as the one of them that is least like itself without bfloat16, on the machine that kept it, less MARGIN.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from shadow.trees import BUILD, HERE, TREE, ShadowError, read_index

KEPT = TREE / "tests" / "shadow" / "kept"
LEAST = "least.json"
MARGIN = 0.05
STAGE = "masks"


def compare(case: Path) -> tuple[bool, str]:
    """Whether the masks of a recorded case are like those kept, and the least F1."""
    least = json.loads((KEPT / LEAST).read_text(encoding="utf-8"))["least"].get(case.name)
    path = KEPT / f"{case.name}.npz"
    if least is None or not path.exists():
        return False, f"there are no kept masks of it; python -P {Path(__file__).relative_to(TREE)} makes them"
    with np.load(path) as stored:
        found = score({name: stored[name] for name in stored.files}, read_masks(case))
    if not found:
        return False, "has no masks"
    name, f1 = min(found.items(), key=lambda each: each[1])
    return f1 >= least, f"F1 {f1:.3f} at least, of {name}; {least:.3f} is asked for"


def score(kept: dict[str, np.ndarray], masks: dict[str, np.ndarray]) -> dict[str, float]:
    """F1 of each mask by name; 0 for one that is missing on either side, or of another size."""
    return {name: f1_of(kept.get(name), masks.get(name)) for name in sorted({*kept, *masks})}


def f1_of(one: np.ndarray | None, other: np.ndarray | None) -> float:
    """F1 of two masks as bits, 1 if both are empty."""
    if one is None or other is None or one.shape != other.shape:
        return 0.0
    both, total = np.bitwise_count(one & other).sum(), np.bitwise_count(one).sum() + np.bitwise_count(other).sum()
    return 2 * float(both) / float(total) if total else 1.0


def read_masks(case: Path) -> dict[str, np.ndarray]:
    """All masks of a recorded case as bits, by STEP/STAGE/OBJECT."""
    found = {}
    for stage in read_index(case)["stages"]:
        if stage["name"].endswith(f"/{STAGE}"):
            for name, each in stage["objects"].items():
                values = np.load(case / each["file"])
                if not name.endswith("shown-probabilities"):  # what the page reads is bits already
                    found[f"{stage['name']}/{name}"] = np.packbits(values) if values.dtype == bool else values
    return found


def main() -> int:
    cases = HERE.list_cases()
    usual, plain = BUILD / "present", BUILD / "float32"
    HERE.record(cases, usual)
    HERE.record(cases, plain, "--float32")
    KEPT.mkdir(exist_ok=True)
    for gone in KEPT.glob("*.npz"):
        gone.unlink()
    f1s = {}
    for case in cases:
        masks = read_masks(usual / case)
        np.savez_compressed(KEPT / f"{case}.npz", **masks)
        f1s[case] = score(masks, read_masks(plain / case))
    if all(f1 == 1 for found in f1s.values() for f1 in found.values()):
        raise ShadowError("this processor computes nothing in bfloat16, so it cannot say how like masks must be")
    table = {
        "least": {case: round(min(found.values()) - MARGIN, 3) for case, found in f1s.items()},
        "margin": MARGIN,
        "float32 against bfloat16": {
            f"{case}/{name}": round(f1, 4) for case, found in f1s.items() for name, f1 in found.items()
        },
    }
    (KEPT / LEAST).write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"masks of {len(cases)} cases kept; what F1 is asked for: {table['least']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
