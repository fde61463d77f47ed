"""The page about a suite: its tables, what failed, and a montage for each sequence and method, worst first.

Of efforts the curves, and the worst montages before and after.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import fmean

from fewpoint.bench import effort_tables
from fewpoint.bench.folder import BenchFolder
from fewpoint.bench.results import Row, require
from fewpoint.bench.rounds import EffortRow
from fewpoint.bench.tables import Table, build_tables, format_figure, head_cells, write_cells
from fewpoint.report.pages import load_template

MONTAGE_WIDTH = 1200
QUALITY = 80
EFFORTS_SHOWN = 5


@dataclass(frozen=True)
class MethodRows:
    """A method's worst result on each sequence, the worst of them first."""

    method: str
    rows: tuple[Row, ...]


def render_page(title: str, rows: Sequence[Row], folder: BenchFolder) -> str:
    """One HTML page that needs no other file and no network."""
    return load_template("fewpoint.bench", "bench.html", {"figure": format_figure}).render(
        title=title,
        tables=[_spell_out(table) for table in build_tables(rows)],
        failed=[row for row in rows if row.error],
        methods=rank_methods(rows),
        picture=lambda row: _embed(folder.montage(row.key)),
    )


def render_effort_page(title: str, rows: Sequence[EffortRow], folder: BenchFolder) -> str:
    """The same about efforts."""
    finished = sorted((row for row in rows if row.rounds), key=lambda row: row.rounds[-1].scores.f1)
    return load_template("fewpoint.bench", "effort.html", {"figure": format_figure}).render(
        title=title,
        tables=effort_tables.build_tables(rows),
        failed=[row for row in rows if row.error],
        curves=_embed(folder.curves),
        worst=finished[:EFFORTS_SHOWN],
        pictures=lambda row: [_embed(folder.first_montage(row.key)), _embed(folder.montage(row.key))],
    )


def rank_methods(rows: Sequence[Row]) -> tuple[MethodRows, ...]:
    """The methods, that of the best mean delta first; of each, sequences from the worst delta to the best.

    Of several seeds the worst stands for its sequence.
    """
    by_method: dict[str, dict[tuple, Row]] = {}
    for row in sorted((row for row in rows if row.delta is not None), key=lambda row: require(row.delta)):
        by_method.setdefault(row.method, {}).setdefault((row.group, row.place), row)
    ranked = [MethodRows(method, tuple(worst.values())) for method, worst in by_method.items()]
    return tuple(sorted(ranked, key=lambda entry: -fmean(require(row.delta) for row in entry.rows)))


def _spell_out(table: Table) -> dict[str, object]:
    return {
        "title": table.title,
        "head": head_cells(table),
        "lines": [write_cells(table, line) for line in table.lines],
    }


def _embed(path: Path) -> str | None:
    """A picture as a data URI, reduced so that a page of a hundred montages still opens; None if there is none."""
    from PIL import Image

    if not path.exists():
        return None
    with Image.open(path) as image:
        scale = min(1.0, MONTAGE_WIDTH / image.width)
        small = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)
    buffer = BytesIO()
    small.convert("RGB").save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return "data:image/jpeg;base64," + b64encode(buffer.getvalue()).decode("ascii")
