"""Several people on one server: each sees, opens and changes what is theirs or common, by whichever address."""

import json
import os
import re
import stat
import time
from pathlib import Path

import pytest
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.web import guard, queueing
from fewpoint.web.guard import Gate, Visitor
from fewpoint.web.places import Root
from fewpoint.web.queueing import Entry, take_turns
from fewpoint.web.server import Options, create_app
from fewpoint.web.users import User, UsersFile, add_user, hash_token, read_users, revoke_user
from synthetic import save_phantom, save_settings
from tiny_runs import TINY
from web.test_uploads import as_npy
from web.visits import ADDRESS, QUICK_WORKER, click_everywhere, do, make_options, start_run, wait_for, watch

SECRET = "bobs-patient"
APP = create_app(Options(Root(Path("/nowhere"))))


def list_routes() -> list[tuple[str, str]]:
    """Method and path of every address that the schema has."""
    paths = APP.openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def list_sockets() -> list[str]:
    found, left = [], list(APP.routes)
    while left:
        route = left.pop()
        left += getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None) or []
        found += [route.path] if isinstance(route, WebSocketRoute) else []
    return [path if path.startswith("/api") else f"/api{path}" for path in found]


@pytest.fixture
def place(tmp_path) -> Path:
    root = tmp_path / "root"
    for folder in ("anna", f"bob/{SECRET}", "shared"):
        save_phantom(make_phantom(n_frames=6, size=(48, 40)), root / folder)
    save_settings(TINY, root / "tiny.toml")
    return root


@pytest.fixture
def tokens(tmp_path) -> dict[str, str]:
    return {name: add_user(tmp_path / "users.json", name) for name in ("anna", "bob")}


@pytest.fixture
def app(place, tokens, tmp_path):
    gate = Gate(users=UsersFile(tmp_path / "users.json"))
    return create_app(make_options(place, gate=gate, audit=tmp_path / "audit.jsonl"))


@pytest.fixture
def anna(app, tokens):
    with TestClient(app, base_url=ADDRESS, headers={"Authorization": f"Bearer {tokens['anna']}"}) as client:
        yield client


@pytest.fixture
def bob(anna, app, tokens):
    """A second visitor of the same server, which runs as long as the first is there."""
    return TestClient(app, base_url=ADDRESS, headers={"Authorization": f"Bearer {tokens['bob']}"})


@pytest.fixture
def bobs(bob) -> str:
    """The id of a project of Bob's that is open."""
    answer = bob.post("/api/projects", json={"input": f"bob/{SECRET}/frames"})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def fill(path: str, project: str) -> str:
    filled = path.replace("{project}", project).replace("{name}", "run-1-png")
    return re.sub(r"\{[a-z]+\}", "1", filled)


def list_all(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_no_address_of_a_project_lets_in_another_user(anna, bob, bobs, place):
    before = list_all(place / "bob")
    routes = [(method, path) for method, path in list_routes() if "{project}" in path]
    assert len(routes) > 20
    for method, path in routes:
        unknown = anna.request(method, fill(path, "0" * 16), json={} if method == "POST" else None)
        answer = anna.request(method, fill(path, bobs), json={} if method == "POST" else None)
        assert (answer.status_code, answer.text) == (404, unknown.text), f"{method} {path}"
    assert list_all(place / "bob") == before
    assert bob.get(f"/api/projects/{bobs}").status_code == 200


def test_a_project_that_is_not_open_cannot_be_reached_by_its_id_either(anna, bob, bobs, app):
    workspace = app.state.fewpoint.workspace
    workspace.forget(workspace.find(bobs))
    assert anna.get(f"/api/projects/{bobs}").status_code == 404
    assert not workspace._sessions
    assert bob.get(f"/api/projects/{bobs}").status_code == 200


def test_no_socket_tells_another_user_anything(anna, bob, bobs):
    sockets = list_sockets()
    assert "/api/projects/{project}/events" in sockets
    for path in sockets:
        with pytest.raises(WebSocketDisconnect), anna.websocket_connect(fill(path, bobs)):
            pass
    with watch(bob, bobs) as watching:
        assert watching.receive_json()["kind"] == "hello"


BEYOND = ("bob", f"bob/{SECRET}", f"bob/{SECRET}/frames", f"shared/../bob/{SECRET}", "..", "", ".", "tiny.toml", "/")
# What each address without a project is asked for; one that is new must be added.
ASKED: dict[tuple[str, str], list[dict]] = {
    ("GET", "/api/health"): [{}],
    ("GET", "/api/files"): [{"params": {"path": path}} for path in BEYOND],
    ("GET", "/api/series"): [{"params": {"path": path}} for path in BEYOND],
    ("GET", "/api/pacs/studies"): [{}],
    ("GET", "/api/pacs/studies/{study}/series"): [{}],
    ("POST", "/api/pacs/series"): [{"json": {"study": "1.2", "series": "1.3"}}],
    ("GET", "/api/work"): [{}],
    ("GET", "/api/queue"): [{}],
    ("GET", "/api/formats"): [{}],
    ("GET", "/api/projects"): [{}],
    ("POST", "/api/projects"): [{"json": {kind: path}} for kind in ("input", "project") for path in BEYOND],
    ("POST", "/api/uploads"): [{"files": [("files", ("a.npy", b"0"))]}],
    ("POST", "/api/work/exports"): [{"json": {"format": "png"}}],
}


@pytest.mark.parametrize("route", [route for route in list_routes() if "{project}" not in route[1]], ids=" ".join)
def test_no_address_tells_what_another_user_has(route, anna, bob, bobs, place):
    click_everywhere(bob, bobs)
    before = list_all(place / "bob")
    for asked in ASKED[route]:
        answer = anna.request(*route, **asked)
        said = answer.text
        for given in {**asked.get("params", {}), **asked.get("json", {})}.values():
            said = said.replace(f"'{given}'", "")  # a refusal repeats what was asked for
        assert SECRET not in said and bobs not in said, asked
        assert answer.status_code in (200, 404, 422)
    assert list_all(place / "bob") == before


@pytest.mark.parametrize("path", [f"bob/{SECRET}/points.csv", f"bob/{SECRET}/frames", f"shared/../bob/{SECRET}/frames"])
def test_nothing_of_another_user_can_be_taken_into_a_project(anna, place, path):
    own = anna.post("/api/projects", json={"input": "anna/frames"}).json()["id"]
    click_everywhere(anna, own)
    assert anna.post(f"/api/projects/{own}/imports", json={"object": "object", "path": path}).status_code == 404
    assert anna.post(f"/api/projects/{own}/runs", json={"added": [path]}).status_code == 404


def test_links_from_ones_own_folder_to_that_of_another_are_not_followed(anna, bob, bobs, place):
    own = anna.post("/api/projects", json={"input": "anna/frames"}).json()["id"]
    (place / "anna/points.csv").unlink()
    (place / "anna/points.csv").symlink_to(place / f"bob/{SECRET}/points.csv")
    (place / "anna/linked").symlink_to(place / f"bob/{SECRET}")
    (place / "anna/series").mkdir()
    (place / "anna/series/0.png").symlink_to(next((place / f"bob/{SECRET}/frames").iterdir()))
    assert anna.post(f"/api/projects/{own}/imports", json={"object": "object"}).status_code == 422
    assert anna.get("/api/files", params={"path": "anna/linked"}).status_code == 404
    assert anna.post("/api/projects", json={"input": "anna/linked/frames"}).status_code == 404
    assert anna.post("/api/projects", json={"input": "anna/series"}).status_code == 422


def test_a_project_file_that_names_an_input_of_another_user_opens_nothing(anna, bob, bobs, place):
    header = (place / f"bob/{SECRET}/frames.fewpoint").read_text().splitlines()[0]
    for folder in ("anna", "shared"):
        (place / folder / "made-up.fewpoint").write_text(header.replace('"frames"', f'"../bob/{SECRET}/frames"') + "\n")
        assert anna.post("/api/projects", json={"project": f"{folder}/made-up.fewpoint"}).status_code == 422
    assert bob.post("/api/projects", json={"project": "shared/made-up.fewpoint"}).status_code == 200
    assert anna.post("/api/projects", json={"project": "shared/made-up.fewpoint"}).status_code == 404
    assert [entry["input"] for entry in anna.get("/api/projects").json()] == []


def test_everybody_sees_their_own_folder_and_the_common_one(anna, bob):
    def list_names(client, path=""):
        return [entry["path"] for entry in client.get("/api/files", params={"path": path}).json()["entries"]]

    assert list_names(anna) == ["anna", "shared"] and list_names(bob) == ["bob", "shared"]
    assert anna.get("/api/files", params={"path": "anna"}).json()["parent"] == ""
    assert anna.get("/api/health").json()["user"] == "anna"
    ids = {client.post("/api/projects", json={"input": "shared/frames"}).json()["id"] for client in (anna, bob)}
    assert len(ids) == 1
    assert {entry["input"] for entry in anna.get("/api/work").json()} >= {"anna/frames", "shared/frames"}


def test_the_folder_of_a_new_user_is_made_when_they_first_come(anna, app, place, tmp_path):
    token = add_user(tmp_path / "users.json", "carl")
    answer = anna.get("/api/files", headers={"Authorization": f"Bearer {token}"})
    assert [entry["name"] for entry in answer.json()["entries"]] == ["carl", "shared"]
    assert (place / "carl").is_dir()


def test_files_go_into_the_folder_of_whoever_sends_them(anna, bob, place):
    path = anna.post("/api/uploads", files=[("files", ("a.npy", as_npy()))]).json()["path"]
    assert path.startswith("anna/fewpoint-uploads/") and (place / path).exists()
    project = anna.post("/api/projects", json={"input": path}).json()["id"]
    assert bob.post(f"/api/projects/{project}/upload/delete").status_code == 404
    assert anna.post(f"/api/projects/{project}/upload/delete").status_code == 200
    assert not (place / path).exists()


def test_who_did_something_is_the_user_whatever_they_say(anna, bob, place):
    shared = anna.post("/api/projects", json={"input": "shared/frames"}).json()["id"]
    at = f"/api/projects/{shared}"
    point = {"kind": "add_point", "object": "object", "frame": 0, "y": 5}
    anna.post(f"{at}/actions", json={"action": {**point, "x": 1}, "by": "anna.x7/t1"})
    runs = {"object": "object", "axis": 0, "index": 2, "runs": [[3, 4]]}
    for by in ("anna.x7/t1", "anna.anna~x7/t1", "x7/t1", "", "anna.anna~x7/t1.x7/t1~x7/t1", "\x1b[2J"):
        undone = bob.post(f"{at}/actions", json={"action": {"kind": "undo"}, "by": by})
        assert undone.status_code == 422, undone.text  # it is not theirs to undo
        assert bob.post(f"{at}/strokes", json={**runs, "by": by}).status_code == 200
        bob.post(f"{at}/edits", json={"object": "object", "edit": "copy", "frame": 2, "value": -1, "by": by})
        points = {"object": "object", "path": "shared/points.csv", "by": by}
        assert bob.post(f"{at}/imports", json=points).status_code == 200
        assert bob.post(f"{at}/review", json={"verdict": "accepted", "by": by}).json()["review"]["by"] == "bob"
        while bob.post(f"{at}/actions", json={"action": {"kind": "undo"}, "by": by}).status_code == 200:
            pass
    lines = [json.loads(line) for line in (place / "shared/frames.fewpoint").read_text().splitlines()[1:]]
    signed = [line.get("by") or line.get("review", {}).get("by") for line in lines]
    assert signed[0] == "anna.anna~x7/t1"
    assert len(signed) > 20 and all(re.fullmatch("bob\\.bob~[a-z0-9/A-Z]*", by) for by in signed[1:])
    asked = [
        schema for schema in APP.openapi()["components"]["schemas"].values() if "by" in schema.get("properties", {})
    ]
    assert len(asked) == 6  # five requests, all tried above, and the review that is told


def test_a_token_ends_while_the_server_runs_and_with_it_cookies_and_sockets(anna, bob, bobs, tokens, tmp_path):
    assert bob.get("/", params={"token": tokens["bob"]}).status_code == 200
    visiting = TestClient(bob.app, base_url=ADDRESS, cookies=dict(bob.cookies))
    assert visiting.get("/api/health").json()["user"] == "bob"
    with watch(bob, bobs) as watching:
        assert watching.receive_json()["kind"] == "hello"
        revoke_user(tmp_path / "users.json", "bob")
        with pytest.raises(WebSocketDisconnect) as closed:
            while True:
                watching.receive_json()
        assert closed.value.code == guard.NOT_ALLOWED
    assert bob.get("/api/health").status_code == 401 and visiting.get("/api/health").status_code == 401
    assert anna.get("/api/health").status_code == 200
    add_user(tmp_path / "users.json", "bob")
    assert bob.get("/api/health").status_code == 401  # another token


def test_a_file_of_users_that_was_damaged_or_opened_to_others_lets_nobody_in(anna, tmp_path, capsys):
    path = tmp_path / "users.json"
    good = path.read_text()
    for text, mode in ((good, 0o640), ("{}", 0o600), ("[" * 10_000, 0o600)):
        path.write_text(text)
        path.chmod(mode)
        assert anna.get("/api/health").status_code == 401
        assert "nobody can come in" in capsys.readouterr().err
    path.unlink()
    assert anna.get("/api/health").status_code == 401
    path.touch(0o600)
    path.write_text(good)
    assert anna.get("/api/health").status_code == 200


def test_a_file_of_users_keeps_hashes_for_its_owner_alone(tmp_path):
    path = tmp_path / "new" / "users.json"
    token = add_user(path, "anna")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and len(token) >= 40
    assert token not in path.read_text() and hash_token(token) in path.read_text()
    with pytest.raises(InputError, match="already"):
        add_user(path, "anna")
    os.chmod(path, 0o604)
    with pytest.raises(InputError, match="chmod 600"):
        read_users(path)


@pytest.mark.parametrize("name", ["shared", "", "..", "a/b", "Anna", "a.b", "-a", "_a", "a" * 33, "a\n", "ä"])
def test_the_name_of_a_user_is_a_plain_name_of_a_folder(tmp_path, name):
    with pytest.raises(InputError, match="name"):
        add_user(tmp_path / "users.json", name)


def test_runs_of_several_people_take_turns():
    entries = [Entry(None, None, None, None, owner) for owner in "aaabbc"]  # type: ignore[arg-type]
    ordered = take_turns(entries, {"a": 2, "b": 1})
    assert "".join(entry.owner for entry in ordered) == "cbabaa"
    assert [entry for entry in ordered if entry.owner == "a"] == entries[:3]


def test_whoever_asks_for_many_runs_does_not_keep_another_waiting(anna, bob, bobs, monkeypatch):
    monkeypatch.setattr(queueing, "COMMAND", ("sleep", "600"))
    own = anna.post("/api/projects", json={"input": "anna/frames"}).json()["id"]
    for client, project in ((anna, own), (bob, bobs)):
        do(client, project, "add_point", object="object", frame=0, y=20, x=20)
    for _ in range(3):
        start_run(anna, own)
    while anna.get("/api/queue").json()[0]["state"] != "running":
        time.sleep(0.02)
    asked = start_run(bob, bobs)
    assert bob.get(f"/api/projects/{bobs}/runs/{asked}").json()["ahead"] == 1
    assert [entry["project"] for entry in bob.get("/api/queue").json()] == [bobs]
    assert [entry["ahead"] for entry in anna.get("/api/queue").json()] == [0, 2, 3]


def test_a_run_and_an_export_of_ones_own_work_as_ever(anna, bob, monkeypatch, tmp_path):
    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    own = anna.post("/api/projects", json={"input": "anna/frames"}).json()["id"]
    click_everywhere(anna, own)
    run = start_run(anna, own)
    assert wait_for(anna, own, run)["state"] == "finished"
    made = anna.post(f"/api/projects/{own}/runs/{run}/exports", json={"format": "png"}).json()
    address = f"/api/projects/{own}/exports/{made['name']}"
    assert anna.get(address).status_code == 200 and bob.get(address).status_code == 404
    other = bob.post("/api/projects", json={"input": "shared/frames"}).json()["id"]
    click_everywhere(bob, other)
    begun = bob.post(f"/api/projects/{other}/runs", json={"warm_start": True})
    assert begun.status_code == 422 and "no other project" in begun.text  # Anna's networks are not Bob's to begin with
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    did = [(line["who"], line["did"].partition(" ")[2], line["about"]) for line in lines if line["status"] == 200]
    about = {"project": "anna/frames.fewpoint"}
    assert ("anna", "/api/projects", {"input": "anna/frames"}) in did
    assert ("anna", "/api/projects/{project}/runs", about) in did
    assert ("anna", "/api/projects/{project}/runs/{run}/exports", {**about, "format": "png", "run": "1"}) in did
    assert ("anna", "/api/projects/{project}/exports/{name}", {**about, "name": made["name"]}) in did
    assert ("bob", f"GET {address}", 404) in [(line["who"], line["did"], line["status"]) for line in lines]


def test_one_user_has_so_many_requests_at_once_and_so_many_sockets(anna, bob, bobs, monkeypatch):
    monkeypatch.setattr(guard, "MOST_SOCKETS", 2)
    with watch(bob, bobs) as first, watch(bob, bobs):
        assert first.receive_json()["kind"] == "hello"
        with pytest.raises(WebSocketDisconnect) as closed, watch(bob, bobs):
            pass
        assert closed.value.code == guard.TRY_LATER
        own = anna.post("/api/projects", json={"input": "anna/frames"}).json()["id"]
        with watch(anna, own) as watching:
            assert watching.receive_json()["kind"] == "hello"
    with watch(bob, bobs) as again:
        assert again.receive_json()["kind"] == "hello"


def test_a_user_is_known_by_name_and_token_together(tmp_path):
    token = add_user(tmp_path / "users.json", "anna")
    gate = Gate(users=UsersFile(tmp_path / "users.json"))
    visitor = gate.recognise(token)
    assert visitor is not None and visitor.name == "anna" and gate.still_knows(visitor)
    assert gate.recognise("wrong") is None and gate.recognise(None) is None and gate.recognise("\udcff") is None
    assert not gate.still_knows(Visitor(User("anna", "0" * 64)))
