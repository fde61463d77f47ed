"""Sequences with their truth on disk."""

import shutil
from pathlib import Path

import pytest

from bench.datasets import SEQUENCES, make_sequence
from fewpoint.bench.sequences import DatasetSequence, SingleSequence, find_sequences
from fewpoint.errors import InputError
from synthetic import save_dataset_sequence


def test_sequences_are_found_anywhere_below_the_root_with_the_parent_as_type(dataset):
    found = find_sequences(dataset.root)
    assert [f"{sequence.type}/{sequence.name}" for sequence in found] == list(SEQUENCES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Dataset00", "Tweezer"), ("Dataset12", "Cochlea"), ("Dataset25", "Slitlamp"), ("Dataset30", "Brain")],
)
def test_folders_of_the_paper_have_their_type_in_their_name(tmp_path, name, kind):
    save_dataset_sequence(make_sequence(0), tmp_path / name)
    (sequence,) = find_sequences(tmp_path)
    assert (sequence.type, sequence.name) == (kind, name)


def test_a_folder_without_truth_is_no_sequence_of_a_suite(dataset):
    shutil.rmtree(dataset.root / SEQUENCES[0] / "ground_truth-frames")
    assert len(find_sequences(dataset.root)) == 2
    with pytest.raises(InputError, match="has no ground_truth-frames"):
        DatasetSequence(dataset.root / SEQUENCES[0])


def test_an_empty_root_is_refused_with_what_was_looked_for(tmp_path):
    with pytest.raises(InputError, match="looked for folders with input-frames"):
        find_sequences(tmp_path)


def test_the_fingerprint_follows_every_byte_and_not_the_place(dataset):
    sequence = DatasetSequence(dataset.root / SEQUENCES[0])
    copied = shutil.copytree(sequence.folder, dataset.folder / "copy")
    assert DatasetSequence(copied).fingerprint == sequence.fingerprint
    for part in ("input-frames/0001.png", "ground_truth-frames/0001.png", "2dlocs.csv"):
        changed = shutil.copytree(sequence.folder, dataset.folder / part.replace("/", "-"))
        (changed / part).write_bytes((changed / part).read_bytes() + b"\n")
        assert DatasetSequence(changed).fingerprint != sequence.fingerprint


def name_parts(folder: Path, **others: Path) -> SingleSequence:
    parts = {"input": folder / "frames.npy", "truth": folder / "truth.tif", "points": folder / "clicks.csv"}
    return SingleSequence("whole", "volume", **{**parts, **others})


def test_the_fingerprint_of_a_single_sequence_follows_every_byte_of_its_files_alone(dataset):
    folder = dataset.save_volume()
    sequence = name_parts(folder)
    copied = shutil.copytree(folder, dataset.folder / "copy")
    (copied / "notes.txt").write_text("not part of it", encoding="utf-8")
    assert name_parts(copied).fingerprint == sequence.fingerprint
    for part in ("frames.npy", "truth.tif", "clicks.csv"):
        changed = shutil.copytree(folder, dataset.folder / part)
        (changed / part).write_bytes((changed / part).read_bytes() + b"\n")
        assert name_parts(changed).fingerprint != sequence.fingerprint


def test_a_folder_counts_with_all_its_files(dataset):
    folder, frames = dataset.save_volume(), dataset.root / SEQUENCES[0]
    before = name_parts(folder, input=frames).fingerprint
    dataset.break_frame(SEQUENCES[0])
    assert name_parts(folder, input=frames).fingerprint != before


def test_a_single_sequence_has_its_own_points_whatever_is_asked_for(dataset):
    sequence = name_parts(dataset.save_volume())
    assert sequence.choose_points(("2dlocs", "points_every5")) == ("clicks",)
    assert sequence.find_points("clicks") == dataset.root / "volume" / "clicks.csv"


def test_a_file_that_is_not_there_is_refused_by_name(dataset):
    folder = dataset.save_volume()
    with pytest.raises(InputError, match=r"volume/whole must be there, .*nothing\.tif is not"):
        name_parts(folder, truth=folder / "nothing.tif")
