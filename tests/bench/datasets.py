"""A small dataset on disk, and suites over it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile

from fewpoint.evaluation.phantom import Phantom, make_phantom
from fewpoint.io.points import write_points
from synthetic import save_dataset_sequence

SEQUENCES = ("ball/first", "ball/second", "blob/third")


# A single sequence, as a suite names what save_volume writes.
EXTRA = """
[[extra]]
name = "whole"
type = "volume"
input = "volume/frames.npy"
truth = "volume/truth.tif"
points = "volume/clicks.csv"
"""


def make_sequence(seed: int) -> Phantom:
    return make_phantom(n_frames=6, size=(40, 48), seed=seed)


@dataclass(frozen=True)
class Dataset:
    """A folder with data/ in the dataset's layout, and room for suites beside it."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Dataset":
        for seed, name in enumerate(SEQUENCES):
            save_dataset_sequence(make_sequence(seed), folder / "data" / name)
        return cls(folder)

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def write_suite(self, text: str = "", methods: tuple[str, ...] = ("all-positive", "half-disc")) -> Path:
        """A suite over all sequences; `text` stands after its methods."""
        path = self.folder / "suite.toml"
        path.write_text(f'name = "small"\nroot = "data"\nmethods = {list(methods)}\n{text}\n', encoding="utf-8")
        return path

    def save_volume(self, seed: int = 3) -> Path:
        """Write a sequence as stacks: data/volume with frames.npy, truth.tif and clicks.csv."""
        phantom, folder = make_sequence(seed), self.root / "volume"
        folder.mkdir()
        np.save(folder / "frames.npy", phantom.sequence.frames)
        tifffile.imwrite(folder / "truth.tif", phantom.truth.astype(np.uint8))
        write_points(phantom.points, folder / "clicks.csv")
        return folder

    def break_frame(self, name: str) -> Path:
        """Replace a frame of a sequence by bytes that are no picture."""
        frame = self.root / name / "input-frames" / "0002.png"
        frame.write_bytes(b"not a picture")
        return frame
