"""A PACS for tests: one of our own in this process, which can be told to misbehave, and a real Orthanc."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pydicom
import pytest

from fewpoint.io.pacs.addresses import ServiceAddress
from fewpoint.io.pacs.credentials import Credentials
from fewpoint.io.pacs.service import Pacs

ROOT = "/dicom-web"
BOUNDARY = "between-the-images"
PATIENCE_S = 120.0
ORTHANC_PLUGINS = Path("/usr/share/orthanc/plugins")
USER, PASSWORD = "reader", "a-secret-of-the-test"

needs_orthanc = pytest.mark.skipif(
    shutil.which("Orthanc") is None or not (ORTHANC_PLUGINS / "libOrthancDicomWeb.so").exists(),
    reason="needs a real PACS; apt-get install orthanc orthanc-dicomweb",
)


@dataclass(frozen=True)
class Stored:
    """A DICOM object as a PACS keeps it."""

    data: bytes
    header: pydicom.Dataset

    @classmethod
    def of(cls, data: bytes) -> "Stored":
        return cls(data, pydicom.dcmread(BytesIO(data), stop_before_pixels=True))


@dataclass
class FakePacs:
    """What a server of our own holds and heard. answer: misbehaves, if it is set; returns whether it has answered.

    token: what requests must bear; "" lets everybody in.
    """

    objects: dict[str, Stored] = field(default_factory=dict)
    heard: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    answer: "Callable[[BaseHTTPRequestHandler], bool] | None" = None
    token: str = ""
    port: int = 0

    @property
    def address(self) -> str:
        return f"dicomweb://localhost:{self.port}{ROOT}"

    @property
    def pacs(self) -> Pacs:
        credentials = Credentials(f"Bearer {self.token}" if self.token else None)
        return Pacs(ServiceAddress(False, "localhost", self.port, ROOT), credentials)

    def keep(self, folder: Path) -> None:
        """Hold every file of a folder."""
        for path in sorted(folder.iterdir()):
            self.take(path.read_bytes())

    def take(self, data: bytes) -> Stored:
        stored = Stored.of(data)
        return self.objects.setdefault(str(stored.header.SOPInstanceUID), stored)

    def asked(self, method: str) -> list[str]:
        return [path for each, path, _ in self.heard if each == method]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: FakePacs

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self._refuse():
            return
        parts = urlsplit(self.path)
        names = parts.path.removeprefix(ROOT).strip("/").split("/")
        wanted = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = [each for each in self.held.objects.values() if _fits(each.header, names, wanted)]
        if names[-1] in ("studies", "series", "instances"):
            self.reply(200, "application/dicom+json", json.dumps(_list(found, names[-1])).encode())
        elif not found:
            self.reply(404, "text/plain", b"unknown")
        else:
            self.reply(200, _related(), _join([each.data for each in found]))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._refuse():
            return
        said = message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        taken = [self.held.take(part.get_payload(decode=True)) for part in said.get_payload()]
        stored = [{"00081155": {"vr": "UI", "Value": [str(each.header.SOPInstanceUID)]}} for each in taken]
        table = {"00081199": {"vr": "SQ", "Value": stored}}
        self.reply(200, "application/dicom+json", json.dumps(table).encode())

    def _refuse(self) -> bool:
        self.held.heard.append((self.command, self.path, dict(self.headers)))
        if self.held.answer is not None:
            return self.held.answer(self)
        if self.held.token and self.headers["Authorization"] != f"Bearer {self.held.token}":
            self.reply(401, "text/plain", b"who are you?")
            return True
        return False

    def reply(self, status: int, media_type: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": media_type, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _related() -> str:
    return f'multipart/related; type="application/dicom"; boundary={BOUNDARY}'


def _join(parts: list[bytes]) -> bytes:
    head = f"\r\n--{BOUNDARY}\r\nContent-Type: application/dicom\r\n\r\n".encode()
    return b"".join(head + part for part in parts) + f"\r\n--{BOUNDARY}--\r\n".encode()


def _fits(header: pydicom.Dataset, names: list[str], wanted: dict[str, str]) -> bool:
    given = dict(zip(names[::2], names[1::2], strict=False))
    keys = {"studies": "StudyInstanceUID", "series": "SeriesInstanceUID"}
    named = {keys[level]: uid for level, uid in given.items() if level in keys}
    named |= {name: value for name, value in wanted.items() if name in ("PatientID", "SOPInstanceUID")}
    return all(str(header.get(name)) == value for name, value in named.items())


def _list(found: list[Stored], level: str) -> list[dict]:
    """Studies, series or instances in DICOM's JSON, one entry each."""
    key = {"studies": "StudyInstanceUID", "series": "SeriesInstanceUID", "instances": "SOPInstanceUID"}[level]
    groups: dict[str, list[pydicom.Dataset]] = {}
    for each in found:
        groups.setdefault(str(each.header[key].value), []).append(each.header)
    names = ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID", "PatientID", "StudyDate", "Modality")
    names += ("SeriesDescription", "SeriesNumber")
    tables = []
    for headers in groups.values():
        chosen = pydicom.Dataset()
        chosen.update({name: headers[0].get(name) for name in names if headers[0].get(name) is not None})
        if level == "series":
            chosen.NumberOfSeriesRelatedInstances = len(headers)
        tables.append(chosen.to_json_dict())
    return tables


@contextmanager
def fake_pacs() -> Iterator[FakePacs]:
    """A server of our own on a free port of this machine."""
    held = FakePacs()
    handler = type("Handler", (_Handler,), {"held": held})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    held.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def orthanc(folder: Path) -> Iterator[str]:
    """A real Orthanc with a password, its files in a folder; its DICOMweb address."""
    folder.mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "Name": "fewpoint",
        "StorageDirectory": str(folder / "storage"),
        "IndexDirectory": str(folder / "storage"),
        "HttpPort": port,
        "RemoteAccessAllowed": False,
        "DicomServerEnabled": False,
        "AuthenticationEnabled": True,
        "RegisteredUsers": {USER: PASSWORD},
        "Plugins": [str(ORTHANC_PLUGINS)],
        "DicomWeb": {"Enable": True, "Root": f"{ROOT}/"},
    }
    (folder / "orthanc.json").write_text(json.dumps(settings))
    program = shutil.which("Orthanc")
    assert program is not None
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([program, str(folder / "orthanc.json")], stdout=log, stderr=log)
    try:
        _wait_for(port, process, folder / "log")
        yield f"dicomweb://localhost:{port}{ROOT}"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _wait_for(port: int, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"Orthanc did not start: {log.read_text(errors='replace')[-500:]}")


def credentials_of_orthanc() -> dict[str, str]:
    """The environment of a command that talks to it."""
    return {**os.environ, "FEWPOINT_DICOMWEB_USER": USER, "FEWPOINT_DICOMWEB_PASSWORD": PASSWORD}
