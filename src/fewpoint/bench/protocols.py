"""What a method is given about the object's largest share of a frame, and clicks that need no file.

eta        the paper's: 1.4 x the true maximum; eta-1.6 is 1.6 x
box        a person's: the box round the object where it is largest, enlarged by 10 %
none       nothing; the method estimates or assumes a bound

centre     points: one click per frame in the very middle of the object, see click_middles
spread-3   points: three clicks in all, spread over the frames that show the object, see click_spread
"""

import re
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.errors import SettingsError
from fewpoint.evaluation.truth import click_middles, click_spread, largest_box, paper_bound
from fewpoint.io.points import read_points

PAPER_ETA = 1.4
CENTRE, SPREAD = "centre", "spread-"


def check_protocol(protocol: str) -> None:
    """Raise SettingsError for a protocol that does not exist."""
    if protocol not in ("box", "none"):
        parse_eta(protocol)


def give_bound(protocol: str, truth: np.ndarray) -> AreaBound | None:
    """The bound that a protocol makes of (T, H, W) bool truth; None if the method gets none."""
    if protocol == "none":
        return None
    if protocol == "box":
        return AreaBound.from_box(largest_box(truth)[1:], truth.shape[1:])
    return paper_bound(truth, parse_eta(protocol))


def check_points(name: str) -> None:
    """Raise SettingsError for points that could be neither a file nor made of the truth."""
    if name.startswith(SPREAD) and count_spread(name) == 0:
        raise SettingsError(f"spread points must be spread-COUNT such as spread-3, got {name}")


def made_of_truth(name: str) -> bool:
    """Whether points need no file."""
    return name == CENTRE or count_spread(name) > 0


def count_spread(name: str) -> int:
    """How many clicks are spread; 0 for points of another kind.

    >>> count_spread("spread-3"), count_spread("centre")
    (3, 0)
    """
    found = re.fullmatch(SPREAD + r"(\d+)", name)
    return int(found[1]) if found else 0


def take_points(
    path: str | Path | None, sequence: ImageSequence, truth: np.ndarray, name: str = CENTRE, seed: int = 0
) -> PointSet:
    """The points of a file, or without one clicks that are made of (T, H, W) bool truth, by the name of their kind."""
    if path:
        return read_points(path, sequence)
    count = count_spread(name)
    return click_spread(truth, count, seed) if count else click_middles(truth)


def parse_eta(protocol: str) -> float:
    """The factor of eta or eta-FACTOR.

    >>> parse_eta("eta"), parse_eta("eta-1.8")
    (1.4, 1.8)
    """
    found = re.fullmatch(r"eta(?:-(\d+(?:\.\d+)?))?", protocol)
    if not found:
        raise SettingsError(f"a bound must be eta, eta-FACTOR such as eta-1.6, box or none, got {protocol}")
    return float(found[1] or PAPER_ETA)
