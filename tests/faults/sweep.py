"""Fail every write of a run, a refinement, a batch and a live session, one at a time; started by faults.py.

Each scenario is tried in forks of this process, which has loaded all that they need. A try whose n-th write fails, and
one on a disk that is full from then on, must end with one line and a non-zero exit or with the right result, and leave
nothing half-written by a final name and all that had been finished; the same call again must give what an undisturbed
one gives, to the bit. Prints a line for whatever does not hold, and the counts; the exit code is then 1.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from commands import snapshot
from scenarios import BATCH, REFINEMENT, RUN, Scenario, Snapshot, find_broken
from sessions import SESSION
from shim import BROKEN, FULL, Call, Fault, Shim
from tiny_runs import import_once

Choice = Callable[[tuple[Call, ...]], Sequence[int]]
LONGEST_S = 120.0  # of one try, on a busy machine
MEMORY = Path("/dev/shm")  # where waiting for the disk takes no time
# Of an item that is over, of a run that had not done anything, of a process that answers at once.
WORTHLESS = {"progress", "manifest.json", "live"}
REPORTED = 12  # of one scenario, then it ends


@dataclass(frozen=True)
class Try:
    """How a process ended."""

    code: int
    err: str


def attempt(act: Callable[[Path], int], folder: Path) -> Try:
    """Act in a fork of this process."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            code = 97
            try:
                code = act(folder)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = wait_for(child)
        said.seek(0)
        return Try(code, said.read().decode("utf-8", "replace"))


def wait_for(child: int) -> int:
    """The exit status of a process; negative for a signal, which it gets if it does not end."""
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sweep(scenario: Scenario, folder: Path, shim: Shim, choose: Choice) -> tuple[int, list[str]]:
    """How many faults were tried, and what did not hold."""
    folder.mkdir()
    attempt(lambda place: scenario.prepare(place) or 0, folder)
    pristine = folder.with_name(f"{folder.name}-before")
    shutil.copytree(folder, pristine)
    root = folder / scenario.root
    protected = {name: snapshot(folder / name) for name in scenario.protected}
    shim.count_below(root)
    undisturbed = attempt(scenario.act, folder)
    calls = shim.stop()
    expected = scenario.read(root)
    if undisturbed.code != 0 or not expected:
        return 0, [f"{scenario.name} fails undisturbed: {undisturbed}"]
    tried, failures = 0, []
    for number in choose(calls):
        for fault in (FULL, BROKEN):
            tried += 1
            shutil.rmtree(folder)
            shutil.copytree(pristine, folder)
            failures += [
                f"{scenario.name}, {fault.name} at {number}: {each}"
                for each in try_fault(scenario, folder, shim, number, fault, expected)
            ]
            failures += [
                f"{scenario.name}: {name} changed" for name, was in protected.items() if snapshot(folder / name) != was
            ]
            if len(failures) > REPORTED:
                return tried, failures
    return tried, failures


def try_fault(scenario: Scenario, folder: Path, shim: Shim, number: int, fault: Fault, expected: Snapshot) -> list[str]:
    """What does not hold of one fault."""
    root = folder / scenario.root
    shim.fail(root, number, fault)
    first = attempt(scenario.act, folder)
    calls = shim.stop()
    hit = next((f"{call.kind} {call.path.name}" for call in calls if call.number == number), "no call")
    wrong = [*judge(first), *(f"broken {each}" for each in find_broken(root))]
    found = scenario.read(root)
    if first.code == 0 and found != expected:
        wrong.append(f"exit 0, but {name_differences(found, expected)}")
    if differing := {name for name in found if found[name] != expected.get(name)}:
        wrong.append(f"taken for finished: {sorted(differing)}")
    if first.code != 0:
        wrong += [f"lost {path.relative_to(root)}" for path in list_finished(calls, number) if not path.exists()]
    second = attempt(scenario.act, folder)
    if second.code != 0:
        wrong.append(f"again: exit {second.code}: {second.err}")
    elif (found := scenario.read(root)) != expected:
        wrong.append(f"again: {name_differences(found, expected)}")
    wrong += [f"left behind: {path.relative_to(root)}" for path in root.rglob("*.partial")]
    return [f"{hit}: {each}" for each in wrong]


def judge(ended: Try) -> list[str]:
    if ended.code < 0 or ended.code == 97:
        return [f"ended by {ended.code}: {ended.err[-800:]}"]
    lines = ended.err.splitlines()
    if "Traceback" in ended.err or (ended.code and len(lines) != 1):
        return [f"exit {ended.code} and {len(lines)} lines: {ended.err[-800:]}"]
    return []


def name_differences(found: Snapshot, expected: Snapshot) -> str:
    names = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    return f"differs in {', '.join(names)}"


def list_finished(calls: tuple[Call, ...], number: int) -> set[Path]:
    """What had got its final name before a call, had not been removed again, and is worth something by itself."""
    there: set[Path] = set()
    for call in calls:
        if call.number >= number:
            break
        if call.kind == "rename" and ".partial" not in str(call.path) and not WORTHLESS & set(call.path.parts):
            there.add(call.path)
        elif call.kind == "unlink":
            there.discard(call.path)
    return there


def choose_unlike(calls: tuple[Call, ...]) -> list[int]:
    """All calls but, of consecutive writes into one file, the first, one in the middle and the last."""
    chosen = []
    for (kind, _), group in groupby(calls, key=lambda call: (call.kind, call.path)):
        numbers = [call.number for call in group]
        chosen += numbers if kind != "write" else sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]})
    return chosen


SCENARIOS = {each.name: each for each in (RUN, REFINEMENT, BATCH, SESSION)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--all", action="store_true", help="also every one of consecutive writes into one file")
    parser.add_argument("--most", type=int, default=10**9, metavar="N", help="only so many of them, spread evenly")
    given = parser.parse_args()

    def choose(calls: tuple[Call, ...]) -> Sequence[int]:
        numbers = [call.number for call in calls] if given.all else choose_unlike(calls)
        step = -(-len(numbers) // given.most)
        return numbers[step // 2 :: step]

    prepare()
    shim, failed = Shim(), False
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for name in given.scenarios:
            began = time.monotonic()
            tried, failures = sweep(SCENARIOS[name], Path(folder) / name, shim, choose)
            for each in failures:
                print(each)
            print(f"{name} tried {tried} failed {len(failures)} seconds {time.monotonic() - began:.0f}", flush=True)
            failed = failed or bool(failures)
    sys.exit(1 if failed else 0)


def prepare() -> None:
    """Load what all tries need, and leave out what makes them long."""
    from fewpoint.learning import checkpoints
    from fewpoint.runs import runner

    import_once()
    os.environ["FEWPOINT_TRUST"] = "1"  # nothing is read here that is not our own
    checkpoints.LEAST_SECONDS = 0
    runner.write_report = lambda *given: None


if __name__ == "__main__":
    main()
