"""The whole job of a person on the page: open, click, run, look, correct, export, and nothing is lost."""

import json
import urllib.request
import zipfile

import numpy as np
import pytest
from PIL import Image

from fewpoint.core.run_lengths import decode_mask
from synthetic import save_frames
from web.browser.conftest import hold_runs

# Masks come late, as over a slow line.
SLOW_MASKS = """
const ask = window.fetch;
window.fetch = async (path, options) => {
  if (String(path).includes("/masks/")) await new Promise((done) => setTimeout(done, 700));
  return ask(path, options);
};
"""
WENT_AWAY = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "WebSocket connection")


def read(server, path: str):
    with urllib.request.urlopen(f"{server.address}api/{path}") as answer:
        return json.load(answer)


def read_project_id(server) -> str:
    return read(server, "projects")[0]["id"]


def read_project(visitor) -> dict:
    return read(visitor.server, f"projects/{read_project_id(visitor.server)}")


def read_mask(visitor, run: int, frame: int) -> np.ndarray:
    project = read_project(visitor)
    name = project["objects"][0]["name"]
    message = read(visitor.server, f"projects/{project['id']}/runs/{run}/masks/{frame}?object={name}")
    return decode_mask(message["runs"], tuple(message["size"]))


def test_clicks_and_masks_outlive_a_server_that_is_killed_and_what_is_exported_is_what_was_learnt(
    tmp_path, phantom, tiny, serve, visit
):
    root = tmp_path / "root"
    save_frames(phantom.sequence.frames, root / "frames")
    server = serve(root, *tiny, "--no-live")
    person = visit(server)
    page = person.page
    person.open("frames")
    clicked = [tuple(map(int, row)) for row in phantom.points.coordinates[::3]]
    for number, (frame, y, x) in enumerate(clicked, start=1):
        person.go_to(frame)
        person.click(y, x)
        person.expect(f"state.unsaved === 0 && state.project.objects[0].points.length === {number}")
    page.get_by_role("button", name="Run", exact=False).first.click()
    page.locator("#runs .finished").wait_for()
    frame, y, x = clicked[1]
    learnt = read_mask(person, 1, frame)
    assert learnt[y, x]
    person.go_to(frame)
    person.settle()
    page.keyboard.press("o")  # the outline would be in the way
    person.settle()
    red, _, blue = person.colour_at(y, x)
    assert red - blue > 40  # the object's colour is orange, the image grey
    person.shoot("learnt")

    assert person.complaints == []
    server.kill()
    person.expect("!state.online")
    person.click(20, 20)
    person.expect("state.unsaved === 1")
    server.start()
    person.expect("state.online && state.unsaved === 0")
    page.reload()
    person.expect("state.project !== null")
    points = [(p["frame"], p["y"], p["x"]) for p in person.state("state.project.objects[0].points")]
    assert points == [*clicked, (frame, 20, 20)]
    assert (read_mask(person, 1, frame) == learnt).all()

    page.get_by_role("button", name="Export…").click()
    page.get_by_label("PNG", exact=False).first.check()
    page.get_by_role("button", name="Write the masks").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    with zipfile.ZipFile(download.value.path()) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".png"))
        with archive.open(names[frame]) as stream:
            assert ((np.asarray(Image.open(stream)) > 0) == learnt).all()
    person.shoot("exported")
    person.complaints[:] = [text for text in person.complaints if not any(sign in text for sign in WENT_AWAY)]


@pytest.mark.nightly
def test_a_person_does_the_whole_job_on_the_page_and_loses_nothing_when_the_server_is_killed(
    tmp_path, phantom, tiny, serve, visit
):
    root = tmp_path / "root"
    save_frames(phantom.sequence.frames, root / "patient" / "frames")
    server = serve(root, *tiny, "--no-live", program=hold_runs(root))
    person = visit(server)
    page = person.page

    # Open.
    person.shoot("choose")
    page.get_by_role("button", name="patient").click()
    page.get_by_role("button", name="frames").first.click()
    person.see_frame(0)

    # Click on some frames; the points are where the object is.
    clicked = [tuple(map(int, row)) for row in phantom.points.coordinates[::2]]
    for frame, y, x in clicked:
        person.go_to(frame)
        person.click(y, x)
        person.expect(
            f"state.unsaved === 0 && state.project.objects[0].points.some((p) => p.frame === {frame} && p.id > 0)"
        )
    assert [(p["frame"], p["y"], p["x"]) for p in read_project(person)["objects"][0]["points"]] == clicked
    person.shoot("points")

    # A box where it is largest; its share of the frame is told.
    page.keyboard.press("b")
    person.drag((10, 12), (29, 35))
    page.get_by_text("21 %").wait_for()
    box = read_project(person)["objects"][0]["box"]
    assert (box["top"], box["left"], box["bottom"], box["right"]) == (10, 12, 30, 36)
    assert box["share"] == (20 * 24) / 48**2
    page.keyboard.press("p")
    person.shoot("box")

    # Run, and see how far it is.
    with server.holding_runs():
        page.get_by_role("button", name="Run", exact=False).first.click()
        page.locator("#progress").wait_for()
        page.locator("#epoch", has_text="%").wait_for()
        person.shoot("progress")
    page.locator("#runs .finished").wait_for()
    kinds = {json.loads(text)["kind"] for text in person.told}
    assert {"project", "run", "preview"} <= kinds
    assert page.locator("#curve path.line").count() == 1

    # The mask lies over the frame where the server says that it is.
    run = read_project(person)["runs"][-1]
    assert run["state"] == "finished" and run["refined_from"] is None
    frame = next(t for t in range(8) if read_mask(person, run["id"], t).any())
    person.go_to(frame)
    inside = read_mask(person, run["id"], frame)
    y, x = (int(value) for value in np.argwhere(inside)[inside.sum() // 2])
    page.keyboard.press("o")  # the outline would be in the way
    person.settle()
    with_mask = person.colour_at(y, x)
    person.shoot("mask")
    page.keyboard.press("m")
    person.settle()
    without = person.colour_at(y, x)
    assert (
        without[0] == without[2] and with_mask[0] - with_mask[2] > 40
    )  # the object's colour is orange, the image grey
    page.keyboard.press("m")
    page.keyboard.press("o")

    # To the frame most in doubt, and correct there: a point beside the object, then refine.
    page.keyboard.press("u")
    page.keyboard.press("n")
    person.expect("state.frame === state.uncertainty.next")
    person.settle()
    person.shoot("doubt")
    page.keyboard.press("u")
    person.click(44, 3, "Alt")
    person.expect("state.project.objects[0].points.some((p) => p.id > 0 && !p.positive && p.y === 44 && p.x === 3)")
    with server.holding_runs():
        page.get_by_role("button", name="Refine").click()
        page.locator("#progress").wait_for()
        page.goto("about:blank")  # close the page; the run goes on, and is there when the person comes back
        page.goto(f"{server.address}#project={read_project_id(server)}")
        page.locator("#progress").wait_for()
    page.locator("#runs .finished", has_text="Refined").wait_for()
    person.shoot("refined")
    assert read_project(person)["runs"][-1]["refined_from"] == run["id"]

    # Undo and redo.
    points = "state.project.objects[0].points.length"
    page.keyboard.press("Control+z")
    person.expect(f"{points} === {len(clicked)}")
    page.keyboard.press("Control+Shift+z")
    person.expect(f"{points} === {len(clicked) + 1}")
    person.shoot("redone")

    # The last pixels by hand, before the mask under them has come: that mask is kept, and so is what was painted.
    page.add_init_script(SLOW_MASKS)
    page.reload()
    person.expect("state.project !== null")
    person.go_to(0)
    page.keyboard.press("d")
    page.locator("#brush-size").fill("3")
    before = read_mask(person, 2, 0)
    person.drag((40, 6), (40, 12))
    person.drag((44, 30), (44, 36))  # at once, before the server has answered
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(0)")
    after = read_mask(person, 2, 0)
    assert not before[40, 6:13].any() and after[39:42, 6:13].all() and after[43:46, 30:37].all()
    assert (after[:30] == before[:30]).all()
    person.settle()
    person.shoot("brushed")
    page.keyboard.press("p")

    # Export, and take the project file along.
    page.get_by_role("button", name="Export…").click()
    page.get_by_label("PNG", exact=False).first.check()
    page.get_by_role("button", name="Write the masks").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    person.shoot("exported")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert sum(name.endswith(".png") for name in archive.namelist()) == 8
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the project file").click()
    assert download.value.suggested_filename.endswith(".fewpoint")
    page.keyboard.press("Escape")

    # The server dies; a click meanwhile waits for it, and nothing is lost.
    assert person.complaints == []
    person.go_to(1)
    person.settle()  # nobody can click on a frame that has not come
    server.kill()
    person.expect("!state.online")
    person.click(20, 20)
    person.expect("state.unsaved === 1")
    page.locator("#saved", has_text="1 change waits").wait_for()
    person.shoot("server-gone")
    server.start()
    person.expect("state.online && state.unsaved === 0")
    known = [(frame, y, x) for frame, y, x in clicked] + [(1, 20, 20)]
    page.reload()
    person.expect("state.project !== null")
    points = [(p["frame"], p["y"], p["x"]) for p in person.state("state.project.objects[0].points") if p["positive"]]
    assert points == known
    assert person.state("state.project.objects[0].brushed") == [0]
    page.locator("#runs .finished").first.wait_for()
    person.shoot("back")

    # A run that is stopped says so.
    with server.holding_runs():
        page.keyboard.press("r")
        page.get_by_role("button", name="Stop and keep the masks so far").click()
        page.locator("#runs .cancelled").wait_for()
    person.shoot("stopped")
    person.complaints[:] = [text for text in person.complaints if not any(sign in text for sign in WENT_AWAY)]
