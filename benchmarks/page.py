"""How long a person waits on the annotator's page: python benchmarks/page.py [--only words]

needs the extras `test` and `video` and a Chromium. A made-up CT of 512 x 512 x 300 and a film of 1,500 frames of
1280 x 720 are opened, clicked on and scrubbed through as a person would; then six CTs are opened one after another.
Words are clicks on a made-up scan of 75 frames of 240 x 240, of which nothing has been learnt yet. Prints one line per
figure, and writes them as CSV if a file is given.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from playwright.sync_api import Page, sync_playwright

from fewpoint.io.video import write_video
from fewpoint.web.own_server import find_chromium, serve

VOLUME = (512, 512, 300)
FILM, FILM_SIZE = 1500, (720, 1280)
SCAN, CLICKS = (240, 240, 75), 20
STEPS = 60
VOLUMES = 6
FIGURES: list[tuple[str, float, str]] = []
# Milliseconds from the choice of the next frame until it is drawn, measured in the page itself.
SCRUB = """async ([first, steps]) => {
  const { set } = await import("/static/store.js");
  const canvas = document.getElementById("stage");
  const waits = [];
  for (let frame = first + 1; frame <= first + steps; frame += 1) {
    const begun = performance.now();
    set({ frame });
    while (canvas.dataset.frame !== String(frame)) await new Promise((next) => requestAnimationFrame(next));
    waits.push(performance.now() - begun);
  }
  return waits;
}"""

# Whether all that was said with so many points is answered on all frames.
ANSWERED = """async (count) => {
  const { project } = (await import("/static/store.js")).get();
  const said = project.objects.reduce((sum, { points }) => sum + points.filter(({ id }) => id >= 0).length, 0);
  return said === count && project.live.version === project.version && !project.live.partly;
}"""

# Milliseconds from a press on the image until the mask of its frame is drawn, and until all frames are answered.
WAIT_FOR_ANSWER = """async () => {
  const { get } = await import("/static/store.js");
  const [stage] = (await import("/static/main.js")).stages;
  const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const known = get().project.live.number;
  window.answer = (async () => {
    const begun = await new Promise((resolve) =>
      stage.canvas.addEventListener("pointerdown", () => resolve(performance.now()), { once: true, capture: true }));
    const waits = { view: null, all: null };
    while (waits.view === null || waits.all === null) {
      await next();
      const { project, frame } = get();
      const isNew = (project.live.view?.number ?? 0) > known || project.live.number > known;
      if (waits.view === null && isNew && stage.masks.latest(project.objects[0], 0, frame) !== null) {
        await next();
        waits.view = performance.now() - begun;
      }
      if (waits.all === null && project.live.number > known) waits.all = performance.now() - begun;
    }
    return waits;
  })();
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="folder for the inputs, which are then not made again")
    parser.add_argument("--csv", type=Path, help="file for the figures")
    parser.add_argument("--only", choices=list(PARTS), help="what to measure; all if it is left out")
    asked = parser.parse_args()
    folder = asked.keep
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        root = folder or Path(temporary)
        root.mkdir(parents=True, exist_ok=True)
        make_inputs(root, asked.only)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        started = time.perf_counter()
        with serve(root, "--device", "cpu") as (address, process):
            report("start of the server until it answers", time.perf_counter() - started, "s")
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.set_default_timeout(120_000)
            page.goto(address)
            for measure in [PARTS[asked.only]] if asked.only else PARTS.values():
                measure(page, process)
        browser.close()
    if asked.csv is not None:
        lines = [f'"{what}",{value:.3g},{unit}' for what, value, unit in FIGURES]
        asked.csv.write_text("\n".join(["figure,value,unit", *lines, ""]))


def make_inputs(root: Path, only: str | None) -> None:
    """A body with a bright organ, as volumes and as a smaller scan, and a film of a moving disc."""
    scan = root / "scan.nii.gz"
    if not scan.exists():
        rows, columns, slices = np.ogrid[: SCAN[0], : SCAN[1], : SCAN[2]]
        head = (rows - 120) ** 2 + (columns - 120) ** 2 < 95**2
        lump = (rows - 140) ** 2 + (columns - 95) ** 2 + 2 * (slices - 37) ** 2 < 28**2
        noise = np.random.default_rng(0).normal(0, 25, SCAN)
        nibabel.save(nibabel.Nifti1Image((200 * head + 90 * lump + noise).astype(np.int16), np.eye(4)), scan)
    if only == "words":
        return
    rows, columns, slices = np.ogrid[: VOLUME[0], : VOLUME[1], : VOLUME[2]]
    body = (rows - 256) ** 2 + (columns - 256) ** 2 < 200**2
    organ = (rows - 300) ** 2 + (columns - 200) ** 2 + 4 * (slices - 150) ** 2 < 60**2
    for number in range(VOLUMES):
        path = root / f"ct{number}.nii.gz"
        if not path.exists():
            noise = np.random.default_rng(number).integers(-20, 20, (*VOLUME[:2], 1))
            voxels = (np.where(body, 40, -1000) + 80 * organ + noise).astype(np.int16)
            nibabel.save(nibabel.Nifti1Image(voxels, np.diag([0.8, 0.8, 1.5, 1.0])), path)
    if not (root / "film.mp4").exists():
        write_video(map(draw_frame, range(FILM)), root / "film.mp4")


def draw_frame(index: int) -> np.ndarray:
    y, x = np.ogrid[: FILM_SIZE[0], : FILM_SIZE[1]]
    frame = np.zeros((*FILM_SIZE, 3), np.uint8)
    frame[..., 0] = (x / 5 + index) % 200
    frame[(y - 360) ** 2 + (x - 200 - index / 2) ** 2 < 90**2] = (210, 120, 90)
    return frame


def measure_words(page: Page, _process: int) -> None:
    """Clicks on and beside the lump on one frame, so that no run begins."""
    open_input(page, "scan.nii.gz", 37)
    page.mouse.click(*place(page, 140, 95))
    while not page.evaluate(ANSWERED, 1):
        page.wait_for_timeout(10)
    waits = []
    for number in range(CLICKS):
        page.wait_for_timeout(1500)  # of what the page fetches after an answer
        turn = 2 * np.pi * number / CLICKS
        beside = number % 2 == 0
        radius = 34 if beside else 20
        target = place(page, round(140 + radius * np.sin(turn)), round(95 + radius * np.cos(turn)))
        page.evaluate(WAIT_FOR_ANSWER)
        click(page, target, *(["Alt"] if beside else []))
        waits.append(page.evaluate("window.answer"))
    for key, words in (("view", "the frame in view has its new mask"), ("all", "all frames are answered")):
        found = [wait[key] for wait in waits]
        report(f"75 frames of 240 x 240: a click until {words}, median", statistics.median(found), "ms")
        report(f"75 frames of 240 x 240: a click until {words}, slowest", max(found), "ms")


def measure_volume(page: Page, _process: int) -> None:
    seconds = open_input(page, "ct0.nii.gz", 150)
    report("512 x 512 x 300: from the choice to the image", seconds, "s")
    started = time.perf_counter()
    page.mouse.click(*place(page, 300, 200))
    page.locator("#objects .count", has_text="1 point").wait_for()
    report("a click until it is drawn and counted", 1000 * (time.perf_counter() - started), "ms")
    page.locator("#measures", has_text="on this frame").wait_for()
    report("a click at once, until the first, rough mask", time.perf_counter() - started, "s")
    page.locator("#measures", has_text="ml in all").wait_for()
    report("the same until it is there on all frames", time.perf_counter() - started, "s")
    started = time.perf_counter()
    page.mouse.click(*place(page, 310, 210))
    page.locator("#objects .count", has_text="2 points").wait_for()
    while not page.evaluate(ANSWERED, 2):
        page.wait_for_timeout(10)
    report("a second click until masks on all frames have changed", time.perf_counter() - started, "s")
    waits = page.evaluate(SCRUB, [150, STEPS])
    report("scrubbing, a frame, median", statistics.median(waits), "ms")
    report("scrubbing, a frame, slowest", max(waits), "ms")


def measure_film(page: Page, _process: int) -> None:
    seconds = open_input(page, "film.mp4", 0)
    report(f"film of {FILM} frames of 1280 x 720: from the choice to its first frame", seconds, "s")
    started = time.perf_counter()
    page.mouse.click(*place(page, 360, 200))
    page.locator("#measures", has_text="on this frame").wait_for()
    report("a click on the film at once, until the first, rough mask", time.perf_counter() - started, "s")
    page.locator("#slider").fill(str(FILM - 1))
    page.wait_for_selector(f'#stage[data-frame="{FILM - 1}"]')
    report("the same until its last frame", seconds + time.perf_counter() - started, "s")


def measure_memory(page: Page, process: int) -> None:
    for number in range(VOLUMES):
        open_input(page, f"ct{number}.nii.gz", 150)
    status = Path(f"/proc/{process}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    report(f"memory of the server after {VOLUMES} such volumes", int(resident.split()[1]) / 1e6, "GB")


def open_input(page: Page, name: str, frame: int) -> float:
    """Seconds from the choice of an input until its first image is seen."""
    if not page.locator("#chooser").is_visible():
        page.keyboard.press("Control+o")
    row = page.locator("#files").get_by_role("button", name=name).first
    row.wait_for()
    started = time.perf_counter()
    row.click()
    page.locator("#project-name", has_text=name).wait_for()
    page.wait_for_selector(f'#stage[data-frame="{frame}"]')
    return time.perf_counter() - started


def click(page: Page, target: list[float], *keys: str) -> None:
    for key in keys:
        page.keyboard.down(key)
    page.mouse.click(*target)
    for key in keys:
        page.keyboard.up(key)


def place(page: Page, y: int, x: int) -> list[float]:
    return page.evaluate(
        """async ([y, x]) => {
          const [stage] = (await import("/static/main.js")).stages;
          const bounds = stage.canvas.getBoundingClientRect();
          const centre = stage.centreOf({ y, x });
          return [bounds.left + centre.x, bounds.top + centre.y];
        }""",
        [y, x],
    )


def report(what: str, value: float, unit: str) -> None:
    FIGURES.append((what, value, unit))
    print(f"{what}: {value:.3g} {unit}", flush=True)


PARTS = {"words": measure_words, "volume": measure_volume, "film": measure_film, "memory": measure_memory}


if __name__ == "__main__":
    main()
