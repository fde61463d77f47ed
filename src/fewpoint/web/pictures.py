"""Frames as images: each is encoded once and kept, as long as there is room."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from PIL import Image

from fewpoint.report.tiles import render_frame
from fewpoint.superpixels.intensity import IntensityWindow

LARGEST_LOSSLESS = 512 * 512  # pixels; beyond, encoding PNG takes longer than a frame may at 30 a second
QUALITY = 95


@dataclass(frozen=True)
class Picture:
    """An encoded image."""

    data: bytes
    media_type: str


class PictureCache:
    """The pictures used last, within so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.size_bytes = 0
        self._kept: OrderedDict[Hashable, Picture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Picture]) -> Picture:
        """The picture under a key, made only if it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        picture = make()
        with self._lock:
            if key not in self._kept and len(picture.data) <= self.most_bytes:
                self._kept[key] = picture
                self.size_bytes += len(picture.data)
            while self.size_bytes > self.most_bytes:
                _, dropped = self._kept.popitem(last=False)
                self.size_bytes -= len(dropped.data)
        return picture


def encode_frame(pixels: np.ndarray, window: IntensityWindow) -> Picture:
    """Pixels of any type as an image: PNG, or JPEG if the frame is large."""
    shown = shade(pixels, window)
    return encode_image(Image.fromarray(shown), lossless=shown.shape[0] * shown.shape[1] <= LARGEST_LOSSLESS)


def shade(pixels: np.ndarray, window: IntensityWindow) -> np.ndarray:
    """(H, W, C) pixels as (H, W, 3) uint8 if there are three channels, else the first as (H, W) uint8.

    The same shades as those of report.tiles.render_frame, but looked up if the pixels are whole numbers, which
    is much faster.
    """
    is_colour = pixels.shape[-1] == 3
    if pixels.dtype.kind != "u":
        rendered = render_frame(pixels, window)
        return rendered if is_colour else np.ascontiguousarray(rendered[..., 0])
    values = np.arange(np.iinfo(pixels.dtype).max + 1, dtype=pixels.dtype)[np.newaxis, :, np.newaxis]
    first = IntensityWindow(window.low[:1], window.high[:1])  # three channels are colour and share one window
    table = render_frame(values, first)[0, :, 0]
    return table[pixels if is_colour else pixels[..., 0]]


def encode_image(image: Image.Image, lossless: bool = True) -> Picture:
    stream = BytesIO()
    if lossless:
        image.save(stream, "PNG", compress_level=1)
        return Picture(stream.getvalue(), "image/png")
    image.save(stream, "JPEG", quality=QUALITY, subsampling=0)
    return Picture(stream.getvalue(), "image/jpeg")
