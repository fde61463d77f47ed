"""Libraries that only some formats need, imported when such a file is first read or written."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from fewpoint.errors import InputError

EXTRAS: dict[str, tuple[str, ...]] = {
    "annotate": ("fastapi", "uvicorn", "multipart", "websockets"),
    "dicom": ("pydicom", "highdicom"),
    "video": ("av",),
    "zarr": ("zarr",),
    "ray": ("ray",),
    "sam": ("onnx", "onnxruntime"),
}


def need(module: str, extra: str) -> ModuleType:
    """Import a module of an extra; where it is not installed, the error names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise InputError(
            f"{extra} files need {library}, which is not installed; run: pip install 'fewpoint[{extra}]'"
        ) from error


def is_installed(extra: str) -> bool:
    """Whether all libraries of an extra are there."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])
