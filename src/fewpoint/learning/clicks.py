"""What the places of the clicks say about the object's size: people click somewhere inside it."""

import numpy as np

from fewpoint.core import PointSet


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
