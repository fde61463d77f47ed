"""Writes that fail: one line, nothing half-written, nothing lost, and the same call again gives the same result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim import COMPILER, make_shim

HERE = Path(__file__).parent
SCENARIOS = ("run", "refinement", "batch", "session")

pytestmark = pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C compiler")


def test_a_write_that_fails_is_one_line_and_costs_nothing_but_another_call():
    """One write of each; `make faults` tries all."""
    command = [sys.executable, str(HERE / "faults.py"), *SCENARIOS, "--most", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert [line.split()[:5] for line in done.stdout.splitlines()] == [
        [name, "tried", "2", "failed", "0"] for name in SCENARIOS
    ]


WRITERS = {
    "numpy": "import numpy; numpy.zeros(3).tofile(path)",
    "pillow": "import PIL.Image; PIL.Image.new('L', (9, 9)).save(path + '.png')",
    "simpleitk": "import SimpleITK; SimpleITK.WriteImage(SimpleITK.Image(4, 4, 2), path + '.nrrd')",
    "folders": "import os; os.mkdir(path)",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_shim_fails_what_libraries_in_c_write(writer, tmp_path):
    """What goes around Python's own open and write would be a write that no sweep tries."""
    (tmp_path / "root").mkdir()
    code = (
        f"from pathlib import Path; from shim import BROKEN, Shim; path = {str(tmp_path / 'root' / 'a')!r}\n"
        f"Shim().fail(Path(path).parent, 1, BROKEN)\n{WRITERS[writer]}"
    )
    environment = {**os.environ, **make_shim(tmp_path), "PYTHONPATH": str(HERE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "rror" in done.stderr
