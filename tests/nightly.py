"""All that a change need not wait for: python tests/nightly.py, which is `make nightly`.

Tests the last commit in a clone of its own, so that work can go on next to it, and adds a line to
benchmarks/results/nightly.csv. A part that is no test of pytest counts as one that passed or failed. The exit code is 1
if anything failed.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "results" / "nightly.csv"
COLUMNS = ("date", "commit", "passed", "failed", "skipped", "minutes")
PROCESSES = 3  # on two cores, since some tests wait for processes of their own
# What else is tried, as a name and a command in the clone.
OTHERS = {
    "damaged files": (sys.executable, "tests/fuzz/fuzz.py", "--inputs", "2000"),
    "failing writes": (sys.executable, "tests/faults/faults.py", "--most", "12"),
    "lowest versions": ("make", "lowest"),
}


@dataclass(frozen=True)
class Counts:
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)


def read_counts(report: Path) -> Counts:
    """What a JUnit report of pytest says."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    ran, failures, errors, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return Counts(ran - failures - errors - skipped, failures + errors, skipped)


def run_tests(clone: Path, environment: dict[str, str]) -> Counts:
    """Every test of pytest, those of the short suite among them."""
    report = clone.parent / "report.xml"
    command = [sys.executable, "-m", "pytest", "-m", "", "-n", str(PROCESSES), "--dist", "loadfile"]
    code = subprocess.run([*command, f"--junitxml={report}"], cwd=clone, env=environment, check=False).returncode
    counts = read_counts(report) if report.exists() else Counts()
    return counts if counts.failed or code == 0 else counts + Counts(failed=1)  # pytest itself failed


def run_other(name: str, command: Sequence[str], clone: Path, environment: dict[str, str]) -> Counts:
    print(f"\n{name}: {' '.join(command[1:])}", flush=True)
    code = subprocess.run(command, cwd=clone, env=environment, check=False).returncode
    return Counts(passed=1) if code == 0 else Counts(failed=1)


def ask_git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def read_record() -> list[dict[str, str]]:
    """The lines of earlier nights, the newest last."""
    if not RECORD.exists():
        return []
    with open(RECORD, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def add_to_record(line: dict[str, object]) -> None:
    begins = not RECORD.exists()
    with open(RECORD, "a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerow(line)


def main() -> None:
    began, commit = time.monotonic(), ask_git("rev-parse", "--short", "HEAD")
    data = os.environ.get("FEWPOINT_DATA", str(ROOT.parent / "shared" / "data"))
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        ask_git("clone", "--quiet", str(ROOT), str(clone))
        environment = {**os.environ, "PYTHONPATH": str(clone / "src"), "FEWPOINT_DATA": data}
        counts = run_tests(clone, environment)
        for name, command in OTHERS.items():
            counts += run_other(name, command, clone, environment)
    minutes = round((time.monotonic() - began) / 60, 1)
    date = datetime.now(UTC).date().isoformat()
    line = {"date": date, "commit": commit, **vars(counts), "minutes": minutes}
    add_to_record(line)
    print("\nnightly:", ", ".join(f"{name} {value}" for name, value in line.items()))
    sys.exit(1 if counts.failed else 0)


if __name__ == "__main__":
    main()
