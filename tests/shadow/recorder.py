"""What a run of a case leaves: an .npy file for each object of each stage, and an index of them in order.

Nothing here knows fewpoint, so that any later tree can read what an earlier one wrote.

    CASE/STEP/STAGE/OBJECT.npy   an array; STEP is one call of the case, such as the first run or its refinement
    CASE/STEP/STAGE/OBJECT       the bytes of a file
    CASE/index.json              stages in the order of the pipeline, and what ran where
"""

import hashlib
import json
import os
import platform
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

INDEX = "index.json"
# Those that decide a bit of a mask or of a file; versions of others may differ between two runs that are compared.
LIBRARIES = (
    *("numpy", "scipy", "torch", "scikit-image", "scikit-learn", "ortools"),
    *("av", "highdicom", "imagecodecs", "nibabel", "numcodecs", "pillow", "pydicom", "simpleitk", "tifffile", "zarr"),
)


class Recorder:
    """Takes down the stages of one case; finish() puts all in place at once, so that nothing is ever left in part.

    order: the stages of a step as the pipeline goes through them; others follow.
    """

    def __init__(self, case: str, out: Path, order: tuple[str, ...]) -> None:
        self._case, self._out, self._order = case, out, order
        self._folder = out / f".{case}-{os.getpid()}"
        self._steps: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        self.step = ""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def note(self, stage: str, name: str, value: Any) -> None:
        """Take down an array or the bytes of a file; one that is noted again is called NAME.2."""
        stages = self._steps.setdefault(self.step, {})
        objects = stages.setdefault(stage, {})
        name = re.sub(r"[^\w.+-]", "-", name) or "object"
        again = sum(each == name or each.startswith(f"{name}..") for each in objects)
        name = f"{name}..{again + 1}" if again else name
        path = self._folder / self.step / stage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            path.write_bytes(value)
            described = {"dtype": "bytes", "shape": [len(value)]}
        else:
            array = np.ascontiguousarray(value)
            path = path.with_name(f"{name}.npy")
            np.save(path, array, allow_pickle=False)
            described = {"dtype": str(array.dtype), "shape": list(array.shape)}
        place = path.relative_to(self._folder).as_posix()
        objects[name] = {"file": place, **described, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}

    def finish(self, told: dict[str, Any]) -> Path:
        """Write the index and move the case to its place; told: what else the index says."""
        stages = [
            {"name": f"{step}/{stage}", "objects": dict(sorted(objects.items()))}
            for step, found in self._steps.items()
            for stage, objects in sorted(found.items(), key=lambda each: self._rank(each[0]))
        ]
        index = {"case": self._case, **told, **describe_machine(), "stages": stages}
        (self._folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
        place = self._out / self._case
        shutil.rmtree(place, ignore_errors=True)
        os.replace(self._folder, place)
        return place

    def _rank(self, stage: str) -> int:
        return self._order.index(stage) if stage in self._order else len(self._order)


def describe_machine() -> dict[str, Any]:
    """All that results may depend on besides the program: the processor, Python, and versions of libraries."""
    return {"processor": describe_processor(), "python": platform.python_version(), "libraries": list_versions()}


def list_versions() -> dict[str, str]:
    """The versions of those of the libraries that are installed, without the kind of a build."""
    found = {name: next((each.version for each in metadata.distributions(name=name)), "") for name in LIBRARIES}
    return {name: version.partition("+")[0] for name, version in found.items() if version}


def describe_processor() -> str:
    """Its model, and those instructions that sums and convolutions are chosen by."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not on Linux
        return f"{platform.machine()} {platform.processor()}"
    told = dict(tuple(map(str.strip, line.partition(":")[::2])) for line in lines if ":" in line)
    numbers = [told.get(name, "") for name in ("cpu family", "model", "stepping")]
    flags = sorted(flag for flag in told.get("flags", "").split() if flag.startswith(("avx", "amx", "fma", "sse4")))
    return " ".join([told.get("model name", platform.machine()), "/".join(numbers), *flags])
