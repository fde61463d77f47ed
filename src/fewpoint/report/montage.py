"""The result at a glance: evenly chosen frames with clicks, mask and probability."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from fewpoint.errors import InputError
from fewpoint.report.tiles import (
    CONTOUR_COLOUR,
    REFERENCE_COLOUR,
    Scene,
    draw_frame,
    draw_probability,
    draw_ring,
    render_probability,
)
from fewpoint.report.wording import format_share, name_frame

WIDTH = 1800
LARGEST_TILE = 548
LITTLE_PRESSED = 2  # of 9: the usual 6 takes four times as long, for files a seventh smaller
GAP = 6
LEGEND_SIZE = (42, 690)
BACKGROUND = (17, 19, 23)
BRIGHT = (236, 238, 241)
MUTED = (166, 173, 182)


@dataclass(frozen=True)
class Layout:
    """Where things stand in the montage, in pixels; a block is a row of labels, one of frames, one of probabilities.

    tile: height and width of one picture.
    """

    tile: tuple[int, int]
    columns: int
    blocks: int

    @property
    def text_size(self) -> int:
        return int(np.clip(self.tile[1] / 16, 9, 18))

    @property
    def label_height(self) -> int:
        return 3 * self.text_size

    @property
    def block_height(self) -> int:
        return self.label_height + 2 * (self.tile[0] + GAP) + GAP

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the whole, the legend included."""
        width = self.columns * (self.tile[1] + GAP) + GAP
        return self.blocks * self.block_height + LEGEND_SIZE[0], max(width, LEGEND_SIZE[1])

    def corner(self, place: int) -> tuple[int, int]:
        """Top left y, x of a frame's picture, its label being above; places count through the rows."""
        block, column = divmod(place, self.columns)
        return GAP + block * self.block_height + self.label_height, GAP + column * (self.tile[1] + GAP)


def draw_montage(scene: Scene, columns: int = 8) -> np.ndarray:
    """Draw evenly chosen frames, the first and last among them, as one (H, W, 3) uint8 picture.

    Each column holds a frame with its clicks (yellow rings) and the mask's contour, and below it the probability with
    its contour at 0.5; above them the frame's number and name, and the shares of it that are masked and expected.
    There are two blocks of columns if the frames would fill three. The picture is about 1800 pixels wide, less
    if there are only a few frames or if they are very tall.
    """
    if columns < 1:
        raise InputError(f"a montage needs at least one column, got {columns}")
    sequence = scene.sequence
    blocks = 2 if len(sequence) >= 3 * columns else 1
    chosen = choose_frames(len(sequence), blocks * columns, scene.points.frames)
    layout = plan_layout(scene.square_size, len(chosen), columns)
    height, width = layout.size
    image = Image.new("RGB", (width, height), BACKGROUND)
    for place, frame in enumerate(chosen):
        _paste_column(image, scene, frame=frame, corner=layout.corner(place), layout=layout)
    _draw_legend(image, with_reference=scene.reference is not None)
    return np.asarray(image)


def choose_frames(n_frames: int, count: int, clicked: np.ndarray) -> tuple[int, ...]:
    """Choose at most count frames, evenly, first and last among them; an inner one gives way to a click close by.

    A click is close to the one even frame nearest to it, so that the choice stays in order.

    >>> choose_frames(9, 3, np.array([4])), choose_frames(9, 3, np.array([3])), choose_frames(9, 3, np.array([1]))
    ((0, 4, 8), (0, 3, 8), (0, 4, 8))
    """
    even = np.round(np.linspace(0, n_frames - 1, min(count, n_frames))).astype(int)
    distance = np.abs(clicked[:, None] - even)
    owner = distance.argmin(axis=1)
    chosen = even.copy()
    for place in range(1, len(even) - 1):
        own = np.flatnonzero(owner == place)
        if len(own):
            chosen[place] = clicked[own[distance[own, place].argmin()]]
    return tuple(chosen.tolist())


def plan_layout(size: tuple[int, int], n_pictures: int, columns: int) -> Layout:
    """Fit frames of a height and width into the montage's width; a tile is at most three times as tall as its room."""
    columns = min(columns, n_pictures)
    room = max(1, min(LARGEST_TILE, (WIDTH - GAP) // columns - GAP))
    scale = min(room / size[1], 3 * room / size[0])
    tile = (max(1, round(size[0] * scale)), max(1, round(size[1] * scale)))
    return Layout(tile, columns, -(-n_pictures // columns))


def encode_png(image: np.ndarray) -> bytes:
    """A (H, W, 3) uint8 picture as the bytes of a PNG file."""
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, format="PNG", compress_level=LITTLE_PRESSED)
    return buffer.getvalue()


def encode_jpeg(image: np.ndarray) -> bytes:
    """A (H, W, 3) uint8 picture as the bytes of a JPEG file, with its colours at full resolution for thin lines."""
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, format="JPEG", quality=88, subsampling=0)
    return buffer.getvalue()


def _paste_column(image: Image.Image, scene: Scene, *, frame: int, corner: tuple[int, int], layout: Layout) -> None:
    y, x = corner
    image.paste(Image.fromarray(draw_frame(scene, frame, layout.tile)), (x, y))
    image.paste(Image.fromarray(draw_probability(scene, frame, layout.tile)), (x, y + layout.tile[0] + GAP))
    mask, prior = scene.segmentation.shares[frame], scene.segmentation.priors.mean[frame]
    lines = (
        (name_frame(frame, scene.sequence.names[frame]), BRIGHT),
        (f"mask {format_share(mask)}  prior {format_share(prior)}", MUTED),
    )
    for row, (text, colour) in enumerate(lines):
        font = load_font(layout.text_size - row)
        place = (x, y - layout.label_height + row * 1.35 * layout.text_size)
        ImageDraw.Draw(image).text(place, _shorten(text, font, layout.tile[1]), font=font, fill=colour)


def _shorten(text: str, font: ImageFont.FreeTypeFont, width: int) -> str:
    """Cut a text at its start, where names differ least, until it fits the width in pixels."""
    for start in range(len(text)):
        fitting = text if start == 0 else "…" + text[start:]
        if font.getlength(fitting) <= width:
            return fitting
    return ""


def _draw_legend(image: Image.Image, *, with_reference: bool) -> None:
    """Say at the bottom what ring, lines and colours mean."""
    canvas, y = ImageDraw.Draw(image), image.height - LEGEND_SIZE[0] // 2
    draw_ring(canvas, np.array([y, 15]), 6)
    canvas.line((92, y, 116, y), fill=CONTOUR_COLOUR, width=2)
    bar = render_probability(np.tile(np.linspace(0, 1, 90, dtype=np.float32), (14, 1)))
    canvas.rectangle((343, y - 8, 434, y + 7), outline=MUTED)
    image.paste(Image.fromarray(bar), (344, y - 7))
    for x, text in ((30, "click"), (124, "mask, or probability 0.5"), (329, "0"), (441, "1 probability")):
        canvas.text((x, y), text, font=load_font(15), fill=MUTED, anchor="lm")
    if with_reference:
        canvas.line((570, y, 594, y), fill=REFERENCE_COLOUR, width=2)
        canvas.text((602, y), "reference", font=load_font(15), fill=MUTED, anchor="lm")


def load_font(size: int) -> ImageFont.FreeTypeFont:
    """DejaVu Sans as matplotlib carries it: names of frames may hold any letter."""
    from matplotlib import get_data_path

    return ImageFont.truetype(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)
