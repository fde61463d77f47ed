"""F1 against the words that a person has said, way by way."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.bench.effort_tables import NAMES, Way, collect_ways
from fewpoint.bench.rounds import EffortRow
from fewpoint.io.atomic import write_atomically
from fewpoint.report.figures import BLUE, GREEN, ORANGE, RED, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, "#CC79A7", "#000000")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))  # when the colours begin again
DPI = 160
TEXT_SIZE = 9
NAMED_FROM = 2  # rounds, from which a thin line is long enough for the name of its type


def write_curves(rows: Iterable[EffortRow], path: Path) -> None:
    """Write the figure as PNG; nothing if no cell is finished."""
    ways = collect_ways(rows)
    if not ways:
        return
    buffer = BytesIO()
    draw_curves(ways).savefig(buffer, format="png", dpi=DPI)
    write_atomically(path, lambda stream: stream.write(buffer.getvalue()))


def draw_curves(ways: Sequence[Way]) -> "Figure":
    """A thick line per way, the mean over types, and a thin one per type."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.5), layout="constrained", facecolor="white")
    panel = figure.subplots()
    labels = label_ways(ways)
    for number, (way, label) in enumerate(zip(ways, labels, strict=True)):
        look = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        _draw_way(panel, way, label, look)
    panel.set_xlabel("corrections after the first points, mean", size=TEXT_SIZE)
    panel.set_ylabel("F1", size=TEXT_SIZE)
    panel.tick_params(labelsize=TEXT_SIZE)
    panel.grid(alpha=0.25, linewidth=0.6)
    panel.locator_params(axis="x", integer=True)
    panel.margins(x=0.08)
    figure.legend(loc="outside right upper", fontsize=TEXT_SIZE - 1, frameon=False)
    return figure


def label_ways(ways: Sequence[Way]) -> tuple[str, ...]:
    """What tells each way from the others; all of a single one.

    Points and words always stand there, the rest where it differs.
    """
    columns = enumerate(zip(*(way.names for way in ways), strict=True))
    told = [place for place, values in columns if NAMES[place] in ("points", "words") or len(set(values)) > 1]
    return tuple(", ".join(way.names[place] for place in told) for way in ways)


def _draw_way(panel: "Axes", way: Way, label: str, look: tuple) -> None:
    """The thick line only if the way has cells of every type."""
    numbers = range(way.rounds + 1)
    colour, dashes = look
    curves = {kind: np.array([_mean_of(way, kind, number) for number in numbers]) for kind in way.types}
    for kind, (words, scores) in ((kind, curve.T) for kind, curve in curves.items()):
        panel.plot(words, scores, color=colour, linestyle=dashes, linewidth=0.8, alpha=0.45)
        if way.rounds >= NAMED_FROM and np.isfinite(scores[-1]):
            panel.text(words[-1], scores[-1], f"  {kind}", size=TEXT_SIZE - 2, color=colour, va="center")
    words, scores = np.mean(list(curves.values()), axis=0).T
    style = {"color": colour, "linestyle": dashes, "linewidth": 2.4, "marker": "o", "markersize": 5, "zorder": 3}
    panel.plot(words, scores, label=label, **style)


def _mean_of(way: Way, kind: str, number: int) -> tuple[float, float]:
    """Words and F1 after a round, means over a type; NaN if the way has no cell of it."""
    own = [row.rounds[number] for row in way.rows if row.type == kind]
    if not own:
        return np.nan, np.nan
    return fmean(each.words for each in own), fmean(each.scores.f1 for each in own)
