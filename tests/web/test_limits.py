"""What is asked for leaves the server to the others: exports, open projects, uploads, and errors of its own."""

import sys
import threading
import time

import pytest

from fewpoint.errors import InputError
from fewpoint.web import exporting, sessions, uploads
from fewpoint.web.broadcast import MOST_BYTES, MOST_WAITING, Waiting
from fewpoint.web.exporting import ExportOrder
from fewpoint.web.faults import BusyError
from fewpoint.web.guard import HEADERS
from fewpoint.web.places import Root
from fewpoint.web.uploads import check_quota
from web.visits import open_frames, run_apart, watch


def test_only_so_many_exports_are_at_work_at_once(monkeypatch, tmp_path):
    at_work, go_on = tmp_path / "at-work", tmp_path / "go-on"
    at_work.mkdir()
    code = (
        f"import os, time; mine = {str(at_work)!r} + '/' + str(os.getpid()); open(mine, 'w').close()\n"
        f"while not os.path.exists({str(go_on)!r}): time.sleep(0.02)\n"
        "os.remove(mine)"
    )
    monkeypatch.setattr(exporting, "COMMAND", (sys.executable, "-S", "-c", code))
    order = ExportOrder("p", 1, 1, "png", False, "out")
    threads = [threading.Thread(target=exporting._run_export, args=(order,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    while len(list(at_work.iterdir())) < exporting.MOST_AT_WORK:
        time.sleep(0.02)
    time.sleep(0.3)  # another one would begin at once
    assert len(list(at_work.iterdir())) == exporting.MOST_AT_WORK
    go_on.touch()
    for thread in threads:
        thread.join()
    assert not list(at_work.iterdir())


def test_exports_that_wait_are_bounded_so_that_other_requests_are_still_answered(monkeypatch):
    monkeypatch.setattr(exporting, "_asked_for", threading.BoundedSemaphore(2))
    monkeypatch.setattr(exporting, "_at_work", threading.BoundedSemaphore(2))
    export, refused = exporting._waiting_for_turn, pytest.raises(BusyError, match="work or wait")
    with export(), export(), refused, export():
        pass
    with export(), export():
        pass


def test_an_export_that_waits_too_long_for_others_is_refused(monkeypatch):
    monkeypatch.setattr(exporting, "_at_work", threading.BoundedSemaphore(1))
    monkeypatch.setattr(exporting, "LONGEST_WAIT_S", 0.01)
    export, refused = exporting._waiting_for_turn, pytest.raises(BusyError, match="try again later")
    with export(), refused, export():
        pass


def test_an_export_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(exporting, "COMMAND", (sys.executable, "-S", "-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(exporting, "LONGEST_EXPORT_S", 0.2)
    with pytest.raises(Exception, match="was ended"):
        exporting._run_export(ExportOrder("p", 1, 1, "png", False, "out"))


def test_projects_used_longest_ago_are_closed_and_can_be_opened_again(client, root, monkeypatch):
    workspace = client.app.state.fewpoint.workspace
    first = open_frames(client)["id"]
    monkeypatch.setattr(sessions, "MOST_OPEN", 1)
    monkeypatch.setattr(sessions, "IDLE_SECONDS", -1.0)
    second = client.post("/api/projects", json={"input": "truth"}).json()["id"]
    assert set(workspace._sessions) == {second}
    assert client.get(f"/api/projects/{first}").json()["frames"] == 6


def test_a_project_that_is_in_use_is_not_closed(client, monkeypatch):
    workspace = client.app.state.fewpoint.workspace
    first = open_frames(client)["id"]
    monkeypatch.setattr(sessions, "MOST_OPEN", 1)
    second = client.post("/api/projects", json={"input": "truth"}).json()["id"]
    assert set(workspace._sessions) == {first, second}  # both were asked for just now


def test_only_so_many_projects_are_open_whoever_asks_and_none_is_closed_that_is_watched(client, monkeypatch):
    workspace = client.app.state.fewpoint.workspace
    first = open_frames(client)["id"]
    monkeypatch.setattr(sessions, "MOST_OPEN_AT_ALL", 1)
    second = client.post("/api/projects", json={"input": "truth"}).json()["id"]
    assert set(workspace._sessions) == {second}  # though it was asked for just now
    with watch(client, second):
        assert client.get(f"/api/projects/{first}").status_code == 429
    assert client.get(f"/api/projects/{first}").status_code == 200


def test_messages_for_a_page_that_does_not_read_are_bounded_in_number_and_size():
    async def listen(texts: list[str]) -> list[str | None]:
        waiting = Waiting()
        for text in texts:
            waiting.add(text)
        return [await waiting.get() for _ in range(waiting._queue.qsize())]

    assert run_apart(listen(["a", "b"])) == ["a", "b"]
    assert run_apart(listen(["x" * (MOST_BYTES + 1)])) == ["x" * (MOST_BYTES + 1)]  # one must come through
    assert run_apart(listen(["x" * MOST_BYTES, "y"])) == [None]
    assert run_apart(listen(["x"] * (MOST_WAITING + 1))) == [None]
    assert run_apart(listen(["x"] * (MOST_WAITING + 1) + ["y"])) == [None, "y"]


def test_an_input_that_takes_long_to_open_keeps_nobody_from_opening_another(client, monkeypatch):
    going_on, real = threading.Event(), sessions.Pixels.read

    def read(path):
        if path.name == "truth":
            assert going_on.wait(60)
        return real(path)

    monkeypatch.setattr(sessions.Pixels, "read", read)
    answers = []
    slow = threading.Thread(target=lambda: answers.append(client.post("/api/projects", json={"input": "truth"})))
    slow.start()
    assert open_frames(client)["frames"] == 6 and not answers
    going_on.set()
    slow.join()
    assert answers[0].status_code == 200


def test_one_project_asked_for_by_many_at_once_is_opened_once(client, monkeypatch):
    opened, real = [], sessions.Pixels.read
    monkeypatch.setattr(sessions.Pixels, "read", lambda path: opened.append(path) or real(path))
    threads = [threading.Thread(target=open_frames, args=(client,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1


def test_uploads_have_a_quota_and_leave_room_on_the_disk(root, monkeypatch):
    place = Root.of(root)
    check_quota(place, 100)
    (root / "fewpoint-uploads").mkdir()
    (root / "fewpoint-uploads" / "a").write_bytes(bytes(600))
    monkeypatch.setattr(uploads, "MOST_BYTES", 1000)
    check_quota(place, 400)
    with pytest.raises(InputError, match="in all"):
        check_quota(place, 401)
    monkeypatch.setattr(uploads, "SPARE_BYTES", 2**62)
    with pytest.raises(InputError, match="not enough room"):
        check_quota(place, 1)


def test_an_error_that_nobody_foresaw_has_all_headers_and_no_traceback(client, monkeypatch, capsys):
    monkeypatch.setattr("fewpoint.web.server.list_work", lambda workspace: 1 / 0)
    answer = client.get("/api/work")
    assert answer.status_code == 500 and "ZeroDivisionError" not in answer.text
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", "[" * 100_000, '{"format": "fewpoint project", "version": 1, "shape": 3}'])
def test_one_project_file_that_is_damaged_does_not_hide_the_others(client, root, text):
    good = open_frames(client)["id"]
    (root / "bad.fewpoint").write_text(text)
    assert [entry["id"] for entry in client.get("/api/projects").json()] == [good]
