"""Methods by name."""

import pytest

from fewpoint.bench.methods import (
    build_method,
    check_change,
    find_settings,
    list_methods,
)
from fewpoint.bench.oracles import ORACLES
from fewpoint.core.settings import RenamedSettingWarning, override
from fewpoint.errors import SettingsError
from fewpoint.methods import registry
from fewpoint.methods.competitors.registry import COMPETITORS, build_competitor, find_problem
from fewpoint.methods.default import FAST
from fewpoint.methods.registry import PAPER_NAMES, PRESETS


def test_competitors_presets_and_oracles_have_a_name_each():
    assert {"all-positive", "half-disc", "random-walker", "gaze2segment", "eel", "max-sp"} < set(list_methods())
    assert set(list_methods()) == {*COMPETITORS, *PRESETS, *PAPER_NAMES, *ORACLES}
    assert len(set(list_methods())) == len(list_methods())


def test_the_paper_s_names_are_its_preset_with_and_without_tracking():
    assert find_settings("ssnnpu+ksptrack") == PRESETS["paper"]
    assert find_settings("ssnnpu") == override(PRESETS["paper"], "tracking.enabled", False)


def test_a_person_can_use_all_but_those_that_know_the_truth():
    assert set(list_methods()) - set(registry.list_methods()) == set(ORACLES)
    with pytest.raises(SettingsError, match="max-sp uses ground truth"):
        build_method("max-sp")


@pytest.mark.parametrize("name", COMPETITORS)
def test_a_competitor_is_built_under_its_name(name):
    assert build_competitor(name, COMPETITORS[name].settings, "cpu").name == name


def test_only_the_optional_ones_may_be_unable_to_run(monkeypatch, tmp_path):
    monkeypatch.setenv("FEWPOINT_CACHE", str(tmp_path))
    monkeypatch.delenv("FEWPOINT_MODELS", raising=False)
    unable = {name for name in COMPETITORS if find_problem(name)}
    assert unable == {"sam-points", "sam-points-bound", "sam2-points", "sam2-points-bound"}


def test_a_competitor_takes_those_changes_that_it_has_settings_for():
    changes = (("superpixels.count", 300), ("training.batch", 3), ("boosting.rounds", 7))
    settings = find_settings("eel", changes)
    assert (settings.superpixels.count, settings.boosting.rounds) == (300, 7)
    assert find_settings("fast", changes).training.batch == 3


def test_a_change_must_mean_something_to_some_method():
    check_change("boosting.rounds", 7)
    with pytest.warns(RenamedSettingWarning):
        check_change("refinement.taper", 0.5)
    with pytest.raises(SettingsError, match=r"no setting boosting\.round here;"):
        check_change("boosting.round", 7)
    with pytest.raises(SettingsError, match="must be a whole number"):
        check_change("boosting.rounds", "many")


def test_a_new_preset_is_a_method_by_itself(monkeypatch):
    monkeypatch.setitem(PRESETS, "newest", FAST)
    assert "newest" in list_methods()
    assert find_settings("newest") is FAST


def test_changes_are_applied_in_order():
    settings = find_settings("paper", (("training.batch", 3), ("training.batch", 5), ("tracking.prune", 0.1)))
    assert (settings.training.batch, settings.tracking.prune) == (5, 0.1)


def test_an_old_name_still_changes_what_it_did_unless_the_present_one_is_given_too():
    old = ("phases.warmup_epochs", 7)
    with pytest.warns(RenamedSettingWarning, match=r"phases\.warmup_epochs is now called warmup\.epochs"):
        assert find_settings("fast", (old,)).warmup.epochs == 7
    both = (("warmup.epochs", 3), old)
    assert find_settings("fast", both).warmup.epochs == 3
    assert find_settings("paper", both).phases.warmup_epochs == 7


def test_a_baseline_has_no_settings_to_change():
    assert find_settings("half-disc", (("training.batch", 3),)) is None


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(SettingsError, match="no method half-disk; did you mean half-disc"):
        find_settings("half-disk")
