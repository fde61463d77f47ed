"""Every frame of a result for a slider in a page: small pictures, with outlines as lines that stay sharp."""

import math
from base64 import b64encode
from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from fewpoint.report.judging import Judgement
from fewpoint.report.tiles import Scene, trace_contours
from fewpoint.report.wording import format_share, name_frame

MOST_PIXELS = 8_000_000  # of all pictures, about two megabytes of page
LARGEST_SIDE, SMALLEST_SIDE = 480, 96
MOST_FRAMES = 1500
SMALLEST = 1e-12  # squared length of a piece that ends where it starts
SMOOTH = 0.4  # pixels by which a line may be simplified
QUALITY = 72


@dataclass(frozen=True)
class ShownFrame:
    """One frame. image: a data URI. outline: an SVG path in pixels of the part. clicks: x, y in them."""

    frame: int
    label: str
    mask: str
    worth: float
    causes: str
    image: str
    outline: str
    clicks: list[list[float]]


@dataclass(frozen=True)
class Strip:
    """The frames in order. width, height: of the part shown, in its pixels. aspect: width / height as seen.

    step: 1 if every frame is there, 2 if every second one is, and so on.
    """

    width: int
    height: int
    aspect: float
    step: int
    frames: tuple[ShownFrame, ...]

    def as_table(self) -> dict[str, Any]:
        """Plain values for the page."""
        return asdict(self)


def gather_strip(scene: Scene, judged: Judgement) -> Strip:
    """All frames of a scene, or every second, third, … if there are too many for one page."""
    rows, columns = scene.part
    (tall, wide), n_frames = scene.square_size, len(scene.sequence)
    step = -(-n_frames // MOST_FRAMES)
    chosen = range(0, n_frames, step)
    side = min(LARGEST_SIDE, max(SMALLEST_SIDE, math.sqrt(MOST_PIXELS / len(chosen))), max(tall, wide))
    scale = side / max(tall, wide)
    size = (max(1, round(tall * scale)), max(1, round(wide * scale)))
    by_frame = {entry.frame: entry for entry in judged.ranking}
    shares = scene.segmentation.shares
    frames = tuple(
        ShownFrame(
            frame=frame,
            label=name_frame(frame, scene.sequence.names[frame]),
            mask=format_share(shares[frame]),
            worth=round(by_frame[frame].worth, 3),
            causes=", ".join(by_frame[frame].causes),
            image=_embed(scene.picture(frame), size),
            outline=trace_path(scene.segmentation.masks[frame][scene.part]),
            clicks=[[float(x) + 0.5, float(y) + 0.5] for y, x in scene.clicks_on(frame)],
        )
        for frame in chosen
    )
    return Strip(columns.stop - columns.start, rows.stop - rows.start, wide / tall, step, frames)


def trace_path(mask: np.ndarray) -> str:
    """The outline of a (h, w) mask as the data of an SVG path, pixels being unit squares.

    >>> trace_path(np.ones((3, 4), dtype=bool))
    'M3.5 2.5L0.5 2.5L0.5 0.5L3.5 0.5L3.5 2.5Z'
    """
    lines = (simplify_line(line, SMOOTH) + 0.5 for line in trace_contours(mask))
    return "".join("M" + "L".join(f"{x:.4g} {y:.4g}" for y, x in line) + "Z" for line in lines)


def simplify_line(line: np.ndarray, tolerance: float) -> np.ndarray:
    """Those of the (n, 2) points that keep the line within the tolerance of all of them (Douglas and Peucker, 1973).

    >>> simplify_line(np.array([[0, 0], [0, 1], [0, 2], [3, 2]]), 0.5).tolist()
    [[0, 0], [0, 2], [3, 2]]
    """
    kept = np.zeros(len(line), bool)
    kept[[0, -1]] = True
    pieces = [(0, len(line) - 1)]
    while pieces:
        start, end = pieces.pop()
        offsets, along = line[start + 1 : end] - line[start], line[end] - line[start]
        share = np.clip(offsets @ along / max(along @ along, SMALLEST), 0, 1)  # of the way to the nearest place
        apart = np.hypot(*(offsets - share[:, np.newaxis] * along).T)
        if apart.max(initial=0) > tolerance:
            middle = start + 1 + int(apart.argmax())
            kept[middle] = True
            pieces += [(start, middle), (middle, end)]
    return line[kept]


def _embed(picture: np.ndarray, size: tuple[int, int]) -> str:
    image = Image.fromarray(picture)
    if (picture[..., :1] == picture).all():
        image = image.convert("L")
    buffer = BytesIO()
    image.resize((size[1], size[0]), Image.Resampling.LANCZOS).save(buffer, format="JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + b64encode(buffer.getvalue()).decode("ascii")
