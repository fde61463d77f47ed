"""The page says what is known: warnings, health, bounds, progress, doubt, and that a run has ended."""

import re

import numpy as np

from fewpoint.evaluation.phantom import make_objects
from synthetic import save_frames

# Somebody who looks at another page, and whose browser may tell of things.
AWAY = """
window.told = [];
window.Notification = class { static permission = "granted"; constructor(title, { body }) { window.told.push(body); } };
Object.defineProperty(document, "hidden", { get: () => window.away === true });
"""
# The progress of a run as it is told, every time that it changes.
WATCH = """() => {
  window.phases = [];
  new MutationObserver(() => window.phases.push(document.getElementById("phase").textContent))
    .observe(document.getElementById("phase"), { childList: true, characterData: true, subtree: true });
}"""


def test_warnings_health_bounds_and_the_end_of_a_run_are_told_for_the_object_in_view(tmp_path, tiny, serve, visit):
    phantom = make_objects(6, (64, 64))
    root = tmp_path / "root"
    save_frames(phantom.sequence.frames, root / "frames")
    person = visit(serve(root, "frames", *tiny, "--no-live"))
    page = person.page
    page.add_init_script(AWAY)
    page.reload()
    person.see_frame(0)
    page.get_by_role("button", name="+ Add").click()
    person.expect("state.project.objects.length === 2")
    rows = list(zip(phantom.points.coordinates.tolist(), phantom.points.objects, strict=True))
    for number, name in ((0, "object 1"), (1, "object 2")):
        page.locator("#objects button.choose").nth(number).click()
        for frame, y, x in (row for row, each in rows if each == name and row[0] in (0, 2)):
            person.go_to(frame)
            person.click(y, x)
    # A box of the second object alone bounds it alone.
    person.go_to(2)
    page.keyboard.press("b")
    person.drag((4, 4), (35, 35))
    person.expect("state.unsaved === 0 && state.project.objects[1].box !== null")
    page.keyboard.press("p")
    assert page.locator("#bound-share").inner_text() == "25 %"
    page.locator("#objects button.choose").nth(0).click()
    page.locator("#bound-words", has_text="estimated from the points").wait_for()
    assert page.locator("#bound-share").inner_text() == ""

    page.evaluate(WATCH)
    page.locator("#stage").focus()
    page.evaluate("window.away = true")
    page.keyboard.press("r")
    person.expect("state.project.shown === 1")
    person.expect("window.told.length === 1")
    assert page.evaluate("window.told") == ["frames: the masks are ready"]
    assert "the masks are ready" in page.title()
    page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    assert page.title() == "frames · fewpoint"

    # Notes of the run came beside the progress, and did not take its place.
    phases = set(page.evaluate("window.phases"))
    assert any("learning" in phase.lower() for phase in phases)
    assert not any("bound" in phase.lower() or "group" in phase.lower() for phase in phases)

    person.expect_words("The masks are ready, but")

    # What the command line would print is on the page, in the page's words.
    run = person.state("state.project.runs[0]")
    assert run["notes"] and not any("--" in note for note in run["notes"])
    assert page.locator("#warnings .warning").count() == len(run["notes"])
    assert not re.search(r"--[a-z]", page.locator("body").inner_text())
    for number, name in ((0, "object"), (1, "object 2")):
        page.locator("#objects button.choose").nth(number).click()
        figures = run["figures"][name]
        page.locator("#health", has_text=f"Health of {name}: {figures['health']:.2f} of 1").wait_for()
        share = 100 * figures["bound"]
        shown = f"{share:.0f} %" if share >= 10 else f"{share:.1f} %"
        assert page.locator("#bound-share").inner_text() == shown
    assert run["figures"]["object 2"]["bound"] == 0.25 != run["figures"]["object"]["bound"]
    person.shoot("told")

    # The most doubtful frame has the last colour of the legend, whatever its doubt is.
    person.expect("state.uncertainty !== null")
    worst = person.state("state.uncertainty.next")
    colours = page.evaluate(
        """() => {
          const strip = document.getElementById("strip");
          const ratio = strip.width / strip.clientWidth;
          const row = strip.getContext("2d").getImageData(0, Math.round(22 * ratio), strip.width, 1).data;
          return [...row].reduce((all, v, i) => (i % 4 ? all : [...all, [row[i], row[i + 1], row[i + 2]]]), []);
        }"""
    )
    place = round((8 + worst * (page.locator("#strip").bounding_box()["width"] - 16) / 5) + (6 if worst == 0 else -6))
    assert np.abs(np.array(colours[place]) - (253, 231, 37)).max() <= 3


def test_an_error_is_seen_and_can_be_dismissed_while_a_dialog_is_open(shared_server, visit):
    person = visit(shared_server)
    page = person.page
    page.locator("#files li").first.wait_for()
    page.evaluate("import('/static/notices.js').then(({ complain }) => complain(new Error('The disk is full.')))")
    notice = page.locator(".notice.error", has_text="The disk is full.")
    notice.wait_for()
    person.shoot("error-over-dialog")
    on_top = page.evaluate(
        """() => {
          const { left, top, width, height } = document.querySelector(".notice.error").getBoundingClientRect();
          return document.elementFromPoint(left + width / 3, top + height / 2).closest(".notice") !== null;
        }"""
    )
    assert on_top
    page.keyboard.press("Escape")
    notice.wait_for()
    notice.get_by_role("button", name="Dismiss").click()
    assert notice.count() == 0
