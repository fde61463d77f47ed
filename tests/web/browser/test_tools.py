"""Tools that people expect: brush, lasso, scribble, filling, hiding, locking; and no stray points."""

import shutil

import numpy as np
import pytest

from web.browser.conftest import name_folder
from web.browser.test_live import read_mask

POINTS = "state.project.objects[0].points"


@pytest.fixture
def opened(shared_server, visit, request):
    """A page with a copy of the shared frames or volume."""

    def open_copy(name: str = "frames", **options):
        folder = shared_server.root / f"tools-{name_folder(request)}"
        folder.mkdir(exist_ok=True)
        given = shared_server.root / name
        (shutil.copytree if given.is_dir() else shutil.copy)(given, folder / name)
        person = visit(shared_server, **options)
        person.open(folder.name, name)
        person.go_to(0)
        return person

    return open_copy


def test_a_drag_moves_the_image_and_sets_no_point(opened):
    person = opened()
    before = person.place(20, 20)
    person.drag((20, 20), (20, 30))
    person.page.wait_for_timeout(300)  # a point would come at once
    assert person.state(f"{POINTS}.length") == 0
    assert person.place(20, 20)[0] > before[0] + 50
    person.page.keyboard.press("0")
    person.click(20, 20)
    person.expect(f"{POINTS}.length === 1")


def test_the_swipe_of_a_finger_sets_no_point_and_a_tap_does(opened):
    person = opened(has_touch=True)
    page = person.page
    x, y = person.place(20, 20)
    client = page.context.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": left, "y": top} for left, top in places]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x + 20 * step, y + 5 * step))
    touch("touchEnd")
    page.wait_for_timeout(300)  # a point would come at once
    assert person.state(f"{POINTS}.length") == 0
    page.touchscreen.tap(*person.place(24, 24))
    person.expect(f"{POINTS}.length === 1")


def test_the_lasso_fills_what_it_goes_round_and_the_scribble_sets_points_on_its_way(opened):
    person = opened()
    page = person.page
    page.keyboard.press("i")
    page.mouse.move(*person.place(10, 10))
    page.mouse.down()
    for corner in ((10, 30), (30, 30), (30, 10)):
        page.mouse.move(*person.place(*corner), steps=4)
    page.mouse.up()
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    mask = read_mask(person, 0)
    expected = np.zeros((48, 48), bool)
    expected[10:30, 10:30] = True
    assert (mask != expected).sum() <= 80  # the line itself goes through the middle of pixels
    person.settle()
    person.shoot("lasso")
    person.go_to(3)
    page.keyboard.press("Shift+P")
    page.mouse.move(*person.place(20, 8))
    page.mouse.down()
    page.mouse.move(*person.place(20, 40), steps=20)
    page.mouse.up()
    person.expect(f"state.unsaved === 0 && {POINTS}.length > 5")
    assert all(point["frame"] == 3 and point["y"] == 20 for point in person.state(POINTS))
    person.shoot("scribble")
    page.keyboard.press("Control+z")
    person.expect(f"{POINTS}.length === 0")


def test_masks_are_filled_between_frames_smoothed_copied_and_cleared_of_islands_by_buttons(opened):
    person = opened()
    page = person.page
    page.keyboard.press("d")
    page.locator("#brush-size").fill("4")
    for frame in (0, 4):
        person.go_to(frame)
        person.drag((20, 15), (20, 25))
        person.expect(f"state.unsaved === 0 && state.project.objects[0].brushed.includes({frame})")
    page.get_by_text("Change the mask", exact=True).click()
    page.get_by_role("button", name="Fill between drawn frames").click()
    person.expect("state.project.objects[0].brushed.length === 5")
    assert read_mask(person, 2)[20, 15:25].all()
    person.go_to(5)
    page.get_by_role("button", name="Copy from the frame before").click()
    person.expect("state.project.objects[0].brushed.includes(5)")
    assert np.array_equal(read_mask(person, 5), read_mask(person, 4))
    person.drag((40, 40), (40, 41))
    person.wait_until(lambda: read_mask(person, 5)[40, 40], "an island")
    page.get_by_role("button", name="Remove islands").click()
    person.wait_until(lambda: not read_mask(person, 5)[40, 40], "no island")
    person.settle()
    person.shoot("filled")


def test_an_object_is_hidden_and_locked_and_named_from_a_list(opened):
    person = opened()
    page = person.page
    page.keyboard.press("d")
    page.locator("#brush-size").fill("5")
    person.drag((24, 20), (24, 28))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    page.keyboard.press("o")
    page.mouse.move(5, 5)
    person.settle()
    red, _, blue = person.colour_at(24, 24)
    assert red - blue > 40  # the object's orange
    page.get_by_role("button", name="Hide object").click()
    person.settle()
    red, _, blue = person.colour_at(24, 24)
    assert red == blue  # the image's grey
    page.get_by_role("button", name="Show object").click()
    page.get_by_role("button", name="Lock object").click()
    person.expect("state.project.objects[0].locked")
    page.keyboard.press("p")
    person.click(5, 5)
    page.locator(".notice.error", has_text="object is locked").wait_for()
    assert person.state(f"{POINTS}.length") == 0
    page.get_by_role("button", name="Unlock object").click()
    person.expect("!state.project.objects[0].locked")
    page.get_by_role("button", name="Rename").click()
    assert "liver" in page.evaluate("[...document.querySelectorAll('#labels option')].map((each) => each.value)")
    page.keyboard.type("liver")
    page.keyboard.press("Enter")
    person.expect("state.project.objects[0].name === 'liver'")
    person.complaints[:] = [text for text in person.complaints if "status of 4" not in text]
    # Masks are asked for by number: what is on its way while the object gets another name is not refused.
    asked = [url for url, _ in person.answers if "/masks/" in url or "/measures" in url]
    assert asked and all("number=0" in url for url in asked)


def test_outlines_have_two_colours_so_that_one_stands_out_from_any_image(opened):
    person = opened()
    page = person.page
    page.keyboard.press("d")
    page.locator("#brush-size").fill("6")
    person.drag((24, 20), (24, 28))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    page.keyboard.press("m")
    page.mouse.move(5, 5)
    person.settle()
    mask = read_mask(person, 0)
    top = int(np.argmax(mask[:, 24]))
    x, _ = person.place(top, 24)
    y = (person.place(top, 24)[1] + person.place(top - 1, 24)[1]) / 2
    around = page.evaluate(
        """([x, y]) => {
          const canvas = document.getElementById("stage");
          const { left, top } = canvas.getBoundingClientRect();
          const ratio = canvas.width / canvas.clientWidth;
          const at = [Math.round((x - left) * ratio), Math.round((y - top - 4) * ratio), 1, Math.round(8 * ratio)];
          const { data } = canvas.getContext("2d").getImageData(...at);
          return Array.from({ length: data.length / 4 }, (_, i) => [...data.slice(4 * i, 4 * i + 3)]);
        }""",
        [x, y],
    )
    assert any(red > 180 and blue < 90 for red, _, blue in around)  # the object's orange
    assert any(max(colour) < 90 for colour in around)  # and dark beside it


def test_a_ball_paints_through_the_volume_and_a_stretch_of_frames_has_no_object(opened):
    person = opened("volume.nii.gz")
    page = person.page
    person.go_to(3)
    page.keyboard.press("d")
    page.locator("#brush-size").fill("5")
    page.locator("#ball").check()
    page.locator("#stage").focus()
    person.drag((24, 20), (24, 26))
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.length === 3")
    person.shoot("ball")
    page.locator("#ball").dispatch_event("click")  # wherever the panel is moved to by masks that arrive meanwhile
    person.expect("!state.ball")
    page.get_by_text("Absent from a range of frames").click()
    page.locator("#absent-first").fill("5")
    page.locator("#absent-last").fill("7")
    page.locator("#absent-range").click()
    person.expect("state.project.objects[0].absent.join() === '5,6,7'")


def test_the_points_that_lie_with_the_images_are_taken_over_by_a_button(shared_server, visit):
    folder = shared_server.root / "dataset"
    shutil.copytree(shared_server.root / "frames", folder / "input-frames")
    rows = "".join(f"{frame};0.0;1;0.5;0.25\n" for frame in range(8))
    (folder / "2dlocs.csv").write_text("a\nb\nc\nd\nframe;time;visible;x;y\n" + rows)
    person = visit(shared_server)
    person.page.locator("#files").get_by_role("button", name="dataset").first.click()
    person.expect("state.project !== null && state.project.own_points")
    person.page.get_by_text("Import points or masks").click()
    person.page.get_by_role("button", name="Import the points next to the images").click()
    person.expect(f"{POINTS}.length === 8 && {POINTS}.every((p) => p.y === 12 && p.x === 24)")


def test_further_channels_and_the_last_patient_are_asked_for_on_the_page(opened):
    person = opened()
    page = person.page
    person.click(20, 20)
    person.expect(f"{POINTS}.some((p) => p.id > 0)")
    asked = []

    def refuse(route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(status=422, json={"detail": "not today"})

    page.route("**/runs", refuse)
    page.locator("#settings-button").click()
    page.get_by_label("Further channels").fill("t1.nii.gz, folder/t2.nii.gz")
    page.get_by_label("Start from the last patient's networks").check()
    person.shoot("settings")
    page.locator("#stage").focus()
    page.keyboard.press("r")
    page.locator(".notice.error", has_text="not today").wait_for()
    person.complaints.clear()  # of that refusal
    (request,) = asked
    assert request["warm_start"] is True and request["added"] == ["t1.nii.gz", "folder/t2.nii.gz"]


def test_points_of_a_file_are_imported_from_this_computer(opened, tmp_path):
    person = opened()
    (tmp_path / "clicks.csv").write_text("frame,y,x\n0,10,11\n2,12,13\n")
    person.page.get_by_text("Import points or masks").click()
    person.page.locator("#import-file").set_input_files(tmp_path / "clicks.csv")
    person.expect(f"{POINTS}.length === 2")
    person.shoot("imported")
