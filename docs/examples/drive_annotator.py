"""Segment an object through a running annotator: python drive_annotator.py ADDRESS INPUT FRAME,Y,X …

INPUT is a path below the root of the server, as `frames` for one that was started with `fewpoint annotate frames`. The
variable FEWPOINT_TOKEN holds the token that the server printed. It needs nothing but Python.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

address, name, *clicks = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {os.environ.get('FEWPOINT_TOKEN', '')}", "Content-Type": "application/json"}


def fetch(path: str, body: dict[str, Any] | None = None) -> bytes:
    """What the server answers; with a body the request is a POST."""
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{address.rstrip('/')}/api{path}", data, HEADERS), timeout=60) as answer:
        return answer.read()


def ask(path: str, body: dict[str, Any] | None = None) -> Any:
    return json.loads(fetch(path, body))


project = f"/projects/{ask('/projects', {'input': name})['id']}"
for click in clicks:
    frame, y, x = map(int, click.split(","))
    ask(f"{project}/actions", {"action": {"kind": "add_point", "object": "object", "frame": frame, "y": y, "x": x}})
run = ask(f"{project}/runs", {})
while run["state"] in ("waiting", "running"):
    time.sleep(0.5)
    run = ask(f"{project}/runs/{run['id']}")
    print(run["state"], run["phase"], f"{run['epoch']} of {run['epochs']}")
if run["state"] != "finished":
    sys.exit(f"the run is {run['state']}: {run['error']}")
result = f"{project}/runs/{run['id']}"
print(f"to review first: frame {ask(f'{result}/uncertainty')['next']}")
export = ask(f"{result}/exports", {"format": "png"})
Path("masks.zip").write_bytes(fetch(f"{project}/exports/{export['name']}"))
