"""Points are read from both kinds of CSV, checked, and written back."""

from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.errors import InputError
from fewpoint.io.points import find_points, hash_points, read_points, write_points

SEQUENCE = ImageSequence.from_array(np.zeros((9, 11, 21), np.uint8))
PREAMBLE = "VideoWidth:;21\nVideoHeight:;11\nDisplayWidth:;21\nDisplayHeight:;11\nframe;time;visible;x;y\n"


def save(folder: Path, text: str, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def rows_of(path: Path) -> list[list[int]]:
    return read_points(path, SEQUENCE).coordinates.tolist()


def assert_refused(path: Path, *fragments: str) -> None:
    with pytest.raises(InputError) as caught:
        read_points(path, SEQUENCE)
    message = str(caught.value)
    assert "\n" not in message
    for fragment in (path.name, *fragments):
        assert fragment in message


@pytest.mark.parametrize(
    "text",
    [
        "frame,y,x\n0,3,4\n2,10,20\n",
        "x,frame,y\n4,0,3\n20,2,10\n",
        "\ufeffFrame, Y , X\r\n 0 , 3,4\r\n\r\n2,10,20",
        '"frame","y","x"\n\n"0","3","4"\n,,\n2.0,10.0,20.0\n',
        "frame,y,x\n0,3.4,3.5\n2,9.5,20.49\n",
    ],
    ids=["plain", "reordered", "bom-case-spaces-blank", "quoted", "decimals"],
)
def test_pixel_tables_are_read_whatever_their_dress(tmp_path, text):
    assert rows_of(save(tmp_path, text)) == [[0, 3, 4], [2, 10, 20]]


def test_halves_round_up(tmp_path):
    assert rows_of(save(tmp_path, "frame,y,x\n0,0.5,1.5\n1,-0.5,2.5\n")) == [[0, 1, 2], [1, 0, 3]]


@pytest.mark.parametrize("row", ["7,absent", "7,absent,", "7,,Absent", "7, absent ,absent"])
def test_a_frame_can_be_marked_absent(tmp_path, row):
    points = read_points(save(tmp_path, f"frame,y,x\n{row}\n0,1,2\n"), SEQUENCE)
    assert points.absent == (7,)
    assert points.coordinates.tolist() == [[0, 1, 2]]


def test_the_datasets_locations_are_scaled_to_pixels_and_invisible_rows_hold_no_point(tmp_path):
    text = PREAMBLE + "0;0;1;0.25;0.5\n1;1;0;0.1;0.1\n2;2;1;1.0;0.0\n3;3;0;;\n"
    points = read_points(save(tmp_path, text, "anything.txt"), SEQUENCE)
    assert points.coordinates.tolist() == [[0, 5, 5], [2, 0, 20]]
    assert points.absent == ()


def test_a_folder_stands_for_its_2dlocs(tmp_path):
    save(tmp_path, PREAMBLE + "0;0;1;0;0\n", "2dlocs.csv")
    assert rows_of(tmp_path) == [[0, 0, 0]]


def test_a_folder_without_points_says_what_was_looked_for(tmp_path):
    assert_refused(tmp_path, "2dlocs.csv")


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("", ["is empty", "frame,y,x"]),
        (" \n\n", ["is empty"]),
        ("frame,y,x\n", ["at least one point"]),
        ("frame,y,x\n3,absent\n", ["at least one point"]),
        ("i,j,k\n1,2,3\n", ["must be frame,y,x", "got i,j,k"]),
        ("0,1,2\n", ["must be frame,y,x", "got 0,1,2"]),
        ("frame,y,x,label\n0,1,2,3\n", ["got frame,y,x,label"]),
        ("frame,y,x\n0,1,2\n\n1,abc,2\n", ["line 4", "y must be a number", "abc"]),
        ("frame,y,x\n0,1,nan\n", ["line 2", "x must be a number", "nan"]),
        ("frame,y,x\n0,inf,1\n", ["line 2", "inf"]),
        ("frame,y,x\n0,1e300,1\n", ["line 2", "1e300"]),
        ("frame,y,x\n0,1\n", ["line 2", "x must be a number, got nothing"]),
        ("frame,y,x\n,1,2\n", ["line 2", "frame must be a number, got nothing"]),
        ("frame,y,x\n0.5,1,2\n", ["line 2", "whole number", "0.5"]),
        ("frame,y,x\n0,1,2,3\n", ["line 2", "3 fields", "got 4"]),
        ("frame,y,x\n0,absent,4\n", ["line 2", "absent", "both"]),
        ("frame,y,x\n0,1,2\n0,absent\n", ["frame 0", "absent"]),
        ("frame,y,x\n0,1,2\n0,1.2,2\n", ["duplicate"]),
        ("frame,y,x\n0,11,2\n", ["outside", "11 x 21"]),
        ("frame,y,x\n9,1,2\n", ["frame 9", "0 to 8"]),
        ("frame,y,x\n0,1,2\n9,absent\n", ["frame 9", "0 to 8"]),
        (PREAMBLE + "0;0;1;nan;0.5\n", ["line 6", "x must be a number"]),
        (PREAMBLE + "0;0;1;1.5;0.5\n", ["outside"]),
        (PREAMBLE + "0;0;0;0;0\n", ["at least one point"]),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path, text, fragments):
    assert_refused(save(tmp_path, text), *fragments)


def test_a_missing_file_is_named(tmp_path):
    assert_refused(tmp_path / "nowhere.csv", "does not exist")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes("frame,y,x\n".encode("utf-16"))
    assert_refused(path, "UTF-8")


def test_points_round_trip(tmp_path):
    points = PointSet.from_rows([(2, 3, 4), (0, 1, 2), (2, 0, 0)], absent=[8, 1])
    write_points(points, tmp_path / "p.csv")
    again = read_points(tmp_path / "p.csv", SEQUENCE)
    np.testing.assert_array_equal(again.coordinates, points.coordinates)
    assert again.absent == points.absent
    assert (tmp_path / "p.csv").read_text() == "frame,y,x\n0,1,2\n2,0,0\n2,3,4\n1,absent\n8,absent\n"


def test_points_are_found_from_the_dataset_folder_and_its_frames(tmp_path):
    (tmp_path / "input-frames").mkdir()
    assert find_points(tmp_path) is None
    locations = save(tmp_path, PREAMBLE, "2dlocs.csv")
    assert find_points(tmp_path) == locations
    assert find_points(tmp_path / "input-frames").samefile(locations)


def test_points_are_not_found_outside_the_dataset_layout(tmp_path):
    save(tmp_path, PREAMBLE, "2dlocs.csv")
    assert find_points(tmp_path) is None
    assert find_points(tmp_path / "stack.tif") is None


def test_the_hash_depends_on_points_and_absent_frames():
    one = PointSet.from_rows([(0, 1, 2), (3, 4, 5)])
    same = PointSet.from_rows([(3, 4, 5), (0, 1, 2)])
    moved = PointSet.from_rows([(0, 1, 2), (3, 4, 6)])
    marked = PointSet.from_rows([(0, 1, 2), (3, 4, 5)], absent=[1])
    assert hash_points(one) == hash_points(same)
    assert len({hash_points(points) for points in (one, moved, marked)}) == 3
