"""What holds for all tests: one thread a process, which of them are short, and which may not be skipped in CI.

Networks this small gain nothing from a second thread, and threads that wait for each other on a busy machine make
them many times slower.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import hypothesis
import pytest

from nightly import read_record

HERE = Path(__file__).parent

# Folders and modules that `make nightly` alone runs, as it does single tests that are marked; all else is short.
NIGHTLY = (
    "batch/test_cluster.py",
    "bench/test_callouts.py",
    "bench/test_health_ranking.py",
    "bench/test_survey.py",
    "cli/test_pacs.py",
    "contracts/test_witness_doors.py",
    "end_to_end/test_real.py",
    "engines/test_cluster.py",
    "faults",
    "io/pacs/test_fetching.py",
    "io/pacs/test_orthanc.py",
    "io/test_fuzz.py",
    "io/test_seg_readers.py",
    "pipeline/test_witnessing.py",
    "test_ci.py",
    "test_distribution.py",
    "test_how_to.py",
    "test_licences.py",
    "test_notebook.py",
    "test_site.py",
    "web/browser/test_history.py",
    "web/browser/test_live.py",
    "web/browser/test_objects.py",
    "web/browser/test_orientation.py",
    "web/browser/test_pacs.py",
    "web/browser/test_page.py",
    "web/browser/test_scrubbing.py",
    "web/browser/test_telling.py",
    "web/browser/test_tools.py",
    "web/browser/test_types.py",
    "web/browser/test_worklist.py",
    "web/remote/test_real_client.py",
    "web/test_example.py",
    "web/test_pacs.py",
    "web/test_schema.py",
    "witness",
)
SHORT = "not nightly"  # what `pytest` runs unless it is told otherwise; -m "" runs everything
# Those that take longest, the longest first; what is begun last should be short, or one process works alone.
LONGEST = (
    "web/browser/test_story.py",
    "test_types.py",
    "runs/test_resume.py",
    "web/browser",
    "bench",
    "cli",
    "batch",
    "runs",
    "web",
    "pipeline",
)
# Skipped unnoticed, these would leave the page and the types unchecked.
NEVER_SKIPPED_IN_CI = ("web/browser", "test_types.py", "shadow")


# An example takes what it takes: on a busy machine the usual fifth of a second says nothing of the program.
hypothesis.settings.register_profile("patient", parent=hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("patient")


def is_among(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HERE / place) for place in places)


def pytest_configure(config: pytest.Config) -> None:
    """Let processes take files in the order below; in xdist's own, files of few tests come last, often long ones."""
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_among(item.path, NIGHTLY):
            item.add_marker(pytest.mark.nightly)
    ranks = {path: rank(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: ranks[item.path])


def rank(path: Path) -> int:
    """When the tests of a file are begun: the longest first."""
    return next((number for number, place in enumerate(LONGEST) if is_among(path, (place,))), len(LONGEST))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave nightly files alone in the short suite: it has not installed what they import."""
    return True if config.option.markexpr == SHORT and is_among(collection_path, NIGHTLY) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say when everything was last tried."""
    record = read_record()
    if config.option.markexpr == SHORT and record:
        terminalreporter.write_line(
            "the last nightly: " + ", ".join(f"{key} {value}" for key, value in record[-1].items())
        )


@pytest.fixture
def trusting(monkeypatch):
    """Files are decoded in the process of the test, where it can look on and meddle."""
    monkeypatch.setenv("FEWPOINT_TRUST", "1")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    return refuse_skip(item.path, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    return refuse_skip(collector.path, (yield))


def refuse_skip(path: Path, report):
    """The report of a test or module, as a failure if it was skipped although CI must run it."""
    wanted = os.environ.get("CI") == "true" and is_among(path, NEVER_SKIPPED_IN_CI)
    if wanted and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"must not be skipped in CI: {str(report.longrepr[2]).removeprefix('Skipped: ')}"
    return report
