"""Epochs scored as they go, by hand."""

import numpy as np
import pytest

from fewpoint.bench.epochs import EpochScore, EpochScores
from fewpoint.core import EpochPredicted, Message, StageStarted, SuperpixelMap, SuperpixelsReady

LABELS = np.array([[[0, 0, 1, 1, 2]]], np.int32)
TRUTH = np.array([[[1, 0, 1, 1, 0]]], bool)  # a share of 0.6


def listen(*predicted: tuple[int, list[float], float]) -> EpochScores:
    """Tell an epoch, its three probabilities and its prior, each."""
    scores = EpochScores(TRUTH)
    scores(StageStarted("superpixels"))
    scores(SuperpixelsReady(SuperpixelMap(LABELS)))
    scores(Message("bound: given"))
    for epoch, probabilities, prior in predicted:
        scores(EpochPredicted(epoch, np.array([probabilities], np.float16), np.array([prior])))
    return scores


def test_an_epoch_scores_what_its_superpixels_at_a_half_or_above_do():
    """The second superpixel alone: 2 of 3 true pixels and nothing else, 4 / 5. The first two: 6 / 7."""
    scores = listen((1, [0.4, 0.5, 0.1], 0.5), (2, [0.5, 0.9, 0.4], 0.5))
    assert scores.at(1) == EpochScore(1, 4 / 5, pytest.approx(0.1))
    assert scores.at(2) == EpochScore(2, 6 / 7, pytest.approx(0.1))


def test_the_best_epoch_is_the_earliest_of_the_largest_f1_with_its_own_prior():
    scores = listen((3, [0.0, 0.0, 1.0], 0.6), (4, [1.0, 1.0, 0.0], 0.2), (5, [1.0, 1.0, 0.0], 0.6))
    assert scores.find_best() == EpochScore(4, 6 / 7, pytest.approx(0.4))


def test_without_epochs_there_is_no_score():
    scores = listen()
    assert scores.find_best() == scores.at(0) == scores.at(1) == EpochScore(None, None, None)


def test_epochs_are_shown_in_order_whatever_order_they_are_told_in_and_those_not_told_as_the_last_before():
    """Two networks side by side tell every fourth epoch of theirs: 4 and 12, then 8 and 16."""
    shown = listen(*((epoch, [epoch / 64, 0.5, 0.0], 0.5) for epoch in (4, 12, 8, 16))).show()
    assert shown.epochs.tolist() == [4, 8, 12, 16]
    assert [64 * shown.paint(epoch)[0, 0] for epoch in (4, 8, 12, 16)] == [4, 8, 12, 16]
    assert [64 * shown.paint(epoch)[0, 0] for epoch in (7, 11, 99)] == [4, 8, 16]
    assert shown.paint(4).shape == (1, 5)
