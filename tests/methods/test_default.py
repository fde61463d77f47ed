"""The default method: its presets, and what the pipeline makes of its settings."""

import pytest

from fewpoint.core.settings import as_table, override, override_from_text
from fewpoint.errors import SettingsError
from fewpoint.learning.heldout import GROUPS
from fewpoint.methods.default import ACCURATE, FAST, DefaultSettings


def test_fast_is_accurate_with_fewer_pixels_epochs_frames_and_networks():
    accurate = as_table(ACCURATE)
    accurate["rounds"] |= {"round_epochs": 16, "networks": 2}
    accurate["refine"] |= {"epochs": 3}
    accurate["warmup"] |= {"epochs": 16}
    accurate["training"] |= {"max_side": 128, "frames_per_epoch": 80}
    assert as_table(FAST) == accurate
    assert DefaultSettings() == ACCURATE
    # Clicks held out by no network do not tell the size: none with accurate, one group of them with fast.
    assert ACCURATE.rounds.networks == GROUPS


def test_networks_learn_from_the_points_in_one_cycle_and_nothing_is_estimated_or_tracked():
    plan = override_from_text(FAST, ["warmup.epochs=7", "warmup.rate=0.2", "warmup.prior=0.3"]).plan()
    phases = plan.phases
    assert (phases.warmup_epochs, phases.warmup_rate, phases.warmup_prior) == (7, 0.2, 0.3)
    assert (phases.schedule, phases.estimation_epochs, phases.final_epochs) == ("one-cycle", 0, 0)
    assert plan.tracking is None


def test_probabilities_are_evened_out_unless_the_settings_say_no():
    assert FAST.plan().diffusion == FAST.diffusion
    assert override(FAST, "diffusion.enabled", False).plan().diffusion is None


@pytest.mark.parametrize("section", ["tracking", "priors", "stopping", "phases"])
def test_it_has_no_settings_of_the_papers_method(section):
    assert section not in as_table(ACCURATE)


@pytest.mark.parametrize(
    ("assignment", "fragment"),
    [
        ("clicks.carry=-1", "clicks.carry must be 0 or more, got -1"),
        ("clicks.focus=0.5", "clicks.focus must be 0 or at least 1 and finite, got 0.5"),
        ("clicks.focus=inf", "clicks.focus must be 0 or at least 1 and finite, got inf"),
        ("rounds.heldout=2", "rounds.heldout must be between 0 and 1, got 2"),
        ("diffusion.pull=0", "diffusion.pull must be above 0 and finite, got 0"),
        ("warmup.epochs=-1", "warmup.epochs must be 0 or more, got -1"),
        ("warmup.prior=0", "warmup.prior must be above 0 and at most 1, got 0"),
        ("refine.epochs=0", "refine.epochs must be 1 or more, got 0"),
        ("warm_start.share=2", "warm_start.share must be above 0 and at most 1, got 2"),
    ],
)
def test_a_value_without_meaning_is_refused(assignment, fragment):
    with pytest.raises(SettingsError, match=fragment):
        override_from_text(FAST, [assignment])
