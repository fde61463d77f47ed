"""A file is either the old one or the whole new one, whatever goes wrong in between."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewpoint.errors
from fewpoint.errors import InputError, OutputError
from fewpoint.io.atomic import read_json, write_arrays, write_atomically, write_json, write_text

SOURCE = Path(fewpoint.errors.__file__).resolve().parents[1]


def run_python(code: str, *arguments: object, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)


def test_json_text_and_arrays_round_trip(tmp_path):
    content = {"name": "Prüfung", "values": [1, 0.1, None, True]}
    write_json(tmp_path / "a.json", content)
    assert read_json(tmp_path / "a.json") == content
    write_text(tmp_path / "a.txt", "größe\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\n".encode()
    arrays = {"p": np.linspace(0, 1, 7, dtype=np.float16), "names": np.array(["a", "bc"])}
    write_arrays(tmp_path / "a.npz", arrays)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as loaded:
        assert set(loaded.files) == {"p", "names"}
        for name, array in arrays.items():
            np.testing.assert_array_equal(loaded[name], array)


def test_equal_arrays_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_arrays(tmp_path / name, {"x": np.arange(5)})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_written_files_have_the_users_usual_permissions(tmp_path):
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    ("failure", "error", "fragment"),
    [
        (OSError(errno.ENOSPC, "No space left"), OutputError, "the disk is full"),
        (OSError(errno.EDQUOT, "Quota exceeded"), OutputError, "quota"),
        (OSError(errno.EFBIG, "File too large"), OutputError, "the disk is full"),
        (OSError(errno.EACCES, "Permission denied"), OutputError, "Permission denied"),
        (OSError(errno.EROFS, "Read-only file system"), OutputError, "Read-only"),
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
    ],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, failure, error, fragment):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(stream):
        stream.write(b"half of the new")
        raise failure

    with pytest.raises(error, match=fragment) as caught:
        write_atomically(path, write)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_although_a_library_raises_its_own_error_over_it(tmp_path):
    def write(stream):
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        finally:
            raise RuntimeError("unexpected position 704")

    with pytest.raises(OutputError, match="disk is full"):
        write_atomically(tmp_path / "a.txt", write)


def test_an_error_that_is_not_the_system_s_stays_what_it_is(tmp_path):
    with pytest.raises(ZeroDivisionError):
        write_atomically(tmp_path / "a.txt", lambda stream: 1 / 0)


def test_a_missing_folder_is_an_output_error_that_names_the_file(tmp_path):
    with pytest.raises(OutputError, match=r"nowhere.*No such file"):
        write_text(tmp_path / "nowhere" / "a.txt", "")


@pytest.mark.parametrize("what", ["write_text(path, 'x' * 100_000)", "write_arrays(path, {'x': noise})"])
def test_a_size_limit_of_the_system_is_told_like_a_full_disk(tmp_path, what):
    code = (
        "import sys; from pathlib import Path; import numpy as np; from fewpoint.io.atomic import *\n"
        "path = Path(sys.argv[1]); noise = np.random.default_rng(0).random(20_000)\n"
        f"try: {what}\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    path = tmp_path / "a.bin"
    path.write_text("old")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    result = run_python(code, path, preexec_fn=limit)
    assert result.stdout.startswith("OutputError the disk is full")
    assert result.stderr == ""
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_file_and_one_partial(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from fewpoint.io.atomic import write_atomically\n"
        "def write(stream): stream.write(b'half'); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomically(Path(sys.argv[1]), write)\n"
    )
    path = tmp_path / "a.txt"
    path.write_text("old")
    assert run_python(code, path).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert [entry.suffix for entry in tmp_path.iterdir() if entry != path] == [".partial"]


@pytest.mark.parametrize(("text", "fragment"), [("{", "must be JSON"), ("[1]", "JSON object"), (None, "No such file")])
def test_json_that_cannot_be_read_is_an_input_error(tmp_path, text, fragment):
    path = tmp_path / "a.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=fragment) as caught:
        read_json(path)
    assert "a.json" in str(caught.value)
