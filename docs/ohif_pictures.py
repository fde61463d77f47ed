"""Show in OHIF what fewpoint stores in a PACS, compare it voxel by voxel, and make the pictures of docs/how-to/pacs.md.

    npm pack @ohif/app@3.13.2 && tar xzf ohif-app-3.13.2.tgz
    PYTHONPATH=tests python docs/ohif_pictures.py package/dist

needs the extra `test`, a Chromium, and Orthanc with its DICOMweb plugin (apt-get install orthanc orthanc-dicomweb). A
made-up CT with straight slices and one with tilted ones go into a new Orthanc; `fewpoint segment` takes each from there
and stores its masks back; OHIF, served beside Orthanc under one address, opens the study. What OHIF holds in memory for
each image is compared with the masks of the run.
"""

import http.client
import json
import mimetypes
import os
import subprocess
import sys
import tempfile
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from screenshots import find_chromium, shoot

from dicom_series import COLUMN, ORIGIN, ROW, make_image
from fewpoint import load_result, make_phantom
from fewpoint.io.dicom import collect_series
from fewpoint.io.pacs.addresses import parse_service
from fewpoint.io.pacs.service import Pacs
from pacs_servers import PASSWORD, ROOT, USER, credentials_of_orthanc, orthanc

SCREEN = {"width": 1280, "height": 720}
PATIENCE_MS = 600_000
SLICES, SIDE, STEP_MM, SPACING_MM = 16, 96, 4.0, 1.5
# Enough for a phantom, and short on a machine without a GPU.
SHORTER = ("training.max_side=48", "warmup.epochs=10", "rounds.round_epochs=8")
STRAIGHT = np.array([0.0, 1, 0])
STUDY = "1.2.826.0.1.3680043.8.498.700"
PLANES = {"straight": STRAIGHT, "tilted": COLUMN}
GL = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")

SOURCE = {
    "friendlyName": "Orthanc",
    "name": "orthanc",
    "wadoUriRoot": ROOT,
    "qidoRoot": ROOT,
    "wadoRoot": ROOT,
    "qidoSupportsIncludeField": True,
    "imageRendering": "wadors",
    "thumbnailRendering": "wadors",
    "enableStudyLazyLoad": True,
    "supportsWildcard": True,
    "omitQuotationForMultipartRequest": True,
    "bulkDataURI": {"enabled": True, "relativeResolution": "studies"},
}
CONFIG = {
    "routerBasename": None,
    "extensions": [],
    "modes": [],
    "showStudyList": True,
    "maxNumberOfWebWorkers": 2,
    "showCPUFallbackMessage": False,
    "disableConfirmationPrompts": True,  # a SEG is shown without asking
    "investigationalUseDialog": {"option": "never"},
    "defaultDataSourceName": "orthanc",
    "dataSources": [
        {
            "namespace": "@ohif/extension-default.dataSourcesModule.dicomweb",
            "sourceName": "orthanc",
            "configuration": SOURCE,
        }
    ],
}
# Of every image that a segmentation in OHIF's memory lies on: its SOP Instance UID, and where labels are not zero.
VOXELS = """() => {
  const found = {};
  for (const { representationData } of cornerstoneTools.segmentation.state.getSegmentations()) {
    for (const id of representationData.Labelmap.imageIds) {
      const image = cornerstone.cache.getImage(id);
      const { sopInstanceUID } = cornerstone.metaData.get("sopCommonModule", image.referencedImageId);
      const values = image.voxelManager.getScalarData();
      found[sopInstanceUID] = [...values.keys()].filter((index) => values[index] !== 0);
    }
  }
  return found;
}"""
LABELS = """() => cornerstoneTools.segmentation.state.getSegmentations().flatMap((each) =>
  Object.values(each.segments).map((segment) => segment.label))"""
GO = """(index) => {
  const [viewport] = cornerstone.getRenderingEngines()[0].getViewports();
  cornerstone.utilities.jumpToSlice(viewport.element, { imageIndex: index });
}"""
SHOWN = """() => {
  const [viewport] = cornerstone.getRenderingEngines()[0].getViewports();
  return cornerstone.metaData.get("sopCommonModule", viewport.getCurrentImageId()).sopInstanceUID;
}"""


def main(dist: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        orthanc(Path(folder) / "orthanc") as address,
        serve_ohif(dist, address) as page_address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(GL))
        for number, (name, column) in enumerate(PLANES.items(), start=1):
            study, place = f"{STUDY}.{number}", Path(folder) / name
            series, out = fill_pacs(address, study, column, place), place / "run"
            segment(f"{address}/studies/{study}/series/{series}", place, out)
            look(browser, f"{page_address}/viewer?StudyInstanceUIDs={study}", name, place / "series", out)
        browser.close()


def fill_pacs(address: str, study: str, column: np.ndarray, folder: Path) -> str:
    """A made-up CT whose rows run along a direction, in the PACS; its points in a file. Returns the series."""
    os.environ.update(credentials_of_orthanc())
    phantom, series, normal = make_phantom(SLICES, (SIDE, SIDE), seed=6), f"{study}.1", np.cross(ROW, column)
    (folder / "series").mkdir(parents=True)
    for index, frame in enumerate(phantom.sequence.frames[..., 0]):
        image = make_image(400 + 2 * frame.astype(np.uint16), series, index)
        image.StudyInstanceUID, image.FrameOfReferenceUID = study, f"{study}.2"
        image.PatientName, image.PatientID, image.SeriesDescription = "Phantom", "phantom", "made-up CT"
        image.PixelSpacing, image.SliceThickness = [SPACING_MM, SPACING_MM], STEP_MM
        image.ImageOrientationPatient = [*ROW, *column]
        image.ImagePositionPatient = [round(float(value), 6) for value in ORIGIN + index * STEP_MM * normal]
        image.save_as(folder / "series" / f"{index:04d}.dcm", enforce_file_format=True)
        Pacs.at(address).store((folder / "series" / f"{index:04d}.dcm").read_bytes(), study)
    rows = [",".join(map(str, (*row, "liver"))) for row in phantom.points.coordinates.tolist()]
    (folder / "points.csv").write_text("\n".join(["frame,y,x,object", *rows]) + "\n")
    return series


def segment(series: str, folder: Path, out: Path) -> None:
    """As a user does it, by the command line."""
    changes = [part for change in SHORTER for part in ("--set", change)]
    given = ["--points", str(folder / "points.csv"), "--out", str(out), "--device", "cpu", "--preset", "fast", *changes]
    command = [sys.executable, "-m", "fewpoint", "segment", series, *given, "--store", "back"]
    environment = {**credentials_of_orthanc(), "FEWPOINT_CACHE": str(folder / "cache")}
    subprocess.run(command, env=environment, check=True)


def look(browser: Browser, address: str, name: str, series: Path, out: Path) -> None:
    """Open a study, compare what OHIF has of the masks, and take a picture of the slice with the largest."""
    page = browser.new_page(viewport=SCREEN)
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.get_by_text("Skip all").click()
    page.get_by_text("fewpoint masks").dblclick()
    page.wait_for_function("cornerstoneTools.segmentation.state.getSegmentations().length > 0")
    masks = load_result(out, frames=False).masks
    compare(page, masks, series)
    uids = [str(piece.header.SOPInstanceUID) for piece in collect_series(series).slices]
    largest = int(masks.sum((1, 2)).argmax())
    for index in range(len(uids)):  # OHIF may count slices from the other end
        page.evaluate(GO, index)
        page.wait_for_timeout(1000)
        if page.evaluate(SHOWN) == uids[largest]:
            break
    page.wait_for_timeout(3000)
    shoot(page, f"ohif-{name}")
    page.close()


def compare(page: Page, masks: np.ndarray, series: Path) -> None:
    """AssertionError unless OHIF has exactly the masks, each on its own image."""
    wanted = {
        str(piece.header.SOPInstanceUID): np.flatnonzero(mask).tolist()
        for piece, mask in zip(collect_series(series).slices, masks, strict=True)
    }
    found = page.evaluate(VOXELS)
    differing = [uid for uid, pixels in wanted.items() if found.get(uid, []) != pixels]
    assert not differing, f"{len(differing)} of {len(wanted)} slices differ in OHIF"
    assert not found.keys() - wanted.keys(), "OHIF shows masks on other images"
    assert page.evaluate(LABELS) == ["liver"], page.evaluate(LABELS)
    print(f"OHIF has all {int(masks.sum())} voxels on their {len(wanted)} images, and no others")


@contextmanager
def serve_ohif(dist: Path, pacs: str) -> Iterator[str]:
    """OHIF and the PACS under one address of this machine; the password stays here."""
    service = parse_service(pacs)
    secret = "Basic " + b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            name = self.path.split("?")[0].lstrip("/")
            if self.path.startswith(f"{ROOT}/"):
                self.hand_on()
            elif name == "app-config.js":
                self.reply(200, "text/javascript", f"window.config = {json.dumps(CONFIG)}".encode())
            else:
                file = dist / name if name and ".." not in name and (dist / name).is_file() else dist / "index.html"
                self.reply(200, mimetypes.guess_type(file.name)[0] or "application/octet-stream", file.read_bytes())

        def hand_on(self) -> None:
            connection = http.client.HTTPConnection(service.host, service.port, timeout=120)
            headers = {name: self.headers[name] for name in ("Accept", "Host") if self.headers[name]}
            connection.request("GET", self.path, headers={**headers, "Authorization": secret})
            answer = connection.getresponse()
            self.reply(answer.status, answer.headers.get("Content-Type", ""), answer.read())
            connection.close()

        def reply(self, status: int, media_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
