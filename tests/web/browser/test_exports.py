"""What is exported is what the page has drawn, to the pixel: live answers, drawn frames and masks of runs."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from synthetic import save_frames
from web.browser.annotate_discs import HOLD
from web.browser.conftest import Server, find_hold

DISCS = str(Path(__file__).with_name("annotate_discs.py"))
FOLLOWED = "state.project.live.objects.includes(state.object)"
ANSWERED = f"{FOLLOWED} && !state.project.live.partly && state.project.live.version === state.project.version"
# What is orange on the canvas, pixel by pixel of the image, while nothing but masks is drawn on it.
READ_CANVAS = """async () => {
  const [stage] = (await import("/static/main.js")).stages;
  const { project } = (await import("/static/store.js")).get();
  const { canvas } = stage;
  const ratio = canvas.width / canvas.clientWidth;
  const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = [];
  for (let y = 0; y < project.height; y += 1) {
    for (let x = 0; x < project.width; x += 1) {
      const centre = stage.centreOf({ y, x });
      const at = 4 * (Math.round(centre.y * ratio) * all.width + Math.round(centre.x * ratio));
      found.push(all.data[at] - all.data[at + 2] > 40);
    }
  }
  return found;
}"""


@pytest.fixture
def server(tmp_path, tiny, phantom):
    """A server whose live answers are discs, which no run finds; runs are held as long as a test says so."""
    root = tmp_path / "root"
    root.mkdir()
    save_frames(phantom.sequence.frames, root / "frames")
    server = Server(root, tiny, program=(DISCS, str(find_hold(root))))
    server.start()
    yield server
    server.close()


def show_masks_alone(person) -> None:
    """No outlines, no crosshair, no marks of clicks: what is coloured is a mask."""
    person.page.evaluate(
        """async () => {
          (await import("/static/store.js")).set({ showContour: false, showCross: false, keyboardCursor: false });
        }"""
    )


def read_drawn(person) -> np.ndarray:
    """(T, H, W) bool: what the page has drawn on its canvas, frame after frame."""
    show_masks_alone(person)
    frames = []
    for frame in range(person.state("state.project.frames")):
        person.go_to(frame)
        person.page.mouse.move(1, 1)
        person.settle()
        values = person.page.evaluate(READ_CANVAS)
        frames.append(np.array(values).reshape(person.state("[state.project.height, state.project.width]")))
    return np.stack(frames)


def write_export(person, learnt: bool = False) -> np.ndarray:
    """Press Export and read the files that were written."""
    page = person.page
    page.keyboard.press("Control+s")
    page.locator("#formats input[value=png]").check()
    if learnt:
        page.locator("#export-learnt").check()
    page.get_by_role("button", name="Write the masks").click()
    page.get_by_role("link", name="Download", exact=True).wait_for()
    folder = Path(page.locator("#exported code").inner_text())
    page.keyboard.press("Escape")
    return np.stack([np.asarray(Image.open(path)) > 0 for path in sorted(folder.rglob("*.png"))])


def away_from_clicks(person) -> np.ndarray:
    """(T, H, W) bool: where no mark of a click covers the canvas."""
    shape = person.state("[state.project.frames, state.project.height, state.project.width]")
    rows, columns = np.indices(shape[1:])
    found = np.ones(shape, bool)
    for frame, y, x in person.state("state.project.objects.flatMap((o) => o.points.map((p) => [p.frame, p.y, p.x]))"):
        found[frame] &= np.hypot(rows - y, columns - x) > 3
    return found


def assert_same(written: np.ndarray, drawn: np.ndarray, seen: np.ndarray) -> None:
    assert drawn.any() and np.array_equal(written & seen, drawn & seen), (written.sum(), drawn.sum())


def test_an_export_has_the_voxels_of_the_pixels_that_the_page_has_drawn_after_a_restart_too(server, visit):
    with server.holding_runs():
        person = visit(server)
        person.open("frames")
        person.see_frame(0)
        person.click(24, 24)
        person.expect(ANSWERED)
        drawn, seen = read_drawn(person), away_from_clicks(person)
        assert_same(write_export(person), drawn, seen)

        # Before anything is answered anew, the page draws what it drew before the server ended.
        hold = server.root / HOLD
        hold.touch()
        try:
            server.kill()
            server.start()
            person.page.reload()
            person.expect("state.project?.objects.length === 1 && state.online")
            again = read_drawn(person)
            assert np.array_equal(again & seen, drawn & seen)
            assert_same(write_export(person), again, seen)
        finally:
            hold.unlink()
    person.complaints.clear()  # of the connection that was lost


@pytest.mark.nightly
def test_a_live_answer_is_in_the_history_and_exported_compared_and_restored_like_a_run(server, visit, phantom):
    person = visit(server)
    page = person.page
    person.open("frames")
    person.see_frame(0)
    for frame, y, x in phantom.points.coordinates.tolist()[:3]:
        person.go_to(frame)
        person.click(y, x)
    person.expect("state.unsaved === 0 && state.project.shown === 1 && !state.project.live.due")
    person.expect(f"!({FOLLOWED})")
    learnt = read_drawn(person)
    with server.holding_runs():
        person.go_to(5)
        person.click(10, 38)
        person.expect(ANSWERED)
        drawn, seen = read_drawn(person), away_from_clicks(person)
        assert not np.array_equal(drawn & seen, learnt & seen)
        person.shoot("live")

        # Without another word what is seen is written, and what was learnt if one chooses that.
        assert_same(write_export(person), drawn, seen)
        person.expect("state.project.runs.length === 2")

        # It stands in the history with all runs, and the other can be shown and outlined beside it.
        page.keyboard.press("Shift+H")
        page.locator("#history-list [data-run]").first.wait_for()
        person.shoot("history")
        kept = person.state("state.project.answers.at(-1).id")
        page.locator("#history-list [data-run='1']").get_by_role("button", name="Compare").click()
        page.locator("#compared-words", has_text="agree to").wait_for()
        assert "run 1" in page.locator("#compared-words").inner_text()
        person.shoot("compared")
        page.locator("#compared-end").click()
        page.keyboard.press("Shift+H")
        page.locator("#history-list [data-run='1']").get_by_role("button", name="Show this one").click()
        person.expect("state.project.shown === 1")
        page.keyboard.press("Escape")
        assert np.array_equal(read_drawn(person) & seen, learnt & seen)
        assert_same(write_export(person), learnt, seen)
        page.keyboard.press("Shift+H")
        page.locator(f"#history-list [data-run='{kept}']").get_by_role("button", name="Show this one").click()
        person.expect(f"state.project.shown === {kept}")
        page.keyboard.press("Escape")
        assert np.array_equal(read_drawn(person) & seen, drawn & seen)
        assert_same(write_export(person), drawn, seen)

        # After a restart the same one is shown and written.
        server.kill()
        server.start()
        page.reload()
        person.expect(f"state.project?.shown === {kept} && state.online")
        assert np.array_equal(read_drawn(person) & seen, drawn & seen)
        assert_same(write_export(person), drawn, seen)
        assert_same(write_export(person, learnt=True), learnt, seen)
    person.complaints.clear()  # of the connection that was lost


@pytest.mark.nightly
def test_what_a_run_takes_the_place_of_stays_in_the_history(server, visit, phantom):
    person = visit(server)
    page = person.page
    person.open("frames")
    with server.holding_runs():
        for frame, y, x in phantom.points.coordinates.tolist()[:3]:
            person.go_to(frame)
            person.click(y, x)
        person.expect(ANSWERED)
        person.expect("state.project.runs.length === 1")
        drawn, seen = read_drawn(person), away_from_clicks(person)
    person.expect("state.project.shown === 1")
    assert not np.array_equal(read_drawn(person) & seen, drawn & seen)
    kept = person.state("state.project.answers.at(-1).id")
    page.keyboard.press("Shift+H")
    page.locator(f"#history-list [data-run='{kept}']").get_by_role("button", name="Show this one").click()
    person.expect(f"state.project.shown === {kept}")
    page.keyboard.press("Escape")
    assert np.array_equal(read_drawn(person) & seen, drawn & seen)
    assert_same(write_export(person), drawn, seen)


@pytest.mark.nightly
def test_the_masks_that_were_accepted_are_those_exported_from_the_worklist(server, visit):
    with server.holding_runs():
        person = visit(server)
        person.open("frames")
        person.click(24, 24)
        person.expect(ANSWERED)
        drawn, seen = read_drawn(person), away_from_clicks(person)
        person.page.keyboard.press("Shift+Y")
        person.expect("state.project.review.verdict === 'accepted'")
        person.page.keyboard.press("Control+l")
        person.page.locator("#work-format").select_option("png")
        person.page.locator("#work-export").click()
        person.page.locator("#work-exported", has_text="Written").wait_for()
        folder = Path(person.page.locator("#work-exported").inner_text().removeprefix("Written: "))
    written = np.stack([np.asarray(Image.open(path)) > 0 for path in sorted(folder.rglob("*.png"))])
    assert_same(written, drawn, seen)
