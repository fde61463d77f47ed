"""Several objects on the page: one run for all of them, seen while it goes, stopped and kept, and refined."""

import json
import urllib.request

import numpy as np

from fewpoint.core.run_lengths import decode_mask
from fewpoint.evaluation.phantom import make_objects
from synthetic import save_frames
from web.browser.conftest import hold_runs

SECOND = "second"


def read(visitor, path: str = ""):
    """What the server says of the only project."""
    address = f"{visitor.server.address}api/projects"
    with urllib.request.urlopen(address) as answer:
        (project,) = json.load(answer)
    with urllib.request.urlopen(f"{address}/{project['id']}{path}") as answer:
        return json.load(answer)


def read_masks(visitor, run: int) -> dict[str, np.ndarray]:
    """(T, H, W) bool of each object by name."""
    masks = {}
    for name in (each["name"] for each in read(visitor)["objects"]):
        frames = [read(visitor, f"/runs/{run}/masks/{frame}?object={name}") for frame in range(6)]
        masks[name] = np.stack([decode_mask(each["runs"], tuple(each["size"])) for each in frames])
    return masks


def test_two_objects_are_run_as_one_job_previewed_stopped_and_kept_and_refined(tmp_path, tiny, serve, visit):
    phantom = make_objects(6, (64, 64))
    root = tmp_path / "root"
    save_frames(phantom.sequence.frames, root / "frames")
    server = serve(root, *tiny, "--no-live", program=hold_runs(root))
    person = visit(server)
    page = person.page
    page.get_by_role("button", name="frames").first.click()
    person.see_frame(0)

    # Click on both objects on every other frame.
    page.get_by_role("button", name="+ Add").click()
    person.expect("state.project.objects.length === 2 && state.object === state.project.objects[1].name")
    first = person.state("state.project.objects[0].name")
    page.get_by_role("button", name="Rename").click()
    page.keyboard.type(SECOND)
    page.keyboard.press("Enter")
    person.expect(f"state.project.objects[1].name === '{SECOND}'")
    rows = list(zip(phantom.points.coordinates.tolist(), phantom.points.objects, strict=True))
    for number, name in ((0, "object 1"), (1, "object 2")):
        page.locator("#objects button.choose").nth(number).click()
        person.expect(f"state.object === state.project.objects[{number}].name")
        for frame, y, x in (row for row, each in rows if each == name and row[0] % 2 == 0):
            person.go_to(frame)
            person.click(y, x)
            person.expect(
                "state.unsaved === 0 && "
                f"state.project.objects[{number}].points.some((p) => p.frame === {frame} && p.id > 0)"
            )

    # One run for both, of which each is previewed, and which ends as one.
    page.get_by_role("button", name="Run", exact=False).first.click()
    page.locator("#runs .finished").wait_for()
    person.go_to(2)
    person.settle()
    person.shoot("both")
    (run,) = read(person)["runs"]
    assert sorted(run["objects"]) == sorted([first, SECOND])
    events = [json.loads(text) for text in person.told]
    assert any(each["kind"] == "preview" for each in events)
    shown = [each["run"]["priors"] for each in events if each["kind"] == "run" and each["run"]["priors"]]
    assert set(shown[-1]) == {first, SECOND}
    masks = read_masks(person, run["id"])
    assert all(mask.any() for mask in masks.values())
    assert not (masks[first] & masks[SECOND]).any()

    # A negative on the second object, and both go on from their networks.
    page.locator("#objects button.choose").nth(1).click()
    person.click(2, 60, "Alt")
    person.expect("state.unsaved === 0 && state.project.objects[1].points.some((p) => p.id > 0 && !p.positive)")
    page.get_by_role("button", name="Refine").click()
    page.locator("#runs .finished", has_text="Refined").wait_for()
    person.settle()
    person.shoot("refined")
    refined = read(person)["runs"][-1]
    assert refined["refined_from"] == run["id"] and sorted(refined["objects"]) == sorted([first, SECOND])
    assert not read_masks(person, refined["id"])[SECOND][2, 2, 60]

    # Stopped in the middle of learning, what there is of both is kept.
    with server.holding_runs():
        page.get_by_role("button", name="Run", exact=False).first.click()
        page.locator("#epoch", has_text="%").wait_for()
        page.get_by_role("button", name="Stop and keep the masks so far").click()
        page.locator("#runs .cancelled").wait_for()
    person.shoot("stopped")
    assert read(person)["runs"][-1]["state"] == "cancelled"
