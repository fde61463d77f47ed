"""Live mode: the mask follows what a person says, learning follows by itself, and nothing needs to be pressed."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core.run_lengths import decode_mask
from synthetic import save_frames
from web.browser.annotate_discs import AREA, HOLD
from web.browser.conftest import Server, find_hold, hold_runs, name_folder

DISCS = str(Path(__file__).with_name("annotate_discs.py"))
FOLLOWED = "state.project.live.objects.includes(state.object)"
LEARNT = "state.project.live.on && !state.project.live.objects.length && !state.project.live.due"
# On all frames: until all of them are read, only some are answered.
ANSWERED = f"{FOLLOWED} && !state.project.live.partly && state.project.live.version === state.project.version"


@pytest.fixture(scope="module")
def discs_server(tmp_path_factory, tiny):
    """A server whose masks at once are discs."""
    root = tmp_path_factory.mktemp("live") / "root"
    root.mkdir()
    server = Server(root, tiny, program=(DISCS, str(find_hold(root))))
    server.start()
    yield server
    server.close()


@pytest.fixture
def open_frames(discs_server, phantom, visit, request):
    """A page with frames of its own opened on that server, or on another one."""

    def open_frames(server: Server = discs_server):
        folder = f"frames-{name_folder(request)}"
        save_frames(phantom.sequence.frames, server.root / folder)
        person = visit(server)
        person.open(folder)
        person.see_frame(0)
        return person

    return open_frames


def click_on(person, phantom, *frames: int) -> None:
    for frame, y, x in (row for row in phantom.points.coordinates.tolist() if row[0] in frames):
        person.go_to(frame)
        person.click(y, x)
        person.expect(f"state.unsaved === 0 && state.project.objects[0].points.some((p) => p.frame === {frame})")


def read_mask(person, frame: int) -> np.ndarray:
    """The mask of the object as the server has it now."""
    project = person.state("state.project.id")
    address = f"{person.server.address}api/projects/{project}/masks/{frame}?object=object"
    with urllib.request.urlopen(address) as answer:
        message = json.load(answer)
    return decode_mask(message["runs"], tuple(message["size"]))


def count_coloured(person) -> int:
    """How many pixels of the image are shown in the object's colour, an orange, while outlines are off."""
    return person.page.evaluate(
        """async () => {
          const [stage] = (await import("/static/main.js")).stages;
          const { project } = (await import("/static/store.js")).get();
          const { canvas } = stage;
          const ratio = canvas.width / canvas.clientWidth;
          const context = canvas.getContext("2d");
          let count = 0;
          for (let y = 0; y < project.height; y += 1) {
            for (let x = 0; x < project.width; x += 1) {
              const centre = stage.centreOf({ y, x });
              const at = [Math.round(centre.x * ratio), Math.round(centre.y * ratio), 1, 1];
              const [red, , blue] = context.getImageData(...at).data;
              if (red - blue > 40) count += 1;
            }
          }
          return count;
        }"""
    )


def expect_disc(person, size: str = "1") -> int:
    """Wait until a disc of a size, an expression of the state, is shown; gives the number of its pixels."""
    counts = []

    def is_shown() -> bool:
        counts.append(count_coloured(person))
        return counts[-1] == pytest.approx(AREA * person.state(size), rel=0.1)

    person.wait_until(is_shown, f"a disc of size {size}")
    return counts[-1]


def drawn_mask(person, frame: int) -> list[bool] | None:
    """The mask of the object that the page now draws on a frame, row after row; None while it draws an older one."""
    return person.page.evaluate(
        """async (frame) => {
          const [stage] = (await import("/static/main.js")).stages;
          const { project } = (await import("/static/store.js")).get();
          const drawn = stage.masks.latest(project.objects[0], 0, frame);
          return drawn === null ? null : Array.from(drawn.mask, (value) => value > 0);
        }""",
        frame,
    )


def test_masks_come_and_get_better_without_a_button_and_an_export_can_wait_for_them(
    open_frames, phantom, tmp_path, tiny, serve
):
    """With the masks at once that people get."""
    root = tmp_path / "root"
    root.mkdir()
    server = serve(root, *tiny, program=hold_runs(root))
    person = open_frames(server)
    page = person.page
    person.expect("state.project.live.state === 'ready'")

    # The first click gives a rough mask.
    click_on(person, phantom, 0)
    person.expect(f"{FOLLOWED} && state.project.live.rough.length === 1")
    page.locator("#rough-badge").wait_for()
    frame, y, x = phantom.points.coordinates[0].tolist()
    assert read_mask(person, frame)[y, x]
    person.settle()
    person.shoot("rough")
    assert person.state("state.project.runs.length") == 0

    # With more, the first run begins by itself, and its masks take the place of the rough one.
    with server.holding_runs():
        click_on(person, phantom, 2, 4, 6)
        person.expect("state.project.runs.length === 1")
        page.locator("#progress").wait_for()
        person.shoot("first-run")
    page.locator("#runs .finished").wait_for()
    person.expect(LEARNT)
    assert page.locator("#rough-badge").is_hidden()
    person.settle()
    person.shoot("learnt")
    # Whoever clicks slowly has the last clicks learnt by a refinement already.
    first = person.state("state.project.runs.length")

    # A further click changes the mask before anything is learnt of it, and a refinement follows.
    with server.holding_runs():
        person.click(44, 3, "Alt")
        person.expect(f"{FOLLOWED} && !state.project.live.rough.length && state.project.shown === {first}")
        person.expect(f"state.project.runs.length === {first + 1}")
        assert person.state("state.project.runs.at(-1).refined_from") == first
        person.click(40, 6, "Alt")  # while it goes on, which it does to its end
        person.expect("state.unsaved === 0 && state.project.live.due")

        # An export of only what was learnt waits for what is being learnt.
        page.keyboard.press("Control+s")
        page.locator("#export-behind", has_text="Training on your latest marks").wait_for()
        page.get_by_label("PNG", exact=False).first.check()
        page.get_by_label("Only masks of the last finished run").check()
        person.shoot("export")
        page.get_by_role("button", name="Write the masks").click()
    page.get_by_role("link", name="Download", exact=True).wait_for()
    assert f"run-{first + 2}-png" in page.locator("#exported code").inner_text()
    page.keyboard.press("Escape")
    page.locator("#runs .finished", has_text=f"Refined {first + 2}").wait_for()
    person.expect(LEARNT)
    page.wait_for_timeout(1500)  # another run would begin after one second
    assert person.state("state.project.runs.map((run) => run.state)") == ["finished"] * (first + 2)
    person.shoot("refined")


@pytest.fixture
def nothing_is_learnt(discs_server):
    """Masks that are learnt do not take the place of those answered at once, however long a test takes."""
    with discs_server.holding_runs():
        yield


@pytest.mark.usefixtures("nothing_is_learnt")
def test_the_frame_in_view_is_shown_before_all_others_and_stays_when_they_come(open_frames, discs_server):
    person = open_frames()
    hold = discs_server.root / HOLD
    person.click(24, 24)
    person.expect(ANSWERED)
    before = read_mask(person, 0)
    person.go_to(3)
    hold.touch()
    try:
        person.click(10, 40)
        person.expect("state.unsaved === 0 && state.project.live.view?.frame === 3")
        number = person.state("state.project.live.view.number")
        shown = read_mask(person, 3)
        assert not np.array_equal(shown, before)
        assert np.array_equal(read_mask(person, 0), before) and np.array_equal(read_mask(person, 4), before)
        person.wait_until(lambda: drawn_mask(person, 3) == shown.ravel().tolist(), "the new mask")
        person.shoot("view")
        assert person.state("state.project.live.view?.frame === 3 && state.project.live.number") == number - 1
    finally:
        hold.unlink()
    person.expect(f"state.project.live.view === null && state.project.live.number === {number}")
    assert drawn_mask(person, 3) == shown.ravel().tolist()
    for frame in (3, 0, 4):
        assert np.array_equal(read_mask(person, frame), shown)
    asked = [url for url, _ in person.answers if "/masks/3?" in url]
    person.go_to(4)
    person.wait_until(lambda: drawn_mask(person, 4) == shown.ravel().tolist(), "the other frames")
    assert [url for url, _ in person.answers if "/masks/3?" in url] == asked  # the same is not fetched again


@pytest.mark.usefixtures("nothing_is_learnt")
def test_a_frame_that_is_right_is_outlined_by_one_key_and_one_that_is_not_by_the_brush(open_frames):
    person = open_frames()
    page = person.page
    person.click(24, 24)
    person.expect(ANSWERED)
    person.settle()
    shown = read_mask(person, 0)
    page.keyboard.press("Enter")
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    page.locator("#brushed-badge").wait_for()
    assert np.array_equal(read_mask(person, 0), shown)

    # It stays as it is when the masks of all other frames change.
    person.go_to(3)
    person.click(10, 40)
    person.expect("state.unsaved === 0 && state.project.objects[0].points.length === 2")
    person.expect(ANSWERED)
    assert np.array_equal(read_mask(person, 0), shown) and not np.array_equal(read_mask(person, 1), shown)

    # The brush goes on from what is answered at once.
    before = read_mask(person, 3)
    page.keyboard.press("d")
    page.locator("#brush-size").fill("2")
    person.drag((44, 4), (44, 10))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(3)")
    after = read_mask(person, 3)
    assert after[44, 4:11].all() and np.array_equal(after[:40], before[:40])
    person.shoot("outlined")


def test_the_brush_paints_before_anything_is_clicked_or_learnt(open_frames):
    person = open_frames()
    page = person.page
    page.keyboard.press("Enter")
    person.expect_words("This frame has no mask yet")
    page.keyboard.press("d")
    page.locator("#brush-size").fill("3")
    person.drag((20, 10), (20, 30))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    painted = read_mask(person, 0)
    assert painted[20, 10:31].all() and not painted[:15].any()
    page.keyboard.press("o")
    person.settle()
    assert abs(count_coloured(person) - painted.sum()) <= 0.1 * painted.sum()


def hold_dial(person) -> Callable[[float], None]:
    """Take hold of the dial of the size; what is returned drags it to a share of its width."""
    page = person.page
    dial = page.locator("#size").bounding_box()

    def drag_to(share: float) -> None:
        page.mouse.move(dial["x"] + share * dial["width"], dial["y"] + dial["height"] / 2, steps=8)

    drag_to(0.5)
    page.mouse.down()
    return drag_to


def test_the_size_is_seen_while_it_is_dragged_and_said_when_it_is_let_go(open_frames):
    person = open_frames()
    page = person.page
    person.click(24, 24)
    person.expect(ANSWERED)
    page.keyboard.press("o")
    before = expect_disc(person)

    hold_dial(person)(0.9)
    person.expect("state.triedSize > 1.5")
    assert expect_disc(person, "state.triedSize") > 1.4 * before
    assert person.state("state.project.objects[0].size") == 1  # nothing is said yet
    person.shoot("dragged")
    page.mouse.up()
    person.expect("state.unsaved === 0 && state.project.objects[0].size > 1.5 && state.triedSize === null")
    size = person.state("state.project.objects[0].size")
    person.expect(ANSWERED)
    assert read_mask(person, 5).sum() == pytest.approx(AREA * size, rel=0.1)

    # By a tenth with a key, of this frame only, and back.
    page.get_by_label("This frame only").check()
    page.locator("#stage").focus()
    page.keyboard.press("<")
    person.expect("state.unsaved === 0 && Math.abs(state.project.objects[0].sizes['0'] - 0.909) < 0.001")
    person.expect(ANSWERED)
    assert read_mask(person, 0).sum() < read_mask(person, 5).sum()
    page.get_by_role("button", name="Reset", exact=True).click()
    person.expect("state.unsaved === 0 && !('0' in state.project.objects[0].sizes)")
    page.get_by_label("This frame only").uncheck()
    page.locator("#size-factor").fill("0.5")
    page.locator("#size-factor").press("Enter")
    person.expect("state.unsaved === 0 && state.project.objects[0].size === 0.5")
    person.expect(ANSWERED)
    assert read_mask(person, 5).sum() == pytest.approx(AREA / 2, rel=0.15)


def test_the_size_tried_last_is_the_one_seen_be_others_still_on_their_way_or_refused(open_frames):
    person = open_frames()
    page = person.page
    person.click(24, 24)
    person.expect(ANSWERED)
    page.keyboard.press("o")
    expect_disc(person)
    held = []

    def hold_first(route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    # Of sizes tried while the first is on its way the last is tried next, also if the first is refused.
    page.route("**/live/size", hold_first)
    drag_to = hold_dial(person)
    drag_to(0.7)
    person.wait_until(lambda: held, "a size to be tried")
    drag_to(0.9)
    person.expect("state.triedSize > 1.5")
    held[0].fulfill(status=422, json={"detail": "not this one"})
    page.locator(".notice.error", has_text="not this one").wait_for()
    expect_disc(person, "state.triedSize")

    # Back where it was: nothing is said, and what was tried is no longer seen.
    held.clear()
    drag_to(0.8)
    person.wait_until(lambda: held, "a size to be tried")
    drag_to(0.5)
    page.mouse.up()
    held[0].continue_()
    person.expect("state.triedSize === null")
    assert expect_disc(person) and person.state("state.project.objects[0].size") == 1
    person.complaints.clear()  # of that refusal


def test_boxes_lie_on_the_frames_where_they_were_drawn_and_are_cleared_there_or_everywhere(open_frames, shared_server):
    person = open_frames(shared_server)
    page = person.page
    page.keyboard.press("b")
    person.drag((10, 12), (29, 35))
    person.go_to(3)
    person.drag((5, 5), (14, 14))
    person.drag((6, 6), (15, 15))  # in the place of the one before
    person.expect("state.unsaved === 0 && state.project.objects[0].boxes.length === 2")
    assert person.state("state.project.objects[0].boxes.map((box) => [box.frame, box.top])") == [[0, 10], [3, 6]]
    person.shoot("box")
    page.locator("#clear-box").click()
    person.expect("state.unsaved === 0 && state.project.objects[0].boxes.length === 1")
    person.drag((6, 6), (15, 15))
    person.expect("state.unsaved === 0 && state.project.objects[0].boxes.length === 2")
    page.locator("#clear-boxes").click()
    person.expect("state.unsaved === 0 && state.project.objects[0].boxes.length === 0")


def test_turned_off_nothing_begins_by_itself(open_frames, phantom):
    person = open_frames()
    page = person.page
    person.expect("state.project.live.on")
    page.keyboard.press("l")
    person.expect("!state.project.live.on")
    click_on(person, phantom, 0, 2, 4, 6)
    page.wait_for_timeout(4000)  # a run would begin after three seconds
    assert person.state("[state.project.runs.length, state.project.live.objects.length]") == [0, 0]
    person.shoot("off")
    page.keyboard.press("l")
    person.expect(f"state.project.live.on && {FOLLOWED}")
