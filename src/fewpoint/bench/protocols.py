"""What a method is told about the object's largest share of a frame.

eta        the paper's: 1.4 x the true maximum; eta-1.6 is 1.6 x
box        a person's: the box round the object where it is largest, enlarged by 10 %
none       nothing; the method estimates or assumes a bound
"""

import re

import numpy as np

from fewpoint.core import AreaBound
from fewpoint.errors import SettingsError
from fewpoint.evaluation.truth import largest_box, paper_bound

PAPER_ETA = 1.4


def check_protocol(protocol: str) -> None:
    """Raise SettingsError for a protocol that does not exist."""
    if protocol not in ("box", "none"):
        parse_eta(protocol)


def give_bound(protocol: str, truth: np.ndarray) -> AreaBound | None:
    """The bound that a protocol makes of (T, H, W) bool truth; None where the method gets none."""
    if protocol == "none":
        return None
    if protocol == "box":
        return AreaBound.from_box(largest_box(truth)[1:], truth.shape[1:])
    return paper_bound(truth, parse_eta(protocol))


def parse_eta(protocol: str) -> float:
    """The factor of eta or eta-FACTOR.

    >>> parse_eta("eta"), parse_eta("eta-1.8")
    (1.4, 1.8)
    """
    found = re.fullmatch(r"eta(?:-(\d+(?:\.\d+)?))?", protocol)
    if not found:
        raise SettingsError(f"a bound must be eta, eta-FACTOR such as eta-1.6, box or none, got {protocol}")
    return float(found[1] or PAPER_ETA)
