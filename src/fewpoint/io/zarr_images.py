"""OME-Zarr: the finest level of a multiscale image."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.labels import ObjectLabel
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.atomic import replace_folder
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.extras import need
from fewpoint.io.sizes import check_declared_size
from fewpoint.io.volumes import Volume, order_axes

if TYPE_CHECKING:
    from zarr import Array

FORMAT, EXTRA = "zarr", "zarr"
SUFFIXES = (".zarr",)
DENSEST = 100_000  # chunks of one value are not stored, and the others may be packed by zstd
MILLIMETRES = {"nanometer": 1e-6, "micrometer": 1e-3, "millimeter": 1.0, "centimeter": 10.0, "meter": 1000.0}
UNNAMED_AXES = {2: "YX", 3: "ZYX", 4: "ZYXC"}


def read_zarr(path: Path) -> Volume:
    """Read the finest level of an OME-Zarr image, or a plain array of frames."""
    zarr = need("zarr", EXTRA)
    with explaining_read_errors(path):
        node = zarr.open(str(path), mode="r")
        image = _find_image(node)
        array = node[image["datasets"][0]["path"]] if image else node
        if not hasattr(array, "dtype"):
            raise InputError(f"{path} must be an OME-Zarr image or an array, it is neither; give the image itself")
        stored = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        check_declared_size(path, array.shape, array.dtype.itemsize, stored, DENSEST)
        axes = _name_axes(image, array, path)
        frames = order_axes(np.asarray(array[...]), axes, path)
        is_deep = "Z" in axes and array.shape[axes.index("Z")] > 1
        geometry = _place(image, axes, frames.shape, over_time=not is_deep)
    return Volume(frames.transpose(2, 1, 0, 3), geometry, FORMAT, stacked=True)


def write_zarr(values: np.ndarray, source: Source | None, path: Path, objects: tuple[ObjectLabel, ...] = ()) -> None:
    """Write (T, H, W) uint8 or float32 as one level of OME-Zarr 0.4, in the order and with the spacing of the input.

    objects: makes it a label image, in which each number has a name and a colour.
    """
    zarr = need("zarr", EXTRA)
    geometry = None if source is None else source.geometry
    pages = values if geometry is None else geometry.to_stored(values).transpose(2, 1, 0)

    def fill(folder: Path) -> None:
        group = zarr.open_group(str(folder), mode="w", zarr_format=2)
        group.create_array("0", data=np.ascontiguousarray(pages), chunks=(1, *pages.shape[1:]))
        group.attrs["multiscales"] = [_describe_image(geometry)]
        if objects:
            group.attrs["image-label"] = _describe_labels(objects)

    replace_folder(path, fill)


def _describe_labels(objects: tuple[ObjectLabel, ...]) -> dict:
    numbered = list(enumerate(objects, start=1))
    return {
        "version": "0.4",
        "colors": [{"label-value": number, "rgba": [*label.colour, 255]} for number, label in numbered],
        "properties": [{"label-value": number, "name": label.name} for number, label in numbered],
    }


def _describe_image(geometry: Geometry | None) -> dict:
    is_deep = geometry is not None and not geometry.over_time
    first = {"name": "z", "type": "space"} if is_deep else {"name": "t", "type": "time"}
    axes = [first, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = [1.0, 1.0, 1.0]
    if geometry is not None:
        scale = list(geometry.spacing_mm[::-1])
        axes = [{**axis, "unit": "millimeter"} if axis["type"] == "space" else axis for axis in axes]
    transforms = [{"type": "scale", "scale": scale}]
    return {"version": "0.4", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": transforms}]}


def _find_image(node: Any) -> dict | None:
    """The description of the multiscale image; it moved into `ome` with version 0.5."""
    attributes = dict(node.attrs)
    images = attributes.get("ome", attributes).get("multiscales")
    return images[0] if images else None


def _name_axes(image: dict | None, array: "Array", path: Path) -> str:
    """A letter an axis: T, C, Z, Y, X."""
    if image is not None and image.get("axes"):
        names = [axis["name"] if isinstance(axis, dict) else str(axis) for axis in image["axes"]]
        axes = "".join(name[:1].upper() for name in names)
    else:
        axes = "TCZYX" if image is not None and array.ndim == 5 else UNNAMED_AXES.get(array.ndim, "")
    if len(axes) != array.ndim:
        raise InputError(f"{path} must name each of its axes, got {axes or 'none'} for shape {array.shape}")
    return axes


def _place(image: dict | None, axes: str, shape: tuple[int, ...], *, over_time: bool) -> Geometry | None:
    """Spacing in millimetres if the image gives it with a unit of length; None if it does not."""
    if image is None or not {"Y", "X"} <= set(axes):
        return None
    steps = image["datasets"][0].get("coordinateTransformations") or []
    scale = next((step["scale"] for step in steps if step.get("type") == "scale"), None)
    described = image.get("axes") or []
    units = [MILLIMETRES.get(axis.get("unit", "")) if isinstance(axis, dict) else None for axis in described]
    if scale is None or len(scale) != len(axes) or len(units) != len(axes):
        return None
    spacing = {name: step * unit for name, step, unit in zip(axes, scale, units, strict=True) if unit is not None}
    if not {"Y", "X"} <= set(spacing) or (not over_time and "Z" not in spacing):
        return None
    distances = (float(spacing["X"]), float(spacing["Y"]), float(spacing.get("Z", 1.0)))
    frames, height, width = shape[:3]
    return Geometry((width, height, frames), distances, np.eye(3), (0.0, 0.0, 0.0), over_time=over_time)
