"""Runs in one folder, as nnU-Net, BIDS, COCO and people expect them; and conversions that overwrite nothing."""

import json
from pathlib import Path

import nibabel
import numpy as np
import pytest
from PIL import Image

from commands import snapshot
from dicom_series import save_series
from fewpoint.core.job import OutputChoice
from fewpoint.core.labels import Code
from fewpoint.core.relabelling import Relabelling
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.runs.collecting import Choice, Layout, collect_runs
from fewpoint.runs.exports import convert_run
from finished_runs import save_run
from synthetic import save_frames
from volumes import save_nifti

SHAPE = (4, 6, 5)
ONE = np.zeros(SHAPE, np.uint8)
ONE[1:3, 1:3, 1:4] = 1
TWO = np.array(ONE)
TWO[2, 4:, 3:] = 2
PIXELS = np.random.default_rng(0).integers(0, 255, SHAPE).astype(np.uint8)
AFFINE = np.diag([0.5, 0.7, 3.0, 1.0])


@pytest.fixture
def study(tmp_path) -> Path:
    """Two runs on volumes, of a spleen alone and of a liver with a spleen."""
    for name, labels, names in (("p1", ONE, ("spleen",)), ("p2", TWO, ("liver", "spleen"))):
        volume = save_nifti(tmp_path / f"{name}.nii.gz", np.ascontiguousarray(PIXELS.T), AFFINE)
        save_run(tmp_path / "study" / name, read_sequence(volume), labels, names)
    return tmp_path / "study"


@pytest.fixture
def video(tmp_path) -> Path:
    """A run on pictures in two formats, of one named object."""
    folder = save_frames(PIXELS[..., np.newaxis], tmp_path / "frames")
    Image.open(folder / "0003.png").save(folder / "0003.jpg", quality=100)
    (folder / "0003.png").unlink()
    return save_run(tmp_path / "video", read_sequence(folder), ONE, ("polyp",))


def stored(labels: np.ndarray) -> np.ndarray:
    return labels.T


def test_nnunet_gets_images_labels_and_a_description_with_one_numbering(study, tmp_path):
    done = collect_runs([study], tmp_path / "out", Choice(Layout.NNUNET))
    found = json.loads((tmp_path / "out" / "dataset.json").read_text())
    assert found["labels"] == {"background": 0, "liver": 1, "spleen": 2}
    assert (found["numTraining"], found["file_ending"], found["channel_names"]) == (2, ".nii.gz", {"0": "channel 0"})
    expected = {"p1": np.where(ONE == 1, 2, 0), "p2": TWO}
    for name, labels in expected.items():
        label, image = (nibabel.load(path) for path in done.runs[name])
        np.testing.assert_array_equal(np.asarray(label.dataobj), stored(labels))
        np.testing.assert_array_equal(np.asarray(image.dataobj), stored(PIXELS))
        np.testing.assert_allclose(label.affine, image.affine)
        assert done.runs[name] == (
            tmp_path / "out" / "labelsTr" / f"{name}.nii.gz",
            tmp_path / "out" / "imagesTr" / f"{name}_0000.nii.gz",
        )


def test_bids_gets_segmentations_with_their_names_and_keeps_entities(study, tmp_path):
    volume = save_nifti(tmp_path / "sub-07_ses-1_T1w.nii.gz", np.ascontiguousarray(PIXELS.T), AFFINE)
    save_run(study / "p3", read_sequence(volume), ONE, ("spleen",))
    collect_runs([study], tmp_path / "out", Choice(Layout.BIDS))
    names = {name for name in snapshot(tmp_path / "out") if not name.startswith(".")}
    assert names == {
        "dataset_description.json",
        *(f"sub-{name}/anat/sub-{name}_desc-fewpoint_dseg.{end}" for name in ("p1", "p2") for end in ("nii.gz", "tsv")),
        *(f"sub-07/ses-1/anat/sub-07_ses-1_desc-fewpoint_dseg.{end}" for end in ("nii.gz", "tsv")),
    }
    table = (tmp_path / "out" / "sub-p1" / "anat" / "sub-p1_desc-fewpoint_dseg.tsv").read_text().splitlines()
    assert table[0] == "index\tname\tcolor" and [row.split("\t")[:2] for row in table[1:]] == [
        ["1", "liver"],
        ["2", "spleen"],
    ]
    assert json.loads((tmp_path / "out" / "dataset_description.json").read_text())["DatasetType"] == "derivative"


def test_one_coco_file_holds_all_runs_and_its_loader_finds_every_image(study, video, tmp_path, capsys):
    from pycocotools.coco import COCO

    collect_runs([study, video], tmp_path / "out", Choice(Layout.COCO))
    coco = COCO(str(tmp_path / "out" / "annotations.json"))
    assert {each["name"]: each["id"] for each in coco.dataset["categories"]} == {"liver": 1, "polyp": 2, "spleen": 3}
    found = {}
    for image in coco.dataset["images"]:
        with Image.open(tmp_path / "out" / "images" / image["file_name"]) as picture:
            assert picture.size == (image["width"], image["height"])
        labels = np.zeros(SHAPE[1:], np.uint8)
        for annotation in coco.imgToAnns[image["id"]]:
            labels[coco.annToMask(annotation).astype(bool)] = annotation["category_id"]
        found.setdefault(image["file_name"].split("/")[0], []).append(labels)
    np.testing.assert_array_equal(found["p1"], np.where(ONE == 1, 3, 0))
    np.testing.assert_array_equal(found["p2"], np.array([0, 1, 3])[TWO])
    np.testing.assert_array_equal(found["video"], np.where(ONE == 1, 2, 0))
    names = [image["file_name"] for image in coco.dataset["images"]]
    assert names[-2:] == ["video/0002.png", "video/0003.jpg"]


def test_without_images_coco_names_those_of_the_input(video, study, tmp_path):
    collect_runs([video], tmp_path / "out", Choice(Layout.COCO, images=False))
    images = json.loads((tmp_path / "out" / "annotations.json").read_text())["images"]
    assert [Path(image["file_name"]).name for image in images] == ["0000.png", "0001.png", "0002.png", "0003.jpg"]
    assert all(Path(image["file_name"]).is_file() for image in images)
    with pytest.raises(InputError, match="leave out --no-images"):
        collect_runs([study], tmp_path / "other", Choice(Layout.COCO, images=False))
    assert not (tmp_path / "other").exists()


def test_the_coco_file_of_a_single_run_has_its_object_s_name_and_files_with_extensions(video, tmp_path):
    (path,) = convert_run(video, Outputs.of(["coco"]), tmp_path / "converted")
    content = json.loads(path.read_text())
    assert [each["name"] for each in content["categories"]] == ["polyp"]
    assert [image["file_name"] for image in content["images"]] == ["0000.png", "0001.png", "0002.png", "0003.jpg"]


def test_flat_gives_each_run_a_file_by_its_name_in_its_own_format(study, video, tmp_path):
    choice = Choice(labels=Relabelling({"polyp": "adenoma"}, order=("spleen", "liver", "adenoma")))
    done = collect_runs([study, video], tmp_path / "out", choice)
    assert [files[0].name for files in done.runs.values()] == ["p1.nii.gz", "p2.nii.gz", "video"]
    np.testing.assert_array_equal(np.asarray(nibabel.load(done.runs["p1"][0]).dataobj), stored(ONE))
    np.testing.assert_array_equal(
        np.asarray(nibabel.load(done.runs["p2"][0]).dataobj), np.array([0, 2, 1])[stored(TWO)]
    )
    with Image.open(done.runs["video"][0] / "0001.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture), 3 * ONE[1])
    rows = (tmp_path / "out" / "labels.tsv").read_text().splitlines()
    assert [row.split("\t")[1] for row in rows] == ["name", "spleen", "liver", "adenoma"]


def test_dicom_seg_has_the_name_and_the_code_that_are_given(tmp_path):
    import highdicom

    save_series(tmp_path / "series", PIXELS.astype(np.uint16))
    run = save_run(tmp_path / "run", read_sequence(tmp_path / "series"), ONE, ("lump",))
    codes = {"lump": Code.parse("SCT:49755003:Morphologically abnormal structure/SCT:108369006:Neoplasm")}
    done = collect_runs([run], tmp_path / "out", Choice(labels=Relabelling(codes=codes)))
    segment = highdicom.seg.segread(done.runs["run"][0]).get_segment_description(1)
    assert (segment.segment_label, segment.segmented_property_type.value) == ("lump", "108369006")
    assert segment.segmented_property_category.meaning == "Morphologically abnormal structure"


def test_a_batch_is_collected_without_what_is_not_finished_and_told(study, tmp_path):
    (tmp_path / "batch").mkdir()
    study.rename(tmp_path / "batch" / "runs")
    manifest = tmp_path / "batch" / "runs" / "p1" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"running"'))
    told = []
    assert list(collect_runs([tmp_path / "batch"], tmp_path / "out", tell=told.append).runs) == ["p2"]
    assert told == ["p1 is not finished and left out"]
    with pytest.raises(InputError, match="finished run"):
        collect_runs([tmp_path / "batch" / "runs" / "p1"], tmp_path / "other")


def test_a_collection_replaces_an_earlier_one_and_nothing_else(study, tmp_path):
    out = tmp_path / "out"
    collect_runs([study], out, Choice(Layout.BIDS))
    collect_runs([study / "p1"], out)
    assert {path.name for path in out.iterdir()} == {"p1.nii.gz", "labels.tsv", ".fewpoint-collection.json"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RunConflictError, match="holds no collection"):
        collect_runs([study], tmp_path / "mine")
    assert snapshot(tmp_path / "mine") == {"thesis.txt": b"years of work"}


@pytest.mark.parametrize(
    ("labels", "fragment"),
    [
        (Relabelling({"lung": "left lung"}), "no object lung to be renamed; there are liver, spleen"),
        (Relabelling(codes={"lung": Code("SCT", "1", "Lung")}), "no object lung to be given a code"),
        (Relabelling({"liver": "spleen"}), "two objects cannot have one name"),
        (Relabelling(order=("liver",)), "spleen is not among liver"),
    ],
)
def test_labels_that_fit_nothing_are_refused_and_leave_nothing(study, tmp_path, labels, fragment):
    with pytest.raises(InputError, match=fragment):
        collect_runs([study], tmp_path / "out", Choice(labels=labels))
    assert not (tmp_path / "out").exists()


def test_runs_of_one_name_and_of_unlike_channels_are_refused(study, tmp_path):
    colour = save_frames(np.repeat(PIXELS[..., np.newaxis], 3, axis=-1), tmp_path / "colour")
    save_run(tmp_path / "more" / "p9", read_sequence(colour), ONE, ("spleen",))
    with pytest.raises(InputError, match="as many channels, got p1 1, p2 1, p9 3"):
        collect_runs([study, tmp_path / "more"], tmp_path / "out", Choice(Layout.NNUNET))
    (tmp_path / "more" / "p9").rename(tmp_path / "more" / "p1")
    with pytest.raises(InputError, match="needs a name of its own"):
        collect_runs([study, tmp_path / "more"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_convert_overwrites_no_file_of_another_run_and_may_be_repeated(study, tmp_path):
    out = tmp_path / "converted"
    formats = Outputs(**vars(OutputChoice.of(["nifti", "png"])))
    first = convert_run(study / "p1", formats, out)
    before = snapshot(out)
    assert convert_run(study / "p1", formats, out) == first == (out / "masks.nii.gz", out / "masks")
    with pytest.raises(RunConflictError, match="is there already and differs, perhaps from another run"):
        convert_run(study / "p2", formats, out)
    assert snapshot(out) == before


@pytest.mark.nightly
def test_a_dicom_seg_may_be_converted_again_though_it_says_when(tmp_path):
    sequence = read_sequence(save_series(tmp_path / "series"))
    labels = np.zeros(sequence.shape[:3], np.uint8)
    labels[1, 1:3, 1:3] = 1
    first = save_run(tmp_path / "first", sequence, labels, ("liver",))
    other = save_run(tmp_path / "other", sequence, labels, ("spleen",))
    seg = Outputs(**vars(OutputChoice.of(["dicom-seg"])))
    (written,) = convert_run(first, seg, tmp_path / "out")
    before = written.read_bytes()
    assert convert_run(first, seg, tmp_path / "out") == (written,)
    with pytest.raises(RunConflictError, match="is there already and differs"):
        convert_run(other, seg, tmp_path / "out")
    assert written.read_bytes() == before
