"""make cells: the cells that the paper's tables are made of, in the background at the lowest priority.

python benchmarks/cells/start.py [--jobs N] [--stop]

The program is that of the commit in BASE, with an environment of its own in build/cells. run.py next to this file does
the work, as it is in that commit. Started again, it goes on; --stop ends it, and loses what came after the checkpoints.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TREE = FOLDER.parents[1]
BUILD, RESULTS = TREE / "build" / "cells", TREE / "benchmarks" / "results"
sys.path.insert(0, str(TREE / "tests"))

from shadow.trees import find_commit, make_base  # noqa: E402 - how make shadow makes an environment, too

# Between sessions the kernel may weigh whole sessions alone: then nice does nothing unless the session is nice as well.
LOWEST = '[ -w /proc/self/autogroup ] && echo 19 > /proc/self/autogroup; exec nice -n 19 "$@"'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="cells at once, of one thread each")
    parser.add_argument("--stop", action="store_true", help="end what an earlier call started")
    arguments = parser.parse_args()
    if arguments.stop:
        stop()
        return
    if running := find_running():
        sys.exit(f"cells are being run by process group {running}; --stop ends it")
    data = os.environ.get("FEWPOINT_DATA") or str(TREE.parent / "shared" / "data")
    if not Path(data).is_dir():
        sys.exit("set FEWPOINT_DATA to the folder of the development sequences")
    commit = find_commit(TREE, (FOLDER / "BASE").read_text(encoding="utf-8").strip())
    base = make_base(commit, BUILD)
    start([str(base.python), "-P", str(base.tree / "benchmarks/cells/run.py"), commit[:7]], data, arguments.jobs)


def start(command: list[str], data: str, jobs: int) -> None:
    """Start a process group that outlives this process, and say what it is called."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "FEWPOINT_"))}
    environment = {**inherited, "FEWPOINT_DATA": data, "OMP_NUM_THREADS": "1"}
    log = BUILD / "log.txt"
    with log.open("ab") as stream:
        group = subprocess.Popen(
            ["bash", "-c", LOWEST, "cells", *command, str(BUILD), str(RESULTS), str(jobs)],
            cwd=BUILD,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    (BUILD / "group").write_text(str(group.pid), encoding="utf-8")
    print(f"cells are being run by process group {group.pid}, see {log}")


def find_running() -> int:
    """The process group that an earlier call started, 0 if it has ended."""
    try:
        group = int((BUILD / "group").read_text(encoding="utf-8"))
        os.killpg(group, 0)
    except (OSError, ValueError):
        return 0
    return group


def stop() -> None:
    if running := find_running():
        os.killpg(running, signal.SIGTERM)
        os.killpg(running, signal.SIGCONT)  # also if somebody has halted it
    (BUILD / "group").unlink(missing_ok=True)
    print(f"process group {running} was ended" if running else "no cells were being run")


if __name__ == "__main__":
    main()
