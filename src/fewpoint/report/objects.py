"""A run on several objects at a glance: one picture and one page for all of them."""

from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.errors import InputError
from fewpoint.report.html import embed_picture
from fewpoint.report.montage import BACKGROUND, GAP, MUTED, choose_frames, load_font, plan_layout
from fewpoint.report.pages import load_template
from fewpoint.report.tiles import draw_outlines, render_frame
from fewpoint.report.wording import format_share, name_frame
from fewpoint.superpixels.intensity import window_of

COLUMNS = 6
LABEL_HEIGHT, LEGEND_ROW = 20, 26
SWATCH = 16


def draw_overview(sequence: ImageSequence, points: PointSet, result: Result) -> np.ndarray:
    """Evenly chosen frames with the clicks and each object's outline in its colour: (H, W, 3) uint8.

    Below stand the objects' names.
    """
    labels = result.labels
    if sequence.shape[:3] != labels.values.shape:
        raise InputError(f"frames and labels must have one (T, H, W): {sequence.shape[:3]} and {labels.values.shape}")
    blocks = 2 if len(sequence) >= 3 * COLUMNS else 1
    chosen = choose_frames(len(sequence), blocks * COLUMNS, points.frames)
    layout, window = plan_layout(sequence.square_size, len(chosen), COLUMNS), window_of(sequence)
    (height, width), columns = layout.tile, layout.columns
    rows = -(-len(chosen) // columns)
    row_height = height + LABEL_HEIGHT + GAP
    size = (max(300, columns * (width + GAP) + GAP), rows * row_height + GAP + LEGEND_ROW * len(result.objects))
    image = Image.new("RGB", size, BACKGROUND)
    canvas = ImageDraw.Draw(image)
    for place, frame in enumerate(chosen):
        y, x = GAP + place // columns * row_height, GAP + place % columns * (width + GAP)
        shown = labels.values[frame]
        outlines = [(shown == number, each.label.colour) for number, each in enumerate(result.objects, start=1)]
        clicks = points.coordinates[points.frames == frame, 1:]
        tile = draw_outlines(render_frame(sequence.frames[frame], window), layout.tile, outlines, clicks)
        canvas.text((x, y), name_frame(frame, sequence.names[frame]), font=load_font(13), fill=MUTED)
        image.paste(Image.fromarray(tile), (x, y + LABEL_HEIGHT))
    for number, each in enumerate(result.objects):
        y = rows * row_height + GAP + LEGEND_ROW * number
        canvas.rectangle((GAP, y, GAP + SWATCH, y + SWATCH), fill=each.label.colour)
        canvas.text((GAP + SWATCH + 8, y), f"{number + 1}  {each.name}", font=load_font(14), fill=MUTED)
    return np.asarray(image)


def render_objects(title: str, summary: dict[str, Any], picture: np.ndarray, facts: dict[str, str]) -> str:
    """The page about all objects, with a link to the page of each; summary: as in summary.json."""
    page = load_template("fewpoint.report", "objects.html", {"share": format_share})
    return page.render(title=title, summary=summary, picture=embed_picture(picture), facts=facts)
