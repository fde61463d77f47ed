"""How long others wait while a large mask is sent: python benchmarks/large_bodies.py

Serves a folder with one large frame, sends a mask of very many stretches, fetches it again, and asks for something
small over and over meanwhile. Prints the longest answer to that, alone and during either, in milliseconds.
"""

import json
import os
import platform
import tempfile
import threading
import time
from datetime import date
from pathlib import Path
from statistics import median
from urllib.request import Request, urlopen

import numpy as np

from fewpoint.web.client import Client
from fewpoint.web.own_server import serve

SIDE = 2048
STRETCHES = 1_000_000
PAUSE_S = 0.01


def ask(server: Client) -> float:
    began = time.perf_counter()
    server.get("/formats")
    return 1000 * (time.perf_counter() - began)


def measure(server: Client, large: Request) -> tuple[list[float], float]:
    """Milliseconds of small answers during a large one, and the seconds that it takes."""
    taken = []

    def send() -> None:
        began = time.perf_counter()
        urlopen(large).read()
        taken.append(time.perf_counter() - began)

    sending = threading.Thread(target=send)
    sending.start()
    during = []
    while sending.is_alive():
        during.append(ask(server))
        time.sleep(PAUSE_S)
    return during, taken[0]


def make_brush(place: str) -> Request:
    runs = [[2 * number, 1] for number in range(STRETCHES)]
    action = {"action": {"kind": "brush", "object": "object", "frame": 0, "runs": runs}}
    body = json.dumps(action, separators=(",", ":")).encode()
    return Request(f"{place}/actions", body, {"Content-Type": "application/json"})


def main() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}, load {os.getloadavg()[0]:.1f}")
    print("| | seconds | small answer, median | longest |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "large.npy", np.zeros((2, SIDE, SIDE), np.uint8))
        with serve(Path(folder), "--no-live") as (address, _):
            server = Client(address)
            place = f"{address}api/projects/{server.open_input('large.npy').id}"
            alone = [ask(server) for _ in range(50)]
            print(f"| alone | | {median(alone):.0f} ms | {max(alone):.0f} ms |")
            brush = make_brush(place)
            for name, large in (("sent", brush), ("fetched", Request(f"{place}/masks/0?object=object"))):
                during, seconds = measure(server, large)
                print(f"| {name} | {seconds:.1f} | {median(during):.0f} ms | {max(during):.0f} ms |")


if __name__ == "__main__":
    main()
