"""Make the pictures of the annotator that README.md and docs/start/annotate.md show.

    python docs/screenshots.py

needs the extra `test` and a Chromium. A made-up volume and a made-up video are annotated as a person would, and the
pictures are written to docs/images.
"""

import io
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from fewpoint import make_phantom
from fewpoint.evaluation.truth import largest_box
from fewpoint.web.own_server import find_chromium, serve

IMAGES = Path(__file__).parent / "images"
SCREEN = {"width": 1280, "height": 720}
COLOURS = 256  # as many as keep a picture below 300 kB, and no difference can be seen
PATIENCE_MS = 1_800_000
# Enough for a phantom, and short on a machine without a GPU.
SHORTER = ("training.max_side=64", "warmup.epochs=16", "rounds.round_epochs=10")
PLACE = """async ([y, x]) => {
  const [stage] = (await import("/static/main.js")).stages;
  const bounds = stage.canvas.getBoundingClientRect();
  const centre = stage.centreOf({ y, x });
  return [bounds.left + centre.x, bounds.top + centre.y];
}"""

HALF_WAY = """async () => {
  const run = (await import("/static/store.js")).activeRun();
  const { preview } = (await import("/static/store.js")).get();
  return run !== null && preview !== null && run.epochs > 0 && run.epoch > 0.4 * run.epochs && run.priors !== null;
}"""


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder) / "patients"
        phantom = write_inputs(root)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        settings = [part for change in SHORTER for part in ("--set", change)]
        with serve(root, "--device", "cpu", *settings) as (address, _):
            light = browser.new_page(viewport=SCREEN, color_scheme="light")
            light.set_default_timeout(PATIENCE_MS)
            light.goto(address)
            annotate(light, phantom)
            dark = browser.new_page(viewport=SCREEN, color_scheme="dark")
            dark.goto(light.url)
            see_frame(dark)
            go_to(dark, 12)
            shoot(dark, "annotate-dark")
        browser.close()


def write_inputs(root: Path):
    """A volume, and next to it something else to choose from."""
    phantom = make_phantom(24, (192, 192), seed=6)
    (root / "example").mkdir(parents=True)
    voxels = 4 * phantom.sequence.frames[..., 0].astype(np.int16) - 200
    volume = nibabel.Nifti1Image(voxels.transpose(2, 1, 0), np.diag([0.9, 0.9, 3.0, 1.0]))
    nibabel.save(volume, root / "example" / "mri.nii.gz")
    frames = root / "example" / "endoscopy"
    frames.mkdir()
    for index, frame in enumerate(make_phantom(6, (64, 64), channels=3).sequence.frames):
        Image.fromarray(frame).save(frames / f"{index:04d}.png")
    return phantom


def annotate(page: Page, phantom) -> None:
    page.get_by_role("button", name="example").click()
    page.get_by_role("button", name="mri.nii.gz").wait_for()
    shoot(page, "annotate-open")
    page.get_by_role("button", name="mri.nii.gz").click()
    see_frame(page)
    largest, top, left, bottom, right = largest_box(phantom.truth)
    for frame, y, x in phantom.points.coordinates[largest % 2 :: 2].tolist():
        go_to(page, frame)
        page.mouse.click(*page.evaluate(PLACE, [y, x]))
        page.wait_for_timeout(300)
    go_to(page, largest)
    page.keyboard.press("b")
    page.mouse.move(*page.evaluate(PLACE, [top, left]))
    page.mouse.down()
    page.mouse.move(*page.evaluate(PLACE, [bottom - 1, right - 1]), steps=5)
    page.mouse.up()
    page.keyboard.press("p")
    page.wait_for_timeout(600)
    shoot(page, "annotate-points")
    page.keyboard.press("r")
    while not page.evaluate(HALF_WAY):
        page.wait_for_timeout(200)
    page.wait_for_timeout(600)
    shoot(page, "annotate-run")
    page.locator("#runs .finished").wait_for()
    go_to(page, 12)
    page.locator(".notice button").click()
    page.mouse.move(*page.evaluate(PLACE, phantom.points.coordinates[12, 1:].tolist()))
    page.wait_for_timeout(1000)
    shoot(page, "annotate-result")
    page.keyboard.press("Control+s")
    page.locator(".format").first.wait_for()
    shoot(page, "annotate-export")


def go_to(page: Page, frame: int) -> None:
    page.locator("#slider").fill(str(frame))
    page.wait_for_selector(f'#stage[data-frame="{frame}"]')
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(800)  # until masks and planes are there too


def see_frame(page: Page) -> None:
    page.wait_for_selector('#stage[data-frame]:not([data-frame="loading"])')


def shoot(page: Page, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=10, dither=Image.Dither.NONE)
    few.save(IMAGES / f"{name}.png", optimize=True)
    print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
