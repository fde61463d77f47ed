"""Words besides clicks as a person types them: outlined frames, boxes and sizes, of one object or of several."""

import re
from collections.abc import Iterable

from fewpoint.core.job import AddedWords, GivenWords, OutlineFile
from fewpoint.core.plain_text import parse_number, parse_whole
from fewpoint.core.saying import EVERY
from fewpoint.core.words import Box
from fewpoint.errors import InputError

OUTLINE_FORM = "[NAME=]FRAME=MASK or [NAME=]FILE"
BOX_FORM = "[NAME=]FRAME,Y0,X0,Y1,X1"
SIZE_FORM = "[NAME=][FRAME:]FACTOR"


def parse_words(outlined: Iterable[str], boxes: Iterable[str], sizes: Iterable[str]) -> AddedWords:
    """By object, sorted; EVERY for what names none.

    >>> parse_words(["3=mask.png"], [], ["liver=1.2"])[1]
    ('liver', GivenWords(outlined=(), boxes=(), size=1.2, sizes=()))
    """
    files, drawn = [parse_outline(text) for text in outlined], [parse_box(text) for text in boxes]
    factors = [parse_size(text) for text in sizes]
    _refuse_twice([(name, frame) for name, frame, _ in factors])
    return tuple(
        (
            name,
            GivenWords(
                outlined=tuple(file for own, file in files if own == name),
                boxes=tuple(box for own, box in drawn if own == name),
                size=next((factor for own, frame, factor in factors if own == name and frame is None), None),
                sizes=tuple((frame, factor) for own, frame, factor in factors if own == name and frame is not None),
            ),
        )
        for name in sorted({given[0] for given in (*files, *drawn, *factors)})
    )


def parse_outline(text: str) -> tuple[str, OutlineFile]:
    """An object and a file.

    >>> parse_outline("liver=12=mask.png")
    ('liver', OutlineFile(path='mask.png', frame=12))
    >>> parse_outline("drawn/labels.nii.gz")
    ('', OutlineFile(path='drawn/labels.nii.gz', frame=None))
    """
    name, rest = split_name(text)
    frame, equals, path = rest.partition("=")
    is_framed = bool(equals) and frame.isascii() and frame.strip().isdecimal()
    file = OutlineFile(path.strip(), int(frame)) if is_framed else OutlineFile(rest.strip())
    if not file.path:
        raise InputError(f"a drawn mask must be {OUTLINE_FORM}, got {text[:60]}")
    return name, file


def parse_box(text: str) -> tuple[str, Box]:
    """An object and a box.

    >>> parse_box("7,10,20,30,40")
    ('', Box(frame=7, top=10, left=20, bottom=30, right=40))
    """
    name, _, numbers = text.rpartition("=")
    try:
        frame, top, left, bottom, right = (parse_whole(part) for part in re.split(r"[,\s]+", numbers.strip()))
    except ValueError:
        raise InputError(f"a box must be {BOX_FORM}, five whole numbers, got {text[:60]}") from None
    return name.strip(), Box(frame, top, left, bottom, right)


def parse_size(text: str) -> tuple[str, int | None, float]:
    """An object, a frame, None for all, and how many times larger its masks should be than what is found.

    >>> parse_size("liver=12:0.8"), parse_size("1.2")
    (('liver', 12, 0.8), ('', None, 1.2))
    """
    name, _, rest = text.rpartition("=")
    frame, colon, factor = rest.rpartition(":")
    try:
        return name.strip(), parse_whole(frame) if colon else None, parse_number(factor)
    except ValueError:
        raise InputError(f"a size must be {SIZE_FORM}, such as 1.2 or 12:0.8, got {text[:60]}") from None


def split_name(text: str) -> tuple[str, str]:
    """The name before the first equals sign; a number is that of a frame, and what has a slash is a file."""
    first, equals, rest = text.strip().partition("=")
    is_name = bool(equals) and not first.strip().isdecimal() and "/" not in first and "\\" not in first
    return (first.strip(), rest.strip()) if is_name else (EVERY, text.strip())


def _refuse_twice(given: list[tuple[str, int | None]]) -> None:
    for name, frame in given:
        if given.count((name, frame)) > 1:
            where = f"{' of ' + name if name else ''}{'' if frame is None else f' on frame {frame}'}"
            raise InputError(f"a size{where} must be given once, got {given.count((name, frame))}")
