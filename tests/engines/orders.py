"""Work that does what its order says, for tests of engines."""

from pathlib import Path
from typing import Any

from fewpoint.engines.jobs import Job

WORK = "engines.orders:run_code"


def run_code(order: dict[str, Any]) -> None:
    """Run Python code."""
    exec(order["code"])


def make_job(code: str, name: str = "job") -> Job:
    return Job(name, "kind", WORK, {"code": code}, Path("unused"))
