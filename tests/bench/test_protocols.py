"""What a method is told of the object's size, by hand."""

import numpy as np
import pytest

from fewpoint.bench.protocols import check_protocol, give_bound
from fewpoint.errors import SettingsError


def draw_truth() -> np.ndarray:
    """A cross of 10 + 9 pixels in 20 x 20 on frame 0, where it is largest, its tight box 10 x 10; less on frame 1."""
    truth = np.zeros((2, 20, 20), bool)
    truth[0, 5, 5:15] = truth[0, 5:15, 5] = True
    truth[1, 5, 5] = True
    return truth


@pytest.mark.parametrize(
    ("protocol", "pixels"),
    [("eta", 1.4 * 19), ("eta-1.2", 1.2 * 19), ("eta-2", 2 * 19), ("box", 12 * 12)],
)
def test_the_bound_of_each_protocol(protocol, pixels):
    """The box grows by a tenth of 10 pixels, half on each side, rounded outwards: 12 x 12."""
    assert give_bound(protocol, draw_truth()).fraction == pytest.approx(pixels / 400, rel=1e-12)


def test_none_gives_nothing():
    assert give_bound("none", draw_truth()) is None


@pytest.mark.parametrize("protocol", ["", "Eta", "eta-", "eta-x", "eta1.4", "boxes"])
def test_other_protocols_are_refused(protocol):
    with pytest.raises(SettingsError, match=r"eta, eta-FACTOR such as eta-1\.6, box or none"):
        check_protocol(protocol)
