"""What the pipeline does, and what a run that finds something out makes of it."""

from dataclasses import replace

import pytest

from fewpoint.core import PointSet
from fewpoint.core.settings import override_from_text
from fewpoint.methods.registry import PRESETS
from fewpoint.pipeline.plan import Plan
from tiny_runs import TINY, TINY_PAPER

FAST, PAPER = PRESETS["fast"].plan(), PRESETS["paper"].plan()


def change_tiny(*assignments: str) -> Plan:
    return override_from_text(TINY, list(assignments)).plan()


@pytest.mark.parametrize(
    ("plan", "epochs"),
    [
        (TINY.plan(), 5 + 6),
        (change_tiny("rounds.rounds=0"), 5),
        (change_tiny("rounds.networks=2", "rounds.round_networks=3", "rounds.rounds=2"), 2 * 5 + 2 * 3 * 6),
        (TINY_PAPER.plan(), 5 + 4 + 1),
    ],
)
def test_epochs_of_all_networks_are_counted(plan, epochs):
    assert plan.count_epochs() == epochs
    assert plan.count_epochs(refining=3) == 3 * plan.refine.epochs


@pytest.mark.parametrize(
    ("rows", "absent", "rounds"),
    [([0, 2, 4], (), 1), ([0, 1], (), 1), ([0, 4], (), 2), ([0, 4], (2,), 1), ([3, 3, 3], (), 2)],
)
def test_there_are_more_rounds_if_most_frames_between_clicks_have_none(rows, absent, rounds):
    plan = change_tiny("rounds.sparse_rounds=2")
    points = PointSet.from_rows([(frame, 1, 1 + place) for place, frame in enumerate(rows)], absent)
    suited = plan.suit_clicks(points, 5)
    assert suited == change_tiny("rounds.sparse_rounds=2", f"rounds.rounds={rounds}")
    assert suited.suit_clicks(points, 5) == suited
    alone = change_tiny("rounds.sparse_rounds=2", "rounds.rounds=0")
    assert alone.suit_clicks(points, 5) == alone


def test_sparse_clicks_change_nothing_of_the_papers_method():
    assert PAPER.suit_clicks(PointSet.from_rows([(0, 1, 1), (9, 1, 1)]), 10) == PAPER


@pytest.mark.parametrize(("wider", "count"), [(0.5, 100), (1.0, 100), (1.5, 150), (1.996, 200)])
def test_superpixels_stay_as_fine_as_for_one_object_and_never_become_coarser(wider, count):
    assert TINY.plan().suit_objects(1, wider) == change_tiny(f"superpixels.count={count}")


def test_every_object_has_a_place_in_each_batch():
    assert TINY.training.batch == 2
    assert [TINY.plan().suit_objects(count, 1.0).training.batch for count in (1, 2, 3)] == [2, 2, 3]


def test_shorter_phases_have_at_least_one_epoch_and_those_without_stay_without():
    short = FAST.shorten(0.5)
    assert (short.phases.warmup_epochs, short.phases.estimation_epochs, short.phases.final_epochs) == (8, 0, 0)
    assert short.rounds.round_epochs == 8
    shortest = PAPER.shorten(0.0).phases
    assert (shortest.warmup_epochs, shortest.estimation_epochs, shortest.final_epochs) == (1, 1, 1)
    assert FAST.shorten(1.0) == FAST


def test_a_warm_start_shortens_the_phases_and_no_round():
    plan = change_tiny("warm_start.share=0.4")
    assert plan.suit_warm_start() == replace(plan, phases=replace(plan.phases, warmup_epochs=2))
