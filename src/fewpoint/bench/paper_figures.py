"""The paper's three figures, from our cells; PNG and SVG, for print.

Colours are those of Okabe and Ito, which most colour-blind readers tell apart; lines and marks also differ in shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from fewpoint.bench.cells import Cell
from fewpoint.bench.folder import BenchFolder
from fewpoint.bench.methods import find_settings
from fewpoint.bench.protocols import take_points
from fewpoint.bench.records import Course, Shown, read_record
from fewpoint.bench.results import Row, require
from fewpoint.bench.tables import collect_by_type, mean_over_types
from fewpoint.core import ImageSequence, PointSet
from fewpoint.evaluation.truth import true_shares
from fewpoint.io.atomic import write_atomically
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.report.figures import BLUE, GREEN, ORANGE, RED
from fewpoint.report.tiles import draw_tile, render_frame, render_probability
from fewpoint.superpixels.intensity import window_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRIOR_LINES = {
    "true prior": (BLUE, "-"),
    "observation": (ORANGE, (0, (4, 1.5))),
    "pseudo-positives": (GREEN, (0, (1, 1))),
    "estimated prior": (RED, "-"),
}
SEQUENCE_LINES = ((BLUE, "-"), (ORANGE, (0, (4, 1.5))), (GREEN, (0, (1, 1))), (RED, (0, (5, 1, 1, 1))))
MOST_EPOCHS = 4
TRUTH = "truth and click"
COMPETITORS_SHOWN = 3
TRIVIAL = ("all-positive", "half-disc", "max-sp", "sam-points-best")
TILE_WIDTH = 320
DPI = 200
TEXT_SIZE = 8

Pairs = Sequence[tuple[Cell, Row]]


@dataclass(frozen=True, eq=False)
class Case:
    """A sequence with all that is known of it. truth: (T, H, W) bool."""

    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray

    @classmethod
    def read(cls, cell: Cell) -> "Case":
        sequence, truth = read_sequence(cell.sequence.input), read_masks(cell.sequence.truth)
        path = cell.sequence.find_points(cell.points)
        return cls(sequence, take_points(path, sequence, truth, cell.points, cell.seed), truth)

    def draw(self, frame: int, region: np.ndarray) -> np.ndarray:
        """A frame with the contours of a region and of the truth, and with the clicks."""
        picture = render_frame(self.sequence.frames[frame], window_of(self.sequence))
        clicks = self.points.coordinates[self.points.frames == frame, 1:]
        return draw_tile(picture, self._tile(), region=region, clicks=clicks, reference=self.truth[frame])

    def draw_probability(self, probability: np.ndarray) -> np.ndarray:
        picture = render_probability(probability)
        return draw_tile(picture, self._tile(), region=probability, clicks=np.zeros((0, 2)))

    def _tile(self) -> tuple[int, int]:
        height, width = self.sequence.size
        return round(TILE_WIDTH * height / width), TILE_WIDTH


def write_priors(cell: Cell, row: Row, folder: BenchFolder, out: Path) -> list[Path]:
    """Predictions on one frame at several epochs, and below each the four prior curves; nothing without epochs."""
    record = read_record(folder.record(cell))
    if record.shown is None or not len(record.course.phases):
        return []
    figure = draw_priors(Case.read(cell), record.course, record.shown, f"{row.method} on {row.place}")
    return save(figure, out / "figure-priors")


def draw_priors(case: Case, course: Course, shown: Shown, title: str) -> "Figure":
    epochs = choose_epochs(course)
    figure = _make_figure(2.2 * (len(epochs) + 1), 4.2)
    panels = figure.subplots(2, len(epochs) + 1, squeeze=False)
    nothing = np.zeros(case.sequence.size, bool)
    _show(panels[0, 0], case.draw(shown.frame, nothing), f"frame {shown.frame}, truth and click")
    panels[1, 0].axis("off")
    shares = true_shares(case.truth)
    for place, epoch in enumerate(epochs, start=1):
        chosen = ", selected" if epoch == course.selected else ""
        _show(panels[0, place], case.draw_probability(shown.paint(epoch)), f"epoch {epoch}{chosen}")
        _draw_prior_lines(panels[1, place], course, epoch, shares)
    panels[1, 1].set_ylabel("share of the frame (%)", size=TEXT_SIZE)
    handles, labels = panels[1, 1].get_legend_handles_labels()
    sizes = {"fontsize": TEXT_SIZE, "title_fontsize": TEXT_SIZE}
    panels[1, 0].legend(handles, labels, loc="center", frameon=False, title=title, **sizes)
    return figure


def choose_epochs(course: Course) -> tuple[int, ...]:
    """Up to four epochs, counted from 1: the first of the estimation, that selected, the last, and one between."""
    places = course.estimation if len(course.estimation) else np.arange(len(course.phases))
    first, last = int(places[0]) + 1, int(places[-1]) + 1
    middle = course.selected or (first + last) // 2
    return tuple(sorted({first, (first + middle) // 2, middle, last}))[:MOST_EPOCHS]


def write_stopping(pairs: Pairs, folder: BenchFolder, out: Path) -> list[Path]:
    """By type: error of the priors and variance of pseudo-negatives by epoch of estimation, one line per sequence."""
    courses = [(row, read_record(folder.record(cell)).course) for cell, row in pairs]
    courses = [(row, course) for row, course in courses if len(course.estimation)]
    if not courses:
        return []
    settings = find_settings(pairs[0][0].method, pairs[0][0].variant.changes)
    return save(draw_stopping(courses, settings.stopping.variance, settings.stopping.minimum), out / "figure-stopping")


def draw_stopping(courses: Sequence[tuple[Row, Course]], threshold: float, minimum: int) -> "Figure":
    types = tuple(dict.fromkeys(row.type for row, _ in courses))
    figure = _make_figure(2.6 * max(len(types), 2), 4.6)
    panels = figure.subplots(2, len(types), squeeze=False, sharex="col")
    for column, kind in enumerate(types):
        own = [(row.sequence, course) for row, course in courses if row.type == kind]
        for number, (name, course) in enumerate(own):
            _draw_course(list(panels[:, column]), name, course, SEQUENCE_LINES[number % len(SEQUENCE_LINES)])
        panels[0, column].set_title(kind, size=TEXT_SIZE, weight="bold", loc="left")
        panels[0, column].legend(fontsize=TEXT_SIZE - 3, framealpha=0.85, edgecolor="none")
        panels[0, column].margins(y=0.25)
        panels[1, column].axhline(threshold, color=RED, linestyle="--", linewidth=1)
        for panel in panels[:, column]:
            panel.axvline(minimum, color=GREEN, linestyle=":", linewidth=1.4)
            panel.set_ylim(bottom=0)
        panels[1, column].set_xlabel("epoch of the estimation", size=TEXT_SIZE)
    panels[0, 0].set_ylabel("MAE of the priors", size=TEXT_SIZE)
    panels[1, 0].set_ylabel("variance of pseudo-negatives", size=TEXT_SIZE)
    _explain_marks(figure, threshold, minimum)
    return figure


def write_qualitative(pairs: Pairs, ours: str, folder: BenchFolder, out: Path) -> list[Path]:
    """By type one frame: truth and click, ours, the paper's method with and without tracking, the best competitors."""
    return save(draw_qualitative(pairs, ours, folder), out / "figure-qualitative")


def draw_qualitative(pairs: Pairs, ours: str, folder: BenchFolder) -> "Figure":
    types = tuple(dict.fromkeys(row.type for _, row in pairs))
    best = rank_competitors([row for _, row in pairs], ours)[:COMPETITORS_SHOWN]
    heads = (TRUTH, *dict.fromkeys((ours, "ssnnpu+ksptrack", "ssnnpu", *best)))
    figure = _make_figure(1.6 * len(heads), 0.3 + 1.6 * len(types))
    panels = figure.subplots(len(types), len(heads), squeeze=False)
    for place, kind in enumerate(types):
        pictures = picture_methods(pick_sequence([pair for pair in pairs if pair[1].type == kind], ours), folder)
        for panel, head in zip(panels[place], heads, strict=True):
            panel.axis("off")
            if head in pictures:
                _show(panel, pictures[head], head if place == 0 else "")
        where = {"transform": panels[place, 0].transAxes, "va": "center", "ha": "right"}
        panels[place, 0].text(-0.06, 0.5, kind, rotation=90, size=TEXT_SIZE, **where)
    return figure


def picture_methods(cells: dict[str, Cell], folder: BenchFolder) -> dict[str, np.ndarray]:
    """One sequence's frame of the largest true share, with the contour of each method's mask and of the truth."""
    case = Case.read(next(iter(cells.values())))
    frame = int(case.truth.mean(axis=(1, 2)).argmax())
    pictures = {TRUTH: case.draw(frame, np.zeros(case.sequence.size, bool))}
    for method, cell in cells.items():
        record = read_record(folder.record(cell))
        pictures[method] = case.draw(frame, record.masks[frame])
        if method == "ssnnpu+ksptrack" and record.untracked is not None:
            pictures["ssnnpu"] = case.draw(frame, record.untracked[frame])
    return pictures


def rank_competitors(rows: Sequence[Row], ours: str) -> tuple[str, ...]:
    """Competitors from the best mean over types to the worst; neither ours, the paper's method nor trivial masks."""
    types = tuple(dict.fromkeys(row.type for row in rows))
    left_out = {ours, "ssnnpu+ksptrack", "paper", *TRIVIAL}
    scores = {}
    for method in dict.fromkeys(row.method for row in rows if row.method not in left_out):
        by_type = collect_by_type((row.type, require(row.f1)) for row in rows if row.method == method)
        scores[method] = mean_over_types(by_type, types)
    known = {method: score for method, score in scores.items() if score is not None}
    return tuple(sorted(known, key=lambda method: -known[method]))


def pick_sequence(pairs: Pairs, ours: str) -> dict[str, Cell]:
    """The cells, by method, of the sequence on which ours is nearest to its own mean: a typical one."""
    own = [(cell, row) for cell, row in pairs if row.method == ours] or list(pairs)
    mean = fmean(require(row.f1) for _, row in own)
    _, typical = min(own, key=lambda pair: abs(require(pair[1].f1) - mean))
    return {row.method: cell for cell, row in pairs if row.sequence == typical.sequence}


def save(figure: "Figure", stem: Path) -> list[Path]:
    """Write PNG and SVG; the same figure gives the same files."""
    from matplotlib import rc_context

    paths = [stem.parent / f"{stem.name}{suffix}" for suffix in (".png", ".svg")]
    by_path: tuple[dict[str, Any], ...] = ({"dpi": DPI}, {"metadata": {"Date": None}})
    for path, options in zip(paths, by_path, strict=True):
        buffer = BytesIO()
        with rc_context({"svg.hashsalt": stem.name}):
            figure.savefig(buffer, format=path.suffix[1:], **options)
        write_atomically(path, lambda stream, content=buffer.getvalue(): stream.write(content))
    return paths


def _make_figure(width: float, height: float) -> "Figure":
    """A white figure of a size in inches, free of pyplot's global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _show(panel: "Axes", picture: np.ndarray, title: str) -> None:
    panel.imshow(picture)
    panel.set_title(title, size=TEXT_SIZE)
    panel.axis("off")


def _draw_prior_lines(panel: "Axes", course: Course, epoch: int, shares: np.ndarray) -> None:
    lines = (shares, course.observed[epoch - 1], course.positive_share[epoch - 1], course.priors[epoch - 1])
    for (label, (colour, dashes)), values in zip(PRIOR_LINES.items(), lines, strict=True):
        panel.plot(100 * values, color=colour, linestyle=dashes, linewidth=1.3, label=label)
    panel.set_xlabel("frame", size=TEXT_SIZE)
    panel.locator_params(axis="x", integer=True)
    panel.set_ylim(0, 100 * max(2.5 * shares.max(), course.priors.max()))
    panel.tick_params(labelsize=TEXT_SIZE - 1)


def _draw_course(panels: Sequence["Axes"], name: str, course: Course, look: tuple) -> None:
    """Error and variance of one sequence; a circle at the smallest error, a cross at the selected epoch."""
    places = course.estimation
    epochs = np.arange(1, len(places) + 1)
    best = int(np.nanargmin(course.errors[places]))
    chosen = course.selected - 1 - places[0] if course.selected else None
    curves = (course.errors[places], course.variance[places])
    for panel, values, label in zip(panels, curves, (name, None), strict=True):
        panel.plot(epochs, values, color=look[0], linestyle=look[1], linewidth=1.2, label=label)
        panel.plot(epochs[best], values[best], "o", color=look[0], markerfacecolor="none", markersize=6)
        if chosen is not None and 0 <= chosen < len(places):
            panel.plot(epochs[chosen], values[chosen], "x", color=look[0], markersize=6)
        panel.tick_params(labelsize=TEXT_SIZE - 1)


def _explain_marks(figure: "Figure", threshold: float, minimum: int) -> None:
    from matplotlib.lines import Line2D

    marks = {
        "smallest error": Line2D([], [], color="black", marker="o", markerfacecolor="none", linestyle=""),
        "selected by the rule": Line2D([], [], color="black", marker="x", linestyle=""),
        f"threshold {threshold:g}": Line2D([], [], color=RED, linestyle="--"),
        f"fewest epochs {minimum}": Line2D([], [], color=GREEN, linestyle=":"),
    }
    place = {"loc": "outside lower center", "ncols": 2, "frameon": False, "fontsize": TEXT_SIZE}
    figure.legend(marks.values(), marks.keys(), **place)
