"""What is looked at comes first, what nobody looks at can be stopped, and nothing that was marked is left unlearnt."""

import pytest

from synthetic import save_frames
from web.browser.conftest import Server, hold_runs

pytestmark = pytest.mark.nightly


@pytest.fixture
def start(tmp_path, tiny, phantom):
    """Start a server with two inputs, whose runs can be held."""
    servers = []

    def start(*arguments: str) -> Server:
        root = tmp_path / "root"
        for name in ("frames", "others"):
            save_frames(phantom.sequence.frames, root / name)
        servers.append(Server(root, (*tiny, *arguments), program=hold_runs(root)))
        servers[0].start()
        return servers[0]

    yield start
    for server in servers:
        server.close()


def click_on(person, phantom, *frames: int) -> None:
    for frame, y, x in (row for row in phantom.points.coordinates.tolist() if row[0] in frames):
        person.go_to(frame)
        person.click(y, x)
        person.expect(f"state.unsaved === 0 && state.project.objects[0].points.some((p) => p.frame === {frame})")


def open_input(person, name: str) -> None:
    person.page.keyboard.press("Control+o")
    person.open(name)


def test_the_study_that_is_opened_gets_the_machine_and_any_run_is_stopped_from_the_worklist(start, visit, phantom):
    server = start("--no-live")
    with server.holding_runs():
        person = visit(server)
        page = person.page
        person.open("frames")
        click_on(person, phantom, 0, 4)
        page.locator("#run-buttons").get_by_role("button", name="Run").first.click()
        person.expect("state.project.runs[0]?.state === 'running' && state.project.runs[0].epoch > 0")
        open_input(person, "others")
        click_on(person, phantom, 0, 4)
        page.locator("#run-buttons").get_by_role("button", name="Run").first.click()
        person.expect("state.project.runs[0]?.state === 'running' && state.project.runs[0].epoch > 0")

        page.keyboard.press("Control+l")
        page.locator("#queue", has_text="frames: run 1 waits for 1 other").wait_for()
        page.locator("#queue", has_text="others: run 1 is running").wait_for()
        person.shoot("queue")
        page.get_by_role("button", name="Stop run 1 of frames").click()
        page.locator("#queue", has_text="frames").wait_for(state="detached")
        person.shoot("stopped-in-the-background")
        page.get_by_role("button", name="Stop run 1 of others").click()
        page.locator("#queue", has_text="No run waits or goes").wait_for()
    person.expect("state.project.runs[0].state === 'cancelled'")


def test_a_run_in_the_background_goes_on_after_the_one_that_is_looked_at(start, visit, phantom):
    server = start("--no-live")
    person = visit(server)
    page = person.page
    with server.holding_runs():
        for name in ("frames", "others"):
            if name == "others":
                open_input(person, name)
            else:
                person.open(name)
            click_on(person, phantom, 0, 4)
            page.locator("#run-buttons").get_by_role("button", name="Run").first.click()
            person.expect("state.project.runs[0]?.state === 'running' && state.project.runs[0].epoch > 0")
    person.expect("state.project.runs[0].state === 'finished'")
    open_input(person, "frames")
    person.expect("state.project.runs[0].state === 'finished'")


def test_a_run_that_began_by_itself_ends_with_live_mode(start, visit, phantom):
    server = start()
    with server.holding_runs():
        person = visit(server)
        person.open("frames")
        click_on(person, phantom, 0, 4)
        person.expect("state.project.runs[0]?.state === 'running'")
        person.page.keyboard.press("l")
        person.expect("!state.project.live.on && state.project.runs[0].state === 'interrupted'")
        person.shoot("ended-with-live-mode")
        person.page.keyboard.press("l")
        person.expect("state.project.live.on && state.project.runs[0].state === 'running'")


def test_what_was_marked_while_a_run_went_is_learnt_by_itself_after_the_server_was_killed(start, visit, phantom):
    server = start()
    person = visit(server)
    person.open("frames")
    with server.holding_runs():
        click_on(person, phantom, 0, 4)
        person.expect("state.project.runs[0]?.state === 'running' && state.project.runs[0].epoch > 0")
        click_on(person, phantom, 6)
        person.expect("state.project.live.due")
        server.kill()
    server.start()
    person.expect("state.project.runs.length === 2 && state.project.runs.every((run) => run.state === 'finished')")
    person.expect("state.project.runs[1].refined_from === 1 && state.project.live.newer.length === 0")
    person.complaints.clear()  # of the connection that was lost
