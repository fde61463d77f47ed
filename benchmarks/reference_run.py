"""A whole run beside the paper's schedule the plain way: python benchmarks/reference_run.py SEQUENCE [--side 256].

The plain way is that of reference_step.py, and more of it: each frame is read from its file and resized whenever it is
needed, and every epoch ends with a prediction of each frame. Some of its epochs are timed, of as many frames as ours
have, and counted as often as our run has epochs; its superpixels, its tracking and its report are left out.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from reference_step import BATCH, WARM_UP, Plain, make_blocks

from fewpoint.learning.devices import choose_device, describe_device
from fewpoint.learning.samples import build_samples
from fewpoint.learning.training import count_steps
from fewpoint.learning.working import WorkingSize
from fewpoint.methods.registry import PRESETS
from runs import read_case, time_run


class PlainEpochs:
    """Epochs the plain way, on the files of a folder in the dataset's layout."""

    def __init__(self, folder: Path, side: int, device: torch.device) -> None:
        self.files = sorted((folder / "input-frames").iterdir())
        self.side, self.device = side, device
        case = read_case(folder)
        size, blocks = case.sequence.size, make_blocks(len(case.sequence), case.sequence.size, (35, 35))
        working = WorkingSize(size, (side, side), (side, side))
        (samples,) = build_samples(case.sequence, blocks, [case.points], working, device)
        self.plain = Plain(samples)
        self.order = np.random.default_rng(0)

    def run_epoch(self, frames: int) -> None:
        """Steps on so many frames, then a prediction of all of them, frame by frame."""
        for index in self.order.integers(len(self.files), size=(frames // BATCH, BATCH)):
            batch = torch.cat([self.read(number) for number in index])
            self.plain.learn(batch, torch.from_numpy(index).to(self.device))
        with torch.no_grad():
            for number in range(len(self.files)):
                torch.sigmoid(self.plain.predict(self.read(number))).cpu()

    def read(self, number: int) -> torch.Tensor:
        """One frame of its file, (1, C, side, side) on the device."""
        picture = Image.open(self.files[number]).resize((self.side, self.side), Image.Resampling.BILINEAR)
        channels = self.plain.samples.frames.shape[1]
        values = np.asarray(picture.convert("RGB"), np.float32)[..., :channels] / 255
        return torch.from_numpy(values).permute(2, 0, 1)[None].to(self.device)


def time_epoch(epochs: PlainEpochs, frames: int, turns: int) -> float:
    """Mean seconds of an epoch, after some that warm up."""
    for _ in range(WARM_UP - 1):
        epochs.run_epoch(frames)
    started = time.perf_counter()
    for _ in range(turns):
        epochs.run_epoch(frames)
    return (time.perf_counter() - started) / turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    device, settings = choose_device(given.device), PRESETS["paper"]
    case = read_case(given.folder)
    frames = count_steps(len(case.sequence), settings.training) * settings.training.batch
    print(f"on {describe_device(device)}", flush=True)
    plain = time_epoch(PlainEpochs(given.folder, given.side, device), frames, given.turns)
    f1, told = time_run(case, settings, given.device)
    whole = plain * told["epochs"]
    print(f"{given.folder.name}, {told['epochs']} epochs of {frames} frames, {given.side} pixels a side the plain way")
    print(f"plain {whole:.0f} s ({plain:.2f} s an epoch), paper {told['whole']:.1f} s (F1 {f1:.3f})")
    print(f"ratio {whole / told['whole']:.1f}", flush=True)


if __name__ == "__main__":
    main()
