"""A live session to sweep: a person opens frames, says some words, and gets masks at once."""

import json
import time
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from fewpoint.io.projects import read_project
from fewpoint.web import following
from fewpoint.web.server import create_app
from scenarios import Scenario, Snapshot
from web.visits import ADDRESS, make_options, make_root, watch

WORDS: tuple[dict[str, Any], ...] = (
    {"kind": "add_point", "object": "object", "frame": 0, "y": 20, "x": 20},
    {"kind": "add_point", "object": "object", "frame": 3, "y": 21, "x": 20},
    {"kind": "undo"},
    {"kind": "set_box", "object": "object", "frame": 3, "top": 10, "left": 10, "bottom": 30, "right": 30},
)
ANSWER_S = 100.0
LOST = 98


def prepare_root(folder: Path) -> None:
    make_root(folder / "place" / "root")
    (folder / "heard").write_text("0")


def hold_session(folder: Path) -> int:
    following.FIRST_PAUSE_S = following.PAUSE_S = 1e9  # nothing is learnt, which other scenarios do
    (folder / "answer.json").unlink(missing_ok=True)
    options = make_options(folder / "place" / "root", live=True)
    with TestClient(create_app(options), base_url=ADDRESS) as client:
        return _speak(client, folder)


def _speak(client: TestClient, folder: Path) -> int:
    """Say what has not been said; whatever is refused ends it with one line."""
    opened = client.post("/api/projects", json={"input": "frames"})
    if opened.status_code != 200:
        return _give_up(opened)
    project, heard = opened.json(), int((folder / "heard").read_text())
    if project["version"] != heard:
        print(f"{heard} words were heard, {project['version']} are there")
        return LOST
    with watch(client, project["id"]):
        for number, word in enumerate(WORDS[heard:], start=heard + 1):
            answer = client.post(f"/api/projects/{project['id']}/actions", json={"action": word})
            if answer.status_code != 200:
                return _give_up(answer)
            (folder / "heard").write_text(str(number))
        return _wait_for_masks(client, project["id"], folder)


def _give_up(answer: Any) -> int:
    print(answer.json()["detail"] if answer.status_code == 507 else f"{answer.status_code}\n{answer.text}")
    return 1


def _wait_for_masks(client: TestClient, project: str, folder: Path) -> int:
    end = time.monotonic() + ANSWER_S
    while time.monotonic() < end:
        live = client.get(f"/api/projects/{project}").json()["live"]
        if live["message"]:
            print(live["message"])
            return 1
        if live["state"] == "ready" and live["version"] == len(WORDS) and live["objects"]:
            masks = [client.get(f"/api/projects/{project}/masks/{frame}").json() for frame in range(6)]
            (folder / "answer.json").write_text(json.dumps(masks))
            return 0
        time.sleep(0.05)
    print(f"no answer: {live}")
    return LOST


def read_session(place: Path) -> Snapshot:
    answer = place.parent / "answer.json"
    if not answer.exists():
        return {}
    (project,) = place.rglob("*.fewpoint")
    return {"said": repr(read_project(project).history.project), "masks": json.loads(answer.read_text())}


SESSION = Scenario("session", prepare_root, hold_session, "place", read_session)
