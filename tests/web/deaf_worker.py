"""Stands for the process of a run: leaves a preview, then listens to nothing until `finish` lies in its folder.

The preview of each object is the upper half of every frame. Each start adds the order that it got to `orders.jsonl`.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

from fewpoint.io.projects import read_project
from fewpoint.web.orders import shown_folder
from fewpoint.web.shown import MASKS, PREVIEW


def main() -> None:
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    run = Path(order["folder"])
    with open(run / "orders.jsonl", "a") as file:
        file.write(json.dumps(order["job"]) + "\n")
    frames, height, width = read_project(run.parent.with_suffix("")).project.shape
    packed = np.zeros((frames, height, -(-width // 8)), np.uint8)
    packed[:, : height // 2] = 255
    for number in order["objects"].values():
        leave(packed, shown_folder(run, number) / PREVIEW)
    print(
        json.dumps({"kind": "progress", "phase": "learning", "epoch": 5, "epochs": 10, "seconds_left": None}),
        flush=True,
    )
    print(json.dumps({"kind": "preview"}), flush=True)
    while not (run / "finish").exists():
        time.sleep(0.02)
    for number in order["objects"].values():
        leave(packed, shown_folder(run, number) / MASKS)
    print(json.dumps({"kind": "ended", "state": "finished", "error": ""}), flush=True)


def leave(packed: np.ndarray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, packed)


if __name__ == "__main__":
    main()
