"""Pictures as pretrained models expect them, and masks back at a picture's size."""

import numpy as np

# Mean and deviation of the photographs' red, green and blue, in [0, 1], that these models were trained with.
MEAN = np.array([123.675, 116.28, 103.53], np.float32) / 255
DEVIATION = np.array([58.395, 57.12, 57.375], np.float32) / 255


def to_colours(shares: np.ndarray) -> np.ndarray:
    """(H, W, 3) of (H, W, C) values in [0, 1]; any number of channels but three shows its first in grey."""
    return shares if shares.shape[-1] == 3 else np.repeat(shares[..., :1], 3, axis=-1)


def standardise(picture: np.ndarray) -> np.ndarray:
    """(1, 3, H, W) float32 of an (H, W, 3) picture."""
    return ((picture - MEAN) / DEVIATION).transpose(2, 0, 1)[np.newaxis].astype(np.float32)


def stretch(values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(H, W) or (H, W, C) values at another size, bilinear, so that both cover the same picture."""
    steps = (have / want for have, want in zip(values.shape[:2], size, strict=True))
    rows, columns = ((np.arange(want) + 0.5) * step - 0.5 for want, step in zip(size, steps, strict=True))
    return sample(values, rows, columns)


def sample(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(H, W) or (H, W, C) values between pixels at these rows and columns, bilinear, the outermost beyond the edge."""
    tall = _between(values.astype(np.float32, copy=False), rows)
    return np.ascontiguousarray(_between(tall.swapaxes(0, 1), columns).swapaxes(0, 1))


def _between(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Values at places along the first axis."""
    places = np.clip(places, 0, len(values) - 1)
    before = np.minimum(places.astype(int), max(0, len(values) - 2))
    after = np.minimum(before + 1, len(values) - 1)
    share = (places - before).astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
    return values[before] * (1 - share) + values[after] * share
