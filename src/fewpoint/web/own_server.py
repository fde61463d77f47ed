"""A server of a script's own and a browser, for programs that look at the page."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fewpoint.errors import FewpointError

POLL_S = 0.05
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def serve(root: Path, *options: str) -> Iterator[tuple[str, int]]:
    """A server of one's own on a folder, as long as the block lasts; gives its address and the id of its process.

    options: of `fewpoint annotate`.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = ("--root", str(root), "--port", str(port), "--no-browser", "--no-token")
    command = [sys.executable, "-P", "-m", "fewpoint", "annotate", *place]
    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as server:
        try:
            while not _answers(port):
                if server.poll() is not None:
                    raise FewpointError(f"the server ended at once; try it: fewpoint annotate {' '.join(options)}")
                time.sleep(POLL_S)
            yield f"http://127.0.0.1:{port}/", server.pid
        finally:
            server.terminate()


def find_chromium() -> str:
    """The path of a Chromium; FewpointError if this machine has none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FewpointError("there is no Chromium on this machine; apt-get install chromium")
    return found


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
