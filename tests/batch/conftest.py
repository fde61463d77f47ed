"""Workers of these tests find the work of tests/batch/pretend.py."""

import os
from pathlib import Path

import pytest

from batch.studies import Study

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH", "")]))


@pytest.fixture
def study(tmp_path) -> Study:
    return Study.make(tmp_path, 3)
