"""What tests do with a server, as a page does it."""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from fewpoint.core.job import Changes, Job
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.jobs import read_changes
from fewpoint.web.places import Root
from fewpoint.web.server import Options
from fewpoint.web.serving import configure
from synthetic import save_phantom, save_settings
from tiny_runs import TINY

Result = TypeVar("Result")
ADDRESS = "http://127.0.0.1:8760"
QUICK_WORKER = (sys.executable, str(Path(__file__).with_name("quick_worker.py")))


def make_root(folder: Path) -> Path:
    """A root with frames, their points, and settings to train with in a second."""
    save_phantom(make_phantom(n_frames=6, size=(48, 40)), folder)
    save_settings(TINY, folder / "tiny.toml")
    return folder


def make_options(root: Path, changes: Changes = (), **others) -> Options:
    job = Job(device="cpu", changes=(*read_changes(root / "tiny.toml"), *changes))
    return Options(Root.of(root), job=job, store=root.parent / "kept", **others)


def run_apart(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns, run in a thread: in that of a test the browser's loop may be running already."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()


def open_frames(client) -> dict:
    answer = client.post("/api/projects", json={"input": "frames"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def do(client, project: str, kind: str, **fields) -> dict:
    answer = client.post(f"/api/projects/{project}/actions", json={"action": {"kind": kind, **fields}})
    assert answer.status_code == 200, answer.text
    return answer.json()["project"]


def click_everywhere(client, project: str, name: str = "object") -> None:
    """One click a frame, as the phantom has them, and a generous bound."""
    for frame, y, x in make_phantom(n_frames=6, size=(48, 40)).points.coordinates.tolist():
        do(client, project, "add_point", object=name, frame=frame, y=y, x=x)
    do(client, project, "set_fraction", fraction=0.3)


def watch(client, project: str, **headers):
    """A socket on which the server tells what happens to a project."""
    address = str(client.base_url).replace("http", "ws", 1)
    return client.websocket_connect(f"{address}/api/projects/{project}/events", headers=headers)


def start_run(client, project: str, **fields) -> int:
    answer = client.post(f"/api/projects/{project}/runs", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def is_over(run: dict) -> bool:
    return run["state"] not in ("waiting", "running")


def wait_for(client, project: str, run: int) -> dict:
    """The run once it is over."""
    for _ in range(3000):
        found = client.get(f"/api/projects/{project}/runs/{run}").json()
        if is_over(found):
            return found
        time.sleep(0.1)
    raise AssertionError(f"run {run} is still {found}")


@contextmanager
def serve_in_thread(app, port: int = 0) -> Iterator[str]:
    """Serve an application at a port, or a free one, as `fewpoint annotate` does; gives its address."""
    listener = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(configure(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
