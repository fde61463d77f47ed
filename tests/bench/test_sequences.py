"""Sequences with their truth on disk."""

import shutil

import pytest

from bench.datasets import SEQUENCES, make_sequence
from fewpoint.bench.sequences import DatasetSequence, find_sequences
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
