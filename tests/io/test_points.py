"""Points are read from every kind of file, checked, and written back."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import Geometry, ImageSequence, PointSet, Source
from fewpoint.errors import InputError
from fewpoint.io.points import find_points, hash_points, read_points, write_points

SEQUENCE = ImageSequence.from_array(np.zeros((9, 11, 21), np.uint8))
# Stored as (21, 11, 9), cut along its last axis: a voxel i, j, k is the point frame k, y j, x i.
GEOMETRY = Geometry.from_affine(np.array([[-2.0, 0, 0, 40], [0, -2, 0, 20], [0, 0, 5, -10], [0, 0, 0, 1]]), (21, 11, 9))
VOLUME = ImageSequence(SEQUENCE.frames, SEQUENCE.names, Source("v.nii", "nifti", GEOMETRY))
PREAMBLE = "VideoWidth:;21\nVideoHeight:;11\nDisplayWidth:;21\nDisplayHeight:;11\nframe;time;visible;x;y\n"


def save(folder: Path, text: str, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def rows_of(path: Path) -> list[list[int]]:
    return read_points(path, SEQUENCE).coordinates.tolist()


def assert_refused(path: Path, *fragments: str, sequence: ImageSequence = SEQUENCE) -> None:
    with pytest.raises(InputError) as caught:
        read_points(path, sequence)
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
        "frame;y;x\n0;3,4;3,5\n2;9,5;20,49\n",
        "frame\ty\tx\n0\t3\t4\n2\t10\t20\n",
        ',frame,y,x,who,note\n0,0,3,4,me,"well, inside"\n1,2,10,20,,\n',
        "frame,y_share,x_share\n0,0.3,0.2\n2,1,1\n",
        "index,axis-0,axis-1,axis-2,size\n0,0.0,3.2,4.4,10\n1,2.0,9.6,19.8,10\n",
        " ,Area,Mean,X,Y,Slice,Label\n1,0,17,4.9,3,1,s.tif:a\n2,0,9,20,10.2,3,s.tif:c\n",
        " \tX\tY\tCh\tSlice\tFrame\n1\t4\t3\t1\t1\t1\n2\t20\t10\t1\t1\t3\n",
    ],
    ids=[
        *("plain", "reordered", "bom-case-spaces-blank", "quoted", "decimals", "semicolons and decimal commas", "tabs"),
        *("further columns", "shares", "napari", "ImageJ", "hyperstack of ImageJ"),
    ],
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
        ("i,j,k\n1,2,3\n", ["i,j,k need an input that says where its voxels lie", "give frame,y,x"]),
        ("ras_x,ras_y,ras_z\n1,2,3\n", ["millimetres need an input"]),
        ("ras_x,lps_y,ras_z\n1,2,3\n", ["must be frame,y,x", "lps_x,lps_y,lps_z", "got ras_x,lps_y,ras_z"]),
        ("0,1,2\n", ["must be frame,y,x", "got 0,1,2"]),
        ("frame,y,x,objects\n0,1,2,3\n", ["column objects", "did you mean object?"]),
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
        ("frame,y,x\n0,15,3\n", ["outside", "with x and y exchanged"]),
        ("frame,y,x\n0,0.4,0.5\n1,0.5,1\n", ["must be pixels", "name the columns frame,y_share,x_share"]),
        ("frame,y_share,x_share\n0,0.5,3\n", ["line 2: x_share must be a share between 0 and 1, got 3"]),
        ("X,Y,Slice\n1,1,0\n", ["line 2: Slice must be a whole number from 1, got 0"]),
        ("X,Y,Ch,Slice,Frame\n1,1,1,1,1\n1,1,1,2,2\n", ["on slices or on frames"]),
        ("axis-0,axis-1,axis-2,axis-3\n0,1,1,1\n", ["three axes"]),
        (PREAMBLE + "0;0;1;nan;0.5\n", ["line 6", "x must be a number"]),
        (PREAMBLE + "0;0;1;1.5;0.5\n", ["outside"]),
        (PREAMBLE + "0;0;0;0;0\n", ["at least one point"]),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path, text, fragments):
    assert_refused(save(tmp_path, text), *fragments)


def test_voxel_indices_are_those_of_the_stored_axes(tmp_path):
    path = save(tmp_path, "i,j,k\n20,10,8\n1.4,2.5,3\nabsent,,7\n")
    points = read_points(path, VOLUME)
    assert points.coordinates.tolist() == [[3, 3, 1], [8, 10, 20]]
    assert points.absent == (7,)
    sagittal = replace(VOLUME.source, geometry=GEOMETRY.cut("0"))
    across = ImageSequence(np.zeros((21, 9, 11, 1), np.uint8), tuple(map(str, range(21))), sagittal)
    path = save(tmp_path, "k,j,i\n8,10,20\nabsent,,7\n")
    points = read_points(path, across)
    assert points.coordinates.tolist() == [[20, 8, 10]]
    assert points.absent == (7,)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ras_x,ras_y,ras_z\n2,14,5\n", "p.csv"),
        ("RAS_Z,ras_x,ras_y\n5.4,2.3,13.7\n", "p.csv"),
        ("lps_x,lps_y,lps_z\n-2,-14,5\n", "p.csv"),
        ("lps_x,lps_y,lps_z\n-2,-14,5\n-2.1,-14.1,5.1\n", "p.csv"),
        ("# CoordinateSystem = LPS\n# columns = id,x,y,z,ow\n1,-2,-14,5,0\n", "p.fcsv"),
        ("# Markups fiducial file version = 4.6\n# CoordinateSystem = 0\nvtkMRML_0,2,14,5,0,0,0,1\n", "p.fcsv"),
    ],
    ids=["ras", "reordered", "lps", "one voxel twice", "fcsv lps", "fcsv ras"],
)
def test_millimetres_find_their_voxel(tmp_path, text, name):
    """i = (40 - 2) / 2 = 19, j = (20 - 14) / 2 = 3, k = (5 + 10) / 5 = 3."""
    assert read_points(save(tmp_path, text, name), VOLUME).coordinates.tolist() == [[3, 3, 19]]


def slicer_list(name: str, positions: list, **fields) -> dict:
    points = [{"label": f"F-{index}", "position": position} for index, position in enumerate(positions)]
    points.append({"label": "preview", "position": [0, 0, 0], "positionStatus": "preview"})
    return {"type": "Fiducial", "name": name, "coordinateSystem": "LPS", "controlPoints": points, **fields}


def test_point_lists_of_slicer_are_read_with_their_names(tmp_path):
    lists = [slicer_list("tumour", [[-2, -14, 5]]), {"type": "Line", "controlPoints": []}]
    points = read_points(save(tmp_path, json.dumps({"markups": lists}), "F.mrk.json"), VOLUME)
    assert points.coordinates.tolist() == [[3, 3, 19]]
    assert points.objects == ("tumour",)
    ras = [slicer_list("tumour", [[2, 14, 5]], coordinateSystem="RAS"), slicer_list("a", [], coordinateSystem="RAS")]
    assert len(read_points(save(tmp_path, json.dumps({"markups": ras}), "F.mrk.json"), VOLUME)) == 1


def test_each_point_list_of_slicer_has_its_own_system_and_unit(tmp_path):
    small = {"coordinateSystem": "RAS", "coordinateUnits": ["um", "UCUM", "micrometer"]}
    lists = [slicer_list("a", [[-2, -14, 5]], coordinateUnits="mm"), slicer_list("b", [[4e3, 14e3, 5e3]], **small)]
    points = read_points(save(tmp_path, json.dumps({"markups": lists}), "F.mrk.json"), VOLUME)
    assert dict(zip(points.objects, points.coordinates.tolist(), strict=True)) == {"a": [3, 3, 19], "b": [3, 3, 18]}


def test_lists_and_points_of_slicer_called_negative_are_where_the_object_is_not(tmp_path):
    liver = slicer_list("liver", [[-2, -14, 5], [-4, -14, 5]])
    liver["controlPoints"][1]["label"] = "F-2 negative"
    lists = [liver, slicer_list("liver-negative", [[-6, -14, 5]]), slicer_list("Negative", [[-8, -14, 5]])]
    points = read_points(save(tmp_path, json.dumps({"markups": lists}), "F.mrk.json"), VOLUME)
    assert (points.coordinates.tolist(), points.objects) == ([[3, 3, 19]], ("liver",))
    found = dict(zip((x for _, _, x in points.negatives.tolist()), points.negative_objects, strict=True))
    assert found == {18: "liver", 17: "liver", 16: ""}
    old = "# CoordinateSystem = LPS\n# columns = id,x,y,z,label\n1,-2,-14,5,F-1\n2,-4,-14,5,F-2 negative\n"
    points = read_points(save(tmp_path, old, "F.fcsv"), VOLUME)
    assert (points.coordinates.tolist(), points.negatives.tolist()) == ([[3, 3, 19]], [[3, 3, 18]])


@pytest.mark.parametrize(
    ("text", "name", "fragments"),
    [
        ("{}", "a.mrk.json", ["as 3D Slicer saves them"]),
        ("[", "a.mrk.json", ["as 3D Slicer saves them"]),
        (json.dumps({"markups": [slicer_list("a", [[1, 2]])]}), "a.mrk.json", ["as 3D Slicer saves them"]),
        (json.dumps({"markups": [slicer_list("a", [[None] * 3])]}), "a.mrk.json", ["as 3D Slicer saves them"]),
        (json.dumps({"markups": [slicer_list("a", [[float("nan")] * 3])]}), "a.mrk.json", ["finite"]),
        (json.dumps({"markups": [slicer_list("a", [])]}), "a.mrk.json", ["at least one point"]),
        (json.dumps({"markups": [slicer_list("a", [], coordinateSystem="XYZ")]}), "a.mrk.json", ["RAS or LPS", "XYZ"]),
        (json.dumps({"markups": [slicer_list("a", [], coordinateUnits="cm")]}), "a.mrk.json", ["mm or um", "cm"]),
        (json.dumps({"markups": [{"type": "Line", "controlPoints": []}]}), "a.mrk.json", ["must hold a point list"]),
        (json.dumps({"markups": [slicer_list("a", [[900, 0, 0]])]}), "a.mrk.json", ["F-0 lies outside", "470"]),
        (json.dumps({"markups": [slicer_list("a", [[1e300, 0, 0]])]}), "a.mrk.json", ["finite"]),
        ("1," + "9" * 200_000 + "\n", "a.fcsv", ["comma-separated", "field limit"]),
        ("1,a,2,3\n", "a.fcsv", ["line 1", "id,x,y,z"]),
        ("# columns = id,label\n1,a,2,3\n", "a.fcsv", ["line 2", "id,x,y,z"]),
        ("i,j,k\n21,0,0\n", "a.csv", ["line 2 lies outside the volume", "[21, 0, 0] of [21, 11, 9]"]),
        ("i,j,k\n0,absent,7\n", "a.csv", ["line 2", "both"]),
        ("i,j,k\n0,x,7\n", "a.csv", ["line 2", "j must be a number"]),
        ("i,j,k\n1,2,3\n1,2,3\n", "a.csv", ["duplicate"]),
        ("ras_x,ras_y,ras_z\n99,0,0\n", "a.csv", ["line 2 lies outside the volume", "header row"]),
    ],
)
def test_unusable_places_are_refused_in_one_line(tmp_path, text, name, fragments):
    assert_refused(save(tmp_path, text, name), *fragments, sequence=VOLUME)


@pytest.mark.parametrize("header", ["frame,y,x,object", "object,frame,y,x"])
def test_objects_are_kept_as_they_are_written(tmp_path, header):
    rows = [("1", "2", "3", "Left Kidney"), ("0", "2", "3", "spleen"), ("2", "absent", "", "")]
    order = [["frame", "y", "x", "object"].index(name) for name in header.split(",")]
    text = "\n".join([header, *(",".join(row[place] for place in order) for row in rows)])
    points = read_points(save(tmp_path, text), SEQUENCE)
    assert points.objects == ("spleen", "Left Kidney")
    assert points.absent == (2,)
    write_points(points, tmp_path / "again.csv")
    again = read_points(tmp_path / "again.csv", SEQUENCE)
    assert (again.objects, again.absent) == (points.objects, points.absent)


def test_objects_of_places_are_kept(tmp_path):
    path = save(tmp_path, "i,j,k,object\n1,2,3,b\n1,2,1,a\n")
    assert read_points(path, VOLUME).objects == ("a", "b")
    path = save(tmp_path, "object,ras_x,ras_y,ras_z\nb,2,14,5\n")
    assert read_points(path, VOLUME).objects == ("b",)


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


@pytest.mark.parametrize(
    "text",
    [
        "frame,y,x,label\n0,1,2,1\n4,5,6,0\n",
        "label,frame,y,x\nPositive,0,1,2\nnegative,4,5,6\n",
        "frame,y,x,label\n0,1,2\n4,5,6,Negative\n",
    ],
)
def test_a_label_says_whether_a_point_lies_on_the_object_and_a_frame_may_hold_negatives_only(tmp_path, text):
    points = read_points(save(tmp_path, text), SEQUENCE)
    assert points.coordinates.tolist() == [[0, 1, 2]]
    assert points.negatives.tolist() == [[4, 5, 6]]


def test_labels_go_with_every_kind_of_place(tmp_path):
    voxels = read_points(save(tmp_path, "i,j,k,label\n1,2,3,1\n4,5,3,0\n,absent,0,\n"), VOLUME)
    assert (voxels.coordinates.tolist(), voxels.negatives.tolist()) == ([[3, 2, 1]], [[3, 5, 4]])
    assert voxels.absent == (0,)
    # 38 mm and 16 mm are voxel 1, 2; 32 mm and 10 mm are voxel 4, 5; two negatives share a voxel.
    text = "ras_x,ras_y,ras_z,label\n38,16,5,1\n32,10,5,0\n32.2,10,5,0\n"
    places = read_points(save(tmp_path, text), VOLUME)
    assert (places.coordinates.tolist(), places.negatives.tolist()) == ([[3, 2, 1]], [[3, 5, 4]])


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("frame,y,x,label\n0,1,2,2\n", "line 2: label must be 1 or 0, positive or negative, got 2"),
        ("frame,y,x,label,label\n0,1,2,1,1\n", "label is there 2 times"),
        ("frame,y,x,label\n0,1,2,0\n", "at least one point on the object"),
        ("frame,y,x,label\n0,1,2,1\n0,1,2,0\n", "both on the object and not"),
        ("frame,y,x,label\n0,1,2,1\n0,11,2,0\n", "lies outside"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_in_one_line(tmp_path, text, fragment):
    assert_refused(save(tmp_path, text), fragment)


def test_negatives_round_trip_with_their_objects(tmp_path):
    points = PointSet.from_rows([(0, 1, 2)], [8], ["a"], [(2, 3, 4), (1, 0, 0)], ["a", "a"])
    write_points(points, tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == ("frame,y,x,label,object\n0,1,2,1,a\n1,0,0,0,a\n2,3,4,0,a\n8,absent\n")
    again = read_points(tmp_path / "p.csv", SEQUENCE)
    assert hash_points(again) == hash_points(points)
    assert (again.objects, again.negative_objects) == (points.objects, points.negative_objects)


def test_the_hash_depends_on_negatives_and_is_as_it_was_without():
    import hashlib

    plain = PointSet.from_rows([(0, 1, 2)])
    assert hash_points(plain) == hashlib.sha256(b"([[0, 1, 2]], ())").hexdigest()
    one, other = (PointSet.from_rows([(0, 1, 2)], negatives=[(1, 1, x)]) for x in (1, 2))
    assert len({hash_points(points) for points in (plain, one, other)}) == 3


@pytest.mark.parametrize("number", ["1_0", "١", "１"])
def test_numbers_have_the_digits_0_to_9(tmp_path, number):
    (tmp_path / "p.csv").write_text(f"frame,y,x\n0,{number},2\n", encoding="utf-8")
    with pytest.raises(InputError, match="y must be a number"):
        read_points(tmp_path / "p.csv", ImageSequence.from_array(np.zeros((1, 20, 20, 1), np.uint8)))


def test_a_file_of_a_million_points_is_refused_before_it_takes_a_gigabyte(tmp_path):
    with open(tmp_path / "p.csv", "w") as file:
        file.write("frame,y,x\n")
        file.truncate(11 * 10**6)  # a million rows have eleven megabytes
    with pytest.raises(InputError, match="at most 8 MiB"):
        read_points(tmp_path / "p.csv", ImageSequence.from_array(np.zeros((1, 20, 20, 1), np.uint8)))
