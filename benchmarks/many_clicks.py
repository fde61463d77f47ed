"""What a project of many clicks takes: python benchmarks/many_clicks.py

Writes projects of so many clicks, reads each in a process of its own, takes the last click and the first one back, and
prints memory beyond that of a project without clicks, and seconds, as a table.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from fewpoint.core.actions import AddPoint, Undo, to_table
from fewpoint.io.projects import FORMAT, VERSION, read_project

CLICKS = (0, 2500, 5000, 10_000, 20_000)
SIDE = 512


def save_project(folder: Path, clicks: int) -> Path:
    """A project with one click after the other, the first one by somebody else."""
    header = {"format": FORMAT, "version": VERSION, "input": "a", "input_absolute": "/a", "shape": [64, SIDE, SIDE]}
    lines = [header]
    for number in range(clicks):
        place = divmod(number % SIDE**2, SIDE)
        action = AddPoint("object", number // SIDE**2, *place)
        lines.append({"at": "", "by": "a.x/t" if number else "b.y/t", "action": to_table(action)})
    path = folder / f"{clicks}.fewpoint"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def measure(path: Path) -> list[float]:
    """MiB at most; seconds to read it; to take back the last click; to take back the first one."""
    began = time.perf_counter()
    history = read_project(path).history
    seconds = [time.perf_counter() - began]
    for by in ("a.x/t", "b.y/t") if history.version else ():
        began = time.perf_counter()
        history.do(Undo(), by)
        seconds.append(time.perf_counter() - began)
    return [getrusage(RUSAGE_SELF).ru_maxrss / 1024, *seconds]


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(Path(sys.argv[1]))))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}\n")
    print("| clicks | memory | read | last click taken back | first click taken back |\n|---|---|---|---|---|")
    empty = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for clicks in CLICKS:
            command = [sys.executable, __file__, str(save_project(Path(folder), clicks))]
            mebibytes, *seconds = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            empty = empty or mebibytes
            if clicks:
                times = " | ".join(f"{each:.2f} s" for each in seconds)
                print(f"| {clicks} | {mebibytes - empty:.0f} MiB | {times} |", flush=True)


if __name__ == "__main__":
    main()
