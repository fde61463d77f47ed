"""Live mode: the mask follows what a person says, learning follows by itself, and nothing needs to be pressed."""

import pytest

from synthetic import save_frames

MASK = "state.project.live.objects.includes(state.object)"


@pytest.fixture
def open_live(tmp_path, phantom, tiny, serve, visit):
    """A page in live mode with the phantom opened."""

    def open_live(*arguments: str):
        root = tmp_path / "root"
        save_frames(phantom.sequence.frames, root / "frames")
        person = visit(serve(root, "frames", *tiny, *arguments))
        person.expect("state.project !== null")
        person.see_frame(0)
        return person

    return open_live


def click_on(person, phantom, *frames: int) -> None:
    for frame, y, x in (row for row in phantom.points.coordinates.tolist() if row[0] in frames):
        person.go_to(frame)
        person.click(y, x)
        person.expect(f"state.unsaved === 0 && state.project.objects[0].points.some((p) => p.frame === {frame})")


def test_a_person_clicks_and_masks_come_and_get_better_without_a_button(open_live, phantom):
    person = open_live()
    page = person.page
    person.expect("state.project.live.state === 'ready'")

    # The first click gives a rough mask.
    click_on(person, phantom, 0)
    person.expect(f"{MASK} && state.project.live.rough")
    page.locator("#rough-badge").wait_for()
    page.wait_for_timeout(300)
    person.shoot("rough")
    assert person.state("state.project.runs.length") == 0

    # With more, the first run begins by itself, and its masks take the place of the rough one.
    click_on(person, phantom, 2, 4, 6)
    person.expect("state.project.runs.length === 1")
    page.locator("#progress").wait_for()
    person.shoot("first-run")
    page.locator("#runs .finished").wait_for()
    person.expect("!state.project.live.objects.length")
    assert page.locator("#rough-badge").is_hidden()
    person.shoot("learnt")

    # A further click changes the mask before anything is learnt of it, and a refinement follows.
    person.click(44, 3, "Alt")
    person.expect(f"{MASK} && !state.project.live.rough && state.project.runs.length === 1")
    person.expect("state.project.runs.length === 2 && state.project.runs[1].refined_from === 1")
    person.click(40, 6, "Alt")  # while it goes on, which it does to its end
    page.locator("#runs .finished", has_text="Refined 2").wait_for()
    page.locator("#runs .finished", has_text="Refined 3").wait_for()
    person.expect("!state.project.live.objects.length && !state.project.live.due")
    page.wait_for_timeout(1500)
    assert person.state("state.project.runs.map((run) => run.state)") == ["finished"] * 3
    person.shoot("refined")
