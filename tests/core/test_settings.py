"""How a user changes a setting, and how settings are written down."""

import dataclasses
import json
import warnings

import pytest

from fewpoint.core.settings import (
    RENAMED,
    RenamedSettingWarning,
    as_table,
    find_name,
    from_table,
    has_setting,
    knows_setting,
    override,
    override_from_text,
)
from fewpoint.errors import SettingsError
from fewpoint.methods.default import FAST
from fewpoint.methods.paper import PAPER, PaperSettings
from fewpoint.methods.registry import PRESETS
from fewpoint.models.settings import NetworkSettings


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("training.batch", "4", 4),
        ("training.batch", "4.0", 4),
        ("phases.warmup_rate", "1e-3", 1e-3),
        ("risk.beta", "inf", float("inf")),
        ("priors.process_noise", "2", 2.0),
        ("augmentation.flips", "Yes", True),
        ("tracking.enabled", "false", False),
        ("network.norm", "group", "group"),
    ],
)
def test_text_is_read_as_the_settings_own_type(key, text, value):
    section, name = key.split(".")
    changed = getattr(getattr(override(PAPER, key, text), section), name)
    assert (changed, type(changed)) == (value, type(value))


@pytest.mark.parametrize("name", PRESETS)
def test_every_setting_can_be_set_to_what_it_is(name):
    settings = PRESETS[name]
    values = {f"{section}.{key}": value for section, own in as_table(settings).items() for key, value in own.items()}
    assignments = [f"{name}={value}" for name, value in values.items()]
    assert override_from_text(settings, assignments) == settings


def test_the_type_is_the_settings_not_that_of_the_value_it_happens_to_have():
    whole = dataclasses.replace(PAPER, network=NetworkSettings(head_prior=0))
    assert override(whole, "network.head_prior", "0.2").network.head_prior == 0.2


def test_changing_one_setting_leaves_the_others_and_the_original():
    changed = override(PAPER, "training.batch", "7")
    assert override(changed, "training.batch", str(PAPER.training.batch)) == PAPER
    assert changed != PAPER == PaperSettings()


def test_later_assignments_win():
    assert override_from_text(PAPER, ["training.batch=3", " training.batch = 5 "]).training.batch == 5


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("training.bach", "training.batch"),
        ("batch", "training.batch"),
        ("phases.window", "stopping.window"),
        ("stoping.window", "stopping.window"),
        ("training.__doc__", "training."),
        ("__class__.x", ""),
        ("", ""),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_known(key, suggestion):
    with pytest.raises(SettingsError, match=rf"there is no setting {key} here; did you mean {suggestion}.*\?"):
        override(PAPER, key, "1")


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("training.batch", "2.5", "a whole number"),
        ("training.batch", "many", "a whole number"),
        ("training.batch", "inf", "a whole number"),
        ("training.batch", True, "a whole number"),
        ("training.weight_decay", "little", "a number"),
        ("training.weight_decay", [1], "a number"),
        ("training.weight_decay", False, "a number"),
        ("tracking.enabled", "perhaps", "true or false"),
        ("tracking.enabled", 2, "true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_was_wanted(key, value, wanted):
    with pytest.raises(SettingsError) as caught:
        override(PAPER, key, value)
    assert str(caught.value) == f"{key} must be {wanted}, got {value}"


@pytest.mark.parametrize(
    ("assignment", "fragment"),
    [
        ("training.batch", "section.key=value, got training.batch"),
        ("training.batch=0", "training.batch must be 1 or more, got 0"),
        ("priors.gamma=nan", "priors.gamma must be above 0, got nan"),
        ("phases.warmup_rate=-1", "phases.warmup_rate must be above 0"),
    ],
)
def test_a_value_without_meaning_is_refused(assignment, fragment):
    with pytest.raises(SettingsError, match=fragment):
        override_from_text(PAPER, [assignment])


@pytest.mark.parametrize("name", PRESETS)
def test_the_table_is_plain_and_survives_json(name):
    table = as_table(PRESETS[name])
    assert json.loads(json.dumps(table)) == table
    assert list(table) == [field.name for field in dataclasses.fields(PRESETS[name])]


def test_an_infinite_setting_is_text_in_tables_and_can_be_given_as_such():
    settings = override(PAPER, "risk.beta", "inf")
    assert as_table(settings)["risk"]["beta"] == "inf"
    assert json.loads(json.dumps(as_table(settings), allow_nan=False))["risk"]["beta"] == "inf"
    assert override(PAPER, "risk.beta", as_table(settings)["risk"]["beta"]) == settings


@pytest.mark.parametrize("name", PRESETS)
def test_settings_come_back_from_their_table(name):
    settings = override_from_text(PRESETS[name], ["risk.beta=inf", "training.batch=7"])
    assert from_table(PRESETS[name], as_table(settings)) == settings


# Names of version 0.1.
OLD = [
    *((FAST, old, new) for old, new in RENAMED.items()),
    (FAST, "refinement.round_epochs", "rounds.round_epochs"),
    (PAPER, "reuse.refine_epochs", "refine.epochs"),
]


@pytest.mark.parametrize(("settings", "old", "new"), OLD)
def test_the_old_name_of_a_setting_works_with_a_warning_of_one_line_that_gives_the_new_one(settings, old, new):
    with pytest.warns(RenamedSettingWarning) as caught:
        changed = override(settings, old, "1")
    assert [str(each.message) for each in caught] == [f"the setting {old} is now called {new}; use that name"]
    assert changed == override(settings, new, "1") != settings


def test_the_warning_is_shown_to_people_without_a_flag():
    assert issubclass(RenamedSettingWarning, FutureWarning)


@pytest.mark.parametrize(
    ("settings", "key"), [(FAST, "rounds.heldout"), (PAPER, "phases.warmup_epochs"), (PAPER, "training.batch")]
)
def test_names_that_settings_have_work_without_a_warning(settings, key):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        override(settings, key, "1")


@pytest.mark.parametrize(
    ("settings", "key", "nearest"),
    [
        (FAST, "phases.estimation_epochs", ""),
        (FAST, "tracking.enabled", "diffusion.enabled"),
        (PAPER, "refinement.unseen", ""),
        (PAPER, "rounds.networks", ""),
    ],
)
def test_a_setting_of_another_method_is_refused_under_its_old_name_too(settings, key, nearest):
    with pytest.raises(SettingsError, match=rf"there is no setting {key} here; did you mean {nearest}.*\?"):
        override(settings, key, "1")


def test_settings_are_known_by_either_name_and_had_by_one():
    assert (has_setting(FAST, "refinement.unseen"), knows_setting(FAST, "refinement.unseen")) == (False, True)
    assert find_name(FAST, "refinement.unseen") == find_name(FAST, "rounds.heldout") == "rounds.heldout"
    assert find_name(PAPER, "refinement.unseen") is None
    # The paper's phases keep the names that became those of the default method's warm-up.
    assert find_name(PAPER, "phases.warmup_epochs") == "phases.warmup_epochs"
    assert not knows_setting(None, "training.batch")
