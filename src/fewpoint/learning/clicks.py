"""What the places of the clicks say about the object's size: people click somewhere inside it."""

import numpy as np

from fewpoint.core import PointSet

FEWEST_CLICKS = 8
REACH = 3  # each click is compared with this many clicked frames after it
TRUSTED_SHARE = 0.75  # of the bound: clicks farther apart than that indicate movement, not size
WINDOW = 0.12  # of the sequence, but at least four clicks wide
LIMITS = (0.05, 5.0)


def mean_places(points: PointSet) -> tuple[np.ndarray, np.ndarray]:
    """(K,) clicked frames, in order, and the (K, 2) mean y and x of the clicks on each."""
    frames = np.unique(points.frames)
    places = np.array([points.coordinates[points.frames == frame, 1:].mean(axis=0) for frame in frames])
    return frames, places


def is_sparse(points: PointSet, n_frames: int) -> bool:
    """Whether most frames from the first click to the last have neither a click nor are marked absent.

    Before the first and after the last click the object may be absent. A single click is sparse from three frames on.
    """
    clicked = np.unique(points.frames)
    if len(clicked) == 1:
        return n_frames > 2
    marked = np.union1d(clicked, points.absent)
    return 2 * np.count_nonzero((marked >= clicked[0]) & (marked <= clicked[-1])) <= clicked[-1] - clicked[0]


def usual_gap(points: PointSet) -> int:
    """Median number of frames from one clicked frame to the next; 1 if only one is clicked.

    >>> usual_gap(PointSet.from_rows([(0, 0, 0), (5, 0, 0), (9, 0, 0), (14, 0, 0)]))
    5
    """
    frames = np.unique(points.frames)
    return int(np.median(np.diff(frames))) if len(frames) > 1 else 1


def squared_steps(points: PointSet) -> np.ndarray:
    """Squared distance in pixels from one clicked frame's mean point to the next one's.

    >>> squared_steps(PointSet.from_rows([(0, 0, 0), (5, 3, 4)])).tolist()
    [25.0]
    """
    _, places = mean_places(points)
    return (np.diff(places, axis=0) ** 2).sum(axis=1)


def size_profile(points: PointSet, n_frames: int, bound_area: float) -> np.ndarray:
    """(T,) relative size of the object on each frame, 1 on average, from how far apart nearby clicks are.

    Two places drawn uniformly from a disc of area A have a mean squared distance of A / pi: if the object is small,
    clicks on neighbouring frames are close. If clicks are few, or so far apart that the object must be moving
    (bound_area in pixels is the largest it can be), the profile is flat.
    """
    frames, places = mean_places(points)
    if len(frames) < FEWEST_CLICKS:
        return np.ones(n_frames)
    first, second = np.triu_indices(len(frames), 1)
    near = second - first <= REACH
    first, second = first[near], second[near]
    squares = ((places[first] - places[second]) ** 2).sum(axis=1)
    spacing = float(np.median(np.diff(frames)))
    width = max(4 * spacing, WINDOW * n_frames) / 2
    middles = (frames[first] + frames[second]) / 2
    weights = np.exp(-0.5 * ((np.arange(n_frames)[:, np.newaxis] - middles) / width) ** 2)
    # Far from every click the profile returns to the mean.
    areas = np.pi * (weights @ squares + 1e-3 * squares.mean()) / (weights.sum(axis=1) + 1e-3)
    if areas.mean() > TRUSTED_SHARE * bound_area or areas.mean() == 0:
        return np.ones(n_frames)
    return np.clip(areas / areas.mean(), *LIMITS)
