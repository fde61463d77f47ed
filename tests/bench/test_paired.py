"""Signed ranks against every way to give signs, and against tables of them."""

from itertools import product

import numpy as np
import pytest

from fewpoint.bench.paired import compare, lowest_rank


@pytest.mark.parametrize("seed", range(4))
def test_p_is_the_share_of_signs_that_are_as_lopsided(seed):
    differences = np.random.default_rng(seed).normal(0.3, 1, 8)
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    sums = np.array(list(product((0, 1), repeat=8))) @ ranks
    own = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    assert compare(differences.tolist()).p == pytest.approx(min(1, 2 * (sums <= own).mean()))


@pytest.mark.parametrize(("count", "rank"), [(5, 0), (6, 1), (7, 3), (8, 4), (10, 9), (11, 11), (20, 53)])
def test_the_interval_begins_where_published_tables_say(count, rank):
    """One more than the critical values of Wilcoxon's test at 5 %, two-sided: 0, 2, 3, 8, 10, 52; none below six."""
    assert lowest_rank(count) == rank


def test_the_interval_holds_the_differences_that_the_test_does_not_reject():
    differences = np.random.default_rng(3).normal(0.1, 0.2, 9)
    found = compare(differences.tolist())
    assert found.low < found.median < found.high
    for shift, rejected in ((found.low - 1e-6, True), (found.low + 1e-6, False), (found.high + 1e-6, True)):
        assert (compare((differences - shift).tolist()).p < 0.05) == rejected


def test_nothing_but_zeros_differs_by_nothing():
    assert compare([0.0] * 7).p == 1 and compare([0.0] * 7).median == 0
