"""Messages with long lists."""

import json

import numpy as np
import pytest

from fewpoint.core.packing import PIECE, unpack
from fewpoint.errors import InputError
from fewpoint.io.large_json import LONG, MOST_PLAIN, pack_message, write_json


def read_packed(told, folder):
    path = folder / "message.json"
    path.write_text(json.dumps(told))
    return json.loads(pack_message(path).tobytes())


@pytest.mark.parametrize("row", [[1, 2], [1, 2, 3]])
def test_long_lists_of_whole_numbers_are_packed_wherever_they_stand(row, tmp_path):
    packed = read_packed({"action": {"frames": [[0, [row] * LONG]], "object": "é"}}, tmp_path)
    assert packed["action"]["object"] == "é"
    assert unpack(packed["action"]["frames"][0][1], len(row)) == (tuple(row),) * LONG


@pytest.mark.parametrize("last", [[1], [1, True], [1, 1.0], [1, "1"], [1, 2**31], [1, 2**80], None, 7])
def test_what_is_not_whole_numbers_throughout_is_left_as_it_is(last, tmp_path):
    told = {"runs": [[0, 1]] * LONG + [last]}
    assert read_packed(told, tmp_path) == told


@pytest.mark.parametrize(
    "told", [["x" * 60] * (MOST_PLAIN // 60), {"runs": [[0.5, 1.5]] * MOST_PLAIN}, "x" * MOST_PLAIN]
)
def test_a_message_that_is_large_without_such_lists_is_refused(told, tmp_path):
    with pytest.raises(InputError, match="only lists of stretches or points may be long"):
        read_packed(told, tmp_path)


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 10**5, b"\xff\xfe", b'{"runs": [[1, 2]'])
def test_a_message_that_is_not_json_is_refused(data, tmp_path):
    (tmp_path / "message.json").write_bytes(data)
    with pytest.raises(InputError, match="must be JSON"):
        pack_message(tmp_path / "message.json")


@pytest.mark.parametrize("count", [0, 1, PIECE, 2 * PIECE + 1])
def test_a_value_is_written_as_json_writes_it(count):
    rows = [[number, 1] for number in range(count)]
    entry = {
        "at": 'é\n"',
        "none": None,
        "empty": {},
        "list": [],
        "action": {"runs": tuple(map(tuple, rows)), "size": 1.5},
    }
    assert write_json(entry) == json.dumps(entry, ensure_ascii=False)
    assert write_json({"runs": np.array(rows).reshape(-1, 2)}) == json.dumps({"runs": rows})
    with pytest.raises(ValueError):
        write_json({"size": float("nan")})
