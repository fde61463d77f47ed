"""Settings: the paper's numbers, and how a user changes one."""

import dataclasses
import json

import pytest

from fewpoint.errors import SettingsError
from fewpoint.learning.unseen import GROUPS
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline.config import (
    PAPER,
    PRESETS,
    Settings,
    as_table,
    override,
    override_from_text,
    override_from_toml,
    preset,
)

ALL_KEYS = [(section, name) for section, table in as_table(PAPER).items() for name in table]


def test_the_defaults_are_the_methods_numbers():
    table = as_table(preset("paper"))
    expected = {
        "superpixels": {"count": 1200},
        "network": {"base_width": 32, "levels": 5, "alpha": 1.67, "norm": "batch", "head_prior": 0.01},
        "training": {"frames_per_epoch": 100, "weight_decay": 0.01, "clip_norm": 5.0},
        "risk": {"beta": 0.0, "gamma": 1.0, "keep": 0.0},
        "phases": {
            "warmup_epochs": 50,
            "warmup_rate": 1e-4,
            "warmup_prior": 0.5,
            "estimation_epochs": 100,
            "estimation_rate": 1e-5,
            "final_epochs": 100,
            "final_rate": 1e-5,
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
        "stopping": {"variance": 0.007, "window": 10, "minimum": 30},
        "tracking": {"radius": 0.05, "prune": 0.4},
    }
    found = {section: {name: table[section][name] for name in values} for section, values in expected.items()}
    assert found == expected


def test_the_paper_knows_nothing_of_what_was_added_to_it():
    assert (PAPER.clicks.carry, PAPER.clicks.focus) == (0, 0)
    assert not (PAPER.training.mirrors or PAPER.diffusion.enabled)
    assert (PAPER.refinement.rounds, PAPER.refinement.unseen) == (0, 0)


def test_auto_is_accurate_on_cuda_and_fast_elsewhere():
    assert preset("auto", "cuda") is PRESETS["accurate"]
    assert preset("auto", "cpu") is preset("auto", "mps") is PRESETS["fast"]
    with pytest.raises(SettingsError, match="one of auto, accurate, fast, paper, got slow"):
        preset("slow")


def test_fast_is_accurate_with_fewer_pixels_epochs_frames_and_networks():
    accurate = as_table(preset("accurate"))
    accurate["refinement"] |= {"round_epochs": 16, "networks": 2}
    accurate["phases"] |= {"warmup_epochs": 16}
    accurate["training"] |= {"max_side": 128, "frames_per_epoch": 80}
    assert as_table(preset("fast")) == accurate
    # Clicks left out by no network do not tell the size: none with accurate, one group of them with fast.
    assert preset("accurate").refinement.networks == GROUPS


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
    table = as_table(settings)
    assignments = [f"{section}.{key}={table[section][key]}" for section, key in ALL_KEYS]
    assert override_from_text(settings, assignments) == settings


def test_the_type_is_the_settings_not_that_of_the_value_it_happens_to_have():
    whole = dataclasses.replace(PAPER, network=NetworkSettings(head_prior=0))
    assert override(whole, "network.head_prior", "0.2").network.head_prior == 0.2


def test_changing_one_setting_leaves_the_others_and_the_original():
    changed = override(PAPER, "training.batch", "7")
    assert override(changed, "training.batch", str(PAPER.training.batch)) == PAPER
    assert changed != PAPER == Settings()


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
    with pytest.raises(SettingsError, match=rf"there is no setting {key}; did you mean {suggestion}.*\?"):
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
        ("clicks.carry=-1", "clicks.carry must be 0 or more, got -1"),
        ("clicks.focus=0.5", "clicks.focus must be 0 or at least 1 and finite, got 0.5"),
        ("clicks.focus=inf", "clicks.focus must be 0 or at least 1 and finite, got inf"),
        ("refinement.unseen=2", "refinement.unseen must be between 0 and 1, got 2"),
        ("diffusion.pull=0", "diffusion.pull must be above 0 and finite, got 0"),
    ],
)
def test_a_value_without_meaning_is_refused(assignment, fragment):
    with pytest.raises(SettingsError, match=fragment):
        override_from_text(PAPER, [assignment])


def test_a_toml_file_changes_what_it_names(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[training]\nbatch = 3\nweight_decay = 1\n[network]\nnorm = "group"\n[tracking]\nenabled = false\n')
    changed = override_from_toml(PAPER, path)
    assert (changed.training.batch, changed.training.weight_decay) == (3, 1.0)
    assert (changed.network.norm, changed.tracking.enabled) == ("group", False)
    assert changed.phases == PAPER.phases


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("batch = 3", r"batch must stand in a table such as \[training\]"),
        ("[training]\nbach = 3", "did you mean training.batch"),
        ("[training]\nbatch = true", "a whole number, got True"),
        ("[training", "must be readable TOML"),
        (None, "must be readable TOML"),
        ("\xff", "must be readable TOML"),
    ],
)
def test_a_toml_file_that_cannot_be_used_is_a_settings_error(tmp_path, text, fragment):
    path = tmp_path / "a.toml"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError, match=fragment):
        override_from_toml(PAPER, path)


def test_the_table_is_plain_and_survives_json():
    table = as_table(PRESETS["fast"])
    assert json.loads(json.dumps(table)) == table
    assert list(table) == [field.name for field in dataclasses.fields(Settings)]


def test_an_infinite_setting_is_text_in_tables_and_can_be_given_as_such():
    settings = override(PAPER, "risk.beta", "inf")
    assert as_table(settings)["risk"]["beta"] == "inf"
    assert json.loads(json.dumps(as_table(settings), allow_nan=False))["risk"]["beta"] == "inf"
    assert override(PAPER, "risk.beta", as_table(settings)["risk"]["beta"]) == settings


def test_an_unknown_section_is_refused_even_when_empty(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("[trainning]\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="no section trainning"):
        override_from_toml(PAPER, path)
