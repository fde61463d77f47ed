"""Curves of one run as SVG: the priors as they were learnt, when learning stopped, how training went.

Colours are those of Okabe and Ito, which most colour-blind readers tell apart; lines also differ in dashes.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core import PointSet, PriorHistory, Result
from fewpoint.core.paging import walk
from fewpoint.report.reliability import Reliability
from fewpoint.report.svg import INK, to_svg
from fewpoint.report.wording import format_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORANGE, SKY, GREEN, BLUE, RED = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"
PHASE_COLOURS = {"warm-up": SKY, "estimation": ORANGE, "final": GREEN}
LINES = {
    "estimated prior": (RED, "-"),
    "observation": (ORANGE, (0, (4, 1.5))),
    "pseudo-positives": (GREEN, (0, (1, 1))),
    "mask": (BLUE, "-"),
    "loss": (INK, "-"),
    "risk of the clicks": (GREEN, (0, (4, 1.5))),
    "risk of the rest": (RED, (0, (1, 1))),
}
MOST_EPOCHS_SHOWN = 5
SURE, POSSIBLE = 0.75, 0.25
MARKED_UP_TO = 40  # values up to which each is marked, so that a single one shows
TEXT_SIZE = 9
# In inches, for labels, titles and legend. matplotlib would find them itself, by drawing all of it once more.
WIDTH, LEFT, RIGHT, BOTTOM, TOP, BETWEEN = 10.0, 0.75, 0.1, 0.5, 0.6, 0.8


@dataclass(frozen=True)
class StoppingRule:
    """What ends the estimation of the priors.

    variance: threshold tau on the variance of pseudo-negatives. window: epochs in a row on which the rule must hold.
    minimum: fewest epochs of the estimation phase.
    """

    variance: float
    window: int
    minimum: int


def draw_prior_curves(segmentation: Result) -> str:
    """Prior, observation and pseudo-positive share by frame: a panel for each of up to five epochs, one for the result.

    The dashed line is the bound, the band one standard deviation about the final estimate. Shares above twice the
    bound, common in the first epochs, are cut off.
    """
    history = segmentation.history
    epochs = choose_epochs(history)
    figure, panels = _make_panels(len(epochs) + 1, height=2.4)
    for panel, epoch in zip(panels[:-1], epochs, strict=True):
        _draw_shares(panel, "estimated prior", history.priors[epoch - 1])
        _draw_shares(panel, "observation", history.observed[epoch - 1])
        _draw_shares(panel, "pseudo-positives", history.positive_share[epoch - 1])
        _write_title(panel, f"epoch {epoch}" + (", selected" if epoch == history.selected_epoch else ""))
    _draw_estimate(panels[-1], segmentation)
    _write_title(panels[-1], "final estimate")
    for place, panel in enumerate(panels):
        _draw_bound(panel, segmentation.bound.fraction)
        panel.set(ylim=(0, _top_percent(segmentation)), xlabel="frame")
        panel.set_ylabel("share of the frame (%)" if place % 3 == 0 else "")
    _write_legend(figure)
    return to_svg(figure, "Prior curves")


def draw_stopping_curves(history: PriorHistory, bound: float, rule: StoppingRule | None = None) -> str:
    """The two stopping conditions by epoch: variance of pseudo-negatives, and largest pseudo-positive share.

    bound: the largest share allowed, in (0, 1). rule: adds its threshold and its fewest epochs.
    """
    figure, (variance, share) = _make_panels(2, height=3.2)
    _draw_epochs(variance, _collect(history, "negative_variance"))
    _draw_epochs(share, 100 * _collect(history, "largest_positive_share"))
    variance.set_ylabel("variance of pseudo-negatives")
    share.set_ylabel("largest share of pseudo-positives (%)")
    _draw_limit(share, 100 * bound, f"bound {format_share(bound)}")
    if rule is not None:
        _draw_limit(variance, rule.variance, f"threshold {rule.variance:g}")
    for panel in (variance, share):
        panel.set_ylim(bottom=0)
        _shade_phases(panel, history)
        _mark_epochs(panel, history, rule)
    _write_legend(figure)
    return to_svg(figure, "Stopping curves")


def draw_training_curves(history: PriorHistory) -> str:
    """Loss and risks, the share of ascent steps, and the probability at the clicks, by epoch."""
    figure, (losses, ascent, clicks) = _make_panels(3, height=3.0)
    _draw_epochs(losses, _collect(history, "loss"), "loss")
    _draw_epochs(losses, _collect(history, "positive_risk"), "risk of the clicks")
    _draw_epochs(losses, _collect(history, "negative_risk"), "risk of the rest")
    _draw_epochs(ascent, 100 * _collect(history, "ascent_share"))
    _draw_epochs(clicks, _collect(history, "click_probability"))
    losses.set_ylabel("loss and risks")
    ascent.set(ylabel="steps of ascent (%)", ylim=(-3, 103))
    clicks.set(ylabel="mean probability at the clicks", ylim=(-0.03, 1.03))
    for panel in (losses, ascent, clicks):
        _shade_phases(panel, history)
    _write_legend(figure)
    return to_svg(figure, "Training curves")


def draw_mask_shares(segmentation: Result, points: PointSet) -> str:
    """Share of each frame that is masked; ticks below mark frames with clicks.

    The band reaches from what is surely the object to what may be: pixels of POSSIBLE probability.
    """
    figure, (panel,) = _make_panels(1, height=3.0)
    low, high = _measure_band(segmentation)
    band = {"color": BLUE, "alpha": 0.2, "linewidth": 0, "label": f"probability {SURE:g} to {POSSIBLE:g}"}
    panel.fill_between(np.arange(len(low)), 100 * low, 100 * high, **band)
    _draw_shares(panel, "mask", segmentation.shares)
    top = 1.15 * max(float(segmentation.shares.max()), min(float(high.max()), 2 * float(segmentation.shares.max())))
    if segmentation.bound.fraction <= 1.5 * top:
        _draw_bound(panel, segmentation.bound.fraction)
        top = max(top, 1.05 * segmentation.bound.fraction)
    clicked = np.unique(points.frames)
    on_axis = {"transform": panel.get_xaxis_transform(), "markersize": 8, "color": INK}
    panel.plot(clicked, np.full(len(clicked), 0.03), "|", label="frame with a click", **on_axis)
    panel.set(ylim=(0, 100 * top if top > 0 else 1), xlabel="frame", ylabel="share of the frame (%)")
    _write_legend(figure)
    return to_svg(figure, "Mask share by frame")


def _measure_band(segmentation: Result) -> tuple[np.ndarray, np.ndarray]:
    """(T,) shares of each frame at a probability of SURE or above, and of POSSIBLE or above."""
    counts = [
        (np.count_nonzero(frame >= SURE), np.count_nonzero(frame >= POSSIBLE))
        for frame in walk(segmentation.probabilities.values)
    ]
    low, high = np.array(counts, np.float64).T / segmentation.masks[0].size
    return low, high


def draw_reliability(reliability: Reliability) -> str:
    """Of the pixels given each probability, how many are the object: on the dashed line all is as it is said."""
    figure, (panel,) = _make_panels(1, height=3.0)
    seen = reliability.pixels > 0
    said, there = (values[seen] / reliability.pixels[seen] for values in (reliability.said, reliability.there))
    panel.plot([0, 100], [0, 100], color=INK, linestyle=(0, (5, 3)), linewidth=1, label="predicted")
    panel.plot(100 * said, 100 * there, color=BLUE, marker="o", linewidth=1.6, label="drawn masks")
    panel.set(xlim=(0, 100), ylim=(0, 100), xlabel="probability (%)", ylabel="are the object (%)")
    _write_legend(figure)
    return to_svg(figure, "Reliability of the probabilities")


def choose_epochs(history: PriorHistory) -> tuple[int, ...]:
    """Choose up to five epochs, counted from 1: the first, the selected and the last, the others evenly between.

    Only epochs after which the network was looked at count.

    >>> choose_epochs(PriorHistory.empty(3))
    ()
    """
    seen = 1 + np.flatnonzero(np.isfinite(history.observed).any(axis=1))
    if len(seen) <= MOST_EPOCHS_SHOWN:
        return tuple(seen.tolist())
    chosen = seen[np.round(np.linspace(0, len(seen) - 1, MOST_EPOCHS_SHOWN)).astype(int)]
    if seen[0] < history.selected_epoch < seen[-1]:
        chosen[1 + np.argmin(np.abs(chosen[1:-1] - history.selected_epoch))] = history.selected_epoch
    return tuple(chosen.tolist())


def _make_panels(count: int, *, height: float) -> tuple["Figure", list["Axes"]]:
    """A figure 10 inches wide, in rows of up to three panels of a height in inches; free of pyplot's global state."""
    from matplotlib.figure import Figure

    columns = min(3, count)
    rows = -(-count // columns)
    tall = 0.4 + rows * height
    figure = Figure(figsize=(WIDTH, tall))
    across = _gap_share((WIDTH - LEFT - RIGHT) / columns, columns)
    down = _gap_share((tall - BOTTOM - TOP) / rows, rows)
    figure.subplots_adjust(LEFT / WIDTH, BOTTOM / tall, 1 - RIGHT / WIDTH, 1 - TOP / tall, across, down)
    panels = [figure.add_subplot(rows, columns, place + 1) for place in range(count)]
    for panel in panels:
        panel.tick_params(color=INK, labelcolor=INK, labelsize=TEXT_SIZE)
        panel.grid(color=INK, alpha=0.12, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(INK)
        panel.locator_params(axis="x", integer=True, min_n_ticks=1)
        for axis in (panel.xaxis, panel.yaxis):
            axis.label.set(color=INK, size=TEXT_SIZE)
    return figure, panels


def _gap_share(room: float, count: int) -> float:
    """The gap between neighbours of `count` panels, each with so much room in inches, as a share of a panel."""
    return BETWEEN / (room - BETWEEN * (count - 1) / count)


def _draw_shares(panel: "Axes", label: str, shares: np.ndarray) -> None:
    """One line over the frames, in percent."""
    _draw_line(panel, np.arange(len(shares)), 100 * shares, label)


def _draw_epochs(panel: "Axes", values: np.ndarray, label: str = "") -> None:
    """One line over the epochs that have a value, which count from 1; blue if it needs no name."""
    known = np.isfinite(values)
    _draw_line(panel, 1 + np.flatnonzero(known), values[known], label)
    panel.set_xlabel("epoch")


def _draw_line(panel: "Axes", positions: np.ndarray, values: np.ndarray, label: str) -> None:
    colour, dashes = LINES.get(label, (BLUE, "-"))
    finite = np.where(np.isfinite(values), values, np.nan)
    marker = "." if len(values) <= MARKED_UP_TO else ""
    panel.plot(positions, finite, color=colour, linestyle=dashes, linewidth=1.6, marker=marker, label=label or None)


def _draw_estimate(panel: "Axes", segmentation: Result) -> None:
    """The final priors with a band of one standard deviation."""
    priors = segmentation.priors
    _draw_shares(panel, "estimated prior", priors.mean)
    low, high = priors.mean - priors.deviation, priors.mean + priors.deviation
    band = {"color": RED, "alpha": 0.25, "linewidth": 0, "label": "± deviation"}
    panel.fill_between(np.arange(len(low)), 100 * np.clip(low, 0, 1), 100 * np.clip(high, 0, 1), **band)


def _draw_bound(panel: "Axes", fraction: float) -> None:
    """A dashed line across a panel of shares, named in the legend."""
    label = f"bound {format_share(fraction)}"
    panel.axhline(100 * fraction, color=INK, linestyle=(0, (5, 3)), linewidth=1, label=label)


def _draw_limit(panel: "Axes", value: float, name: str) -> None:
    """A dashed line across the panel with its name at the right end."""
    panel.axhline(value, color=INK, linestyle=(0, (5, 3)), linewidth=1)
    where = {"xycoords": ("axes fraction", "data"), "xytext": (-2, 2), "textcoords": "offset points"}
    panel.annotate(name, (1, value), **where, ha="right", va="bottom", color=INK, size=TEXT_SIZE)


def _shade_phases(panel: "Axes", history: PriorHistory) -> None:
    for phase, group in groupby(history.records, key=lambda record: record.phase):
        epochs = [record.epoch for record in group]
        colour = PHASE_COLOURS.get(phase, BLUE)
        panel.axvspan(epochs[0] - 0.5, epochs[-1] + 0.5, color=colour, alpha=0.13, linewidth=0, label=phase)


def _mark_epochs(panel: "Axes", history: PriorHistory, rule: StoppingRule | None) -> None:
    """Upright lines at the selected epoch, where its window was full, and where it may be full first."""
    if history.selected_epoch:
        panel.axvline(history.selected_epoch, color=RED, linewidth=1.4, label=f"selected: {history.selected_epoch}")
    for record in history.records:
        if record.stopped:
            panel.axvline(record.epoch, color=INK, linewidth=1.2, linestyle="-.", label=f"window full: {record.epoch}")
    first = next((record.epoch for record in history.records if record.phase == "estimation"), None)
    if rule is not None and first is not None:
        earliest = first - 1 + rule.minimum + rule.window
        panel.axvline(earliest, color=GREEN, linewidth=1.4, linestyle=":", label=f"earliest: {earliest}")


def _collect(history: PriorHistory, field: str) -> np.ndarray:
    return np.array([getattr(record, field) for record in history.records], dtype=np.float64)


def _top_percent(segmentation: Result) -> float:
    """Upper end of the axis of shares: all that is drawn, but no more than twice the bound, and the whole result."""
    history, priors = segmentation.history, segmentation.priors
    drawn = [values[np.isfinite(values)] for values in (history.priors, history.observed, history.positive_share)]
    result = priors.mean + priors.deviation
    bound = segmentation.bound.fraction
    largest = max([values.max() for values in drawn if values.size], default=0)
    final = np.max(result[np.isfinite(result)], initial=0)
    return 110 * float(max(1.1 * bound, min(largest, 2 * bound), min(final, 1)))


def _write_title(panel: "Axes", text: str) -> None:
    panel.set_title(text, loc="left", color=INK, size=TEXT_SIZE, weight="bold")


def _write_legend(figure: "Figure") -> None:
    """One legend above all panels, each name once."""
    entries = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return
    look = {"frameon": False, "fontsize": TEXT_SIZE, "labelcolor": INK, "ncols": len(entries)}
    figure.legend(entries.values(), entries.keys(), loc="upper left", **look)
