"""`fewpoint annotate` as a user starts it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from commands import COMMAND, launch
from fewpoint.cli.annotate import write_demo
from fewpoint.cli.main import run
from fewpoint.core.actions import AddPoint, SetBox, SetSettings
from fewpoint.io.images import read_sequence
from fewpoint.io.projects import ProjectLog
from synthetic import save_settings
from tiny_runs import TINY


class Started:
    """A server in a process of its own, and the lines that it printed."""

    def __init__(self, *arguments, **options) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "annotate", "--no-browser", "--port", "0", *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.lines = []
        while not any(line.startswith("page:") for line in self.lines):
            line = self.process.stderr.readline()
            assert line, self.lines
            self.lines.append(line)
        self.page = re.search(r"page: +(\S+)", self.lines[-1])[1]

    def ask(self, path: str, body: dict | None = None) -> urllib.request.Request:
        base, _, token = self.page.partition("?token=")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return urllib.request.Request(base + path.lstrip("/"), body and json.dumps(body).encode(), headers)

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.ask(path)) as answer:
            return json.loads(answer.read())

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *error) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=180)
        self.process.stderr.close()


@pytest.mark.nightly
def test_it_opens_the_input_and_serves_at_loopback(case):
    with Started(case.frames) as server:
        assert server.page.startswith("http://127.0.0.1:") and "?token=" in server.page
        token = server.page.partition("?token=")[2]
        assert token not in Path(f"/proc/{server.process.pid}/cmdline").read_text()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(server.page.partition("?")[0] + "api/health")
        health = server.get("/api/health")
        assert server.get(f"/api/projects/{health['opened']}")["frames"] == 6
        assert health["root"] == str(case.folder.resolve())
    assert (case.folder / "frames.fewpoint").exists()


@pytest.mark.nightly
def test_what_was_clicked_survives_a_kill_of_the_server(case):
    with Started(case.frames) as server:
        opened = server.get("/api/health")["opened"]
        body = {"action": {"kind": "add_point", "object": "object", "frame": 1, "y": 2, "x": 3}}
        with urllib.request.urlopen(server.ask(f"api/projects/{opened}/actions", body)):
            os.kill(server.process.pid, signal.SIGKILL)
    with Started(case.folder / "frames.fewpoint") as server:
        points = server.get(f"/api/projects/{opened}")["objects"][0]["points"]
    assert [(point["frame"], point["y"], point["x"]) for point in points] == [(1, 2, 3)]


@pytest.mark.nightly
def test_another_host_prints_its_token_once_and_asks_for_it(case):
    with Started("--root", case.folder, "--host", "0.0.0.0") as server:
        token = re.search(r"\?token=(\S+)", server.page)[1]
        assert sum(line.count(token) for line in server.lines) == 1
        port = re.search(r":(\d+)/", server.page)[1]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health")
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/health")
        request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nothing"], "must be there"),
        (["{folder}/frames", "--root", "{folder}/truth"], "lie below the root"),
        (["--root", "{folder}/points.csv"], "must be a folder"),
        (["{folder}/points.csv"], "no supported kind"),
        (["--host", "no.such.host.invalid"], "address of this machine"),
        (["{folder}/frames", "--demo"], "not both"),
        (["--no-token", "--host", "0.0.0.0"], "own address"),
    ],
)
def test_a_start_that_cannot_work_says_why_in_one_line(case, arguments, reason, capsys):
    code = run(["annotate", "--no-browser", *(part.format(folder=case.folder) for part in arguments)])
    told = capsys.readouterr().err
    assert code in (1, 2) and reason in told and told.count("\n") == 1


def test_help_needs_neither_fastapi_nor_torch():
    code = "import sys; from fewpoint.cli.main import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "annotate" in done.stdout
    assert "'fastapi'" not in done.stderr and "'torch'" not in done.stderr


def test_the_demo_sequence_is_written_once(tmp_path):
    frames = write_demo(tmp_path / "demo")
    assert read_sequence(frames).shape == (16, 64, 64, 3)
    (frames / "0000.png").touch()
    assert write_demo(tmp_path / "demo") == frames


@pytest.fixture
def project(case):
    """A project of the phantom as the page leaves it."""
    log = ProjectLog.create(case.folder / "frames.fewpoint", case.frames, (6, 48, 40))
    for row in case.points.read_text().splitlines()[1:]:
        log.do(AddPoint("object", *map(int, row.split(","))))
    log.do(SetBox("object", 0, 0, 0, 24, 20))
    log.do(SetSettings("fast", 3))
    log.close()
    return log.path


def test_segment_takes_a_project_with_its_points_bound_preset_and_seed(case, project, monkeypatch):
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    options = ["--config", str(save_settings(TINY, case.folder / "fast.toml")), "--device", "cpu"]
    assert run(["segment", str(project), "--out", str(case.out), *options]) == 0
    manifest = json.loads((case.out / "manifest.json").read_text())
    assert manifest["identity"]["seed"] == 3 and manifest["identity"]["bound"] == "0.25"
    assert manifest["identity"]["method"] == "default"


def test_segment_takes_the_points_of_a_project(case, project, monkeypatch):
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    assert run(case.segment("--max-fraction", "0.3", points=project)) == 0


def test_a_project_without_a_point_is_refused(case):
    ProjectLog.create(case.folder / "frames.fewpoint", case.frames, (6, 48, 40)).close()
    done = launch("segment", case.folder / "frames.fewpoint", "--out", case.out)
    assert done.code == 1 and "no object has a point yet" in done.err and not case.out.exists()
