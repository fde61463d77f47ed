"""What holds for all tests: one thread a process, which of them are slow, and which may not be skipped in CI.

Networks this small gain nothing from a second thread, and threads that wait for each other on a busy machine make
them many times slower.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import pytest

HERE = Path(__file__).parent

# Folders and modules that train networks, start processes or draw reports; all others take less than a minute together.
SLOW = (
    "api",
    "methods",
    "batch",
    "bench",
    "cli",
    "contracts",
    "end_to_end",
    "engines",
    "faults",
    "golden",
    "integrations",
    "napari",
    "pipeline",
    "runs",
    "web",
    "io/test_fuzz.py",
    "learning/test_adam.py",
    "learning/test_phases.py",
    "report/test_figures.py",
    "report/test_html.py",
    "test_ci.py",
    "test_how_to.py",
    "test_notebook.py",
    "test_site.py",
    "test_types.py",
)
# Those of them that take longest, the longest first; what is begun last should be short, or one process works alone.
LONGEST = (
    "bench/test_run.py",
    "runs/test_refine_objects.py",
    "cli/test_batch.py",
    "bench/test_effort.py",
    "cli/test_commands.py",
    "test_types.py",
    "batch/test_cluster.py",
    "runs/test_refine.py",
    "end_to_end",
    "golden",
    "test_how_to.py",
    "pipeline",
    "cli",
    "batch",
    "bench",
    "runs",
)
# Skipped unnoticed, these would leave the page, the plugin for napari and the types unchecked.
NEVER_SKIPPED_IN_CI = ("web/browser", "napari/test_board.py", "napari/test_widget.py", "test_types.py")


def is_among(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(HERE / place) for place in places)


def pytest_configure(config: pytest.Config) -> None:
    """Let processes take files in the order below; in xdist's own, files of few tests come last, often long ones."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_among(item.path, SLOW):
            item.add_marker(pytest.mark.slow)
    ranks = {path: rank(path) for path in {item.path for item in items}}
    items.sort(key=lambda item: ranks[item.path])


def rank(path: Path) -> int:
    """When the tests of a file are begun: the longest, others that are slow, those in a browser, and the fast ones."""
    if not is_among(path, SLOW):
        return len(LONGEST) + 2
    if is_among(path, ("web/browser",)):
        return len(LONGEST) + 1
    return next((number for number, place in enumerate(LONGEST) if is_among(path, (place,))), len(LONGEST))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With -m "not slow" leave slow files alone: importing them takes longer than running the others."""
    return True if config.option.markexpr == "not slow" and is_among(collection_path, SLOW) else None


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
