"""The one place that makes settings of what a job says."""

import pytest

from fewpoint.core.job import Job
from fewpoint.core.settings import override
from fewpoint.errors import SettingsError
from fewpoint.methods.competitors.registry import COMPETITORS
from fewpoint.methods.default import ACCURATE, FAST
from fewpoint.methods.paper import PAPER
from fewpoint.methods.registry import PAPER_NAMES
from fewpoint.methods.resolve import depends_on_device, resolve_settings, settle_preset

BATCH = (("training.batch", 3), ("training.batch", "5"))


@pytest.mark.parametrize(
    ("job", "kind", "settings"),
    [
        (Job(), "cpu", FAST),
        (Job(), "cuda", ACCURATE),
        (Job(preset="auto"), "cuda", ACCURATE),
        (Job(preset="paper"), "cpu", PAPER),
        (Job(method="ssnnpu"), "cpu", PAPER_NAMES["ssnnpu"]),
        (Job(method="fast"), "cuda", FAST),
        (Job(method="eel"), "cpu", COMPETITORS["eel"].settings),
        (Job(method="half-disc"), "cpu", None),
        (Job(preset="fast", changes=BATCH), "cpu", override(FAST, "training.batch", 5)),
    ],
)
def test_settings_are_those_of_preset_or_method_with_changes_in_order(job, kind, settings):
    assert resolve_settings(job, kind) == settings


def test_a_run_that_is_refined_keeps_its_settings_unless_a_preset_is_named():
    job = Job(refine="earlier", changes=(("refine.epochs", 8),))
    assert resolve_settings(job, "cpu", PAPER) == override(PAPER, "refine.epochs", 8)
    assert resolve_settings(Job(refine="earlier", preset="fast"), "cpu", PAPER) == FAST


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(preset="swift"), "the preset must be one of auto, accurate"),
        (Job(method="half-disk"), "no method half-disk; did you mean half-disc"),
        (Job(method="max-sp"), "no method max-sp"),
        (Job(method="half-disc", changes=BATCH), "half-disc has no settings to change"),
        (Job(method="eel", changes=BATCH), r"no setting training\.batch"),
        (Job(changes=(("training.bach", 3),)), r"did you mean training\.batch"),
    ],
)
def test_what_cannot_be_meant_is_refused(job, words):
    with pytest.raises(SettingsError, match=words):
        resolve_settings(job)


def test_only_the_preset_auto_of_the_own_method_depends_on_the_device():
    assert depends_on_device(Job()) and depends_on_device(Job(preset="auto"))
    others = (Job(preset="fast"), Job(method="eel"), Job(refine="earlier"))
    assert not any(map(depends_on_device, others))
    assert settle_preset(Job(), "cuda").preset == "accurate" and settle_preset(Job(), "mps").preset == "fast"
    assert tuple(settle_preset(job, "cuda") for job in others) == others
