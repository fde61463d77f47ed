"""No result is lost: each is listed with its words, figures and picture, can be shown again, compared and exported."""

import json
import urllib.request
from pathlib import Path

import numpy as np

from fewpoint.core.run_lengths import decode_mask
from synthetic import save_frames
from web.browser.conftest import hold_runs


def read_masks(person) -> np.ndarray:
    """The masks on all frames as they are shown now."""
    address = f"{person.server.address}api/projects/{person.state('state.project.id')}/masks"
    masks = []
    for frame in range(person.state("state.project.frames")):
        with urllib.request.urlopen(f"{address}/{frame}?object=object") as answer:
            message = json.load(answer)
        masks.append(decode_mask(message["runs"], tuple(message["size"])))
    return np.stack(masks)


def test_results_are_listed_shown_again_compared_exported_and_a_stopped_run_replaces_none(
    tmp_path, phantom, tiny, serve, visit
):
    root = tmp_path / "root"
    save_frames(phantom.sequence.frames, root / "frames")
    server = serve(root, "frames", *tiny, "--no-live", program=hold_runs(root))
    person = visit(server)
    page = person.page
    person.see_frame(0)
    for frame, y, x in phantom.points.coordinates[::2].tolist():
        person.go_to(frame)
        person.click(y, x)
    person.expect("state.unsaved === 0 && state.project.objects[0].points.length === 4")
    page.keyboard.press("r")
    person.expect("state.project.shown === 1")
    first = read_masks(person)
    assert first.any()

    # A refinement, which a negative and another size make different.
    person.go_to(2)
    person.click(44, 3, "Alt")
    page.locator("#size-factor").fill("4")
    page.keyboard.press("Enter")
    person.expect("state.unsaved === 0 && state.project.objects[0].size === 4")
    page.locator("#stage").focus()
    page.keyboard.press("f")
    person.expect("state.project.shown === 2")
    second = read_masks(person)
    assert second.sum() > first.sum()

    # Both are in the history, with what they were told, figures and a picture.
    page.keyboard.press("Shift+H")
    cards = page.locator("#history-list .result")
    assert cards.count() == 2
    newest, oldest = cards.nth(0).inner_text(), cards.nth(1).inner_text()
    assert "Run 2, refined from run 1" in newest and "4 clicks, 1 background click, 1 size" in newest
    assert "Told: 4 points." in oldest and "pixels in all, health 0." in oldest
    drawn = """() => [...document.querySelectorAll("#history-list canvas")].map((canvas) =>
      new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size)"""
    # Of many shades, so that there is a picture.
    person.wait_until(lambda: [count > 20 for count in page.evaluate(drawn)] == [True, True], "pictures of both")
    person.shoot("history")

    # Compared: the other one is dashed, and how far they agree is told.
    cards.nth(1).get_by_role("button", name="Compare").click()
    page.locator("#compared-words", has_text="agree to 0.").wait_for()
    person.go_to(2)
    person.settle()
    person.shoot("compared")
    page.locator("#compared-end").click()

    # Back to the first, by one key; nothing that was said is lost.
    page.locator("#stage").focus()
    page.keyboard.press("Shift+Z")
    person.expect("state.project.shown === 1")
    assert np.array_equal(read_masks(person), first)
    assert person.state("state.project.objects[0].size") == 4

    # Any of them can be exported.
    page.keyboard.press("Shift+H")
    cards.nth(0).get_by_role("button", name="Export…").click()
    page.get_by_role("heading", name="Export run 2").wait_for()
    page.get_by_label("PNG", exact=False).first.check()
    assert page.get_by_label("Probabilities, too").is_disabled()
    page.get_by_label("NIfTI", exact=False).first.check()
    page.get_by_label("Probabilities, too").check()
    page.get_by_role("button", name="Write the masks").click()
    page.get_by_role("link", name="Download", exact=True).wait_for()
    assert "run-2-" in page.locator("#exported code").inner_text()
    written = Path(page.locator("#exported code").inner_text())
    assert any("probabilities" in path.name for path in [written, *written.rglob("*")])
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")

    # The mask of a frame is cut anew by a slider, and one undo takes that back.
    page.get_by_text("Change the mask", exact=True).click()
    page.locator("#threshold").fill("0.05")
    person.expect("state.unsaved === 0 && state.project.objects[0].brushed.includes(2)")
    assert read_masks(person)[2].sum() > first[2].sum()
    page.locator("#stage").focus()

    # A run that is asked for while an undo is being saved begins after it, once however often the key is pressed.
    held = []

    def hold_back(route) -> None:
        held.append(route)

    page.route("**/actions", hold_back)
    page.keyboard.press("Control+z")
    page.keyboard.press("r")
    page.keyboard.press("r")
    person.wait_until(lambda: held, "the undo to be sent")
    page.wait_for_timeout(300)  # a run would begin at once
    assert person.state("state.unsaved") == 1 and person.state("state.project.runs.length") == 2
    with server.holding_runs():
        held[0].continue_()
        person.expect("state.unsaved === 0 && state.project.objects[0].brushed.length === 0")
        page.unroute("**/actions")

        # A run that is stopped is kept, and does not take the place of one that has finished.
        page.locator("#epoch", has_text="%").wait_for()
        page.get_by_role("button", name="Stop and keep").click()
        person.expect("state.project.runs.length === 3 && state.project.runs[2].state === 'cancelled'")
    assert person.state("state.project.shown") == 1
    assert np.array_equal(read_masks(person), first)
    if person.state("state.project.runs[2].best"):
        person.expect_words("in the history")
        page.keyboard.press("Shift+H")
        cards.nth(0).get_by_role("button", name="Show this one").click()
        person.expect("state.project.shown === 3")
