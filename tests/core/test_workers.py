"""A process started in a folder of data takes none of its modules from there."""

import os
import subprocess
import sys

from fewpoint.core.workers import safe_environment
from fewpoint.engines.worker import COMMAND, write_line


def test_a_module_lying_in_the_folder_of_the_data_is_not_run(tmp_path):
    for name in ("random.py", "json.py", "threading.py", "numpy.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\nraise SystemExit('sprung')")
    environment = safe_environment({**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:.::"})
    order = write_line("random:seed", {})
    done = subprocess.run(COMMAND, input=order, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert not (tmp_path / "sprung").exists()
    assert b"sprung" not in done.stderr


def test_every_process_of_the_annotator_is_started_so():
    # In a process of its own, since tests of the page put other workers in place for as long as their server lives.
    show = (
        "from fewpoint.web import exporting, live, queueing\n"
        "print(*(each.COMMAND[1] for each in (exporting, live, queueing)))"
    )
    assert subprocess.check_output([sys.executable, "-c", show], text=True) == "-P -P -P\n"
