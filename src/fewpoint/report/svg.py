"""A matplotlib figure as SVG that can stand inside a page."""

import re
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"  # drawn in this colour, text and axes take the colour of the page's text, light or dark


def to_svg(figure: "Figure", title: str) -> str:
    """The figure as an SVG element: the page's text colour, ids that start with the title, nothing fetched.

    The text depends on the figure alone, so equal figures give equal pages.
    """
    buffer = StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href", "href")
    text = text.replace(INK, "currentColor")
    text = text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return _rename_ids(text, re.sub(r"\W+", "-", title.lower())).strip()


def _rename_ids(text: str, prefix: str) -> str:
    """Number the ids that are referred to and drop the others: matplotlib's are random and repeat between figures."""
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', text))
    names = {old: f"{prefix}-{number}" for number, old in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", text)
    return re.sub(r'(href="|url\()#([^")]+)', lambda found: f"{found[1]}#{names[found[2]]}", text)
