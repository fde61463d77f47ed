"""benchmarks/callouts.py on a sequence whose object is plain to see."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from synthetic import save_frames

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "callouts.py"
T, SIZE = 12, 64


def test_clicks_on_background_are_counted_and_good_ones_are_not(tmp_path):
    random = np.random.default_rng(0)
    truth = np.zeros((T, SIZE, SIZE), bool)
    truth[:, 40:54, 8:22] = True
    ground = random.integers(20, 160, (T, SIZE // 8, SIZE // 8)).repeat(8, axis=1).repeat(8, axis=2)
    folder = tmp_path / "ball" / "case"
    save_frames(np.where(truth, 240, ground).astype(np.uint8), folder / "input-frames")
    save_frames(255 * truth.astype(np.uint8), folder / "ground_truth-frames")
    places = [(frame, *random.integers((42, 10), (52, 20))) for frame in range(T)]
    lines = "".join(f"{frame},{y},{x}\n" for frame, y, x in places)
    (folder / "points.csv").write_text("frame,y,x\n" + lines, encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(folder), "--points", "points"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "| as they are | 0 of 1 | 0 of 1 |" in done.stdout
    assert "| x and y exchanged | 1 of 1 |" in done.stdout
    assert "| on background | 3 of 3 |" in done.stdout
