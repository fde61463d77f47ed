"""The speed of the parts that run on a CPU, each beside a reference of the same run: python benchmarks/speed.py."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from fewpoint.core import AreaBound, PointSet, SuperpixelMap
from fewpoint.io.memory import measure_peak
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames
from fewpoint.tracking.paths import track
from fewpoint.tracking.settings import TrackingSettings

VIDEO_SIZE, GRID = (576, 720), (30, 40)
SHORT, LONG = 60, 300
RESET_PEAK = Path("/proc/self/clear_refs")  # Linux: 5 sets the largest memory of the process to the present one


def seconds_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure_step() -> str:
    from reference_step import compare_steps

    from fewpoint.learning.devices import choose_device
    from fewpoint.methods.default import FAST

    plain, ours = compare_steps(128, FAST, choose_device("cpu"), turns=7)
    return f"{ours:.1f} ms a frame, reference {plain:.1f}, ratio {plain / ours:.1f}"


def measure_parts() -> str:
    """A step of the network of a further round, its batch divided for two cores, against one on the whole batch."""
    import torch
    from reference_step import make_case, take_turns

    from fewpoint.learning.devices import cpu_threads
    from fewpoint.learning.training import Trainer
    from fewpoint.methods.default import FAST
    from fewpoint.pipeline.stages import prepare_learning

    device = torch.device("cpu")
    task, samples = make_case(96, FAST, device)
    with cpu_threads(1):
        trainer = prepare_learning({"": task}, samples, seed=0).trainer
        whole, divided = (
            Trainer(deepcopy(trainer.network), samples, replace(trainer.recipe, training=training), seed=0)
            for training in (replace(FAST.training, parts=1), FAST.training)
        )
        steps = [lambda: whole.try_steps(1), lambda: divided.try_steps(1)]
        plain, ours = (1e3 * seconds for seconds in take_turns(steps, 15, device))
        work = [1e3 * seconds for seconds in take_turns(steps, 15, device, time.process_time)]
    return (
        f"{ours:.0f} ms, undivided {plain:.0f}, ratio {plain / ours:.1f}; "
        f"of the processor {work[1]:.0f} ms, undivided {work[0]:.0f}"
    )


def measure_networks() -> str:
    """A step and a prediction of the networks of fast against MultiResUNets of the same widths, processor time."""
    import torch
    from reference_step import make_case, take_turns

    from fewpoint.learning.devices import cpu_threads
    from fewpoint.learning.prediction import predict_logits
    from fewpoint.methods.default import FAST
    from fewpoint.pipeline.stages import prepare_learning

    device = torch.device("cpu")
    task, samples = make_case(128, FAST, device)
    told = []
    with cpu_threads(1):
        pair = [
            prepare_learning({"": replace(task, settings=settings)}, samples, seed=0).trainer
            for settings in (FAST, with_multires(FAST))
        ]
        steps = [lambda each=each: each.try_steps(1) for each in pair]
        training = replace(FAST.training, parts=1)
        looks = [lambda each=each: predict_logits(each.network, samples[0], training) for each in pair]
        for name, works, frames in (("step", steps, training.batch), ("prediction", looks, samples[0].n_frames)):
            ours, other = (1e3 * seconds / frames for seconds in take_turns(works, 7, device, time.process_time))
            told.append(f"{name} {ours:.1f} ms a frame, MultiResUNet {other:.1f}, ratio {other / ours:.2f}")
    return "; ".join(told)


def with_multires(settings: Any) -> Any:
    """The same settings of the default with the network that it had before, which is kept as a reference."""
    return replace(settings, network=replace(settings.network, kind="multires"))


def measure_run() -> str:
    """Seconds of a run of fast without a bound on a phantom, against one with MultiResUNets; of the processor, too."""
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.methods.default import FAST
    from fewpoint.pipeline.task import Task
    from fewpoint.runs.runner import run_task

    phantom = make_phantom(20, (64, 64), channels=3)
    taken = []
    for settings in (with_multires(FAST), FAST):
        began, worked = time.perf_counter(), time.process_time()
        run_task(Task(phantom.sequence, phantom.points, None, settings, device="cpu"))
        taken.append((time.perf_counter() - began, time.process_time() - worked))
    (other, other_work), (ours, work) = taken
    return (
        f"{ours:.1f} s, MultiResUNet {other:.1f}, ratio {other / ours:.2f}; "
        f"of the processor {work:.1f} s, MultiResUNet {other_work:.1f}, ratio {other_work / work:.2f}"
    )


def measure_superpixels() -> str:
    """Ours with all cores against scikit-image's slic on one frame after the other at full size."""
    from skimage.segmentation import slic

    from fewpoint.evaluation.phantom import make_phantom

    sequence = make_phantom(6, VIDEO_SIZE, channels=3).sequence
    ours, plain = [], []
    for _ in range(3):
        ours.append(seconds_of(lambda: segment_frames(sequence, SuperpixelSettings())))
        plain.append(seconds_of(lambda: [slic(frame, n_segments=1200, compactness=15) for frame in sequence.frames]))
    mine, other = (1e3 * median(taken) / len(sequence) for taken in (ours, plain))
    return f"{mine:.0f} ms a frame, reference {other:.0f}, ratio {other / mine:.1f}"


def make_tracking(frames: int) -> tuple[np.ndarray, SuperpixelMap, PointSet]:
    """1200 block superpixels a frame; those within a disc that moves are likely, the others unlikely, with noise."""
    rows, columns = (np.arange(side) * count // side for side, count in zip(VIDEO_SIZE, GRID, strict=True))
    labels = np.broadcast_to((rows[:, None] * GRID[1] + columns).astype(np.int32), (frames, *VIDEO_SIZE))
    phase = 2 * np.pi * np.arange(frames) / SHORT
    centres = np.stack([288 + 80 * np.sin(phase), 360 + 120 * np.cos(phase)], 1)
    y, x = np.meshgrid((np.arange(GRID[0]) + 0.5) * 19.2, (np.arange(GRID[1]) + 0.5) * 18, indexing="ij")
    distance = np.hypot(y.ravel() - centres[:, :1], x.ravel() - centres[:, 1:])
    noise = np.random.default_rng(0).normal(0, 0.12, distance.shape)
    probabilities = np.clip(np.where(distance < 80, 0.8, 0.15) + noise, 0, 1)
    points = PointSet.from_rows([(frame, int(cy), int(cx)) for frame, (cy, cx) in enumerate(centres)])
    return probabilities.ravel(), SuperpixelMap(labels.copy()), points


def track_here(frames: int) -> None:
    """In a process of its own: seconds of the graph and both solves, and memory that they added, as JSON."""
    probabilities, superpixels, points = make_tracking(frames)
    RESET_PEAK.write_text("5")  # making the input took more for a moment
    before = measure_peak().process_mb
    seconds = seconds_of(lambda: track(probabilities, superpixels, points, AreaBound(0.1), settings=TrackingSettings()))
    print(json.dumps({"seconds": seconds, "extra_mb": measure_peak().process_mb - before}))


def measure_tracking() -> str:
    short, long = (_track_in_process(frames) for frames in (SHORT, LONG))
    ratio = long["seconds"] / short["seconds"]
    return (
        f"{SHORT} frames {short['seconds']:.2f} s and {short['extra_mb']:.0f} MiB more, "
        f"{LONG} frames {long['seconds']:.2f} s and {long['extra_mb']:.0f} MiB more, "
        f"ratio {ratio:.1f} for {LONG / SHORT:.0f} times the frames"
    )


def _track_in_process(frames: int) -> dict[str, float]:
    runs = [
        json.loads(
            subprocess.run([sys.executable, __file__, "--track", str(frames)], capture_output=True, check=True).stdout
        )
        for _ in range(3)
    ]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def measure_start() -> str:
    """Against a Python that does nothing."""
    ours, plain = [], []
    for _ in range(7):
        ours.append(seconds_of(lambda: _run([sys.executable, "-m", "fewpoint", "--help"])))
        plain.append(seconds_of(lambda: _run([sys.executable, "-c", "pass"])))
    return f"{median(ours):.2f} s, reference {median(plain):.2f}, ratio {median(ours) / median(plain):.1f}"


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


PARTS = {
    "start-up of fewpoint --help": measure_start,
    "tracking of 720 x 576 pixels, 1200 superpixels": measure_tracking,
    "superpixels of 720 x 576 pixels": measure_superpixels,
    "training step of fast at 128 x 128": measure_step,
    "training step of fast at 96 x 96 in two parts": measure_parts,
    "network of fast at 128 x 128, time of the processor": measure_networks,
    "run of fast on 20 frames of 64 x 64": measure_run,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--track", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="parts whose name has one of these")
    given = parser.parse_args()
    if given.track:
        track_here(given.track)
        return
    for name, measure in PARTS.items():
        if any(word in name for word in given.only):
            print(f"{name}: {measure()}", flush=True)


if __name__ == "__main__":
    main()
