"""The night before: when everything was last tried, and how its counts are made."""

import subprocess

import pytest

import nightly
from nightly import Counts, read_counts, read_record

OLDEST = 60  # commits

REPORT = """<testsuites>
<testsuite tests="7" failures="1" errors="1" skipped="2"/><testsuite tests="1" failures="0" errors="0" skipped="0"/>
</testsuites>"""


def test_everything_was_tried_within_the_last_sixty_commits():
    """Without history, as in a source archive, nobody can say how old the record is."""
    record = read_record()
    assert record, "run `make nightly` and commit benchmarks/results/nightly.csv"
    if not (nightly.ROOT / ".git").exists():
        return
    command = ["git", "rev-list", "--count", f"{record[-1]['commit']}..HEAD"]
    since = subprocess.run(command, cwd=nightly.ROOT, capture_output=True, text=True, check=False)
    assert since.returncode == 0, since.stderr
    assert int(since.stdout) <= OLDEST, f"{since.stdout.strip()} commits since the last `make nightly`"


def test_errors_count_as_failures_and_what_was_neither_has_passed(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf-8")
    assert read_counts(tmp_path / "report.xml") == Counts(passed=4, failed=2, skipped=2)


def test_a_part_counts_as_one(tmp_path, capsys):
    assert nightly.run_other("a part", ["true"], tmp_path, {}) == Counts(passed=1)
    assert nightly.run_other("a part", ["false"], tmp_path, {}) == Counts(failed=1)


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.setattr(nightly, "RECORD", tmp_path / "nightly.csv")


def test_lines_are_added_to_the_record(record):
    lines = [dict(zip(nightly.COLUMNS, f"day{number} abc 5 0 1 30.5".split(), strict=True)) for number in range(2)]
    assert read_record() == []
    for line in lines:
        nightly.add_to_record(line)
    assert read_record() == lines
