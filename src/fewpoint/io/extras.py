"""Libraries that only some formats and methods need, imported when they are first used."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from fewpoint.errors import InputError

EXTRAS: dict[str, tuple[str, ...]] = {
    "annotate": ("fastapi", "uvicorn", "multipart", "websockets"),
    "competitors": ("ortools", "sklearn"),
    "dicom": ("pydicom", "highdicom"),
    "tracking": ("ortools",),
    "video": ("av",),
    "zarr": ("zarr",),
    "ray": ("ray",),
    "sam": ("onnx", "onnxruntime"),
    "witness": ("onnx", "onnxruntime"),
}


def need(module: str, extra: str, purpose: str = "") -> ModuleType:
    """Import a module of an extra; if it is not installed, the error names the extra.

    purpose: what needs the module, with its verb; files of the extra's name if empty.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise InputError(
            f"{purpose or f'{extra} files need'} {library}, which is not installed; "
            f"run: pip install 'fewpoint[{extra}]'"
        ) from error


def is_installed(extra: str) -> bool:
    """Whether all libraries of an extra are there."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])
