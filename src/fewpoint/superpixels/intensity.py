"""One brightness scale for the whole sequence."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.core.paging import let_go, walk

MOST_SAMPLES = 2_000_000
MOST_SAMPLED_FRAMES = 64


@dataclass(frozen=True, eq=False)
class IntensityWindow:
    """The pixel values that become 0 and 1.

    low, high: (C,) float64, in the units of the frames.
    """

    low: np.ndarray
    high: np.ndarray

    def apply(self, frames: np.ndarray) -> np.ndarray:
        """Map (…, C) pixel values to float32 in [0, 1]; a channel whose window is empty becomes zero."""
        width = self.high - self.low
        scale = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
        scaled = frames.astype(np.float32)
        scaled -= self.low.astype(np.float32)
        scaled *= scale.astype(np.float32)
        return np.clip(scaled, 0, 1, out=scaled)


_MEASURED: WeakKeyDictionary[ImageSequence, IntensityWindow] = WeakKeyDictionary()  # each stage asks for it


def window_of(sequence: ImageSequence) -> IntensityWindow:
    """The window that came with a sequence, on every channel, or else the robust one of its frames, measured once."""
    if sequence.window is None:
        if sequence not in _MEASURED:
            _MEASURED[sequence] = find_window(sequence.frames)
        return _MEASURED[sequence]
    low, high = (np.full(sequence.shape[-1], value, np.float64) for value in sequence.window)
    return IntensityWindow(low, high)


def find_window(frames: np.ndarray, low: float = 0.5, high: float = 99.5) -> IntensityWindow:
    """Robust brightest and darkest value over all of a (T, H, W, C) sequence.

    Three channels are colour and share one window, which keeps the hues; any other number of channels are
    separate measurements and get a window each.

    low, high: percentiles. Where they coincide, as for a small bright object on black, the extremes are used.
    """
    channels = frames.shape[-1]
    n_windows = 1 if channels == 3 else channels
    lowest, highest = np.percentile(_subsample(frames).reshape(-1, n_windows), [low, high], axis=0)
    flat = lowest == highest
    if flat.any():
        darkest, brightest = _find_extremes(frames)
        lowest = np.where(flat, darkest.min() if n_windows == 1 else darkest, lowest)
        highest = np.where(flat, brightest.max() if n_windows == 1 else brightest, highest)
    return IntensityWindow(np.broadcast_to(lowest, channels), np.broadcast_to(highest, channels))


def normalise(frames: np.ndarray, low: float = 0.5, high: float = 99.5) -> np.ndarray:
    """Map a (T, H, W, C) sequence to float32 in [0, 1] by one robust window over all frames.

    low, high: percentiles that become 0 and 1. Constant frames become zeros.

    >>> normalise(np.array([0, 50, 100], np.uint8).reshape(1, 1, 3, 1), 0, 100).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    return find_window(frames, low, high).apply(frames)


def _subsample(frames: np.ndarray) -> np.ndarray:
    """Evenly spaced frames and pixels, at most about MOST_SAMPLES values a channel."""
    if frames[..., 0].size <= MOST_SAMPLES:
        return frames
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_SAMPLED_FRAMES)).astype(int))
    pixels = len(chosen) * frames.shape[1] * frames.shape[2]
    step = int(np.ceil(np.sqrt(max(1.0, pixels / MOST_SAMPLES))))
    samples = np.stack([frames[index, ::step, ::step] for index in chosen])
    let_go(frames)
    return samples


def _find_extremes(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each channel, one frame in memory at a time."""
    darkest = np.min([frame.min(axis=(0, 1)) for frame in walk(frames)], axis=0)
    brightest = np.max([frame.max(axis=(0, 1)) for frame in walk(frames)], axis=0)
    return darkest.astype(np.float64), brightest.astype(np.float64)
