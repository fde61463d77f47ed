"""Where the input of a run came from, as JSON, every digit kept."""

from base64 import b64decode, b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Reading, Source
from fewpoint.errors import InputError
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.schema import check_table

SCHEMA = {
    "path": str,
    "format": str,
    "geometry": (dict, type(None)),
    "header": str,
    "reading": {"axis": str, "channels": [int], "added": [str], "window": (list, type(None))},
    "notes": [str],
    "unit?": str,
    "origin?": str,
}


def write_source(source: Source, path: Path) -> None:
    """Write all of a Source."""
    geometry = source.geometry
    content = {
        "path": source.path,
        "format": source.format,
        "geometry": None if geometry is None else {**vars_of(geometry), "direction": geometry.direction.tolist()},
        "header": b64encode(source.header).decode("ascii"),
        "reading": asdict(source.reading),
        "notes": list(source.notes),
        "unit": source.unit,
        **({"origin": source.origin} if source.origin else {}),
    }
    write_json(path, content)


def vars_of(geometry: Geometry) -> dict[str, Any]:
    """The fields of a geometry; its cached affine is not among them."""
    return {name: getattr(geometry, name) for name in Geometry.__dataclass_fields__}


def read_source(path: Path) -> Source:
    """Read what write_source wrote."""
    content = read_json(path)
    check_table(content, SCHEMA, path)
    try:
        return Source(
            content["path"],
            content["format"],
            _read_geometry(content["geometry"]),
            b64decode(content["header"]),
            _read_reading(content["reading"]),
            tuple(content["notes"]),
            content.get("unit", ""),
            content.get("origin", ""),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} must describe the input of a run, got something else; run again") from error


def _read_geometry(fields: dict[str, Any] | None) -> Geometry | None:
    if fields is None:
        return None
    tuples = {name: tuple(fields[name]) for name in ("shape", "spacing_mm", "origin_mm", "axes")}
    return Geometry(**{**fields, **tuples, "direction": np.array(fields["direction"], np.float64)})


def _read_reading(fields: dict[str, Any]) -> Reading:
    window = fields["window"]
    lists = {name: tuple(fields[name]) for name in ("channels", "added")}
    return Reading(**{**fields, **lists, "window": None if window is None else tuple(window)})
