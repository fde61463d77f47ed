"""One job in its own process: `python -m fewpoint.engines.worker`, the job as a line of JSON on standard input."""

import json
import os
import sys
import threading
import traceback
from importlib import import_module
from typing import Any

from fewpoint.core.workers import python_module
from fewpoint.errors import InputError, SettingsError

COMMAND = python_module("fewpoint.engines.worker")
REFUSED = 3  # the exit code that says that another attempt cannot help


def write_line(work: str, order: dict[str, Any]) -> bytes:
    """What a worker reads."""
    return json.dumps({"work": work, "order": order}).encode() + b"\n"


def main() -> None:
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        find_work(job["work"])(job["order"])
    except (InputError, SettingsError):
        traceback.print_exc()
        sys.exit(REFUSED)


def find_work(name: str) -> Any:
    """The function that "module:function" names.

    >>> find_work("os.path:basename")("a/b")
    'b'
    """
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def _leave_with_parent() -> None:
    """End this process when standard input closes: whoever gave the order is gone."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
