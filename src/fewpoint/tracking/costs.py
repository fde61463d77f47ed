"""What it costs a path to visit a superpixel."""

import numpy as np

from fewpoint.errors import InputError


def visit_costs(probabilities: np.ndarray, clip: float = 1e-6) -> np.ndarray:
    """float64 costs -log(f / (1 - f)): negative, a gain, where the object is more likely than not.

    clip: probabilities are kept in [clip, 1 - clip], which keeps every cost finite (at most 13.8 for 1e-6).

    >>> visit_costs(np.array([0.25, 0.5, 0.75])).round(4).tolist()
    [1.0986, 0.0, -1.0986]
    """
    values = np.asarray(probabilities, np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError("probabilities must lie in [0, 1] and be finite")
    clipped = np.clip(values, clip, 1 - clip)
    return np.log1p(-clipped) - np.log(clipped)
