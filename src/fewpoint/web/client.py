"""The annotator from a script, as from 3D Slicer: needs nothing but Python and numpy on the script's side.

server = Client("http://127.0.0.1:8760")
project = server.open_input("frames")
project.add_point("object", frame=0, y=31, x=40)
run = project.run()
project.wait(run)
masks = project.masks(run, "object")
"""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import numpy as np

from fewpoint.core.run_lengths import decode_mask, encode_mask
from fewpoint.errors import FewpointError
from fewpoint.web.keys import find_key

OVER = ("finished", "failed", "cancelled", "interrupted")


class ServerError(FewpointError):
    """The server refused; status: the HTTP status, 0 if it cannot be reached."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A server that somebody has started with `fewpoint annotate`.

    token: as it was printed; that of a server of this user on this machine is found without.
    """

    def __init__(self, address: str = "http://127.0.0.1:8760", token: str | None = None, timeout_s: float = 60) -> None:
        self._address, self._timeout_s = address.rstrip("/"), timeout_s
        token = token or find_key(address)
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def health(self) -> dict[str, Any]:
        return self.get("/health")

    def files(self, path: str = "") -> list[dict[str, Any]]:
        """What a folder below the server's root holds."""
        return self.get("/files", path=path)["entries"]

    def formats(self) -> list[dict[str, Any]]:
        return self.get("/formats")

    def projects(self) -> list[dict[str, Any]]:
        return self.get("/projects")

    def open_input(self, path: str) -> "RemoteProject":
        """The project of an input, named by its path below the server's root; begun if there is none."""
        return RemoteProject(self, self.post("/projects", {"input": path})["id"])

    def open_project(self, path: str) -> "RemoteProject":
        return RemoteProject(self, self.post("/projects", {"project": path})["id"])

    def get(self, path: str, /, **query: Any) -> Any:
        return json.loads(self.fetch(path, **query))

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body or {}).encode()
        return json.loads(self._ask(Request(self._url(path), data, {"Content-Type": "application/json"})))

    def fetch(self, path: str, /, **query: Any) -> bytes:
        """The bytes of an answer, as of a picture or a download."""
        return self._ask(Request(self._url(path) + ("?" + urlencode(query) if query else "")))

    def _url(self, path: str) -> str:
        return f"{self._address}/api{path}"

    def _ask(self, request: Request) -> bytes:
        for name, value in self._headers.items():
            request.add_header(name, value)
        try:
            with urlopen(request, timeout=self._timeout_s) as answer:
                return answer.read()
        except HTTPError as error:
            raise ServerError(_read_detail(error), error.code) from None
        except URLError as error:
            raise ServerError(f"no fewpoint at {self._address}: {error.reason}; start fewpoint annotate") from None


class RemoteProject:
    """One project on a server."""

    def __init__(self, client: Client, number: str) -> None:
        self.client, self.id = client, number
        self._path = f"/projects/{number}"

    def state(self) -> dict[str, Any]:
        """All that the page shows: objects with their points, settings, runs; see docs/reference/http.md."""
        return self.client.get(self._path)

    def do(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Change the project by an action; returns its new state."""
        return self.client.post(f"{self._path}/actions", {"action": {"kind": kind, **fields}})["project"]

    def add_point(self, name: str, *, frame: int, y: int, x: int, positive: bool = True) -> dict[str, Any]:
        return self.do("add_point", object=name, frame=frame, y=y, x=x, positive=positive)

    def mark_absent(self, name: str, frame: int) -> dict[str, Any]:
        return self.do("mark_absent", object=name, frame=frame, absent=True)

    def set_box(self, name: str, *, frame: int, box: tuple[int, int, int, int]) -> dict[str, Any]:
        """box: top, left, bottom, right; the last two exclusive."""
        top, left, bottom, right = box
        return self.do("set_box", object=name, frame=frame, top=top, left=left, bottom=bottom, right=right)

    def set_size(self, name: str, size: float, frame: int | None = None) -> dict[str, Any]:
        """Ask for masks so many times larger than what is found, on a frame or on all."""
        return self.do("set_size", object=name, size=size, frame=frame)

    def brush(self, name: str, frame: int, mask: np.ndarray) -> dict[str, Any]:
        """Draw the whole (H, W) mask of a frame, which is kept as it is."""
        return self.do("brush", object=name, frame=frame, runs=encode_mask(mask))

    def undo(self) -> dict[str, Any]:
        return self.do("undo")

    def run(self, refine: bool = False) -> int:
        """Begin a run; returns its number."""
        return self.client.post(f"{self._path}/runs", {"refine": refine})["id"]

    def run_state(self, run: int) -> dict[str, Any]:
        return self.client.get(f"{self._path}/runs/{run}")

    def cancel(self, run: int) -> dict[str, Any]:
        return self.client.post(f"{self._path}/runs/{run}/cancel")

    def resume(self, run: int) -> dict[str, Any]:
        return self.client.post(f"{self._path}/runs/{run}/resume")

    def wait(self, run: int, listener: Callable[[dict[str, Any]], None] = lambda state: None) -> dict[str, Any]:
        """Wait until a run is over, reporting to the listener how it stands; ServerError if it failed."""
        while True:
            state = self.run_state(run)
            listener(state)
            if state["state"] == "failed":
                raise ServerError(state["error"])
            if state["state"] in OVER:
                return state
            time.sleep(0.3)

    def mask(self, run: int, name: str, frame: int) -> np.ndarray:
        """(H, W) bool of an object on a frame."""
        found = self.client.get(f"{self._path}/runs/{run}/masks/{frame}", object=name)
        return decode_mask(tuple(map(tuple, found["runs"])), tuple(found["size"]))

    def masks(self, run: int, name: str) -> np.ndarray:
        """(T, H, W) bool of an object."""
        return np.stack([self.mask(run, name, frame) for frame in range(self.state()["frames"])])

    def uncertainty(self, run: int) -> dict[str, Any]:
        return self.client.get(f"{self._path}/runs/{run}/uncertainty")

    def export(self, run: int, format_name: str) -> bytes:
        """The masks in a format of `Client.formats`; a zip if that is more than one file."""
        made = self.client.post(f"{self._path}/runs/{run}/exports", {"format": format_name})
        return self.client.fetch(f"{self._path}/exports/{quote(made['name'])}")

    def download(self) -> bytes:
        """The project file, which `fewpoint segment` reads."""
        return self.client.fetch(f"{self._path}/file")


def _read_detail(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {error.code}"
