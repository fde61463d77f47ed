"""Changes of masks by name, imports, and what a person may ask of a run."""

import numpy as np
import pytest

from fewpoint.core.run_lengths import decode_mask, encode_mask
from fewpoint.web.edits import fill_between, keep_largest
from web.visits import click_everywhere, do, open_frames, start_run, wait_for

SIZE = (48, 40)
FRAMES = 6


def disc(radius: float, y: float = 24, x: float = 20) -> np.ndarray:
    rows, columns = np.indices(SIZE)
    return np.hypot(rows - y, columns - x) <= radius


def draw(client, project: str, frame: int, mask: np.ndarray, name: str = "object") -> None:
    do(client, project, "brush", object=name, frame=frame, runs=[list(run) for run in encode_mask(mask)])


def edit(client, project: str, name: str, **fields):
    return client.post(f"/api/projects/{project}/edits", json={"object": "object", "edit": name, **fields})


def read(client, project: str, name: str = "object") -> np.ndarray:
    found = []
    for frame in range(FRAMES):
        message = client.get(f"/api/projects/{project}/masks/{frame}", params={"object": name}).json()
        found.append(decode_mask(tuple(map(tuple, message["runs"])), tuple(message["size"])))
    return np.stack(found)


def test_between_two_discs_come_discs_of_sizes_in_between(client):
    project = open_frames(client)["id"]
    draw(client, project, 0, disc(4))
    draw(client, project, 4, disc(12))
    assert edit(client, project, "fill").status_code == 200
    masks = read(client, project)
    for frame, radius in ((1, 6), (2, 8), (3, 10)):
        assert abs(np.sqrt(masks[frame].sum() / np.pi) - radius) < 0.5  # of a pixel
    assert not masks[5].any() and np.array_equal(masks[0], disc(4))
    assert edit(client, project, "fill").status_code == 422  # there is nothing left to fill
    do(client, project, "undo")
    assert not read(client, project)[1:4].any()


def test_filling_stops_at_frames_that_were_drawn_empty():
    filled = fill_between({0: encode_mask(disc(5)), 2: (), 4: encode_mask(disc(5))}, SIZE)
    assert filled == {}


def test_only_the_largest_part_stays_on_a_frame_or_through_all_frames(client):
    project = open_frames(client)["id"]
    island = disc(2, 5, 5)
    for frame in (1, 2):
        draw(client, project, frame, disc(6) | island)
    assert edit(client, project, "islands", frame=1).status_code == 200
    assert np.array_equal(read(client, project)[1], disc(6)) and read(client, project)[2, 5, 5]
    assert edit(client, project, "islands", everywhere=True).status_code == 200
    assert not read(client, project)[2, 5, 5]
    assert np.array_equal(keep_largest(disc(3)), disc(3))


def test_smoothing_takes_spikes_and_keeps_the_size(client):
    project = open_frames(client)["id"]
    spiked = disc(9)
    spiked[24, 29:38] = True
    draw(client, project, 0, spiked)
    assert edit(client, project, "smooth", frame=0).status_code == 200
    smooth = read(client, project)[0]
    assert not smooth[24, 33:].any() and abs(smooth.sum() - disc(9).sum()) < 0.06 * disc(9).sum()


def test_a_mask_is_copied_from_the_frame_before_or_after(client):
    project = open_frames(client)["id"]
    draw(client, project, 0, disc(5))
    draw(client, project, 2, disc(7))
    assert edit(client, project, "copy", frame=1, value=-1).status_code == 200
    assert np.array_equal(read(client, project)[1], disc(5))
    assert edit(client, project, "copy", frame=1, value=1).status_code == 200
    assert np.array_equal(read(client, project)[1], disc(7))
    assert edit(client, project, "copy", frame=0, value=-1).status_code == 422


def test_a_ball_paints_and_erases_on_neighbouring_frames(client):
    project = open_frames(client)["id"]
    assert edit(client, project, "ball", value=2.2, places=[[2, 24, 20], [2, 24, 26]]).status_code == 200
    masks = read(client, project)
    assert masks[2, 24, 18:29].all() and masks[1, 24, 20:27].all() and masks[4, 24, 20] and not masks[5].any()
    assert masks[4].sum() < masks[2].sum()
    assert edit(client, project, "ball", value=2.2, places=[[2, 24, 20]], erase=True).status_code == 200
    assert not read(client, project)[2, 24, 19:22].any()


def test_a_locked_object_is_neither_changed_nor_painted_over(client):
    project = open_frames(client)["id"]
    draw(client, project, 0, disc(6))
    do(client, project, "add_object", name="other")
    do(client, project, "lock_object", object="object", locked=True)
    action = {"kind": "add_point", "object": "object", "frame": 0, "y": 1, "x": 1}
    answer = client.post(f"/api/projects/{project}/actions", json={"action": action})
    assert answer.status_code == 422 and "locked" in answer.json()["detail"]
    draw(client, project, 0, disc(9), "other")
    assert np.array_equal(read(client, project)[0], disc(6))
    assert np.array_equal(read(client, project, "other")[0], disc(9) & ~disc(6))


def test_points_and_masks_of_files_are_taken_over(client, root):
    project = open_frames(client)["id"]
    (root / "points.csv").write_text("frame,y,x,label\n0,10,11,1\n2,12,13,1\n2,1,2,0\n4,absent,,\n")
    address = f"/api/projects/{project}/imports"
    answer = client.post(address, json={"object": "object", "path": "points.csv"})
    assert answer.status_code == 200, answer.text
    found = answer.json()["project"]["objects"][0]
    places = [(each["frame"], each["y"], each["x"], each["positive"]) for each in found["points"]]
    assert places == [(0, 10, 11, True), (2, 12, 13, True), (2, 1, 2, False)] and found["absent"] == [4]
    assert min(each["id"] for each in found["points"]) > 0
    np.save(root / "masks.npy", np.stack([disc(5) if frame in (1, 3) else np.zeros(SIZE) for frame in range(FRAMES)]))
    answer = client.post(address, json={"object": "object", "path": "masks.npy"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["project"]["objects"][0]["brushed"] == [1, 3]
    assert client.post(address, json={"object": "object"}).status_code == 422  # none lie with these images
    assert client.post(address, json={"object": "object", "path": "../x.csv"}).status_code == 404


def test_the_points_of_a_dataset_folder_are_offered_and_taken(client, root):
    import shutil

    folder = root / "patient"
    shutil.copytree(root / "frames", folder / "input-frames")
    rows = "".join(f"{frame};0.0;1;0.5;0.25\n" for frame in range(FRAMES))
    (folder / "2dlocs.csv").write_text("a\nb\nc\nd\nframe;time;visible;x;y\n" + rows)
    project = client.post("/api/projects", json={"input": "patient"}).json()
    assert project["own_points"]
    answer = client.post(f"/api/projects/{project['id']}/imports", json={"object": "object"})
    assert answer.status_code == 200, answer.text
    points = answer.json()["project"]["objects"][0]["points"]
    assert [(each["frame"], each["y"], each["x"]) for each in points] == [(frame, 12, 20) for frame in range(FRAMES)]


def test_an_object_is_absent_from_a_stretch_of_frames(client):
    project = open_frames(client)["id"]
    do(client, project, "add_point", object="object", frame=2, y=5, x=5)
    state = do(client, project, "mark_absent", object="object", frame=1, last=4, absent=True)
    assert state["objects"][0]["absent"] == [1, 2, 3, 4] and state["objects"][0]["points"] == []
    state = do(client, project, "mark_absent", object="object", frame=3, last=4, absent=False)
    assert state["objects"][0]["absent"] == [1, 2]


@pytest.mark.nightly
@pytest.mark.usefixtures("quick")
def test_a_run_begins_with_the_networks_of_another_patient_and_masks_are_cut_at_a_threshold(client, root):
    import shutil

    first = open_frames(client)["id"]
    answer = client.post(f"/api/projects/{first}/runs", json={"warm_start": True})
    assert answer.status_code == 422
    click_everywhere(client, first)
    assert wait_for(client, first, start_run(client, first))["state"] == "finished"
    least = edit(client, first, "threshold", value=0.05, everywhere=True)
    assert least.status_code == 200, least.text
    wide = read(client, first).sum()
    assert edit(client, first, "threshold", value=0.9, everywhere=True).status_code == 200
    assert read(client, first).sum() < wide

    shutil.copytree(root / "frames", root / "second")
    second = client.post("/api/projects", json={"input": "second"}).json()["id"]
    click_everywhere(client, second)
    refused = client.post(f"/api/projects/{second}/runs", json={"added": ["../elsewhere"]})
    assert refused.status_code == 404
    run = wait_for(client, second, start_run(client, second, warm_start=True))
    assert run["state"] == "finished", run
    job = (root / "second.fewpoint.runs" / "1" / "job.json").read_text()
    assert "frames.fewpoint.runs/1/result" in job

    # Further channels, which a refinement has too.
    run = wait_for(client, second, start_run(client, second, added=["frames"]))
    assert run["state"] == "finished", run
    do(client, second, "add_point", object="object", frame=0, y=1, x=1, positive=False)
    run = wait_for(client, second, start_run(client, second, refine=True))
    assert run["state"] == "finished", run
    for number in (2, 3):
        job = (root / "second.fewpoint.runs" / str(number) / "job.json").read_text()
        assert str(root / "frames") in job


@pytest.fixture
def quick(monkeypatch):
    from fewpoint.web import queueing
    from web.visits import QUICK_WORKER

    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)


def test_the_structures_of_an_rtstruct_become_objects(client, root):
    from dicom_series import save_series
    from fewpoint.core.labels import LabelMap, ObjectLabel
    from fewpoint.io.images import read_sequence
    from fewpoint.io.rtstruct import write_rtstruct

    sequence = read_sequence(save_series(root / "series", np.zeros((5, 12, 14), np.uint16)))
    values = np.zeros((5, 12, 14), np.uint8)
    values[2, 3:8, 4:9] = 1
    labels = LabelMap(values, (ObjectLabel("liver"),), sequence.names, sequence.source)
    write_rtstruct(labels, root / "outlines.dcm")
    project = client.post("/api/projects", json={"input": "series"}).json()["id"]
    answer = client.post(f"/api/projects/{project}/imports", json={"object": "object", "path": "outlines.dcm"})
    assert answer.status_code == 200, answer.text
    liver = answer.json()["project"]["objects"][1]
    assert liver["name"] == "liver" and liver["brushed"] == [2]
    message = client.get(f"/api/projects/{project}/masks/2", params={"object": "liver"}).json()
    assert np.array_equal(decode_mask(tuple(map(tuple, message["runs"])), (12, 14)), values[2] == 1)
