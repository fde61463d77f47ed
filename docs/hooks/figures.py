"""Tables of results, made from the rows in benchmarks/results."""

import csv
from pathlib import Path
from statistics import fmean

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
TYPES = ("brain", "tool", "polyp", "ct", "organ")

Rows = list[dict[str, str]]


def read(name: str, **wanted: str) -> Rows:
    """The rows of a file of results with these values."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


def average(rows: Rows, column: str = "f1") -> dict[str, float]:
    """Mean over the sequences and seeds of each type, and over types as "all"."""
    by_type = {kind: fmean(float(row[column]) for row in rows if row["type"] == kind) for kind in TYPES}
    return {**by_type, "all": fmean(by_type.values())}


def list_sequences() -> str:
    """F1 of each sequence of the README's table, means over seeds."""
    plain = {"variant": "plain", "bound": "eta", "method": "accurate"}
    columns = {
        "`accurate`, every frame": read("dev20.csv", points="2dlocs", **plain),
        "`accurate`, every fifth frame": read("dev20.csv", points="points_every5", **plain),
        "`fast` on a CPU, every frame": read("dev20-fast-cpu.csv"),
    }
    ceiling = {row["sequence"]: float(row["max_sp"]) for row in columns["`accurate`, every frame"]}
    kinds = {row["sequence"]: row["type"] for row in columns["`accurate`, every frame"]}
    lines = ["| type | sequence | Max SP | " + " | ".join(columns) + " |", "|---" * (3 + len(columns)) + "|"]
    for sequence, kind in sorted(kinds.items(), key=lambda pair: (TYPES.index(pair[1]), pair[0])):
        figures = [fmean(float(row["f1"]) for row in rows if row["sequence"] == sequence) for rows in columns.values()]
        cells = [f"{figure:.2f}" for figure in (ceiling[sequence], *figures)]
        lines.append(f"| {kind} | `{sequence}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)
