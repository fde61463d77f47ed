"""What is left to a process that has shut itself in."""

import subprocess
import sys
from pathlib import Path

import pytest

import fewpoint
from fewpoint.io.apart.confine import landlock_version

SOURCE = Path(fewpoint.__file__).parents[1]
BEGIN = (
    "import os, socket, subprocess, sys, threading; from pathlib import Path; from fewpoint.io.apart import confine; "
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
needs_landlock = pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")


def run_inside(code: str, *readable: Path) -> subprocess.CompletedProcess[str]:
    """Python code in a process that may read these places alone."""
    places = [str(place) for place in readable]
    command = f"{BEGIN}confine.limit(2**28, 2**20); confine.shut_in(map(Path, {places!r})); {code}"
    environment = {"PYTHONPATH": str(SOURCE)}
    return subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, env=environment, check=False)


@needs_landlock
def test_it_reads_what_it_was_given_and_nothing_beside(tmp_path):
    given, other = tmp_path / "given", tmp_path / "other"
    given.write_text("mine")
    other.write_text("not mine")
    assert run_inside(f"print(open({str(given)!r}).read())", given).stdout == "mine\n"
    assert "PermissionError" in run_inside(f"open({str(other)!r})", given).stderr


@needs_landlock
def test_a_link_in_a_folder_leads_nowhere_else(tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "other").write_text("not mine")
    (tmp_path / "given" / "link").symlink_to(tmp_path / "other")
    place = str(tmp_path / "given" / "link")
    assert "PermissionError" in run_inside(f"open({place!r})", tmp_path / "given").stderr


@needs_landlock
@pytest.mark.parametrize("what", ["open({path!r}, 'w')", "os.mkdir({path!r})", "os.symlink('/etc', {path!r})"])
def test_it_writes_nowhere(tmp_path, what):
    assert "Error" in run_inside(what.format(path=str(tmp_path / "new")), tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "what",
    [
        "os.fork()",
        "os.execv('/bin/sh', ['sh'])",
        "os.posix_spawn('/bin/sh', ['sh'], {})",
        "socket.socket()",
        "os.kill(1, 0)",
    ],
)
def test_it_starts_no_program_and_talks_to_nobody(what):
    assert "PermissionError" in run_inside(what).stderr


def test_it_may_start_threads():
    assert run_inside("t = threading.Thread(target=lambda: print('done')); t.start(); t.join()").stdout == "done\n"


def test_its_memory_and_the_files_that_it_writes_are_bounded(tmp_path):
    assert "MemoryError" in run_inside("bytearray(2**29)").stderr
    code = "os.write(file.fileno(), bytes(2**20)); os.write(file.fileno(), b'1')"
    command = f"{BEGIN}file = open({str(tmp_path / 'long')!r}, 'wb'); confine.limit(2**28, 2**20); {code}"
    environment = {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, env=environment, check=False)
    assert "File too large" in done.stderr
