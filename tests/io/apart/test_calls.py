"""A reading that crashes, hangs or grows is one line, and the next file is read as if nothing had been."""

import os
import signal
import socket
import threading

import numpy as np
import pytest

from fewpoint.core.geometry import Geometry
from fewpoint.errors import InputError
from fewpoint.io.apart import calls, forker, plain
from fewpoint.io.images import read_sequence
from fewpoint.io.volumes import Stack

PIXELS = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
CRASHING = b"NRRD0004\ntype: uint8\n" + b"x" * 3000 + b"\n"


@pytest.fixture
def array(tmp_path):
    np.save(tmp_path / "a.npy", PIXELS)
    return tmp_path / "a.npy"


def test_a_decoder_that_crashes_is_one_line_and_the_next_file_is_read(tmp_path, array):
    (tmp_path / "a.nrrd").write_bytes(CRASHING)
    with pytest.raises(InputError, match=r"decoder crashed \(SIG[A-Z]+\)"):
        read_sequence(tmp_path / "a.nrrd")
    assert np.array_equal(read_sequence(array).frames[..., 0], PIXELS)


def test_a_decoder_that_takes_too_long_is_ended(array, monkeypatch):
    monkeypatch.setattr(calls, "SECONDS", 0.0)
    monkeypatch.setattr(calls, "BYTES_PER_SECOND", 1e9)
    with pytest.raises(InputError, match="could not be read within"):
        read_sequence(array)


def test_a_decoder_that_takes_too_much_memory_is_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", np.zeros((40, 1000, 1000), np.uint8))
    monkeypatch.setattr(calls, "MEMORY_BYTES", 2**20)
    monkeypatch.setattr(calls, "MEMORY_DENSEST", 0)
    with pytest.raises(InputError, match="of memory to read"):
        read_sequence(tmp_path / "a.npz")


def test_a_forker_that_was_killed_is_started_anew(array):
    read_sequence(array)
    os.kill(forker.Forker.of_this_process()._process.pid, signal.SIGKILL)
    assert np.array_equal(read_sequence(array).frames[..., 0], PIXELS)


def test_several_threads_read_at_once(array):
    found = []
    threads = [threading.Thread(target=lambda: found.append(read_sequence(array).frames.sum())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [PIXELS.sum()] * 6


def test_messages_name_the_file_as_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "a.npy").write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_sequence("a.npy")
    assert str(caught.value).startswith("a.npy must hold") and str(tmp_path) not in str(caught.value)


def test_a_module_of_the_folder_of_the_data_is_not_imported(tmp_path, array, monkeypatch):
    """Python looks for modules in the present folder first, unless it is told not to."""
    for name in ("random.py", "nibabel.py", "numpy.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    forker.Forker.of_this_process().close()
    read_sequence("a.npy")
    assert not (tmp_path / "sprung").exists()


def exchange(value):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=plain.send, args=(ours, value))
        sender.start()
        try:
            return plain.receive(theirs)
        finally:
            sender.join()


def test_what_is_sent_arrives_as_it_was():
    value = {"a": (1, 2.5, None), "b": [b"\0\xff", True, "ü\ud800"], 3: {"x": float("inf")}}
    assert exchange(value) == value
    frames = np.arange(24, dtype=np.int16).reshape(2, 3, 4).transpose(2, 0, 1)
    arrived = exchange(frames)
    assert np.array_equal(arrived, frames) and arrived.strides == frames.strides and arrived.flags.writeable
    geometry = Geometry.from_affine(np.diag([0.1, 0.2, 0.3, 1]), (2, 3, 4))
    stack = exchange(Stack(frames[..., np.newaxis], ("a", "b"), "x", geometry))
    assert stack.names == ("a", "b") and np.array_equal(stack.geometry.affine, geometry.affine)


def test_what_has_no_place_in_a_message_is_not_sent():
    with pytest.raises(TypeError, match="cannot be sent"):
        plain.Packed().add(object())


@pytest.mark.parametrize(
    "text",
    [
        b"[1]",
        b"{}",
        b'{"array": "|O", "shape": [1], "order": [0]}',
        b'{"array": "<f8", "shape": [1000000000000], "order": [0]}',
        b'{"array": "<f8", "shape": [1], "order": [0], "file": true}',
        b'{"noun": "Popen", "fields": {}}',
        b'{"noun": "Geometry", "fields": {"shape": 3}}',
        b'{"tuple": 5}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_made_up_message_is_refused(text):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(plain.HEADER.pack(len(text), 0, 0) + text)
        with pytest.raises(plain.GarbledError):
            plain.receive(theirs)
