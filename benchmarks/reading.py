"""What decoding in a process apart costs per file: python benchmarks/reading.py

Reads a small file of several formats twenty times each, apart and with FEWPOINT_TRUST=1, and prints medians in
milliseconds as a table.
"""

import os
import platform
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median

import numpy as np
import SimpleITK
import tifffile

from fewpoint.io.images import read_sequence

TIMES = 20


def save_files(folder: Path) -> dict[str, Path]:
    pixels = np.random.default_rng(0).integers(0, 1000, (64, 256, 256)).astype(np.int16)
    image = SimpleITK.GetImageFromArray(pixels)
    names = {"NIfTI": "a.nii.gz", "NRRD": "a.nrrd", "MetaImage": "a.mha"}
    for name in names.values():
        SimpleITK.WriteImage(image, str(folder / name), useCompression=True)
    np.save(folder / "a.npy", pixels)
    tifffile.imwrite(folder / "a.tif", pixels)
    return {kind: folder / name for kind, name in (names | {"NumPy": "a.npy", "TIFF": "a.tif"}).items()}


def measure(path: Path, trust: str) -> list[float]:
    """Milliseconds of each reading but the first, which loads libraries."""
    os.environ["FEWPOINT_TRUST"] = trust
    taken = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        read_sequence(path)
        taken.append(1000 * (time.perf_counter() - began))
    return taken[1:]


def main() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in save_files(Path(folder)).items():
            apart, trusted = median(measure(path, "0")), median(measure(path, "1"))
            print(f"| {kind} | {apart - trusted:.0f} ms ({trusted:.0f} to {apart:.0f}) |")


if __name__ == "__main__":
    main()
