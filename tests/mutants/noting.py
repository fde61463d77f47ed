"""A plugin of pytest that notes each test that begins and each that fails: pytest -p noting, into the file $NOTED.

A test that takes longer than SECONDS ends the process: nothing but its beginning is noted then, as the last line.
"""

import faulthandler
import os
from pathlib import Path

import pytest

SECONDS = 400


def note(what: str, test: str) -> None:
    with Path(os.environ["NOTED"]).open("a", encoding="utf-8") as stream:
        stream.write(f"{what} {test}\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    note("began", nodeid)
    faulthandler.dump_traceback_later(SECONDS, exit=True)


def pytest_runtest_logfinish(nodeid: str) -> None:
    faulthandler.cancel_dump_traceback_later()
    note("ended", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        note("failed", report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        note("failed", report.nodeid)
