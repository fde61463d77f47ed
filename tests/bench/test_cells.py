"""Which cells there are, and what they are called."""

import re
from dataclasses import replace

from bench.datasets import EXTRA
from fewpoint.bench.cells import plan_cells
from fewpoint.bench.suite import read_suite

TWO_OF_EACH = """
seeds = [0, 1]
bounds = ["eta", "box"]
points = ["2dlocs", "points_every5"]
[variants.plain]
[variants.wide]
network.base_width = 16
"""


def test_there_is_a_cell_for_each_combination(dataset):
    suite = read_suite(dataset.write_suite(TWO_OF_EACH, methods=("half-disc", "fast")))
    cells = plan_cells(suite, suite.methods)
    assert len(cells) == len(set(cells)) == 2 * 3 * 2 * 2 * 2 * 2


def test_a_single_sequence_has_cells_with_its_own_points_only(dataset):
    dataset.save_volume()
    text = 'seeds = [0, 1]\npoints = ["2dlocs", "points_every5"]\n' + EXTRA
    suite = read_suite(dataset.write_suite(text, methods=("fast",)))
    cells = plan_cells(suite, suite.methods)
    places = [(cell.points, cell.sequence.name) for cell in cells if cell.seed == 0]
    assert places == [
        *(("2dlocs", name) for name in ("first", "second", "third")),
        *(("points_every5", name) for name in ("first", "second", "third")),
        ("clicks", "whole"),
    ]
    assert len(cells) == 2 * len(places)


def test_keys_are_readable_file_names_that_tell_all_trained_cells_apart(dataset):
    suite = read_suite(dataset.write_suite(TWO_OF_EACH, methods=("fast", "paper")))
    keys = [cell.key for cell in plan_cells(suite, suite.methods)]
    assert len(set(keys)) == len(keys)
    assert re.fullmatch(r"fast_ball_first_plain_seed0_2dlocs_eta-[0-9a-f]{10}", keys[0])


def test_a_method_without_settings_is_run_once_for_all_seeds_and_variants(dataset):
    suite = read_suite(dataset.write_suite(TWO_OF_EACH, methods=("half-disc",)))
    assert len({cell.key for cell in plan_cells(suite, suite.methods)}) == 3 * 2 * 2


def test_other_settings_or_other_bytes_give_another_key(dataset):
    suite = read_suite(dataset.write_suite(TWO_OF_EACH, methods=("fast",)))
    cell = plan_cells(suite, suite.methods)[0]
    renamed = replace(cell, variant=replace(suite.variants[1], name="plain"))
    assert renamed.key != cell.key and renamed.settings_hash != cell.settings_hash
    dataset.break_frame("ball/first")
    changed = read_suite(dataset.folder / "suite.toml")
    assert plan_cells(changed, changed.methods)[0].key != cell.key
