"""Methods and presets by name, and the settings of finished runs."""

from dataclasses import replace

import pytest

from fewpoint.core.settings import as_table, override_from_text
from fewpoint.errors import SettingsError
from fewpoint.methods.competitors.registry import COMPETITORS
from fewpoint.methods.default import ACCURATE, FAST
from fewpoint.methods.paper import PAPER
from fewpoint.methods.registry import (
    PAPER_NAMES,
    PRESETS,
    check_method,
    find_settings,
    is_own,
    keep_known,
    list_methods,
    preset,
    read_own_settings,
)

OLD_METHOD = "ssnnpu+ksptrack"  # how version 0.1 called whatever it ran
# What the settings of version 0.1 had in common and does not matter here.
OLD_SHARED = {
    "superpixels": {"count": 300, "compactness": 15.0, "max_side": 256},
    "priors": {"gamma": 2.0, "process_noise": 0.5, "observation_noise": 50.0, "smoothing": 0.1},
    "stopping": {"variance": 0.007, "window": 7, "minimum": 30},
    "reuse": {"refine_epochs": 6, "refine_rate": 0.002, "warm_share": 0.25},
}
OLD_FAST = {
    **OLD_SHARED,
    "clicks": {"carry": 3, "focus": 2.0},
    "training": {"max_side": 96, "batch": 4, "frames_per_epoch": 80},
    "phases": {
        **{"warmup_epochs": 9, "warmup_rate": 0.003, "warmup_prior": 0.3, "schedule": "one-cycle"},
        **{"estimation_epochs": 0, "estimation_rate": 1e-05, "final_epochs": 0, "final_rate": 1e-05},
    },
    "refinement": {"networks": 2, "rounds": 1, "sparse_rounds": 2, "round_epochs": 16, "unseen": 0.6},
    "diffusion": {"enabled": True, "pull": 0.2},
    "tracking": {"enabled": False, "radius": 0.2, "prune": 0.5},
}
OLD_PAPER = {
    **OLD_SHARED,
    "clicks": {"carry": 0, "focus": 0.0},
    "risk": {"beta": "inf", "gamma": 1.0, "keep": 0.0, "negatives": 1.0},
    "phases": {
        **{"warmup_epochs": 40, "warmup_rate": 1e-4, "warmup_prior": 0.5, "schedule": "constant"},
        **{"estimation_epochs": 90, "estimation_rate": 1e-05, "final_epochs": 80, "final_rate": 1e-05},
    },
    "refinement": {"networks": 1, "rounds": 0, "sparse_rounds": 0, "round_epochs": 24, "unseen": 0.0},
    "diffusion": {"enabled": False, "pull": 0.1},
    "tracking": {"enabled": False, "radius": 0.07, "prune": 0.4},
}
SHARED = ["superpixels.count=300", "refine.epochs=6", "refine.rate=0.002", "warm_start.share=0.25"]


def test_auto_is_accurate_on_cuda_and_fast_elsewhere():
    assert preset("auto", "cuda") is PRESETS["accurate"]
    assert preset("auto", "cpu") is preset("auto", "mps") is PRESETS["fast"]
    with pytest.raises(SettingsError, match="one of auto, accurate, fast, paper, got slow"):
        preset("slow")


def test_the_methods_of_the_pipeline_have_several_names():
    assert all(map(is_own, (None, "fast", "paper", "ssnnpu", "ssnnpu+ksptrack")))
    assert not is_own("eel") and not is_own("max-sp")


def test_presets_and_the_papers_names_are_of_two_methods():
    methods = {name: find_settings(name).method for name in (*PRESETS, *PAPER_NAMES)}
    assert methods == {
        **{"accurate": "default", "fast": "default"},
        **dict.fromkeys(("paper", "paper-printed", "ssnnpu", "ssnnpu+ksptrack"), "paper"),
    }


def test_ssnnpu_is_the_papers_method_without_its_last_step():
    assert find_settings("ssnnpu").plan().tracking is None
    assert replace(find_settings("ssnnpu"), tracking=PAPER.tracking) == PAPER == find_settings("ssnnpu+ksptrack")


def test_every_method_listed_is_known_and_others_are_refused_with_the_nearest():
    assert set(list_methods()) == {*COMPETITORS, *PRESETS, *PAPER_NAMES}
    for name in list_methods():
        check_method(name)
    with pytest.raises(SettingsError, match=r"there is no method half-disk; did you mean half-disc\?"):
        check_method("half-disk")
    check_method("max-sp", known=("max-sp",))


def test_changes_for_several_methods_are_kept_by_those_that_have_them():
    changes = (("training.batch", 3), ("boosting.rounds", 7))
    assert keep_known(FAST, changes) == changes[:1]
    assert keep_known(COMPETITORS["eel"].settings, changes) == changes[1:]
    assert keep_known(None, changes) == ()


def test_changes_by_a_name_of_version_0_1_are_kept_too():
    changes = (("refinement.unseen", 0.1), ("reuse.warm_share", 0.2))
    assert keep_known(FAST, changes) == changes
    assert keep_known(PAPER, changes) == changes[1:]


@pytest.mark.parametrize("name", PRESETS)
def test_the_settings_of_a_run_come_back_from_its_manifest(name):
    settings = override_from_text(PRESETS[name], ["risk.beta=inf", "training.batch=7"])
    assert read_own_settings(settings.method, as_table(settings)) == settings


def test_a_run_whose_settings_name_no_kind_of_network_was_made_with_the_only_one_there_was():
    table = as_table(FAST)
    del table["network"]["kind"]
    assert read_own_settings("default", table) == override_from_text(FAST, ["network.kind=multires"])


def test_a_run_of_version_0_1_without_an_estimation_is_of_the_default_method():
    expected = override_from_text(
        ACCURATE,
        [
            *SHARED,
            "network.kind=multires",
            *("clicks.carry=3", "training.max_side=96", "training.frames_per_epoch=80", "diffusion.pull=0.2"),
            *("warmup.epochs=9", "warmup.rate=0.003", "warmup.prior=0.3"),
            *("rounds.networks=2", "rounds.round_epochs=16", "rounds.heldout=0.6"),
        ],
    )
    assert read_own_settings(OLD_METHOD, OLD_FAST) == expected


def test_a_run_of_version_0_1_with_an_estimation_is_of_the_papers_method():
    expected = override_from_text(
        PAPER,
        [
            *SHARED,
            *("phases.warmup_epochs=40", "phases.estimation_epochs=90", "phases.final_epochs=80"),
            *("phases.estimation_rate=1e-5", "phases.final_rate=1e-5"),
            *("risk.beta=inf", "risk.keep=0"),
            *("priors.smoothing=0.1", "stopping.window=7", "tracking.enabled=false", "tracking.radius=0.07"),
        ],
    )
    assert read_own_settings(OLD_METHOD, OLD_PAPER) == expected
