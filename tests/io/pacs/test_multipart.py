"""Parts of an answer: the same whatever pieces it comes in, and never silently short."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewpoint.errors import InputError
from fewpoint.io.pacs.multipart import find_boundary, read_parts

# Bodies that look like boundaries and line ends.
bodies = st.lists(st.lists(st.sampled_from([b"\r\n", b"--", b"b", b"x", b"\r\n--", b"\0"])).map(b"".join), max_size=4)


def join(parts: list[bytes], head: bytes = b"Content-Type: application/dicom\r\n\r\n") -> bytes:
    return b"".join(b"\r\n--bound\r\n" + (head or b"\r\n") + part for part in parts) + b"\r\n--bound--\r\n"


def read(data: bytes, at_once: int = 2**20) -> list[bytes]:
    stream = BytesIO(data)
    return [b"".join(part) for part in read_parts(lambda count: stream.read(min(count, at_once)), b"bound")]


@given(bodies, st.integers(1, 50))
def test_parts_are_the_same_in_whatever_pieces_they_come(parts, at_once):
    assert read(join(parts), at_once) == parts


def test_a_preamble_and_an_epilogue_are_passed_over():
    assert read(b"to be ignored" + join([b"one"]) + b"and this") == [b"one"]


def test_the_first_boundary_may_stand_at_the_very_start_and_parts_may_have_no_headers():
    assert read(join([b"one", b"two"], b"")[2:]) == [b"one", b"two"]


def test_wherever_an_answer_breaks_off_it_is_an_error():
    whole = join([b"one", b"two"])
    for length in range(len(whole) - len(b"--\r\n")):
        with pytest.raises(InputError, match="breaks off"):
            read(whole[:length])


def test_headers_without_an_end_are_refused_before_they_fill_the_memory():
    endless = BytesIO(b"--bound\r\n" + b"X: y\r\n" * 10**6)
    with pytest.raises(InputError, match="no multipart"):
        list(read_parts(endless.read, b"bound"))
    assert endless.tell() < 3 * 2**20


@pytest.mark.parametrize(
    "media_type", ["text/html", "multipart/related", f"multipart/related; boundary={'x' * 71}", ""]
)
def test_what_is_no_multipart_is_refused(media_type):
    with pytest.raises(InputError, match="multipart/related"):
        find_boundary(media_type)
