"""Bad input: one line that says what must hold and what was given, the right exit code, nothing left on disk."""

import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import Case, Outcome, launch, snapshot

Call = Callable[..., Outcome]


def assert_refused(outcome: Outcome, *fragments: str, code: int = 1) -> None:
    assert outcome.code == code
    assert outcome.out == ""
    assert outcome.err.startswith("fewpoint: ")
    assert outcome.err.count("\n") == 1
    for fragment in fragments:
        assert fragment in outcome.err


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def test_a_folder_without_frames_is_refused(case, call, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert_refused(call(*case.segment(frames=empty)), "no frames in", "empty", ".png")
    assert not case.out.exists()


@pytest.mark.parametrize("missing", ["frames", "points.csv"])
def test_a_path_that_does_not_exist_is_refused(case, call, missing):
    moved = case.folder / missing
    moved.rename(case.folder / "elsewhere")
    assert_refused(call(*case.segment()), missing, "does not exist")
    assert not case.out.exists()


@pytest.mark.parametrize("damage", [truncate, lambda path: path.write_bytes(b"not an image")])
def test_an_unreadable_image_is_named(case, call, damage):
    damage(case.frames / "0003.png")
    assert_refused(call(*case.segment()), "0003.png", "cannot read")
    assert not case.out.exists()


def test_frames_of_differing_sizes_are_named_with_their_sizes(case, call):
    Image.fromarray(np.zeros((48, 41), np.uint8)).save(case.frames / "0004.png")
    assert_refused(call(*case.segment()), "0004.png is 48 x 41", "48 x 40")
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("frame,y,x\n0,48,10\n", "outside the 48 x 40 frame"),
        ("frame,y,x\n0,-1,10\n", "outside the 48 x 40 frame"),
        ("frame,y,x\n6,10,10\n", "frames 0 to 5"),
        ("frame,y,x\n0,10,10\n9,absent\n", "frames 0 to 5"),
        ("frame,y,x\n", "at least one point"),
        ("", "is empty"),
        ("frame,y,x\n2,absent\n", "at least one point"),
        ("frame,y,x\n0,10,10\n1,9,9\n0,10,10\n", "frame 0, y 10, x 10 is a duplicate"),
        ("frame,y,x\n0,nan,10\n", "line 2: y must be a number, got nan"),
        ("frame,y,x\n0,10\n", "line 2: x must be a number, got nothing"),
        ("t,row,col\n0,10,10\n", "got t,row,col"),
        ("0,10,10\n", "got 0,10,10"),
        ("frame,y,x\n1,10,10\n1,absent\n", "frame 1"),
        ("i,j,k\n1,10,10\n", "need an input that says where its voxels lie"),
    ],
)
def test_unusable_points_are_refused(case, call, text, fragment):
    case.points.write_text(text)
    assert_refused(call(*case.segment()), "points.csv", fragment)
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("rows", "options", "fragments"),
    [
        ("0,10,10,liver\n1,20,20,\n", [], ["each point needs a name"]),
        ("0,10,10,liver\n1,20,20,spleen\n", ["--max-fraction", "lung=0.1"], ["lung", "there are liver, spleen"]),
        (
            "0,10,10,liver\n1,20,20,spleen\n",
            ["--max-fraction", "liver=0.0001", "--json"],
            ["object liver", "--max-fraction"],
        ),
        ("0,10,10,liver\n1,20,20,spleen\n2,absent,,lung\n", [], ["lung", "has no point"]),
        ("0,10,10,liver\n0,10,10,spleen\n", [], ["duplicate"]),
    ],
)
def test_objects_that_make_no_sense_are_refused(case, call, rows, options, fragments):
    case.points.write_text("frame,y,x,object\n" + rows)
    assert_refused(call(*case.segment(*options)), *fragments)
    assert not case.out.exists()


def test_points_must_be_given_where_the_input_comes_with_none(case, call):
    outcome = call("segment", case.frames, "--out", case.out, "--preset", "fast")
    assert_refused(outcome, "points on the object are needed", "--points FILE")
    assert not case.out.exists()


@pytest.mark.parametrize("fraction", ["0", "1", "-0.1", "1.5", "nan"])
def test_a_bound_outside_0_and_1_is_refused(case, call, fraction):
    assert_refused(call(*case.segment("--max-fraction", fraction)), "between 0 and 1", f"got {fraction}")
    assert not case.out.exists()


def test_a_bound_below_the_clicked_superpixels_is_refused_and_leaves_no_folder(case, call):
    outcome = call(*case.segment("--max-fraction", "0.001", "--json"))
    assert_refused(outcome, "may cover 0.10% of a frame", "give a larger --max-fraction")
    assert not case.out.exists()


def test_points_on_frames_of_one_value_are_refused(case, call):
    for path in case.frames.iterdir():
        Image.fromarray(np.full((48, 40), 7, np.uint8)).save(path)
    assert_refused(call(*case.segment()), "frame 0 (0000) has a point, but all its pixels are 7")
    assert not case.out.exists()


@pytest.mark.parametrize("box", ["1,2,3", "0,1,2,3,4,5", "0,a,0,9,9", "0,1.5,0,9,9", ""])
def test_a_malformed_box_is_a_usage_error(case, call, box):
    assert_refused(call(*case.segment("--largest-box", box)), "FRAME,Y0,X0,Y1,X1", code=2)
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("box", "fragment"),
    [
        ("6,0,0,9,9", "frames 0 to 5"),
        ("0,0,0,49,9", "48 x 40 frame"),
        ("0,9,0,9,9", "y0 < y1"),
        ("0,-1,0,9,9", "48 x 40 frame"),
        ("0,0,0,48,40", "whole frame"),
        ("0,0,0,2,2", "lies outside the box of the object there, 0,0,2,2"),
    ],
)
def test_a_box_outside_the_frames_or_without_the_click_on_its_frame_is_refused(case, call, box, fragment):
    assert_refused(call(*case.segment("--largest-box", box)), fragment)
    assert not case.out.exists()


def test_no_tracking_with_a_preset_that_does_not_track_is_a_usage_error(case, call):
    outcome = call("segment", case.frames, "--out", case.out, "--preset", "fast", "--no-tracking")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--no-tracking is for the preset paper" in outcome.err


def test_two_bounds_are_a_usage_error(case, call):
    outcome = call(*case.segment("--max-fraction", "0.2", "--largest-box", "0,0,0,9,9"))
    assert_refused(outcome, "--max-fraction or --largest-box, not both", code=2)


@pytest.mark.parametrize(
    ("assignment", "fragment"),
    [
        ("training.bach=3", "did you mean training.batch?"),
        ("trainin.batch=3", "did you mean training.batch?"),
        ("batch=3", "did you mean training.batch?"),
        ("training.batch=many", "training.batch must be a whole number, got many"),
        ("training.batch=0", "training.batch must be 1 or more, got 0"),
        ("training.batch", "section.key=value"),
        ("tracking.radius=nan", "tracking.radius must lie in [0, 2]"),
    ],
)
def test_a_wrong_setting_is_refused(case, call, assignment, fragment):
    assert_refused(call(*case.segment("--set", assignment)), fragment)
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("[training\n", "readable TOML"),
        ("batch = 3\n", "must stand in a table"),
        ("[training]\nbach = 3\n", "did you mean training.batch?"),
        ("[training]\nbatch = 'x'\n", "must be a whole number"),
        (None, "readable TOML"),
    ],
)
def test_a_wrong_settings_file_is_refused(case, call, text, fragment):
    path = case.folder / "mine.toml"
    if text is not None:
        path.write_text(text)
    assert_refused(call(*case.segment("--config", path)), fragment)
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("option", "choices"), [("--preset", "'auto', 'accurate', 'fast', 'paper'"), ("--device", "'mps'")]
)
def test_an_unknown_choice_is_a_usage_error_that_lists_the_choices(case, call, option, choices):
    assert_refused(call(*case.segment(option, "abacus")), option, "'abacus' is not one of", choices, code=2)


def test_a_device_that_is_not_there_is_refused_and_leaves_no_folder(case, call, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert_refused(call(*case.segment("--device", "cuda")), "cuda is not available", "--device auto or cpu")
    assert not case.out.exists()


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["segment"], "Missing argument 'INPUT'; see fewpoint segment --help"),
        (["segment", "frames"], "Missing option '--out'"),
        (["segment", "frames", "--out", "out", "--seed", "-1"], "--seed"),
        (["segment", "frames", "--out", "out", "--max-fraction", "much"], "--max-fraction"),
        (["segmnt"], "No such command 'segmnt'"),
        (["--versoin"], "--versoin"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(call, arguments, fragment):
    assert_refused(call(*arguments), fragment, " --help", code=2)


@pytest.mark.parametrize(
    ("options", "fragment", "code"),
    [
        (["--window", "lungs"], "LEVEL,WIDTH with a width above 0 or one of lung, bone, brain, soft", 1),
        (["--channels", "1"], "channels must lie between 0 and 0, got 1", 1),
        (["--channels", "one"], "--channels must be whole numbers such as 0,2, got one", 2),
        (["--axis", "axial"], "--axis axial needs a volume", 1),
        (["--axis", "3"], "'3' is not one of", 2),
        (["--with", "nowhere.nii"], "nowhere.nii does not exist", 1),
        (["--format", "dicom-seg"], "the input was none", 1),
        (["--format", "jpeg"], "'jpeg' is not one of", 2),
        (["--format", "coco", "--probabilities"], "probabilities can be written as nifti", 1),
    ],
)
def test_what_cannot_be_read_or_written_so_is_refused_before_the_work(case, call, options, fragment, code):
    assert_refused(call(*case.segment(*options)), fragment, code=code)
    assert not case.out.exists()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["v.nii", "v.nii.gz", "v.nrrd", "v.mha", "v.tif", "v.mp4", "v.dcm", "v.npz", "v.zarr"])
def test_a_file_of_rubbish_is_named_whatever_it_claims_to_be(case, call, name):
    path = case.folder / name
    path.write_bytes(bytes(range(256)) * 9)
    outcome = launch(*case.segment(frames=path))
    assert_refused(outcome, name)
    assert not case.out.exists()


def test_a_folder_of_something_else_is_refused_untouched(case, call):
    case.out.mkdir()
    (case.out / "thesis.txt").write_text("years of work")
    assert_refused(call(*case.segment()), "not a fewpoint run folder", "another --out")
    assert snapshot(case.out) == {"thesis.txt": b"years of work"}


def test_a_file_in_the_place_of_the_folder_is_refused_untouched(case, call):
    case.out.write_text("mine")
    assert_refused(call(*case.segment()), "must be a folder")
    assert case.out.read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (["--seed", "5"], "seed (0, now 5)"),
        (["--max-fraction", "0.25"], "size limit (estimated, now 0.25)"),
        (["--set", "training.batch=3"], "settings"),
        (["--no-tracking"], "settings"),
        ("frames", "input frames"),
        ("points", "points"),
    ],
)
def test_a_folder_of_another_run_is_refused_untouched(case, call, change, fragment):
    stop_after_opening(case, call)
    before = snapshot(case.out)
    if change == "frames":
        Image.fromarray(np.eye(48, 40, dtype=np.uint8)).save(case.frames / "0000.png")
    elif change == "points":
        case.points.write_text(case.points.read_text().rstrip().rpartition("\n")[0] + "\n")
    outcome = call(*case.segment(*(change if isinstance(change, list) else [])))
    assert_refused(outcome, "belongs to another run", fragment, "another --out")
    assert snapshot(case.out) == before


def stop_after_opening(case: Case, call: Call) -> None:
    """A run stopped by Ctrl-C in its first stage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fewpoint.runs.runner.run_task", raise_interrupt)
        assert call(*case.segment()).code == 130


def raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


# A full disk, simulated by a limit on the size of any file that the process writes


@pytest.mark.nightly
@pytest.mark.parametrize("kilobytes", [0, 4, 150], ids=["opening", "training", "reporting"])
def test_a_full_disk_is_one_line_without_a_partial_file_and_the_same_command_goes_on(case, call, kilobytes):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    outcome = launch(*case.segment("--json"), preexec_fn=limit)
    assert_refused(outcome, "disk is full", "could not be written", "free some space and run again")
    assert not list(case.folder.rglob("*.partial"))
    assert case.out.exists() == (kilobytes > 0)
    assert call(*case.segment("--json")).code == 0


def test_evaluate_refuses_masks_that_do_not_fit_the_truth(case, call, tmp_path):
    np.save(tmp_path / "small.npy", np.zeros((6, 20, 20), np.uint8))
    outcome = call("evaluate", tmp_path / "small.npy", case.folder / "truth")
    assert_refused(outcome, "masks (6, 20, 20), truth (6, 48, 40)")
