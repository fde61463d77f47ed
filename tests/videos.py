"""Videos made from arrays, for tests."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

COLOUR = np.random.default_rng(3).integers(0, 256, (7, 32, 48, 3)).astype(np.uint8)


def save_video(
    path: Path, frames: np.ndarray, codec: str = "ffv1", pixels: str = "bgr0", times: list[int] | None = None
) -> Path:
    """Write frames ten a second, or at times in hundredths of a second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=10)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], pixels
        for index, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24" if frame.ndim == 3 else "gray")
            picture.time_base = Fraction(1, 100)
            picture.pts = int(times[index] if times else 10 * index)
            container.mux(stream.encode(picture.reformat(format=pixels)))
        container.mux(stream.encode())
    return path
