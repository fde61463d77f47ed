"""What a person can do on the page, part by part."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from web.browser.conftest import name_folder

ROOT = Path(__file__).resolve().parents[3]
POINTS = "state.project.objects[0].points.filter((p) => p.id > 0)"


@pytest.fixture
def open_project(shared_server, visit, request):
    """A page with an input opened, which each test has a copy of."""
    copies = shared_server.root / name_folder(request)

    def open_project(name: str = "frames", **options):
        given, copy = shared_server.root / name, copies / name
        if not copy.exists():
            copies.mkdir(exist_ok=True)
            (shutil.copytree if given.is_dir() else shutil.copy)(given, copy)
        person = visit(shared_server, **options)
        person.open(copies.name, name)
        person.go_to(0)
        return person

    return open_project


def test_two_people_on_one_project_see_each_others_points(open_project):
    one, other = open_project(), open_project()
    one.click(20, 30)
    other.expect(f"{POINTS}.some((p) => p.y === 20 && p.x === 30)")
    other.click(33, 11)
    one.expect(f"{POINTS}.some((p) => p.y === 33 && p.x === 11)")
    assert one.state(POINTS) == other.state(POINTS)


def test_undo_takes_back_what_i_did_and_not_what_another_person_did_since(open_project):
    one, other = open_project(), open_project()
    one.click(20, 30)
    other.expect(f"{POINTS}.length === 1")
    other.click(33, 11)
    one.expect(f"{POINTS}.length === 2")
    one.page.keyboard.press("Control+z")
    one.expect(f"{POINTS}.length === 1")
    assert one.state(f"{POINTS}.map((p) => [p.y, p.x])") == [[33, 11]]
    assert one.page.get_by_role("button", name="Undo", exact=True).is_disabled()
    one.page.keyboard.press("Control+Shift+z")
    one.expect(f"{POINTS}.length === 2")
    # Another tab of the same browser is another person, too, as long as they have something of their own.
    tab = one.page.context.new_page()
    tab.goto(one.page.url)
    one.click(40, 40)
    one.expect(f"{POINTS}.length === 3")
    tab.locator("#objects .count", has_text="3 points").wait_for()
    assert tab.evaluate("import('/static/who.js').then(({ me }) => me())") != one.page.evaluate(
        "import('/static/who.js').then(({ me }) => me())"
    )


def test_a_point_that_the_server_tells_of_before_it_answers_is_shown_once(open_project):
    person = open_project()
    person.click(20, 30)
    person.expect(f"{POINTS}.length === 1")
    counts = person.page.evaluate(
        """async () => {
          const { foresee } = await import("/static/foresight.js");
          const { project } = (await import("/static/store.js")).get();
          const add = { kind: "add_point", object: project.objects[0].name, frame: 0, y: 20, x: 30, positive: true };
          return [add, { ...add, x: 31 }].map((action) => foresee(project, action, 0).objects[0].points.length);
        }"""
    )
    assert counts == [1, 2]


def test_a_point_is_moved_by_a_drag_and_removed_by_another_click(open_project):
    person = open_project()
    person.click(20, 30)
    person.expect(f"{POINTS}.length === 1")
    person.drag((20, 30), (25, 12))
    person.expect(f"{POINTS}.some((p) => p.y === 25 && p.x === 12)")
    assert person.state(f"{POINTS}.length") == 1
    person.click(25, 12)
    person.expect("state.project.objects[0].points.length === 0")


def test_objects_have_names_colours_and_points_of_their_own(open_project):
    person = open_project()
    page = person.page
    person.click(20, 30)
    page.get_by_role("button", name="+ Add").click()
    person.expect("state.project.objects.length === 2 && state.object === state.project.objects[1].name")
    page.get_by_role("button", name="Rename").click()
    page.keyboard.type("vessel")
    page.keyboard.press("Enter")
    person.expect("state.project.objects[1].name === 'vessel' && state.object === 'vessel'")
    page.get_by_label("Colour of vessel").fill("#00ff80")
    person.expect("state.project.objects[1].colour === '#00ff80'")
    person.click(40, 8)
    person.expect("state.project.objects[1].points.some((p) => p.id > 0)")
    assert person.state("state.project.objects.map((object) => object.points.length)") == [1, 1]
    person.settle()
    assert person.colour_at(40, 8) == [0, 255, 128]
    person.shoot("two-objects")
    page.get_by_role("button", name="Remove vessel").click()
    person.expect("state.project.objects.length === 1")


def test_an_absent_object_is_marked_by_a_key_and_told_on_the_image(open_project):
    person = open_project()
    person.page.keyboard.press("a")
    person.expect("state.project.objects[0].absent.includes(0)")
    person.page.locator("#absent-badge", has_text="object is not on this frame").wait_for()
    person.page.keyboard.press("a")
    person.expect("!state.project.objects[0].absent.includes(0)")


def test_a_point_and_a_box_are_set_by_keys_alone(open_project):
    person = open_project()
    press = person.page.keyboard.press
    press("Tab")  # from wherever the page was entered; keys work all the same
    press(".")
    press("c")
    y, x = person.state("[state.cursor.y, state.cursor.x]")
    press("Shift+ArrowUp")
    press("ArrowLeft")
    press("ArrowLeft")
    press("Enter")
    person.expect(f"{POINTS}.some((p) => p.frame === 1 && p.y === {y - 10} && p.x === {x - 2} && p.positive)")
    press("ArrowDown")
    press("ArrowDown")
    press("ArrowDown")
    press("Alt+Enter")
    person.expect(f"{POINTS}.some((p) => p.y === {y - 7} && p.x === {x - 2} && !p.positive)")
    press("b")
    press("Enter")
    press("Shift+ArrowDown")
    press("Shift+ArrowRight")
    press("Enter")
    person.expect(f"state.project.objects[0].box?.bottom === {y + 4} && state.project.objects[0].box.right === {x + 9}")
    person.expect_words("Box of object set on frame 1")
    press("Escape")
    press("ArrowRight")
    person.see_frame(2)
    press("p")


def test_every_control_can_be_reached_by_tab_and_shows_its_focus(open_project):
    person = open_project()
    person.click(20, 30)
    person.expect(f"{POINTS}.length === 1")
    controls = person.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, #stage")]
          .filter((element) => element.checkVisibility() && !element.disabled)
          .map((element, index) => (element.dataset.reached = index))"""
    )
    reached = set()
    for _ in range(len(controls) + 5):
        person.page.keyboard.press("Tab")
        number, outline = person.page.evaluate(
            """() => {
              const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
              return [document.activeElement.dataset.reached ?? null, outlineStyle !== "none" && outlineWidth];
            }"""
        )
        if number is not None:
            assert outline in ("2px", "3px")
            reached.add(int(number))
    assert reached == set(controls)


def test_the_help_lists_every_key_that_does_something(open_project):
    person = open_project()
    person.page.keyboard.press("?")
    shown = person.page.locator("#help kbd").all_inner_texts()
    keys = person.page.evaluate(
        """async () => {
          const { makeCommands } = await import("/static/commands.js");
          const parts = { stage: {}, startRun() {}, dialogs: {} };
          return Object.values(makeCommands(parts)).flatMap((command) => command.keys);
        }"""
    )
    assert len(keys) == len(set(keys)) and set(keys) <= set(shown)
    person.shoot("help")
    person.page.keyboard.press("Escape")


def test_the_guide_names_only_keys_that_do_what_it_says():
    from fewpoint.web.server import STATIC

    guide = (ROOT / "docs" / "start" / "annotate.md").read_text(encoding="utf-8")
    commands = (STATIC / "commands.js").read_text(encoding="utf-8")
    keys = set(re.findall(r"`((?:Ctrl\+|Shift\+)?[A-Z,.?])`", guide))
    assert len(keys) > 12
    assert {key for key in keys if f'"{key}"' not in commands} == {"C"}  # the cursor's own key, in keyboard.js


def test_a_drag_with_the_right_button_changes_the_window_and_the_image(open_project):
    person = open_project("volume.nii.gz")
    before, colour = person.state("state.window"), person.colour_at(24, 24)
    person.page.mouse.move(*person.place(10, 10))
    person.page.mouse.down(button="right")
    person.page.mouse.move(*(value + 80 for value in person.place(10, 10)), steps=4)
    person.page.mouse.up(button="right")
    person.expect(f"state.window.high - state.window.low > {before['high'] - before['low']}")
    person.settle()
    assert person.colour_at(24, 24) != colour
    person.page.keyboard.press("Shift+W")
    person.expect(f"state.window.low === {before['low']} && state.window.high === {before['high']}")


def read_zoom(person) -> int:
    """In percent."""
    return int(person.page.locator("#zoom").inner_text().removesuffix(" %"))


def test_the_wheel_goes_through_frames_and_with_control_it_zooms_where_it_is(open_project):
    person = open_project()
    person.page.mouse.move(*person.place(12, 36))
    person.page.mouse.wheel(0, 120)
    person.expect("state.frame === 2")
    person.settle()
    before = read_zoom(person)
    person.page.keyboard.down("Control")
    person.page.mouse.wheel(0, -300)
    person.wait_until(lambda: read_zoom(person) > 1.5 * before, "a larger image")
    person.page.keyboard.up("Control")
    person.page.mouse.move(*(value + 1 for value in person.place(12, 36)))
    person.expect("state.pointed.y === 12 && state.pointed.x === 36")
    person.page.keyboard.press("0")
    person.wait_until(lambda: read_zoom(person) == before, "the whole image")


def test_play_goes_through_the_frames_and_stops(open_project):
    person = open_project()
    person.page.locator("#stage").focus()
    person.page.keyboard.press("Space")
    person.expect("state.frame >= 3")
    person.page.keyboard.press("Space")
    person.expect("!state.playing")


def test_files_of_this_computer_are_sent_and_opened(shared_server, visit, tmp_path):
    person = visit(shared_server)
    np.save(tmp_path / "from-here.npy", np.arange(3 * 20 * 24, dtype=np.uint8).reshape(3, 20, 24))
    person.page.locator("#upload").set_input_files(tmp_path / "from-here.npy")
    person.expect("state.project?.frames === 3 && state.project.height === 20 && state.project.width === 24")
    person.see_frame(0)


def test_what_was_sent_is_found_again_by_its_name_after_a_restart(serve, visit, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    np.save(tmp_path / "knee.npy", np.zeros((3, 20, 24), np.uint8))
    server = serve(root, "--no-live")
    person = visit(server)
    person.page.locator("#upload").set_input_files(tmp_path / "knee.npy")
    person.expect("state.project?.frames === 3")
    person.see_frame(0)
    person.click(5, 6)
    person.expect(f"{POINTS}.length === 1")
    server.kill()
    server.start()
    later = visit(server)
    later.page.locator("#recent").get_by_role("button", name="knee.npy").wait_for()
    later.open("fewpoint-uploads", "knee", "knee.npy")
    assert later.state(f"{POINTS}.length") == 1
    person.complaints.clear()  # of the server that went away


def test_files_dropped_on_the_page_are_sent_and_opened(shared_server, visit):
    person = visit(shared_server)
    person.page.locator("#files li").first.wait_for()
    person.page.evaluate(DROP_TWO_IMAGES)
    person.expect("state.project?.frames === 2 && state.project.height === 20 && state.project.width === 30")
    person.see_frame(0)


DROP_TWO_IMAGES = """async () => {
  const transfer = new DataTransfer();
  for (const name of ["one.png", "two.png"]) {
    const canvas = new OffscreenCanvas(30, 20);
    canvas.getContext("2d").fillRect(5, 5, 9, 9);
    transfer.items.add(new File([await canvas.convertToBlob({ type: "image/png" })], name, { type: "image/png" }));
  }
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


def test_a_refusal_is_told_in_one_line_and_can_be_dismissed(open_project):
    person = open_project()
    person.page.evaluate(
        """async () => {
          const { act } = await import("/static/session.js");
          act({ kind: "remove_point", point: 4711 });
        }"""
    )
    notice = person.page.locator(".notice.error")
    notice.wait_for()
    assert "\n" not in notice.locator("span").inner_text()
    notice.get_by_role("button", name="Dismiss").click()
    assert notice.count() == 0
    person.complaints[:] = [text for text in person.complaints if "the server responded with a status of 4" not in text]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background_as_wcag_aa_asks(open_project, scheme):
    person = open_project(color_scheme=scheme)
    person.click(20, 30)
    person.expect(f"{POINTS}.length === 1")
    person.shoot(scheme)
    person.page.keyboard.press("?")
    weak = person.page.evaluate(MEASURE_CONTRAST)
    person.page.keyboard.press("Escape")
    weak += person.page.evaluate(MEASURE_CONTRAST)
    assert weak == []


SCREENS = {"laptop": (1280, 640), "tablet": (1024, 768), "upright-tablet": (820, 1180), "phone": (390, 844)}


@pytest.mark.parametrize("name", SCREENS)
def test_a_person_looks_and_approves_on_every_screen(open_project, name):
    person = open_project("volume.nii.gz", has_touch=name != "laptop")
    page = person.page
    width, height = SCREENS[name]
    page.set_viewport_size({"width": width, "height": height})
    person.go_to(3)
    person.settle()
    stage = page.locator("#stage").bounding_box()
    assert stage["width"] >= 0.4 * width and stage["height"] >= 0.25 * height
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Mark, see, approve: by taps where there are any.
    press = page.mouse.click if name == "laptop" else page.touchscreen.tap
    press(*person.place(24, 20))
    person.expect(f"{POINTS}.length === 1")
    project = person.state("state.project.id")
    runs = [[24 * 48 + 10, 12]]
    page.evaluate(
        """([object, runs]) => import("/static/session.js").then(({ act }) =>
          act({ kind: "brush", object, frame: 2, runs }))""",
        ["object", runs],
    )
    person.go_to(2)
    page.get_by_role("button", name="Accept this frame").click()
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(2)")
    assert project
    person.shoot(name)
    outside = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas")]
          .filter((element) => element.checkVisibility() && !element.closest(".panel, .tools"))
          .filter((element) => {
            const { left, top, right, bottom } = element.getBoundingClientRect();
            return left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
          })
          .map((element) => element.outerHTML)"""
    )
    assert outside == []


@pytest.mark.parametrize("size", [(1280, 720), (1024, 640)])
def test_on_a_small_screen_nothing_lies_outside_and_the_image_keeps_its_room(open_project, size):
    person = open_project()
    person.page.set_viewport_size({"width": size[0], "height": size[1]})
    person.settle()
    outside = person.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas")]
          .filter((element) => element.checkVisibility() && !element.closest(".panel"))
          .filter((element) => {
            const { left, top, right, bottom } = element.getBoundingClientRect();
            return left < 0 || top < 0 || right > innerWidth + 1 || bottom > innerHeight + 1;
          })
          .map((element) => element.outerHTML)"""
    )
    assert outside == []
    assert person.page.locator(".panel").evaluate("(panel) => panel.scrollWidth <= panel.clientWidth")
    assert person.page.locator("#stage").bounding_box()["width"] > size[0] / 2


# Every visible piece of text with less contrast than 4.5 to 1, or 3 to 1 where it is large; what is disabled is exempt.
MEASURE_CONTRAST = """() => {
  const parse = (colour) => {
    const parts = colour.match(/[\\d.]+/g).map(Number);
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const background = (element) => {
    const layers = [];
    for (let at = element; at !== null; at = at.parentElement) {
      layers.push(parse(getComputedStyle(at).backgroundColor));
      if (layers.at(-1)[3] === 1 || at.tagName === "DIALOG") break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const weak = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const isShown = texts.currentNode.textContent.trim() !== "" && element.checkVisibility();
    if (!isShown || element.closest(":disabled, .unseen, svg, option")) continue;
    const open = document.querySelector("dialog[open]");
    if (open !== null && !open.contains(element)) continue;
    const style = getComputedStyle(element);
    const below = background(element);
    const text = over(parse(style.color), below);
    const [bright, dark] = [light(text), light(below)].sort((a, b) => b - a);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700;
    if (ratio < (isLarge ? 3 : 4.5)) weak.push(`${texts.currentNode.textContent.trim()}: ${ratio.toFixed(2)}`);
  }
  return weak;
}"""


def test_masks_become_runs_and_outlines_as_counted_by_hand(shared_server, visit):
    person = visit(shared_server)
    runs, back, edges = person.page.evaluate(
        """async () => {
          const { encodeRuns, decodeRuns, outline } = await import("/static/pixels.js");
          const mask = Uint8Array.from([0, 1, 1, 0, 0, 1, 0, 0, 1]);  // 3 by 3
          const runs = encodeRuns(mask);
          return [runs, [...decodeRuns(runs, 9)], outline(mask, 3)];
        }"""
    )
    assert runs == [[1, 2], [5, 1], [8, 1]]
    assert back == [0, 1, 1, 0, 0, 1, 0, 0, 1]
    # Above the upper two, below the left one of them, below the lowest; left of the upper, left of the lower, right.
    assert sorted(edges) == [[0, 1, 0, 3], [0, 1, 1, 1], [0, 3, 3, 3], [1, 1, 1, 2], [1, 2, 3, 2], [3, 2, 3, 3]]


def test_a_stroke_marks_the_pixels_whose_middle_is_within_the_brush(shared_server, visit):
    person = visit(shared_server)
    marked = person.page.evaluate(
        """async () => {
          const { paintStroke } = await import("/static/pixels.js");
          const mask = new Uint8Array(7 * 9);
          paintStroke(mask, 9, { y: 2.5, x: 2.5 }, { y: 4.5, x: 6.5 }, { radius: 1.5, value: 1 });
          return [...mask];
        }"""
    )
    rows, columns = np.indices((7, 9)) + 0.5
    start, end = np.array([2.5, 2.5]), np.array([4.5, 6.5])
    offsets = np.stack([rows, columns], axis=-1) - start
    along = np.clip(offsets @ (end - start) / ((end - start) @ (end - start)), 0, 1)
    distance = np.linalg.norm(offsets - along[..., np.newaxis] * (end - start), axis=-1)
    assert (np.array(marked).reshape(7, 9) == (distance <= 1.5)).all()


def test_the_screen_and_the_image_are_each_others_inverse_after_zooms_and_moves(shared_server, visit):
    person = visit(shared_server)
    worst = person.page.evaluate(
        """async () => {
          const { fitView, zoomAt, pan, toImage, toScreen } = await import("/static/view.js");
          const turn = { width: 300, height: 200, swap: true, flipX: true, flipY: false };
          const whole = fitView(turn, { width: 800, height: 500 }, 1.7);
          let view = whole;
          let worst = 0;
          for (let step = 0; step < 40; step += 1) {
            const at = { x: (step * 97) % 800, y: (step * 61) % 500 };
            const under = toImage(view, at);
            view = zoomAt(view, step % 3 === 0 ? 0.7 : 1.3, at, whole);
            const after = toScreen(view, under);
            worst = Math.max(worst, Math.abs(after.x - at.x), Math.abs(after.y - at.y));
            view = pan(view, step - 20, 20 - step);
          }
          return worst;
        }"""
    )
    assert worst < 1e-6


def test_no_script_or_style_stands_in_the_page_itself():
    from fewpoint.web.server import STATIC

    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:|https?://", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []


def test_the_pictures_of_the_guide_are_small_enough_for_a_repository():
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert len(pictures) >= 5
    assert [picture.name for picture in pictures if picture.stat().st_size > 300_000] == []
