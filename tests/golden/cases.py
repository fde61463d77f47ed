"""Runs whose results may not change by a bit: each is made by the command line, small, on a CPU, with seed 0."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import nibabel
import numpy as np
import torch
from torch import nn

from fewpoint.cli.main import run
from fewpoint.core import ImageSequence, PointSet
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.decoding import load_arrays
from fewpoint.io.points import write_points
from synthetic import save_frames
from videos import save_video

# The default method with every step of its own, in seconds.
DEFAULT = (
    "superpixels.count=150",
    "network.base_width=4",
    "network.levels=3",
    "training.max_side=48",
    "training.frames_per_epoch=12",
    "warmup.epochs=4",
    "rounds.round_epochs=3",
)
PAPER = (
    "superpixels.count=150",
    "network.base_width=4",
    "network.levels=3",
    "network.multiple=1",
    "training.max_side=48",
    "training.batch=4",
    "training.frames_per_epoch=12",
    "phases.warmup_epochs=3",
    "phases.estimation_epochs=5",
    "phases.final_epochs=2",
    "stopping.variance=1",
    "stopping.window=2",
    "stopping.minimum=3",
)
BOUND = ("--max-fraction", "0.3")


@dataclass(frozen=True)
class Bench:
    """Where a case finds its inputs and leaves its runs."""

    folder: Path

    def segment(self, name: str, source: Path, points: Path, *options: object) -> Path:
        """Run `fewpoint segment`; returns the run folder."""
        out = self.folder / name
        arguments = ["segment", source, "--points", points, "--out", out, "--device", "cpu", "--seed", "0", *options]
        assert run([str(argument) for argument in arguments]) == 0
        return out

    def save(self, name: str, sequence: ImageSequence, points: PointSet) -> tuple[Path, Path]:
        """Frames as images, and points as CSV."""
        folder = save_frames(sequence.frames, self.folder / name)
        path = self.folder / f"{name}.csv"
        write_points(points, path)
        return folder, path


def settings(assignments: tuple[str, ...]) -> list[str]:
    return [part for each in assignments for part in ("--set", each)]


FAST = ("--preset", "fast", *settings(DEFAULT))


def one_object(bench: Bench) -> Path:
    phantom = make_phantom(24, (56, 64))
    return bench.segment("one", *bench.save("one-frames", phantom.sequence, phantom.points), *BOUND, *FAST)


def three_near(bench: Bench) -> Path:
    phantom = make_objects(8, (64, 72), objects=3)
    return bench.segment("near", *bench.save("near-frames", phantom.sequence, phantom.points), *BOUND, *FAST)


def three_far(bench: Bench) -> Path:
    """Small objects in the corners of wide frames, which learn in groups."""
    phantom, wide = make_objects(5, (64, 64), objects=3), make_phantom(5, (192, 192), seed=1).sequence.frames.copy()
    places = np.arange(64) + 128 * (np.arange(64) >= 32)
    wide[:, places[:, np.newaxis], places] = phantom.sequence.frames
    rows = phantom.points.coordinates.copy()
    rows[:, 1:] = places[rows[:, 1:]]
    inputs = bench.save("far-frames", ImageSequence.from_array(wide), replace(phantom.points, coordinates=rows))
    return bench.segment("far", *inputs, "--max-fraction", "0.05", *FAST)


def sparse_clicks(bench: Bench) -> Path:
    """A click on every fifth frame, and no bound: points are carried, and there is a round more."""
    phantom = make_phantom(21, (56, 64), seed=2)
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] % 5 == 0]
    return bench.segment("sparse", *bench.save("sparse-frames", phantom.sequence, PointSet.from_rows(rows)), *FAST)


def negatives_and_absent(bench: Bench) -> Path:
    phantom = make_phantom(9, (56, 64), seed=3)
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] not in (2, 7)]
    points = PointSet.from_rows(rows, [2, 7], negatives=[(0, 2, 3), (4, 50, 60), (5, 3, 58)])
    return bench.segment("negatives", *bench.save("negatives-frames", phantom.sequence, points), *BOUND, *FAST)


def refinement(bench: Bench) -> Path:
    phantom = make_phantom(10, (56, 64), seed=4)
    frames, path = bench.save("refined-frames", phantom.sequence, phantom.points)
    first = bench.segment("refined-first", frames, path, *BOUND, *FAST)
    rows = [tuple(row) for row in phantom.points.coordinates.tolist()]
    write_points(PointSet.from_rows(rows, negatives=[(3, 2, 2), (6, 50, 5)]), path)
    return bench.segment("refined", frames, path, "--refine", first)


def warm_start(bench: Bench) -> Path:
    first, second = make_phantom(6, (56, 64), seed=5), make_phantom(7, (48, 64), seed=6)
    start = bench.segment("warm-first", *bench.save("warm-first-frames", first.sequence, first.points), *BOUND, *FAST)
    inputs = bench.save("warm-frames", second.sequence, second.points)
    return bench.segment("warm", *inputs, *BOUND, *FAST, "--warm-start", start)


def time_limit(bench: Bench) -> Path:
    """A limit that leaves some of the epochs at the pace that the test pretends to measure."""
    phantom = make_phantom(6, (56, 64), seed=7)
    inputs = bench.save("limit-frames", phantom.sequence, phantom.points)
    return bench.segment("limit", *inputs, *BOUND, *FAST, "--time-limit", "1000")


def paper(bench: Bench) -> Path:
    phantom = make_phantom(7, (56, 64), seed=8)
    inputs = bench.save("paper-frames", phantom.sequence, phantom.points)
    return bench.segment("paper", *inputs, *BOUND, "--preset", "paper", *settings(PAPER))


def paper_objects(bench: Bench) -> Path:
    """Two objects, each with its own stop of the estimation."""
    phantom = make_objects(6, (64, 72), seed=12)
    inputs = bench.save("paper-objects-frames", phantom.sequence, phantom.points)
    return bench.segment("paper-objects", *inputs, *BOUND, "--preset", "paper", *settings(PAPER))


def competitor(bench: Bench) -> Path:
    phantom = make_phantom(7, (56, 64), seed=9)
    inputs = bench.save("competitor-frames", phantom.sequence, phantom.points)
    own = tuple(each for each in PAPER if not each.startswith("stopping"))
    return bench.segment("competitor", *inputs, *BOUND, "--method", "alterestpu", *settings(own))


def oblong_pixels(bench: Bench) -> Path:
    """A volume whose pixels are twice as high as wide, in a file with a geometry."""
    phantom = make_phantom(8, (40, 72), seed=10)
    voxels = phantom.sequence.frames[..., 0].transpose(2, 1, 0).astype(np.int16)
    path = bench.folder / "oblong.nii.gz"
    nibabel.save(nibabel.Nifti1Image(voxels, np.diag([1.0, 2.0, 5.0, 1.0])), path)
    points = bench.folder / "oblong.csv"
    write_points(phantom.points, points)
    return bench.segment("oblong", path, points, *BOUND, *FAST)


def film(bench: Bench) -> Path:
    phantom = make_phantom(9, (56, 64), seed=11, channels=3)
    path, points = save_video(bench.folder / "film.mkv", phantom.sequence.frames), bench.folder / "film.csv"
    write_points(phantom.points, points)
    return bench.segment("film", path, points, *BOUND, *FAST)


CASES: dict[str, Callable[[Bench], Path]] = {
    each.__name__: each
    for each in (
        one_object,
        three_near,
        three_far,
        sparse_clicks,
        negatives_and_absent,
        refinement,
        warm_start,
        time_limit,
        paper,
        paper_objects,
        competitor,
        oblong_pixels,
        film,
    )
}


def real(bench: Bench, sequence: Path) -> Path:
    """A real sequence with `fast`, a few epochs of it."""
    shorter = settings(("warmup.epochs=2", "rounds.round_epochs=2"))
    return bench.segment(sequence.name, sequence, sequence / "2dlocs.csv", "--preset", "fast", *shorter)


def hash_run(folder: Path) -> dict[str, str]:
    """SHA-256 of masks, probabilities and training history of a run, of all objects in order."""
    arrays = load_arrays(folder / "probabilities.npz")
    histories = sorted(folder.glob("history*.csv"))
    return {
        "masks": _digest(arrays["masks"].astype(np.uint8)),
        "probabilities": _digest(arrays["probabilities"].astype(np.float16)),
        "history": hashlib.sha256(b"".join(path.read_bytes() for path in histories)).hexdigest(),
    }


def describe_arithmetic() -> str:
    """A hash of what this machine's processor and libraries make of a few convolutions and sums.

    Another processor may add in another order: results differ there in the last bits, and hashes altogether.
    """
    generator = torch.Generator().manual_seed(0)
    values = []
    for kind in (torch.float32, torch.bfloat16):
        network = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 1, 1))
        for parameter in network.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)
        frames = torch.randn(4, 3, 48, 56, generator=generator).to(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16, enabled=kind is torch.bfloat16):
            network(frames).float().square().mean().backward()
        values += [parameter.grad.numpy().tobytes() for parameter in network.parameters()]
    versions = json.dumps([torch.__version__, np.__version__]).encode()
    return hashlib.sha256(b"".join([versions, *values])).hexdigest()


def _digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
