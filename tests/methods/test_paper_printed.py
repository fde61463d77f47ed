"""The paper to the letter, and the ladder that leads from it to ours."""

import math
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from fewpoint.bench.suite import _read_variants
from fewpoint.core.settings import as_table, override
from fewpoint.methods.paper import PAPER
from fewpoint.methods.paper_printed import PAPER_PRINTED, PRINTED
from fewpoint.methods.registry import find_settings, is_own

LADDER = Path(__file__).parents[2] / "benchmarks" / "suites" / "ladder.toml"


def test_it_is_a_method_with_the_printed_numbers():
    assert find_settings("paper-printed") == PAPER_PRINTED and is_own("paper-printed")
    priors, risk, phases = PAPER_PRINTED.priors, PAPER_PRINTED.risk, PAPER_PRINTED.phases
    assert (priors.filter, priors.process_noise, priors.observation_noise) == ("unscented", 10, 0.05)
    assert (priors.first_control, priors.last_control, priors.initial_variance) == (0.02, 0.4, 0.03)
    assert (risk.samples, risk.unlabelled, risk.keep, risk.frames) == ("pixels", "all", 0, "sum")
    assert (phases.warmup_epochs, phases.estimation_epochs, phases.final_epochs) == (50, 100, 100)
    assert (phases.warmup_rate, phases.estimation_rate, phases.final_rate) == (1e-4, 1e-5, 1e-5)
    assert (PAPER_PRINTED.tracking.radius, PAPER_PRINTED.tracking.reach, PAPER_PRINTED.tracking.prune) == (0.05, 0, 0.4)
    assert PAPER_PRINTED.training.clip_norm == math.inf


def test_every_change_departs_from_ours():
    for key, value in PRINTED:
        section, name = key.split(".")
        assert as_table(PAPER)[section][name] != value, key


@pytest.fixture(scope="module")
def rungs() -> dict[str, dict[str, object]]:
    """The changes of each variant, and below it those of the next."""
    variants = _read_variants(tomllib.loads(LADDER.read_text(encoding="utf-8"))["variants"], LADDER)
    return {variant.name: dict(variant.changes) for variant in variants}


def test_the_ladder_leads_from_the_printed_text_to_ours(rungs):
    settings = PAPER_PRINTED
    for change in rungs["ours"].items():
        settings = override(settings, *change)
    small = override(override(PAPER, "network.base_width", 16), "training.max_side", 96)
    assert settings == small
    assert next(iter(rungs)) == "printed" and rungs["printed"].keys() == {"network.base_width", "training.max_side"}


def test_each_rung_changes_something_and_takes_little_back(rungs):
    """What a rung sets the next one keeps or changes, so that a row of the table is one step."""
    for before, after in pairwise(rungs):
        assert rungs[before] != rungs[after]
        assert rungs[before].keys() <= rungs[after].keys()
        assert sum(rungs[before].get(key) != value for key, value in rungs[after].items()) <= 4
