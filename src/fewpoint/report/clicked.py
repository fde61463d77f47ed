"""Whether clicked places look like one thing, judged by the image alone.

Each click is left out once and looked for by what the others look like. If more than half of its frame looked more like
them, it would not be found better than by chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.superpixels.intensity import window_of

CLOSE, AROUND = 5 / 160, 17 / 160  # of a frame's longer side: what is seen of a place, and of its surroundings
GRID = 20  # places to each side of a frame that clicked ones are compared with
SHRINKAGE = 0.3  # of the covariance of looks, whose variances are 1
OWN = 0.3  # deviation that looks of one thing have anyway, relative to that of all places
COMPARED = 3  # clicks nearest in time


@dataclass(frozen=True, eq=False)
class ClickedLooks:
    """Of each of (N,) clicks.

    odd: the share of its frame that looks more like the other clicks than the clicked place does; 0.5 by chance.
    apart: pixels to the nearer of the two clicks that are next to it in time.
    """

    odd: np.ndarray
    apart: np.ndarray

    @property
    def usual(self) -> float:
        """How odd clicks are in general."""
        return float(np.median(self.odd))


def look_at_clicks(sequence: ImageSequence, rows: np.ndarray) -> ClickedLooks:
    """How (N, 3) clicks, three or more, look compared with each other and with the rest of their frames."""
    seen = list(_see(sequence, rows))
    everything = np.concatenate(seen)
    mean, deviation = everything.mean(0), everything.std(0) + 1e-6
    looks = np.stack([(each - mean) / deviation for each in seen])  # (N, 1 + places, traits), the clicked place first
    flat = looks.reshape(-1, looks.shape[-1])
    precision = np.linalg.inv(flat.T @ flat / len(flat) + SHRINKAGE * np.eye(flat.shape[1]))
    odd, apart = np.empty(len(rows)), np.empty(len(rows))
    for number, row in enumerate(rows):
        others = np.delete(np.arange(len(rows)), number)
        near = others[np.argsort(np.abs(rows[others, 0] - row[0]), kind="stable")]
        unlike = (
            _unlike_all(looks[number], looks[others, 0], flat, precision),
            _unlike_nearest(looks[number], looks[near[:COMPARED], 0], precision),
        )
        odd[number] = np.mean([_share_below(each[1:], each[0]) for each in unlike])
        apart[number] = np.hypot(*(rows[near[:2], 1:] - row[1:]).T).min()
    return ClickedLooks(odd, apart)


def _unlike_all(here: np.ndarray, clicked: np.ndarray, flat: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Of (M, traits) places, minus the log-likelihood ratio of looking like the clicked ones rather than any."""
    direction = precision @ clicked.mean(0)
    spread = float((flat @ direction).std()) + 1e-6
    own = clicked @ direction
    values, deviation = here @ direction, own.std() + OWN * spread
    return ((values - own.mean()) / deviation) ** 2 - (values / spread) ** 2


def _unlike_nearest(here: np.ndarray, clicked: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Of (M, traits) places, the squared distance in looks to the nearest of the clicked ones."""
    apart = here[:, np.newaxis] - clicked
    return np.einsum("mct,ts,mcs->mc", apart, precision, apart).min(1)


def _see(sequence: ImageSequence, rows: np.ndarray) -> Iterator[np.ndarray]:
    """(1 + places, traits) of the clicked place and of a grid on its frame: colour, its deviation, and that around."""
    from scipy.ndimage import uniform_filter

    window, (height, width) = window_of(sequence), sequence.size
    close, around = (max(3, round(share * max(height, width))) for share in (CLOSE, AROUND))
    steps = (((np.arange(GRID) + 0.5) * side / GRID).astype(int) for side in (height, width))
    grid = np.stack(np.meshgrid(*steps, indexing="ij")).reshape(2, -1)
    for frame, y, x in rows.tolist():
        places = np.column_stack([[y, x], grid])
        traits = []
        for channel in np.moveaxis(window.apply(sequence.frames[frame]), -1, 0):
            mean = uniform_filter(channel, close)
            square = uniform_filter(channel**2, close)
            traits += [mean, np.sqrt(np.maximum(square - mean**2, 0)), uniform_filter(channel, around)]
        yield np.stack([each[tuple(places)] for each in traits], axis=-1).astype(np.float64)


def _share_below(values: np.ndarray, value: float) -> float:
    """Of (M,) values, the share that is below another; those that are equal, as of plain background, count half.

    >>> _share_below(np.array([0.0, 1.0, 1.0, 3.0]), 1.0)
    0.5
    """
    return float(((values < value).mean() + (values <= value).mean()) / 2)
