"""Curves of one run."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from fewpoint.core import PriorHistory
from fewpoint.report import (
    StoppingRule,
    draw_mask_shares,
    draw_prior_curves,
    draw_stopping_curves,
    draw_training_curves,
)
from fewpoint.report.figures import choose_epochs
from fewpoint.report.svg import INK
from results import change

RULE = StoppingRule(variance=0.007, window=10, minimum=3)


def draw_all(points, segmentation, rule=RULE):
    history = segmentation.history
    return {
        "shares": draw_mask_shares(segmentation, points),
        "priors": draw_prior_curves(segmentation),
        "stopping": draw_stopping_curves(history, segmentation.bound.fraction, rule),
        "training": draw_training_curves(history),
    }


@pytest.mark.parametrize("rule", [RULE, None])
@pytest.mark.parametrize(("n_frames", "n_epochs"), [(1, 0), (1, 1), (5, 0), (5, 2), (60, 90)])
def test_every_figure_is_svg_that_fetches_nothing(result, n_frames, n_epochs, rule):
    _, points, segmentation = result(n_frames, n_epochs=n_epochs)
    for svg in draw_all(points, segmentation, rule).values():
        root = ElementTree.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        targets = [value for element in root.iter() for name, value in element.items() if name.endswith("href")]
        identifiers = {element.get("id") for element in root.iter()}
        assert targets and all(target[1:] in identifiers for target in targets)


def test_no_two_figures_share_an_id(result):
    _, points, segmentation = result(5, n_epochs=9)
    identifiers = [
        element.get("id")
        for svg in draw_all(points, segmentation).values()
        for element in ElementTree.fromstring(svg).iter()
        if element.get("id")
    ]
    assert len(identifiers) == len(set(identifiers))


def test_text_and_axes_take_the_colour_of_the_page(result):
    _, points, segmentation = result(5, n_epochs=9)
    for svg in draw_all(points, segmentation).values():
        assert "currentColor" in svg and INK not in svg and "#000000" not in svg


def test_equal_results_give_equal_figures(result):
    assert draw_all(*result(n_epochs=9)[1:]) == draw_all(*result(n_epochs=9)[1:])


def test_unknown_values_leave_gaps(result, history):
    _, points, segmentation = result(5)
    unknown = dict.fromkeys(("loss", "negative_variance", "ascent_share", "largest_positive_share"), float("nan"))
    segmentation.priors.deviation[:] = np.nan
    empty = change(segmentation, history=history(9, 5, **unknown, positive_risk=float("inf")))
    assert all("nan" not in svg.lower() for svg in draw_all(points, empty).values())


def test_a_panel_is_drawn_for_each_chosen_epoch_and_for_the_result(result):
    svg = draw_prior_curves(result(5, n_epochs=9)[2])
    titles = re.findall("<!-- (epoch.*?|final estimate) -->", svg)
    assert titles == ["epoch 1", "epoch 4, selected", "epoch 5", "epoch 7", "epoch 9", "final estimate"]


def test_without_epochs_only_the_result_is_drawn(result):
    assert re.findall("<!-- (epoch.*?|final estimate) -->", draw_prior_curves(result(5)[2])) == ["final estimate"]


@pytest.mark.parametrize(
    ("n_epochs", "selected", "expected"),
    [
        (0, 0, ()),
        (1, 0, (1,)),
        (4, 2, (1, 2, 3, 4)),
        (101, 0, (1, 26, 51, 76, 101)),
        (101, 71, (1, 26, 51, 71, 101)),
        (101, 2, (1, 2, 51, 76, 101)),
        (101, 101, (1, 26, 51, 76, 101)),
    ],
)
def test_first_selected_and_last_epoch_are_chosen(history, n_epochs, selected, expected):
    past = PriorHistory.empty(3) if n_epochs == 0 else replace(history(n_epochs, 3), selected_epoch=selected)
    assert choose_epochs(past) == expected


def test_only_epochs_that_were_looked_at_are_chosen_and_joined_by_a_line(history):
    past = replace(history(50, 3), selected_epoch=0)
    seen = np.arange(1, 51) % 4 == 0
    seen[-1] = True
    past.observed[~seen] = np.nan
    assert choose_epochs(past) == (4, 16, 28, 40, 50)
    unseen = tuple(replace(record, click_probability=math.nan) for record in past.records)
    records = tuple(known if looked else gap for known, gap, looked in zip(past.records, unseen, seen, strict=True))
    assert draw_training_curves(replace(past, records=records)) != draw_training_curves(replace(past, records=unseen))


def test_the_stopping_curves_name_phases_limits_and_epochs(history):
    past = history(9, 5)  # epochs 4 to 6 estimate
    halted = tuple(replace(record, stopped=record.epoch == 6) for record in past.records)
    svg = draw_stopping_curves(replace(past, records=halted, selected_epoch=5), 0.2, StoppingRule(0.007, 1, 2))
    named = ["warm-up", "estimation", "final", "threshold 0.007", "bound 20.0 %", "selected: 5", "window full: 6"]
    assert all(f"<!-- {name} -->" in svg for name in [*named, "earliest: 6"])
