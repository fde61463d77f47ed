"""Click a few times on an object, get its mask in every frame of a medical volume or video.

>>> from fewpoint import make_phantom
>>> make_phantom(n_frames=4, size=(48, 48)).sequence.shape
(4, 48, 48, 1)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers, which do not follow __getattr__
    from fewpoint.api.segmenting import Saving, refine, segment
    from fewpoint.api.studies import (
        BatchPlan,
        collect,
        convert,
        evaluate,
        evaluate_objects,
        load_result,
        plan_batch,
        recut,
        run_batch,
    )
    from fewpoint.api.watching import Progress
    from fewpoint.batch.run import BatchResult
    from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Result, Words
    from fewpoint.core.job import Job
    from fewpoint.core.labels import Code
    from fewpoint.core.relabelling import Relabelling
    from fewpoint.errors import CancelledError, DeviceError, FewpointError, InputError, OutputError, SettingsError
    from fewpoint.evaluation.judging import Evaluation
    from fewpoint.evaluation.metrics import score_masks
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.io.images import read_sequence
    from fewpoint.io.masks import read_masks
    from fewpoint.io.points import read_points
    from fewpoint.methods.default import DefaultSettings
    from fewpoint.methods.paper import PaperSettings
    from fewpoint.methods.registry import preset
    from fewpoint.runs.collecting import Collection
    from fewpoint.runs.jobs import run_job

__version__ = "0.2.0"

__all__ = [
    "AreaBound",
    "BatchPlan",
    "BatchResult",
    "Box",
    "CancelledError",
    "Code",
    "Collection",
    "DefaultSettings",
    "DeviceError",
    "Evaluation",
    "FewpointError",
    "ImageSequence",
    "InputError",
    "Job",
    "OutputError",
    "PaperSettings",
    "PointSet",
    "Progress",
    "Relabelling",
    "Result",
    "Saving",
    "SettingsError",
    "Words",
    "collect",
    "convert",
    "evaluate",
    "evaluate_objects",
    "load_result",
    "make_phantom",
    "plan_batch",
    "preset",
    "read_masks",
    "read_points",
    "read_sequence",
    "recut",
    "refine",
    "run_batch",
    "run_job",
    "score_masks",
    "segment",
]

_HOMES = {
    "AreaBound": "fewpoint.core",
    "BatchPlan": "fewpoint.api.studies",
    "BatchResult": "fewpoint.batch.run",
    "Box": "fewpoint.core",
    "CancelledError": "fewpoint.errors",
    "Code": "fewpoint.core.labels",
    "Collection": "fewpoint.runs.collecting",
    "DefaultSettings": "fewpoint.methods.default",
    "DeviceError": "fewpoint.errors",
    "Evaluation": "fewpoint.evaluation.judging",
    "FewpointError": "fewpoint.errors",
    "ImageSequence": "fewpoint.core",
    "InputError": "fewpoint.errors",
    "Job": "fewpoint.core.job",
    "OutputError": "fewpoint.errors",
    "PaperSettings": "fewpoint.methods.paper",
    "PointSet": "fewpoint.core",
    "Progress": "fewpoint.api.watching",
    "Relabelling": "fewpoint.core.relabelling",
    "Result": "fewpoint.core",
    "Saving": "fewpoint.api.segmenting",
    "SettingsError": "fewpoint.errors",
    "Words": "fewpoint.core",
    "collect": "fewpoint.api.studies",
    "convert": "fewpoint.api.studies",
    "evaluate": "fewpoint.api.studies",
    "evaluate_objects": "fewpoint.api.studies",
    "load_result": "fewpoint.api.studies",
    "make_phantom": "fewpoint.evaluation.phantom",
    "plan_batch": "fewpoint.api.studies",
    "preset": "fewpoint.methods.registry",
    "read_masks": "fewpoint.io.masks",
    "read_points": "fewpoint.io.points",
    "read_sequence": "fewpoint.io.images",
    "recut": "fewpoint.api.studies",
    "refine": "fewpoint.api.segmenting",
    "run_batch": "fewpoint.api.studies",
    "run_job": "fewpoint.runs.jobs",
    "score_masks": "fewpoint.evaluation.metrics",
    "segment": "fewpoint.api.segmenting",
}


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use, so that importing the package stays cheap."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
