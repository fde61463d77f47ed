"""How long others wait while a large mask is sent: python benchmarks/large_bodies.py

Serves a folder with one large frame, sends a mask of very many stretches, and asks for something small over and over
meanwhile. Prints the longest answer to that, alone and during the large one, in milliseconds.
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


def measure(address: str, project: str) -> tuple[list[float], list[float], float, int]:
    """Milliseconds of small answers alone and during the large one; seconds and bytes of the latter."""
    server = Client(address)
    alone = [ask(server) for _ in range(50)]
    runs = [[2 * number, 1] for number in range(STRETCHES)]
    action = {"action": {"kind": "brush", "object": "object", "frame": 0, "runs": runs}}
    body = json.dumps(action, separators=(",", ":")).encode()
    place = f"{address}api/projects/{project}/actions"
    request = Request(place, body, {"Content-Type": "application/json"})
    taken = []

    def send() -> None:
        began = time.perf_counter()
        urlopen(request).read()
        taken.append(time.perf_counter() - began)

    sending = threading.Thread(target=send)
    sending.start()
    during = []
    while sending.is_alive():
        during.append(ask(server))
        time.sleep(PAUSE_S)
    return alone, during, taken[0], len(body)


def main() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}")
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "large.npy", np.zeros((2, SIDE, SIDE), np.uint8))
        with serve(Path(folder), "--no-live") as (address, _):
            project = Client(address).open_input("large.npy").id
            alone, during, seconds, size = measure(address, project)
    print(f"{size / 2**20:.1f} MiB were taken in {seconds:.1f} s")
    print("| small answer | median | longest |\n|---|---|---|")
    for name, times in (("alone", alone), ("meanwhile", during)):
        print(f"| {name} | {median(times):.0f} ms | {max(times):.0f} ms |")
    print(f"longest meanwhile / longest alone: {max(during) / max(alone):.1f}")


if __name__ == "__main__":
    main()
