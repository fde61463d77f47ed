"""A volume is shown as radiologists see it, whichever way its file counts, and can be marked in all three planes."""

import base64
import io
import json
import urllib.request
from itertools import permutations, product

import nibabel
import numpy as np
import pytest
from PIL import Image

from fewpoint.core.run_lengths import decode_mask
from fewpoint.io.images import read_sequence
from volumes import reorient
from web.browser.conftest import Server

SHAPE = (40, 36, 14)  # R, A, S
AFFINE = np.array([[1.0, 0, 0, -20], [0, 1.0, 0, -18], [0, 0, 3.0, -10], [0, 0, 0, 1]])
FLIPS = list(product((1, -1), repeat=3))
ORDERS = list(permutations(range(3)))
BLOCK = 10  # pixels of the screen: less than one of the volume, and more than a browser's rounding of its edges
ALIKE = 45  # of 255, in the mean of a block
# Where a pixel of the large plane lies on the screen, be its picture there or not.
PLACE_NOW = """async ([y, x]) => {
  const [stage] = (await import("/static/main.js")).stages;
  const [bounds, centre] = [stage.canvas.getBoundingClientRect(), stage.centreOf({ y, x })];
  return [bounds.left + centre.x, bounds.top + centre.y];
}"""


def make_head() -> np.ndarray:
    """A head with a bright nose in front, a bright spot at the right back and a dark one near the top."""
    right, front, up = np.indices(SHAPE)
    voxels = np.full(SHAPE, -1000, np.int16)
    voxels[((right - 20) / 15) ** 2 + ((front - 17) / 14) ** 2 + ((up - 7) / 6) ** 2 <= 1] = 30
    voxels[18:22, 30:35, 5:8] = 300  # nose
    voxels[27:31, 7:11, 5:9] = 120  # right, at the back
    voxels[10:14, 18:22, 11] = -60  # left, high up
    return voxels


def name_of(flips, order) -> str:
    return f"head{''.join('+' if flip > 0 else '-' for flip in flips)}{''.join(map(str, order))}"


@pytest.fixture(scope="module")
def heads(tmp_path_factory):
    """A server with one patient saved in eight orientations, and with the axes in other orders."""
    root = tmp_path_factory.mktemp("heads") / "root"
    root.mkdir()
    for flips, order in [*((flips, ORDERS[0]) for flips in FLIPS), *(((1, -1, 1), order) for order in ORDERS[1:])]:
        voxels, affine = reorient(make_head(), AFFINE, flips)
        columns = [*order, 3]
        saved = nibabel.Nifti1Image(np.ascontiguousarray(voxels.transpose(order)), affine[:, columns])
        nibabel.save(saved, root / f"{name_of(flips, order)}.nii.gz")
    server = Server(root, ("--no-live",))
    server.start()
    yield server
    server.close()


@pytest.fixture
def open_head(heads, visit):
    def open_head(name: str = name_of((1, 1, 1), ORDERS[0]), person=None):
        if person is None:
            person = visit(heads)
            person.page.locator("#files li").first.wait_for()
        person.page.evaluate(
            """async (name) => {
              const { openInput } = await import("/static/api.js");
              const { enter } = await import("/static/session.js");
              document.getElementById("chooser").close();
              enter(await openInput({ input: name }));
            }""",
            f"{name}.nii.gz",
        )
        person.settle()
        return person

    return open_head


def read_canvas(person, name: str) -> np.ndarray:
    """(H, W) red of a canvas."""
    data = person.page.evaluate("(name) => document.getElementById(name).toDataURL('image/png')", name)
    picture = Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2])))
    return np.asarray(picture.convert("RGB"))[..., 0].astype(np.int16)


def are_alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two pictures show the same; of two small planes one may be a pixel higher."""
    height, width = (min(sides) // BLOCK for sides in zip(one.shape, other.shape, strict=True))
    whole = np.s_[: height * BLOCK, : width * BLOCK]
    difference = (one[whole] - other[whole]).reshape(height, BLOCK, width, BLOCK)
    return bool(np.abs(difference.mean(axis=(1, 3))).max() <= ALIKE)


def read_letters(person) -> list[list[str]]:
    """Left, right, top and bottom of each plane."""
    return person.page.evaluate(
        """() => ["stage", "plane-1", "plane-2"].map((id) =>
          ["left", "right", "top", "bottom"].map((side) =>
            document.getElementById(id).parentElement.querySelector(`.letter.${side}`).textContent))"""
    )


def names_of_planes(person) -> list[str]:
    return [text.split()[0] for text in person.page.locator(".plane-name").all_inner_texts()]


def planes_by_name(person) -> dict[str, np.ndarray]:
    return {
        name: read_canvas(person, canvas)
        for name, canvas in zip(names_of_planes(person), ("stage", "plane-1", "plane-2"), strict=True)
    }


def test_the_same_patient_in_eight_orientations_is_the_same_picture_in_all_three_planes(open_head):
    person, first = None, {}
    for flips in FLIPS:
        person = open_head(name_of(flips, ORDERS[0]), person)
        assert names_of_planes(person) == ["Axial", "Coronal", "Sagittal"]
        assert read_letters(person) == [["R", "L", "A", "P"], ["R", "L", "S", "I"], ["A", "P", "S", "I"]]
        shown = planes_by_name(person)
        first = first or shown
        for name, picture in shown.items():
            assert are_alike(picture, first[name]), (name, flips)
    person.shoot("head")


def test_axes_stored_in_another_order_change_neither_names_nor_pictures(open_head):
    person = open_head()
    first = planes_by_name(person)
    for order in ORDERS[1:]:
        open_head(name_of((1, -1, 1), order), person)
        # The coarsest axis gives the frames, which are axial planes here, whatever it is called in the file.
        assert names_of_planes(person)[0] == "Axial"
        shown = planes_by_name(person)
        assert shown.keys() == first.keys()
        for name, picture in shown.items():
            assert are_alike(picture, first[name]), (name, order)
        letters = dict(zip(names_of_planes(person), read_letters(person), strict=True))
        assert letters["Sagittal"] == ["A", "P", "S", "I"] and letters["Coronal"] == ["R", "L", "S", "I"]


def test_the_nose_is_at_the_top_and_the_spot_of_the_right_side_on_the_left_below(open_head):
    person = open_head()
    page = person.page
    page.keyboard.press("Shift+X")  # the crosshair's lines would be in the way
    person.settle()
    picture = read_canvas(person, "stage")
    height, width = picture.shape
    rows, columns = np.nonzero(picture[:, width // 3 : 2 * width // 3] > 250)
    assert rows.mean() < height / 3 and abs(columns.mean() - width / 6) < 0.05 * width  # the nose
    rows, columns = np.nonzero(picture[height // 2 :] > 240)
    assert columns.mean() < width / 2 and columns.max() - columns.min() < 0.15 * width  # the spot
    page.keyboard.press("Shift+X")


def test_it_opens_in_the_middle_and_later_where_the_first_click_is(open_head):
    person = open_head(name_of((1, 1, -1), ORDERS[0]))
    assert person.state("[state.frame, state.cursor.y, state.cursor.x]") == [6, 18, 20]
    person.go_to(9)
    person.click(12, 25)
    person.expect("state.unsaved === 0 && state.project.objects[0].points.some((p) => p.id > 0)")
    person.go_to(3)
    person.page.reload()
    person.expect("state.project !== null")
    assert person.state("[state.frame, state.cursor.y, state.cursor.x]") == [9, 12, 25]


def test_points_are_set_in_every_plane_and_wheel_and_zoom_work_there(open_head):
    person = open_head(name_of((-1, 1, 1), ORDERS[0]))
    page = person.page
    page.mouse.move(*person.place_in(1, 4, 11))
    page.mouse.wheel(0, 120)
    person.expect("state.cursor.y === 20 && state.frame === 7")
    page.mouse.click(*person.place_in(1, 4, 11))  # coronal: rows are frames, columns are columns
    person.expect("state.project.objects[0].points.some((p) => p.frame === 4 && p.y === 20 && p.x === 11 && p.id > 0)")
    assert person.state("[state.frame, state.cursor.x]") == [4, 11]
    page.mouse.click(*person.place_in(2, 9, 30))  # sagittal: rows are frames, columns are rows
    person.expect("state.project.objects[0].points.some((p) => p.frame === 9 && p.y === 30 && p.x === 11)")

    def measure_pixel() -> float:
        return abs(person.place_in(2, 9, 31)[0] - person.place_in(2, 9, 30)[0])

    before = measure_pixel()
    page.mouse.move(*person.place_in(2, 9, 30))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    person.wait_until(lambda: measure_pixel() > 1.5 * before, "larger pixels")
    page.keyboard.up("Control")
    person.shoot("points")


def read_present(person, frame: int) -> np.ndarray:
    project = person.state("state.project.id")
    with urllib.request.urlopen(f"{person.server.address}api/projects/{project}/masks/{frame}?object=object") as answer:
        message = json.load(answer)
    return decode_mask(message["runs"], tuple(message["size"]))


def test_the_brush_paints_in_a_plane_across_the_frames_and_one_undo_takes_it_back(open_head):
    person = open_head(name_of((1, -1, -1), ORDERS[0]))
    page = person.page
    page.keyboard.press("d")
    page.locator("#brush-size").fill("1.5")
    page.mouse.move(*person.place_in(1, 3, 10))
    page.mouse.down()
    page.mouse.move(*person.place_in(1, 8, 10), steps=4)
    page.mouse.up()
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.length >= 6")
    row = person.state("state.cursor.y")
    for frame in range(3, 9):
        mask = read_present(person, frame)
        assert mask[row, 10] and not np.delete(mask, row, axis=0).any()
    # The mask is seen in all planes; the large one goes through a painted frame.
    person.go_to(5)
    page.locator("#measures", has_text="mm² on this frame").filter(has_text="ml in all").wait_for()
    person.settle()
    person.shoot("painted")
    page.keyboard.press("Control+z")
    person.expect("state.project.objects[0].brushed.length === 0")
    page.keyboard.press("p")


@pytest.mark.parametrize("axis", [1, 2])
def test_what_is_marked_in_another_large_plane_lies_on_the_grid_of_the_file(open_head, heads, axis):
    flips, order = (1, -1, 1), ORDERS[3]
    person = open_head(name_of(flips, order))
    page = person.page
    frames = read_sequence(heads.root / f"{name_of(flips, order)}.nii.gz").frames[..., 0]
    place = np.argwhere(frames == 120)[0]  # a corner of the spot at the right back
    for _ in range(axis):
        page.keyboard.press("y")
    person.expect(f"state.mainAxis === {axis}")
    page.evaluate(
        "async ([frame, y, x]) => (await import('/static/store.js')).set({ frame, cursor: { y, x } })", place.tolist()
    )
    person.see_frame(int(place[axis]))
    row, column = np.delete(place, axis).tolist()
    person.click(row, column)
    frame, y, x = place.tolist()
    person.expect(
        f"state.project.objects[0].points.some((p) => p.id > 0 && p.frame === {frame} && p.y === {y} && p.x === {x})"
    )
    page.locator("#pixel-value", has_text="120").wait_for()
    page.keyboard.press("d")
    page.locator("#brush-size").fill("0.5")
    person.click(row + 1, column)
    person.expect(f"state.unsaved === 0 && state.project.objects[0].brushed.includes({frame + 1})")
    mask = read_present(person, frame + 1)
    assert np.argwhere(mask).tolist() == [[y, x]] and frames[frame + 1, y, x] == 120
    person.shoot("marked")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    person.expect("state.project.objects[0].points.length === 0 && state.project.objects[0].brushed.length === 0")
    page.keyboard.press("p")


def test_another_plane_becomes_the_large_one_and_keys_go_through_it(open_head):
    person = open_head()
    person.page.locator("#plane-1").locator("..").get_by_role("button", name="Coronal").click()
    person.expect("state.mainAxis === 1")
    assert names_of_planes(person) == ["Coronal", "Axial", "Sagittal"]
    person.page.locator("#stage").focus()
    person.page.keyboard.press("ArrowRight")
    person.expect("state.cursor.y === 19")
    person.see_frame(19)
    person.shoot("coronal")


def read_look(person) -> tuple[float, float]:
    """The grey values that the server keeps."""
    project = person.state("state.project.id")
    with urllib.request.urlopen(f"{person.server.address}api/projects/{project}") as answer:
        look = json.load(answer)["look"]
    return look["low"], look["high"]


def test_value_window_and_ruler_are_in_the_units_of_the_file_and_the_window_is_kept(open_head):
    person = open_head(name_of((-1, -1, 1), ORDERS[0]))
    page = person.page
    person.go_to(6)
    page.mouse.move(*person.place(*stored((-1, -1, 1), 29, 9)))  # the spot at the right back
    page.locator("#pixel-value", has_text="120").wait_for()
    page.locator("#window-preset").select_option("brain")
    person.expect("state.window.low === 0 && state.window.high === 80")
    page.locator("#window-width").fill("200")
    page.keyboard.press("Enter")
    person.expect("state.window.low === -60 && state.window.high === 140")
    person.settle()  # with the new grey values
    page.locator("#stage").focus()
    page.keyboard.press("t")
    person.drag((10, 10), (13, 14))
    page.wait_for_selector('#stage[data-distance="5.0 mm"]')
    person.shoot("ruler")
    page.keyboard.press("p")
    person.wait_until(lambda: read_look(person) == (-60, 140), "the window to be kept")
    page.reload()
    person.expect("state.project !== null && state.window.low === -60 && state.window.high === 140")


def test_a_click_counts_while_the_same_frame_comes_with_other_grey_values(open_head):
    person = open_head(name_of((1, 1, -1), ORDERS[0]))
    page = person.page
    person.go_to(4)
    held = []

    def hold(route) -> None:
        held.append(route)

    page.route("**/frames/4?*", hold)
    page.locator("#window-preset").select_option("bone")
    page.wait_for_selector('#stage[data-frame="loading"]')
    page.mouse.click(*page.evaluate(PLACE_NOW, [12, 20]))
    person.expect("state.project.objects[0].points.some((p) => p.frame === 4 && p.y === 12 && p.x === 20 && p.id > 0)")
    assert page.locator(".notice").count() == 0
    for route in held:
        route.continue_()
    person.see_frame(4)
    page.keyboard.press("Control+z")
    person.expect("state.project.objects[0].points.every((p) => p.frame !== 4)")


def stored(flips, right: int, front: int) -> tuple[int, int]:
    """Row and column of the stored frame at a place of the head."""
    return front if flips[1] > 0 else SHAPE[1] - 1 - front, right if flips[0] > 0 else SHAPE[0] - 1 - right


def test_the_surface_is_drawn_with_the_sides_of_the_patient(open_head):
    person = open_head(name_of((-1, 1, -1), ORDERS[0]))
    page = person.page
    page.keyboard.press("d")
    page.locator("#brush-size").fill("6")
    for frame in (5, 6, 7):
        person.go_to(frame)
        person.drag((14, 14), (22, 24))
        person.expect(f"state.unsaved === 0 && state.project.objects[0].brushed.includes({frame})")
    page.keyboard.press("g")
    page.wait_for_selector("#surface-canvas[data-triangles]")
    page.locator("#surface-letters span", has_text="I").wait_for()  # the last to be placed
    person.shoot("surface")
    assert int(page.locator("#surface-canvas").get_attribute("data-triangles")) > 100
    places = {
        each.inner_text(): each.bounding_box()
        for each in page.locator("#surface-letters span").all()
        if each.inner_text()
    }
    assert places["R"]["x"] < places["L"]["x"] and places["S"]["y"] < places["I"]["y"]
    drawn = page.evaluate(
        """() => {
          const canvas = document.getElementById("surface-canvas");
          const gl = canvas.getContext("webgl");
          const pixels = new Uint8Array(4 * canvas.width * canvas.height);
          gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
          return pixels.filter((value, index) => index % 4 === 3 && value > 0).length / (canvas.width * canvas.height);
        }"""
    )
    assert 0.02 < drawn < 0.9
    page.keyboard.press("Escape")


def test_frames_without_a_patient_are_shown_as_they_are_stored_and_have_no_letters(shared_server, visit):
    person = visit(shared_server)
    person.open("frames")
    person.see_frame(0)
    assert read_letters(person)[0] == ["", "", "", ""]
    assert person.place(0, 0)[0] < person.place(0, 40)[0] and person.place(0, 0)[1] < person.place(40, 0)[1]
