"""Long lists of whole numbers as text."""

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from fewpoint.core.actions import AddPoints, Brush, BrushFrames
from fewpoint.core.packing import PIECE, pack, to_rows, unpack


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("count", [0, 1, PIECE, PIECE + 1])
def test_rows_come_back_from_their_text(count, width):
    rows = np.arange(count * width).reshape(count, width) - 5
    assert unpack(pack(rows), width) == to_rows(rows) == tuple(map(tuple, rows.tolist()))


@pytest.mark.parametrize("text", ["AAAA", "no base64!", "AAAAAAAAAAA", "\u0661" * 4])
def test_a_text_that_holds_no_rows_is_refused(text):
    with pytest.raises(ValueError):
        unpack(text, 2)


@pytest.mark.parametrize(
    ("action", "rows", "build"),
    [
        (Brush, [[1, 3], [5, 1]], lambda runs: {"frame": 1, "runs": runs}),
        (BrushFrames, [[1, 3], [5, 1]], lambda runs: {"frames": [[1, runs]]}),
        (AddPoints, [[0, 1, 2], [0, 3, 4]], lambda places: {"places": places}),
    ],
)
def test_an_action_is_the_same_packed_and_plain(action, rows, build):
    def read(value):
        return TypeAdapter(action).validate_python({"object": "object", **build(value)})

    assert read(rows) == read(pack(np.array(rows)))
    with pytest.raises(ValidationError):
        read("AAAA")
