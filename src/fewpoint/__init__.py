"""Click a few times on an object, get its mask in every frame of a medical volume or video.

>>> from fewpoint import make_phantom
>>> make_phantom(n_frames=4, size=(48, 48)).sequence.shape
(4, 48, 48, 1)
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "AreaBound": "fewpoint.core",
    "FewpointError": "fewpoint.errors",
    "ImageSequence": "fewpoint.core",
    "LabelledSegmentation": "fewpoint.core",
    "PointSet": "fewpoint.core",
    "Segmentation": "fewpoint.core",
    "Settings": "fewpoint.pipeline.config",
    "make_phantom": "fewpoint.evaluation.phantom",
    "preset": "fewpoint.pipeline.config",
    "read_masks": "fewpoint.io.masks",
    "read_points": "fewpoint.io.points",
    "read_sequence": "fewpoint.io.images",
    "score_masks": "fewpoint.evaluation.metrics",
    "refine": "fewpoint.pipeline.run",
    "segment": "fewpoint.pipeline.run",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name where it lives when it is first asked for, so that the package itself stays light."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
