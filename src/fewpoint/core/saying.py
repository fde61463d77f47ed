"""Clicks and the other words about all objects of a sequence, as one whole that does not contradict itself."""

from collections.abc import Mapping

import numpy as np

from fewpoint.core.points import PointSet
from fewpoint.core.run_lengths import Stretches
from fewpoint.core.words import NOTHING_SAID, Box, Words
from fewpoint.errors import InputError

EVERY = ""  # the name under which something is said of each object without its own, or of the only one

SaidWords = tuple[tuple[str, Words], ...]  # by object
Place = tuple[tuple[int, int, int], str]  # frame, y, x, and the object there


def settle_words(
    points: PointSet | None, said: Mapping[str, Words], n_frames: int, size: tuple[int, int]
) -> tuple[PointSet, SaidWords]:
    """Points and words of all objects; InputError if they contradict each other.

    points: None if outlined frames alone say where the objects are. said: by object, EVERY for each that has no own.
    """
    return agree(points, spread_words(said, name_objects(points, said)), n_frames, size)


def agree(
    points: PointSet | None, words: Mapping[str, Words], n_frames: int, size: tuple[int, int]
) -> tuple[PointSet, SaidWords]:
    """Points with what outlined frames add to them, and the words of each object that has any; checked."""
    for each in words.values():
        each.check_inside(n_frames, size)
    if points is not None:
        points.check_inside(n_frames, size)
        check_agreement(points, words, size)
    _check_overlaps(words, size)
    points = add_outlined(points, words, size)
    return points, tuple((name, words[name]) for name in sorted(words) if not words[name].empty)


def name_objects(points: PointSet | None, said: Mapping[str, object]) -> tuple[str, ...]:
    """The objects that points and words are about, sorted; "" for the only one if it has no name.

    >>> name_objects(PointSet.from_rows([(0, 1, 1)], objects=["liver"]), {"": 1, "spleen": 2})
    ('liver', 'spleen')
    """
    named = sorted(set(said) - {EVERY})
    if points is None:
        return tuple(named) or (EVERY,)
    known = [name for name in points.object_names if name]
    if not known and named:
        raise InputError(f"an annotation names the object {named[0]}, but the points name none; leave its name out")
    return tuple(sorted({*known, *named})) or (EVERY,)


def spread_words(said: Mapping[str, Words], names: tuple[str, ...]) -> dict[str, Words]:
    """The words of each object by its name, with what is said of every one where it has no word of its own.

    >>> spread_words({"": Words(size=2.0), "a": Words(size=3.0)}, ("a", "b"))["b"].size
    2.0
    """
    every = said.get(EVERY, NOTHING_SAID)
    if len(names) > 1 and (every.outlined or every.boxes):
        raise InputError(f"a drawn mask or a box needs the name of its object, there are {', '.join(names)}")
    spread = {}
    for name in names:
        own = said.get(name, NOTHING_SAID)
        size = None if own.size == 1.0 else own.size
        spread[name] = add_words(every, outlined=own.outlined, boxes=own.boxes, size=size, sizes=own.sizes)
    return spread


def add_words(
    words: Words,
    *,
    outlined: Mapping[int, Stretches] | None = None,
    boxes: tuple[Box, ...] = (),
    size: float | None = None,
    sizes: Mapping[int, float] | None = None,
) -> Words:
    """Words with newer ones, which win frame by frame; a size of 1 takes back an older one.

    >>> add_words(Words(size=2.0, sizes={3: 0.5}), size=1.0, sizes={4: 0.8})
    <Words: sizes {3: 0.5, 4: 0.8}>
    """
    masks = {**words.outlined, **(outlined or {})}
    by_frame = {box.frame: box for box in (*words.boxes, *boxes)}
    factors = {**words.sizes, **(sizes or {})}
    return Words(
        dict(sorted(masks.items())),
        tuple(by_frame[frame] for frame in sorted(by_frame)),
        float(words.size if size is None else size),
        {frame: float(factor) for frame, factor in sorted(factors.items()) if factor != 1.0},
    )


def add_outlined(points: PointSet | None, words: Mapping[str, Words], size: tuple[int, int]) -> PointSet:
    """The points with what outlined frames say of where an object is.

    An object without a point gets the innermost pixel of each of its outlines; a frame whose outline is empty does not
    show the object. size: (height, width) of a frame.
    """
    known = () if points is None else points.object_names or (EVERY,)
    inner = [(row, name) for name in words if name not in known for row in _find_inner(words[name], name, size)]
    empty = [(frame, name) for name, each in words.items() for frame, runs in each.outlined.items() if not runs]
    if points is None:
        return _make_points(inner, empty)
    new = [mark for mark in empty if mark[0] not in points.absent and mark not in points.absent_of]
    return _make_points(inner, new, points) if inner or new else points


def check_agreement(points: PointSet, words: Mapping[str, Words], size: tuple[int, int]) -> None:
    """Raise InputError for the first click or mark that another word about its frame contradicts."""
    for name, each in words.items():
        for frame in each.outlined:
            _check_outline(points, name, frame, each.mask(frame, size))
        for box in each.boxes:
            if box.frame not in each.outlined:
                _check_box(points, name, box)


def lies_in(box: Box, y: int, x: int) -> bool:
    """Whether a pixel is in a box.

    >>> lies_in(Box(0, 1, 1, 3, 3), 2, 2), lies_in(Box(0, 1, 1, 3, 3), 2, 3)
    (True, False)
    """
    return box.top <= y < box.bottom and box.left <= x < box.right


def find_innermost(mask: np.ndarray) -> tuple[int, int]:
    """(y, x) of the pixel of a (H, W) mask that lies deepest in it; of several the one nearest to their middle.

    Depth is counted in steps along rows and columns; what lies outside the frame is outside the mask.

    >>> find_innermost(np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0]], bool))
    (1, 1)
    """
    ys, xs = np.nonzero(mask)
    if not len(ys):
        raise InputError("an empty mask has no innermost pixel")
    top, left = int(ys.min()), int(xs.min())
    kept = np.pad(mask[top : ys.max() + 1, left : xs.max() + 1], 1)
    while (core := _erode(kept)).any():
        kept = core
    places = np.argwhere(kept)
    y, x = places[np.square(places - places.mean(axis=0)).sum(axis=1).argmin()].tolist()
    return y - 1 + top, x - 1 + left


def _erode(mask: np.ndarray) -> np.ndarray:
    """The pixels of a mask with an empty border all four of whose neighbours are in it."""
    core = np.zeros_like(mask)
    core[1:-1, 1:-1] = mask[1:-1, 1:-1] & mask[:-2, 1:-1] & mask[2:, 1:-1] & mask[1:-1, :-2] & mask[1:-1, 2:]
    return core


def _find_inner(words: Words, name: str, size: tuple[int, int]) -> list[tuple[int, int, int]]:
    """The innermost pixel of each outline of an object that has no point."""
    rows = [(frame, *find_innermost(words.mask(frame, size))) for frame, runs in words.outlined.items() if runs]
    if not rows:
        whose = f"the object {name} has" if name else "the object has"
        raise InputError(f"{whose} neither a point nor a drawn mask that shows it; give one, or correct the name")
    return rows


def _make_points(inner: list[Place], empty: list[tuple[int, str]], before: PointSet | None = None) -> PointSet:
    """Points with further ones on some objects, and further frames that single objects are absent from."""
    clicks = [] if before is None else _list_places(before.coordinates, before.objects)
    rows, names = zip(*clicks, *inner, strict=True)
    absent, single = [frame for frame, name in empty if not name], [mark for mark in empty if mark[1]]
    objects = names if any(names) else ()
    if before is None:
        return PointSet.from_rows(list(rows), absent, objects, absent_of=single)
    negatives = [row for row, _ in _list_places(before.negatives)]
    return PointSet.from_rows(
        list(rows),
        [*before.absent, *absent],
        objects,
        negatives,
        before.negative_objects,
        [*before.absent_of, *single],
    )


def _check_outline(points: PointSet, name: str, frame: int, mask: np.ndarray) -> None:
    outlined = f"the drawn mask of {name or 'the object'} on frame {frame}"
    for (_, y, x), clicked in _list_places(points.coordinates, points.objects, frame):
        if (clicked == name) != mask[y, x]:
            side = "outside" if clicked == name else "inside"
            whose = f" on {clicked}" if clicked else ""
            raise InputError(f"the point{whose} at y {y}, x {x} lies {side} {outlined}; remove one of the two")
    for (_, y, x), refused in _list_places(points.negatives, points.negative_objects, frame):
        if refused in (EVERY, name) and mask[y, x]:
            raise InputError(f"the background click at y {y}, x {x} lies inside {outlined}; remove one of the two")
    if mask.any() and (frame in points.absent or (frame, name) in points.absent_of):
        raise InputError(f"frame {frame} is marked absent, but {outlined} is not empty; remove one of the two")


def _check_box(points: PointSet, name: str, box: Box) -> None:
    for (frame, y, x), clicked in _list_places(points.coordinates, points.objects, box.frame):
        if clicked == name and not lies_in(box, y, x):
            raise InputError(
                f"the point on frame {frame} at y {y}, x {x} lies outside the box of {name or 'the object'} there, "
                f"{box.top},{box.left},{box.bottom},{box.right}; remove one of the two"
            )


def _check_overlaps(words: Mapping[str, Words], size: tuple[int, int]) -> None:
    seen: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, each in words.items():
        for frame in each.outlined:
            mask = each.mask(frame, size)
            for other, taken in seen.get(frame, []):
                if (mask & taken).any():
                    y, x = np.argwhere(mask & taken)[0].tolist()
                    raise InputError(
                        f"the drawn masks of {other} and {name} on frame {frame} share pixels, such as y {y}, x {x}; "
                        "give each pixel to one of them"
                    )
            seen.setdefault(frame, []).append((name, mask))


def _list_places(rows: np.ndarray, names: tuple[str, ...] = (), frame: int | None = None) -> list[Place]:
    """Rows with their names, "" if there are none; those on one frame, if it is given."""
    placed = zip(rows.tolist(), names or (EVERY,) * len(rows), strict=True)
    return [((own, y, x), name) for (own, y, x), name in placed if frame in (None, own)]
