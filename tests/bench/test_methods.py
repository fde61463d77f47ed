"""Methods by name."""

import pytest

from fewpoint.bench.methods import find_settings, list_methods
from fewpoint.errors import SettingsError
from fewpoint.pipeline.config import FAST, PRESETS


def test_baselines_and_every_preset_have_a_name():
    assert set(list_methods()) == {"all-positive", "half-disc", *PRESETS}


def test_a_new_preset_is_a_method_by_itself(monkeypatch):
    monkeypatch.setitem(PRESETS, "newest", FAST)
    assert "newest" in list_methods()
    assert find_settings("newest") is FAST


def test_changes_are_applied_in_order():
    settings = find_settings("fast", (("training.batch", 3), ("training.batch", 5), ("tracking.prune", 0.1)))
    assert (settings.training.batch, settings.tracking.prune) == (5, 0.1)


def test_a_baseline_has_no_settings_to_change():
    assert find_settings("half-disc", (("training.batch", 3),)) is None


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(SettingsError, match="no method half-disk; did you mean half-disc"):
        find_settings("half-disk")
