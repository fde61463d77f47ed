"""Projects opened and saved by napari: nothing is lost on the way."""

import json

import nibabel
import numpy as np
import pytest

pytest.importorskip("napari.layers", reason="napari is not installed; pip install 'napari[pyqt6]'")

from fewpoint.core.actions import AddObject, Brush, SetBox, SetSize
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.projects import ProjectLog, read_project
from fewpoint.napari.clicks import find_changes, list_clicks
from fewpoint.napari.files import get_reader, make_sample, read_layers, write_layers
from fewpoint.napari.layers import CLICK
from small_desk import CLICKS, FRAMES


@pytest.fixture
def project(tmp_path):
    """Two objects, one with a negative, a box, an outline and a size, about a volume with oblong voxels."""
    image = tmp_path / "volume.nii.gz"
    stored = nibabel.Nifti1Image(FRAMES.transpose(2, 1, 0), np.diag([0.5, 0.5, 3.0, 1.0]))
    nibabel.save(stored, image)
    path = tmp_path / "volume.nii.gz.fewpoint"
    log = ProjectLog.create(path, image, FRAMES.shape)
    mask = np.zeros(FRAMES.shape[1:], bool)
    mask[3:9, 4:12] = True
    for action in (
        *find_changes(log.project.objects[0], {(0, 3, 4): True, (1, 5, 6): False}),
        SetBox("object", 2, 1, 1, 9, 9),
        Brush("object", 4, encode_mask(mask)),
        SetSize("object", 1.5),
        AddObject("second"),
    ):
        log.do(action)
    log.close()
    return path


def by_kind(layers, kind):
    return [(data, about) for data, about, each in layers if each == kind]


def test_a_project_opens_with_its_image_points_outlines_and_place(project):
    layers = get_reader(str(project))(str(project))
    (image, about), *_ = by_kind(layers, "image")
    np.testing.assert_array_equal(image, FRAMES)
    assert about["scale"] == [3.0, 0.5, 0.5]
    (labels, _), *_ = by_kind(layers, "labels")
    assert labels[4].sum() == 48 and labels.sum() == 48
    points = by_kind(layers, "points")
    assert [given["name"] for _, given in points] == ["object", "second"]
    assert points[0][0].tolist() == [[0, 3, 4], [1, 5, 6]]
    assert points[0][1]["features"][CLICK].tolist() == ["object", "background"]


def test_what_is_no_project_is_left_to_other_readers(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    assert get_reader(str(tmp_path / "notes.txt")) is None


def test_saving_what_was_opened_changes_nothing(project):
    before = project.read_bytes()
    assert write_layers(str(project), read_layers(str(project))) == [str(project)]
    assert project.read_bytes() == before


def change_layer(data, about, kind):
    """Points of the first object moved, and a frame of the second one painted."""
    if kind == "points" and about["name"] == "object":
        features = {CLICK: ["object", "background"]}
        return np.array([[0, 3, 4], [3, 7.6, 8.2]]), {**about, "features": features}, kind
    if kind == "labels":
        data = data.copy()
        data[1, 20:25, 20:25] = 2
    return data, about, kind


def test_saving_writes_down_moved_points_and_painted_frames_and_keeps_the_rest(project):
    before = read_project(project).project.find("object")
    changed = [change_layer(*layer) for layer in read_layers(str(project))]
    write_layers(str(project), changed)
    after = read_project(project).project
    assert list_clicks(after.find("object")) == [((0, 3, 4), True), ((3, 8, 8), False)]
    assert after.find("second").brushed.keys() == {1}
    kept = after.find("object")
    assert (kept.boxes, kept.brushed, kept.size) == (before.boxes, before.brushed, before.size)


def test_saving_under_another_name_takes_every_word_along(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "copy.fewpoint"
    write_layers(str(copy), read_layers(str(project)))
    assert read_project(copy).project == read_project(project).project
    assert read_project(copy).input == read_project(project).input


def test_layers_of_a_persons_own_become_a_project_with_painted_frames_as_outlines(tmp_path):
    labels = np.zeros(FRAMES.shape, np.uint8)
    labels[2, 4:9, 4:9] = 1
    rows = np.array([list(place) for place in CLICKS], float)
    layers = [
        (FRAMES, {"name": "mine", "rgb": False, "metadata": {}}, "image"),
        (rows, {"name": "tumour", "features": {}, "metadata": {}}, "points"),
        (labels, {"name": "painted", "metadata": {}}, "labels"),
    ]
    (written,) = write_layers(str(tmp_path / "mine"), layers)
    project = read_project(written).project
    assert [each.name for each in project.objects] == ["tumour"]
    assert len(project.objects[0].points) == len(CLICKS) and project.objects[0].brushed.keys() == {2}


def test_points_alone_are_no_project(tmp_path):
    with pytest.raises(InputError, match="needs an image"):
        write_layers(str(tmp_path / "points"), [(np.zeros((1, 3)), {"name": "a", "metadata": {}}, "points")])


def test_the_manifest_names_what_is_there():
    from npe2 import PluginManifest

    manifest = PluginManifest.from_distribution("fewpoint")
    manifest.validate_imports()
    assert [each.filename_extensions for each in manifest.contributions.writers or []] == [[".fewpoint"]]
    assert make_sample()[0][0].ndim == 3
    assert json.dumps(manifest.contributions.readers[0].filename_patterns) == '["*.fewpoint"]'
