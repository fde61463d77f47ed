"""Click a few times on an object, get its mask in every frame of a medical volume or video.

>>> from fewpoint import make_phantom
>>> make_phantom(n_frames=4, size=(48, 48)).sequence.shape
(4, 48, 48, 1)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers, which do not follow __getattr__
    from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Result, Words
    from fewpoint.core.job import Job
    from fewpoint.errors import FewpointError
    from fewpoint.evaluation.metrics import score_masks
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.io.images import read_sequence
    from fewpoint.io.masks import read_masks
    from fewpoint.io.points import read_points
    from fewpoint.methods.default import DefaultSettings
    from fewpoint.methods.paper import PaperSettings
    from fewpoint.methods.registry import preset
    from fewpoint.runs.jobs import run_job
    from fewpoint.runs.runner import refine, segment

__version__ = "0.1.0"

__all__ = [
    "AreaBound",
    "Box",
    "DefaultSettings",
    "FewpointError",
    "ImageSequence",
    "Job",
    "PaperSettings",
    "PointSet",
    "Result",
    "Words",
    "make_phantom",
    "preset",
    "read_masks",
    "read_points",
    "read_sequence",
    "refine",
    "run_job",
    "score_masks",
    "segment",
]

_HOMES = {
    "AreaBound": "fewpoint.core",
    "Box": "fewpoint.core",
    "DefaultSettings": "fewpoint.methods.default",
    "FewpointError": "fewpoint.errors",
    "ImageSequence": "fewpoint.core",
    "Job": "fewpoint.core.job",
    "PaperSettings": "fewpoint.methods.paper",
    "PointSet": "fewpoint.core",
    "Result": "fewpoint.core",
    "Words": "fewpoint.core",
    "make_phantom": "fewpoint.evaluation.phantom",
    "preset": "fewpoint.methods.registry",
    "read_masks": "fewpoint.io.masks",
    "read_points": "fewpoint.io.points",
    "read_sequence": "fewpoint.io.images",
    "refine": "fewpoint.runs.runner",
    "run_job": "fewpoint.runs.jobs",
    "score_masks": "fewpoint.evaluation.metrics",
    "segment": "fewpoint.runs.runner",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use, so that importing the package stays cheap."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
