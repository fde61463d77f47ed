"""What a long video costs: python benchmarks/long_video.py [--frames 1000] [--preset fast] [--set SECTION.KEY=VALUE …].

A colour video of 640 x 480 is made up, with a disc that wanders over noise and a click on every tenth frame. `fewpoint
segment` runs on it in a process of its own, with the shortest of schedules unless told otherwise: what is measured is
how time and memory of the other stages grow with the video.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fewpoint.io.atomic import read_json
from fewpoint.io.video import write_video
from fewpoint.runs.summary import SUMMARY_FILE

HEIGHT, WIDTH, RADIUS = 480, 640, 60
SHORTEST = ["training.max_side=64", "warmup.epochs=1", "rounds.round_epochs=1"]


def find_centre(frame: int) -> tuple[int, int]:
    return round(240 + 120 * np.sin(frame / 37)), round(320 + 180 * np.sin(frame / 61))


def paint_frames(count: int) -> Iterator[np.ndarray]:
    """(H, W, 3) uint8 frames, one in memory at a time."""
    rng = np.random.default_rng(0)
    rows, columns = np.indices((HEIGHT, WIDTH))
    for frame in range(count):
        y, x = find_centre(frame)
        inside = np.hypot(rows - y, columns - x) < RADIUS
        colours = np.where(inside[..., np.newaxis], (190, 80, 70), (110, 100, 90))
        coarse = rng.normal(0, 12, (HEIGHT // 8, WIDTH // 8, 1)).repeat(8, 0).repeat(8, 1)
        yield np.clip(colours + coarse, 0, 255).astype(np.uint8)


def make_input(folder: Path, count: int) -> tuple[Path, Path]:
    """The video and the points on it."""
    video, points = folder / "video.mp4", folder / "points.csv"
    write_video(paint_frames(count), video)
    rows = [",".join(map(str, (frame, *find_centre(frame)))) for frame in range(0, count, 10)]
    points.write_text("\n".join(["frame,y,x", *rows]) + "\n")
    return video, points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--set", nargs="*", default=SHORTEST, metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        video, points = make_input(Path(scratch), options.frames)
        command = [sys.executable, "-m", "fewpoint", "segment", video, "--points", points, "--out", out]
        command += ["--preset", options.preset, "--device", options.device]
        command += [part for assignment in options.set for part in ("--set", assignment)]
        subprocess.run(list(map(str, command)), check=True)
        told = read_json(out / SUMMARY_FILE)
    print(f"{options.frames} frames of {WIDTH} x {HEIGHT} in colour, {sum(told['seconds'].values()):.0f} s")
    for stage, seconds in told["seconds"].items():
        print(f"{stage:12} {seconds:7.1f} s")
    print(f"peak memory {told['memory_mb']:.0f} MiB")


if __name__ == "__main__":
    main()
