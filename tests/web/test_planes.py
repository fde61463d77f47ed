"""Masks across the frames, values, measures and surfaces, as the page asks for them."""

import nibabel
import numpy as np
import pytest

from web.visits import do

SHAPE = (5, 6, 7)  # frames, rows, columns


@pytest.fixture
def volume(client, root):
    """A volume whose voxels are their own place, opened, with a box drawn on frames 1 and 2."""
    values = np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE)
    nibabel.save(nibabel.Nifti1Image(values.transpose(2, 1, 0), np.diag([2.0, 2.0, 5.0, 1.0])), root / "v.nii.gz")
    project = client.post("/api/projects", json={"input": "v.nii.gz"}).json()
    mask = np.zeros(SHAPE, bool)
    mask[1:3, 2:4, 3:6] = True
    for frame in (1, 2):
        runs = [[row * SHAPE[2] + 3, 3] for row in (2, 3)]
        do(client, project["id"], "brush", object="object", frame=frame, runs=runs)
    return project, mask


def read_plane(client, project: str, axis: int, index: int) -> np.ndarray:
    found = client.get(f"/api/projects/{project}/masks/{index}", params={"object": "object", "axis": axis}).json()
    flat = np.zeros(found["size"][0] * found["size"][1], bool)
    for start, length in found["runs"]:
        flat[start : start + length] = True
    return flat.reshape(found["size"])


def test_a_plane_of_the_masks_is_that_of_the_volume(client, volume):
    project, mask = volume
    for axis, index in ((0, 2), (1, 3), (2, 5), (2, 0)):
        assert np.array_equal(read_plane(client, project["id"], axis, index), np.take(mask, index, axis=axis))
    assert (
        client.get(f"/api/projects/{project['id']}/masks/6", params={"object": "object", "axis": 1}).status_code == 404
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_stroke_in_any_plane_changes_that_plane_alone_and_is_one_step_of_undo(client, volume, axis):
    project, mask = volume
    index = 3
    painted = np.take(mask, index, axis=axis).copy()
    painted[0, 1:4] = True
    painted[2] = False
    runs = [[int(start), 1] for start in np.flatnonzero(painted)]
    body = {"object": "object", "axis": axis, "index": index, "runs": runs}
    answer = client.post(f"/api/projects/{project['id']}/strokes", json=body)
    assert answer.status_code == 200, answer.text
    expected = mask.copy()
    expected[(slice(None),) * axis + (index,)] = painted
    found = np.stack([read_plane(client, project["id"], 0, frame) for frame in range(SHAPE[0])])
    assert np.array_equal(found, expected)
    do(client, project["id"], "undo")
    found = np.stack([read_plane(client, project["id"], 0, frame) for frame in range(SHAPE[0])])
    assert np.array_equal(found, mask)


def test_values_areas_and_the_patients_sides_are_told(client, volume):
    project, mask = volume
    address = f"/api/projects/{project['id']}"
    assert project["directions"] == ["S", "A", "R"] and project["spacing_mm"] == [5.0, 2.0, 2.0]
    assert client.get(f"{address}/value", params={"frame": 2, "y": 1, "x": 4}).json() == {"values": [2 * 42 + 7 + 4]}
    assert client.get(f"{address}/value", params={"frame": 5, "y": 1, "x": 4}).status_code == 404
    measured = client.get(f"{address}/measures", params={"object": "object"}).json()
    assert measured["areas"] == mask.sum(axis=(1, 2)).tolist()


def test_an_object_is_found_by_its_number_whatever_it_is_called_by_now(client, volume):
    project, mask = volume
    address = f"/api/projects/{project['id']}"
    (number,) = [each["number"] for each in project["objects"]]
    do(client, project["id"], "rename_object", object="object", name="liver")
    assert client.get(f"{address}/measures", params={"object": "object"}).status_code == 422
    for view in ({"number": number}, {"object": "liver"}):
        assert client.get(f"{address}/measures", params=view).json()["areas"] == mask.sum(axis=(1, 2)).tolist()
    assert client.get(f"{address}/masks/1", params={"number": number}).status_code == 200
    missing = client.get(f"{address}/masks/1", params={"number": 99})
    assert missing.status_code == 404 and "no object with the number 99" in missing.json()["detail"]


def test_the_surface_lies_round_the_object_in_the_patient(client, volume):
    project, _ = volume
    data = client.get(f"/api/projects/{project['id']}/surface", params={"object": "object"}).content
    count, triangles = np.frombuffer(data, "<u4", 2)
    corners = np.frombuffer(data, "<f4", 3 * count, 8).reshape(-1, 3)
    assert len(data) == 8 + 12 * count + 12 * triangles
    # Half a voxel round columns 3 to 5, rows 2 and 3, frames 1 and 2.
    assert np.allclose(corners.min(axis=0), [5, 3, 2.5]) and np.allclose(corners.max(axis=0), [11, 7, 12.5])


def test_the_window_is_kept_with_the_project_and_is_no_step_of_undo(client, volume):
    project, _ = volume
    address = f"/api/projects/{project['id']}"
    assert client.post(f"{address}/look", json={"low": -60, "high": 140}).status_code == 200
    again = client.get(address).json()
    assert again["look"] == {"low": -60, "high": 140} and again["version"] == 2
    assert client.post(f"{address}/look", json={"low": 5, "high": 1}).status_code == 422
