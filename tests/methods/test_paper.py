"""The paper's method: its numbers, and what the pipeline makes of its settings."""

import pytest

from fewpoint.core.settings import as_table, override
from fewpoint.methods.paper import PAPER, PaperSettings


def test_the_defaults_are_the_methods_numbers():
    table = as_table(PAPER)
    expected = {
        "superpixels": {"count": 1200},
        "network": {"base_width": 32, "levels": 5, "alpha": 1.67, "norm": "batch", "head_prior": 0.01},
        "training": {"max_side": 96, "frames_per_epoch": 100, "weight_decay": 0.01, "clip_norm": 5.0},
        "risk": {"beta": 0.0, "gamma": 1.0, "keep": 1.0, "frames": "sum"},
        "phases": {
            "warmup_epochs": 50,
            "warmup_rate": 1e-4,
            "warmup_prior": 0.5,
            "estimation_epochs": 100,
            "estimation_rate": 5e-5,
            "final_epochs": 100,
            "final_rate": 5e-5,
        },
        "priors": {
            "gamma": 2.0,
            "process_noise": 0.5,
            "observation_noise": 50.0,
            "initial_variance": 0.03,
            "first_control": 0.002,
            "last_control": 0.04,
            "smoothing": 0.05,
        },
        "stopping": {"variance": 0.007, "window": 10, "minimum": 30, "halts": False},
        "tracking": {"radius": 0.05, "reach": 2.0, "prune": 0.4},
    }
    found = {section: {name: table[section][name] for name in values} for section, values in expected.items()}
    assert found == expected
    assert PaperSettings() == PAPER


def test_nothing_that_was_added_to_it_is_done():
    plan = PAPER.plan()
    assert (plan.clicks.carry, plan.clicks.focus) == (0, 0)
    assert not plan.training.mirrors
    assert plan.diffusion is None
    assert (plan.rounds.networks, plan.rounds.rounds, plan.rounds.heldout, plan.rounds.surest) == (1, 0, 0, 0)


@pytest.mark.parametrize("section", ["clicks", "rounds", "warmup", "diffusion"])
def test_it_has_no_settings_of_the_default_method(section):
    assert section not in as_table(PAPER)


def test_paths_are_found_unless_the_settings_say_no():
    assert PAPER.plan().tracking == PAPER.tracking
    assert override(PAPER, "tracking.enabled", False).plan().tracking is None
