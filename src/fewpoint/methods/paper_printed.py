"""The paper's method as it is printed: the preset paper with every departure undone that is a setting.

Why we depart is in docs/fidelity.md; benchmarks/suites/ladder.toml leads from here to what the authors are known to
have run, and on to ours, one change a row.
"""

import math

from fewpoint.core.job import Changes
from fewpoint.core.settings import override
from fewpoint.methods.paper import PAPER, PaperSettings

PRINTED: Changes = (
    ("priors.filter", "unscented"),
    ("priors.process_noise", 10.0),
    ("priors.observation_noise", 0.05),
    ("priors.first_control", 0.02),
    ("priors.last_control", 0.4),
    ("priors.hann_ends", True),
    ("risk.samples", "pixels"),
    ("risk.unlabelled", "all"),
    ("risk.keep", 0.0),
    ("phases.estimation_rate", 1e-5),
    ("phases.final_rate", 1e-5),
    ("training.frames_per_epoch", 1),
    ("training.clip_norm", math.inf),
    ("stopping.minimum", 0),
    ("stopping.halts", True),
    ("tracking.reach", 0.0),
)


def read_as_printed(settings: PaperSettings) -> PaperSettings:
    """The settings with every departure from the printed text undone that a setting can undo."""
    for key, value in PRINTED:
        settings = override(settings, key, value)
    return settings


PAPER_PRINTED = read_as_printed(PAPER)
