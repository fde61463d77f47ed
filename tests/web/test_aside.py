"""A large message is answered as a small one is, and nobody waits for it."""

import asyncio
import json
import threading

import pytest

from fewpoint.web import aside
from fewpoint.web.aside import Aside
from fewpoint.web.guard import HEADERS
from web.visits import open_frames, run_apart, watch

JSON = {"content-type": "application/json"}


def test_a_large_message_is_answered_and_told_as_a_small_one(client, monkeypatch):
    monkeypatch.setattr(aside, "LARGE_BYTES", 10)
    threads = []
    real = Aside._answer
    monkeypatch.setattr(Aside, "_answer", lambda *all: threads.append(threading.current_thread()) or real(*all))
    project = open_frames(client)["id"]
    action = {"kind": "brush", "object": "object", "frame": 1, "runs": [[number, 1] for number in range(0, 900, 2)]}
    with watch(client, project) as watching:
        answer = client.post(f"/api/projects/{project}/actions", json={"action": action})
        assert answer.json()["project"]["objects"][0]["brushed"] == [1]
        assert {watching.receive_json()["kind"], watching.receive_json()["kind"]} == {"hello", "project"}
    assert len(threads) == 2  # the opening, too
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    for body, status in ((b"{" + b" " * 100, 422), (b'{"action": 1}', 422), (b"[" * 100_000, 422)):
        refused = client.post(f"/api/projects/{project}/actions", content=body, headers=JSON)
        assert refused.status_code == status and "detail" in refused.json()


def test_somebody_else_is_answered_while_a_large_message_is_read(monkeypatch):
    monkeypatch.setattr(aside, "LARGE_BYTES", 10)
    gone_on = threading.Event()

    async def app(scope, receive, send):
        body = (await receive())["body"]
        if len(body) >= 10:
            said = b"waited" if gone_on.wait(60) else b"alone"  # holds its loop up
        else:
            gone_on.set()
            said = b"small"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": said})

    async def visit(body: bytes, app: Aside) -> bytes:
        said, left = [], [{"type": "http.request", "body": body}]

        async def receive():
            return left.pop()

        async def send(message):
            said.append(message.get("body", b""))

        await app({"type": "http", "headers": [(b"content-type", b"application/json")]}, receive, send)
        return b"".join(said)

    async def visit_both():
        together = Aside(app)
        large = asyncio.create_task(visit(b"[1,2,3,4,5,6]", together))
        await asyncio.sleep(0.05)
        return await visit(b"1", together), await large

    assert run_apart(visit_both()) == (b"small", b"waited")


def test_an_error_that_nobody_foresaw_has_all_headers_also_aside(client, monkeypatch, capsys):
    monkeypatch.setattr(aside, "LARGE_BYTES", 10)
    monkeypatch.setattr("fewpoint.web.server.export_all", lambda *all: 1 / 0)
    answer = client.post("/api/work/exports", content=json.dumps({"format": "png"}), headers=JSON)
    assert answer.status_code == 500 and {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_large_message_that_is_no_mask_is_refused_without_being_checked_here(client, monkeypatch):
    project = open_frames(client)["id"]
    monkeypatch.setattr("fewpoint.web.sessions.Session.do", lambda *all: pytest.fail("was acted upon"))
    action = {"kind": "brush", "object": "object", "frame": 1, "runs": [[str(number), 1] for number in range(40_000)]}
    answer = client.post(f"/api/projects/{project}/actions", json={"action": action})
    assert answer.status_code == 422 and "only lists of stretches or points may be long" in answer.json()["detail"]


def test_a_large_message_is_read_in_a_process_apart(client, monkeypatch):
    monkeypatch.setattr("fewpoint.io.large_json._pack_lists", lambda *all: pytest.fail("read here"))
    project = open_frames(client)["id"]
    stretches = [[0, 1]] * 50_000
    action = {"kind": "brush", "object": "object", "frame": 1, "runs": stretches}
    answer = client.post(f"/api/projects/{project}/actions", content=json.dumps({"action": action}), headers=JSON)
    assert answer.status_code == 422 and "must follow each other" in answer.json()["detail"]
