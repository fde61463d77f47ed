"""Faults are small, of the kind that they say, and the same for the same seed."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from mutants.draw import KINDS, Fault, draw, list_faults, list_in_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("kind", "source", "after"),
    [
        ("flipped comparison", "a < b", "a >= b"),
        ("flipped comparison", "a is not None", "a is None"),
        ("off by one", "a[-1]", "a[0]"),
        ("off by one", "a[1:n]", "a[2:n]"),
        ("off by one", "a[:3]", "a[:4]"),
        ("off by one", "n - 1", "n - 2"),
        ("off by one", "range(n)", "range(n + 1)"),
        ("off by one", "n > 3", "n > 4"),
        ("dropped call", "close()", "pass"),
        ("wrong axis", "a.sum(axis=0)", "a.sum(axis=1)"),
        ("wrong axis", "a.shape[-1]", "a.shape[0]"),
        ("wrong axis", "a.transpose(2, 0, 1)", "a.transpose(0, 2, 1)"),
        ("wrong axis", "np.moveaxis(a, 0, -1)", "np.moveaxis(a, -1, 0)"),
    ],
)
def test_a_fault_of_each_kind(kind, source, after):
    assert (source, after) in [
        (fault.before, fault.after) for fault in list_in_file("", source.encode()) if fault.kind == kind
    ]


@pytest.mark.parametrize(
    "source", ["a: list[1] = b", "f'{a[0]}'", "def f(a: b[1]) -> c[2]: ...", "x = True", "a < b < c"]
)
def test_annotations_and_text_get_no_faults(source):
    assert list_in_file("", source.encode()) == []


def test_a_fault_is_put_where_it_belongs_and_nowhere_else(tmp_path):
    (tmp_path / "a.py").write_text("é = 'ü'; y = n - 1\n\nz = n - 1\n", encoding="utf-8")
    fault = list_in_file("a.py", (tmp_path / "a.py").read_bytes())[0]
    fault.put_into(tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "é = 'ü'; y = n - 2\n\nz = n - 1\n"
    with pytest.raises(ValueError, match="must hold 'n - 1'"):
        fault.put_into(tmp_path)


def test_the_same_seed_draws_the_same_faults_of_every_folder_and_kind():
    drawn = draw(ROOT, ("learning", "io"), 4, seed=1)
    assert drawn == draw(ROOT, ("learning", "io"), 4, seed=1) != draw(ROOT, ("learning", "io"), 4, seed=2)
    assert Counter(fault.path.split("/")[2] for fault in drawn) == {"learning": 4, "io": 4}
    assert Counter(fault.kind for fault in drawn) == dict.fromkeys(KINDS, 2)


def test_every_fault_is_another_program_that_python_can_read():
    for fault in list_faults(ROOT, "runs"):
        assert is_another_program(fault), fault


def is_another_program(fault: Fault) -> bool:
    lines = (ROOT / fault.path).read_bytes().splitlines(keepends=True)
    line = lines[fault.line - 1]
    changed = line[: fault.column] + fault.after.encode() + line[fault.end :]
    before, after = (b"".join([*lines[: fault.line - 1], each, *lines[fault.line :]]) for each in (line, changed))
    return ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
