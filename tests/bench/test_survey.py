"""The paper's own data, in its published and in its older layout, as phantoms; and what is missing of it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.datasets import make_sequence
from fewpoint.bench.survey import DOI, Extent, survey
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.images import read_sequence
from fewpoint.io.points import find_points, read_points
from synthetic import save_dataset_sequence, save_old_sequence

PUBLISHED = [f"Dataset{kind}{number}" for kind in range(4) for number in range(4)]


@pytest.fixture
def root(tmp_path) -> Path:
    """Four sequences of each type; every second in the older layout."""
    for number, name in enumerate(PUBLISHED):
        save = save_old_sequence if number % 2 else save_dataset_sequence
        save(make_sequence(number), tmp_path / name)
    return tmp_path


def test_both_layouts_are_read_and_nothing_is_missing(root):
    found = survey(root)
    assert found.notes == ()
    assert [sequence.name for sequence in found.sequences] == PUBLISHED
    assert [sequence.type for sequence in found.sequences[::4]] == ["Tweezer", "Cochlea", "Slitlamp", "Brain"]
    assert set(found.extents.values()) == {Extent(6, (40, 48))}


def test_points_of_the_older_layout_are_those_of_the_published_one(tmp_path):
    new = save_dataset_sequence(make_sequence(0), tmp_path / "new")
    old = save_old_sequence(make_sequence(0), tmp_path / "old")
    assert not (old / "2dlocs.csv").exists()
    assert find_points(old) == find_points(old / "input-frames") == old / "gaze-measurements" / "video1.csv"
    first, second = (read_points(folder, read_sequence(folder)).coordinates for folder in (new, old))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("part", ["input-frames", "ground_truth-frames", "2dlocs.csv"])
def test_what_is_missing_of_a_sequence_is_named(root, part):
    path = root / "Dataset00" / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = survey(root)
    left_out, short = found.notes
    assert left_out.startswith("left out Dataset00: ") and f"has no {part}" in left_out
    assert short == f"Tweezer has 3 of the paper's 4 sequences here; all are published at {DOI}"
    assert "Dataset00" not in [sequence.name for sequence in found.sequences]


def test_a_lost_mask_and_a_click_outside_are_named(root):
    (root / "Dataset00" / "ground_truth-frames" / "0005.png").unlink()
    clicks = root / "Dataset01" / "gaze-measurements" / "video1.csv"
    clicks.write_text(clicks.read_text() + "60;60;1;0.5;0.5\n")
    first, second, _ = survey(root).notes
    assert "left out Dataset00: truth and frames must have one shape" in first
    assert "left out Dataset01: points file" in second and "60" in second


def test_other_data_has_no_types_to_miss(tmp_path):
    save_dataset_sequence(make_sequence(0), tmp_path / "ball" / "first")
    assert survey(tmp_path).notes == ()


def test_sequences_are_chosen_by_name_and_the_first_of_each_type_alone(root):
    chosen = survey(root, ["Brain/Dataset31", "Dataset02"]).sequences
    assert [sequence.name for sequence in chosen] == ["Dataset02", "Dataset31"]
    first = survey(root, first_of_type=True).sequences
    assert [sequence.name for sequence in first] == ["Dataset00", "Dataset10", "Dataset20", "Dataset30"]
    with pytest.raises(SettingsError, match="no sequence Dataset77"):
        survey(root, ["Dataset77"])


def test_a_root_without_a_whole_sequence_is_refused_with_where_the_data_is(tmp_path):
    with pytest.raises(InputError, match=r"--data must be a folder.*zenodo"):
        survey(tmp_path / "nowhere")
    (tmp_path / "Dataset00" / "input-frames").mkdir(parents=True)
    with pytest.raises(InputError, match=r"no whole sequence.*left out Dataset00.*zenodo"):
        survey(tmp_path)
