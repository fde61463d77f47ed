"""Who did what is written down, within bounds, and nothing else is."""

import json
import stat

import pytest
from starlette.testclient import TestClient

from fewpoint.web import audit
from fewpoint.web.audit import AuditLog, audit_file
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.test_uploads import as_npy
from web.visits import ADDRESS, do, make_options, watch

GATE = Gate.for_host("127.0.0.1")
BEARER = {"Authorization": f"Bearer {GATE.token}"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "audit.jsonl"


@pytest.fixture
def visitor(root, path):
    app = create_app(make_options(root, gate=GATE, audit=path))
    with TestClient(app, base_url=ADDRESS, headers=BEARER) as client:
        yield client


def read(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_was_opened_sent_and_deleted_is_written_down_for_the_owner_alone(visitor, path):
    sent = visitor.post("/api/uploads", files=[("files", ("a.npy", as_npy()))]).json()["path"]
    project = visitor.post("/api/projects", json={"input": sent}).json()["id"]
    visitor.get(f"/api/projects/{project}/file")
    visitor.post(f"/api/projects/{project}/upload/delete")
    did = [(line["did"], line["status"], line["about"]) for line in read(path)]
    about = {"project": f"{sent}.fewpoint"}
    assert did == [
        ("POST /api/uploads", 200, {"input": sent}),
        ("POST /api/projects", 200, {"input": sent}),
        ("GET /api/projects/{project}/file", 200, about),
        ("POST /api/projects/{project}/upload/delete", 200, about),
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_looks_at_a_project_are_one_line_an_hour_and_clicks_are_left_to_its_own_file(visitor, path, monkeypatch):
    project = visitor.post("/api/projects", json={"input": "frames"}).json()["id"]
    for frame in range(4):
        visitor.get(f"/api/projects/{project}/frames/{frame}")
        do(visitor, project, "add_point", object="object", frame=frame, y=3, x=3)
    with watch(visitor, project):
        pass
    assert [line["did"] for line in read(path)] == ["POST /api/projects", "GET /api/projects/{project}/frames/{frame}"]
    monkeypatch.setattr(audit, "LOOK_SECONDS", -1.0)
    with watch(visitor, project):
        pass
    assert read(path)[-1]["did"] == "SOCKET /api/projects/{project}/events"


def test_no_token_stands_in_it_and_nothing_that_ends_a_line_or_steers_a_terminal(visitor, path):
    wrong = {"Authorization": "Bearer s3cret-token"}
    visitor.get("/?token=s3cret-token", headers={"Authorization": ""})
    visitor.get(f"/?token={GATE.token}")
    visitor.get("/api/a%0A%1B%5B2J%7F%E2%80%AE?token=s3cret-token", headers=wrong)
    visitor.get("/api/projects/" + "x" * 5000)
    text = path.read_text()
    assert "s3cret" not in text and GATE.token not in text
    assert text.isascii() and all(each.isprintable() or each == "\n" for each in text)
    assert [line["status"] for line in read(path)] == [401, 401, 404]
    assert all(len(line) < 1000 for line in text.splitlines())


def test_refusals_cannot_fill_the_disk(visitor, path, monkeypatch):
    monkeypatch.setattr(audit, "MOST_REFUSED_A_MINUTE", 5)
    monkeypatch.setattr(audit, "monotonic", lambda: 0.0)
    for _ in range(20):
        visitor.get("/api/health", headers={"Authorization": "Bearer wrong"})
    assert len(read(path)) == 5
    monkeypatch.setattr(audit, "monotonic", lambda: 61.0)
    visitor.get("/api/health", headers={"Authorization": "Bearer wrong"})
    assert read(path)[5]["left_out"] == 15 and len(read(path)) == 7


def test_a_full_file_is_put_aside_and_the_oldest_removed(path, monkeypatch):
    monkeypatch.setattr(audit, "MOST_BYTES", 200)
    log = AuditLog(path)
    for number in range(40):
        log.write(did=f"number {number}")
    files = sorted(path.parent.iterdir())
    assert len(files) == 1 + audit.KEPT_FILES and all(file.stat().st_size <= 200 for file in files)
    assert read(path)[-1]["did"] == "number 39"


def test_a_file_that_cannot_be_written_is_told_once_and_keeps_nobody_from_working(path, capsys):
    path.parent.write_text("a file")
    log = AuditLog(path)
    log.write(did="one")
    log.write(did="two")
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_it_lies_with_the_data_of_whoever_starts_the_server(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert audit_file() == tmp_path / "fewpoint" / "audit.jsonl"
