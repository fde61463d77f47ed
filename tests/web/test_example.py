"""The example of a script that drives the server does what it says."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from fewpoint.evaluation.phantom import make_phantom
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.visits import make_options, serve_in_thread

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "drive_annotator.py"


def drive(address: str, folder: Path, token: str = "") -> subprocess.CompletedProcess[str]:
    clicks = [",".join(map(str, row)) for row in make_phantom(6, (48, 40)).points.coordinates.tolist()]
    return subprocess.run(
        [sys.executable, EXAMPLE, address, "frames", *clicks],
        cwd=folder,
        env={**os.environ, "FEWPOINT_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_example_segments_a_sequence_through_a_server(live, tmp_path):
    done = drive(live, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "to review first: frame" in done.stdout
    assert len(zipfile.ZipFile(tmp_path / "masks.zip").namelist()) == 6


def test_the_example_sends_its_token(root, tmp_path):
    gate = Gate.for_host("127.0.0.1")
    with serve_in_thread(create_app(make_options(root, gate=gate))) as address:
        assert "HTTP Error 401" in drive(address, tmp_path, "wrong").stderr
        assert "HTTP Error 401" not in drive(address, tmp_path, gate.token or "").stderr
