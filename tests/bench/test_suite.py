"""Suites as people write them."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from bench.datasets import EXTRA, SEQUENCES
from fewpoint.bench.cells import plan_cells
from fewpoint.bench.sequences import SingleSequence
from fewpoint.bench.suite import Variant, read_suite
from fewpoint.errors import FewpointError, InputError, SettingsError
from real_data import data_root

DEV20 = Path(__file__).resolve().parents[2] / "benchmarks" / "suites" / "dev20.toml"
EFFORT = DEV20.with_name("effort.toml")


def test_a_suite_of_a_root_alone_has_the_papers_protocol_and_all_sequences(tmp_path, dataset):
    path = tmp_path / "plain.toml"
    path.write_text('root = "data"', encoding="utf-8")
    suite = read_suite(path)
    assert suite.name == "plain"
    assert [f"{sequence.type}/{sequence.name}" for sequence in suite.sequences] == list(SEQUENCES)
    assert (suite.seeds, suite.points, suite.bounds) == ((0,), ("2dlocs",), ("eta",))
    assert suite.variants == (Variant("plain"),)


def test_everything_can_be_a_list(dataset):
    text = """
    seeds = [0, 7]
    points = ["2dlocs", "points_every5.csv"]
    bounds = ["eta", "eta-1.8", "box", "none"]
    sequences = ["blob/third"]
    [variants.plain]
    [variants.wide]
    network.base_width = 16
    training.max_side = 160
    """
    suite = read_suite(dataset.write_suite(text))
    assert (suite.seeds, suite.points) == ((0, 7), ("2dlocs", "points_every5"))
    assert suite.bounds == ("eta", "eta-1.8", "box", "none")
    assert [sequence.name for sequence in suite.sequences] == ["third"]
    wide = Variant("wide", (("network.base_width", 16), ("training.max_side", 160)))
    assert suite.variants == (Variant("plain"), wide)


def test_a_variant_may_ask_for_a_witness_of_fewpoint_s_own_methods(dataset, monkeypatch, tmp_path):
    monkeypatch.setenv("FEWPOINT_MODELS", str(tmp_path))
    suite = read_suite(dataset.write_suite('sequences = ["blob/third"]\n[variants.both]\nwitness = "sam2-tiny"\n'))
    assert suite.variants == (Variant("both", (), "sam2-tiny"),)
    own, other = plan_cells(suite, ("fast", "half-disc"))
    assert (own.job("cpu").witness, other.job("cpu").witness) == ("sam2-tiny", None)
    alone = replace(own, variant=replace(own.variant, witness=""))
    assert alone.key != own.key
    with pytest.raises(SettingsError, match="must be a model's name"):
        read_suite(dataset.write_suite("[variants.both]\nwitness = 3\n"))


def test_the_root_is_relative_to_the_file_and_the_environment_goes_before_it(dataset, monkeypatch, tmp_path):
    monkeypatch.chdir("/")
    path = dataset.write_suite()
    assert read_suite(path).sequences[0].folder == dataset.root / SEQUENCES[0]
    moved = dataset.root.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="correct root or set FEWPOINT_DATA"):
        read_suite(path)
    monkeypatch.setenv("FEWPOINT_DATA", str(moved))
    assert read_suite(path).sequences[0].folder == moved / SEQUENCES[0]


def test_single_sequences_follow_those_of_the_dataset_with_paths_from_the_root(dataset, monkeypatch, tmp_path):
    dataset.save_volume()
    path = dataset.write_suite(EXTRA)
    moved = dataset.root.rename(tmp_path / "elsewhere")
    monkeypatch.setenv("FEWPOINT_DATA", str(moved))
    *listed, extra = read_suite(path).sequences
    assert [f"{sequence.type}/{sequence.name}" for sequence in listed] == list(SEQUENCES)
    files = (moved / "volume" / name for name in ("frames.npy", "truth.tif", "clicks.csv"))
    assert extra == SingleSequence("whole", "volume", *files)


def test_a_suite_may_have_single_sequences_alone(dataset):
    dataset.save_volume()
    assert [sequence.name for sequence in read_suite(dataset.write_suite("sequences = []" + EXTRA)).sequences] == [
        "whole"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extra = 'volume'", r"tables \[\[extra\]\]"),
        (EXTRA.replace('type = "volume"', ""), "must hold the texts name, type, input, truth, points"),
        (EXTRA + 'axis = "z"', "must hold the texts"),
        (EXTRA.replace('"whole"', "3"), "must hold the texts"),
        (EXTRA.replace("truth.tif", "other.tif"), "other.tif is not"),
        (EXTRA + EXTRA, "volume/whole is there twice"),
        (EXTRA.replace('"whole"', '"first"').replace('"volume"', '"ball"'), "ball/first is there twice"),
        ("sequences = []", "sequences must be a list"),
    ],
)
def test_single_sequences_without_meaning_are_refused(dataset, text, message):
    dataset.save_volume()
    with pytest.raises(FewpointError, match=message):
        read_suite(dataset.write_suite(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method = ['fast']", "got method"),
        ("seeds = ['a']", "seeds must be a list of whole numbers"),
        ("seeds = [true]", "seeds must be a list of whole numbers"),
        ("seeds = [1, 1]", "each value once"),
        ("seeds = []", "seeds must be a list"),
        ("bounds = ['eta', 'circle']", "got circle"),
        ("sequences = ['ball/fourth']", "fourth has no input-frames"),
        ("[variants.wide]\nnetwork.width = 3", "did you mean network.base_width"),
        ("[variants.wide]\nnetwork.base_width = 'x'", "must be a whole number"),
        ("[variants.wide]\nbase_width = 3", "changes section.key = value"),
        ("variants = ['wide']", "tables such as"),
        ("seeds = ", "readable TOML"),
    ],
)
def test_what_has_no_meaning_is_refused(dataset, text, message):
    with pytest.raises(FewpointError, match=message):
        read_suite(dataset.write_suite(text))


def test_an_unknown_method_and_a_missing_file_are_refused(dataset):
    with pytest.raises(SettingsError, match="no method fasst; did you mean fast"):
        read_suite(dataset.write_suite(methods=("fasst",)))
    with pytest.raises(SettingsError, match="readable TOML"):
        read_suite(dataset.folder / "nothing.toml")


def test_dev20_names_four_sequences_of_each_of_five_types():
    names = tomllib.loads(DEV20.read_text(encoding="utf-8"))["sequences"]
    types = [name.partition("/")[0] for name in names]
    assert {kind: types.count(kind) for kind in types} == dict.fromkeys(("brain", "tool", "polyp", "ct", "organ"), 4)


def test_effort_plays_a_person_on_the_sequences_of_dev20():
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in (EFFORT, DEV20)]
    assert tables[0]["sequences"] == tables[1]["sequences"]


DATA = data_root()  # asked for before a fixture hides the variable


@pytest.mark.skipif(DATA is None, reason="the real sequences are not there; FEWPOINT_DATA names their folder")
def test_dev20_finds_its_sequences(monkeypatch):
    monkeypatch.setenv("FEWPOINT_DATA", str(DATA))
    assert len(read_suite(DEV20).sequences) == 20
    efforts = [(each.points, each.words, each.rounds) for each in read_suite(EFFORT).efforts]
    assert efforts == [
        ("2dlocs", "none", 0),
        ("points_every5", "clicks+negatives", 8),
        ("points_every5", "dial", 1),
        ("points_every5", "outline", 1),
        ("spread-3", "outline", 1),
    ]
