"""A result in a notebook: a few frames with the outline of each object, and what was found in a line each."""

import base64
import html

import numpy as np

from fewpoint.core import Result
from fewpoint.report.montage import encode_png as encode_png
from fewpoint.report.tiles import draw_outlines, render_frame
from fewpoint.superpixels.intensity import window_of

MOST_FRAMES, HEIGHT, GAP = 6, 160, 4


def draw_glance(result: Result) -> np.ndarray:
    """(H, W, 3) uint8: evenly chosen frames on which something was found, side by side; black without the frames."""
    labels, sequence = result.labels, result.sequence
    shown = np.flatnonzero([frame.any() for frame in labels.values])
    shown = shown if len(shown) else np.arange(len(labels.values))
    chosen = shown[np.linspace(0, len(shown) - 1, min(MOST_FRAMES, len(shown))).round().astype(int)]
    height, width = labels.values.shape[1:] if sequence is None else sequence.square_size
    size = (HEIGHT, max(1, round(HEIGHT * width / height)))
    window = None if sequence is None else window_of(sequence)
    tiles = []
    for frame in chosen.tolist():
        if sequence is None or window is None:
            picture = np.zeros((*labels.values.shape[1:], 3), np.uint8)
        else:
            picture = render_frame(sequence.frames[frame], window)
        regions = enumerate(labels.objects, start=1)
        outlines = [(labels.values[frame] == number, label.colour) for number, label in regions]
        tiles += [draw_outlines(picture, size, outlines), np.full((HEIGHT, GAP, 3), 255, np.uint8)]
    return np.concatenate(tiles[:-1], axis=1)


def render_glance(result: Result) -> str:
    """The picture, and below it each object with its colour, frames and mean share."""
    data = base64.b64encode(encode_png(draw_glance(result))).decode("ascii")
    lines = [
        f'<span style="color:#{bytes(each.label.colour).hex()}">&#9632;</span> {html.escape(each.name)}: '
        f"{int((each.areas > 0).sum())} of {len(each.masks)} frames, {each.shares.mean():.2%} of a frame on average"
        for each in result.objects
    ]
    return f'<div><img alt="masks" src="data:image/png;base64,{data}"><br>{"<br>".join(lines)}</div>'
