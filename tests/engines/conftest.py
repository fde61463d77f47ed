"""Workers of these tests find the work of tests/engines/orders.py."""

import os
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH", "")]))
