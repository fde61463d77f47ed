"""Faults tried together are told apart, and the table counts what found them; on made-up tests, nothing is run."""

from mutants.draw import Fault
from mutants.mutants import Answers, find_together, make_table

FAULTS = {key: Fault("off by one", f"src/fewpoint/io/{key}.py", 1, 0, 1, "1", "2") for key in "abc"}


class Place:
    """Tests by the faults that each of them finds; `both` fails by two faults together and by none alone."""

    def __init__(self, finders: dict[str, set[str]], together: str = "") -> None:
        self.finders, self.together, self.left_out = finders, together, []

    def fail(self, faults, tests, most=1):
        there = {key for key, fault in FAULTS.items() if fault in faults}
        failed = [test for test in tests if self.finders[test] & there or (test == self.together and len(there) > 1)]
        return failed[:most]

    def leave_out(self, test):
        self.left_out.append(test)


def test_each_fault_is_found_by_the_first_test_that_fails_with_it_alone():
    place = Place({"one": {"b"}, "two": {"a", "b"}, "three": set()})
    assert find_together(place, FAULTS, ["one", "two", "three"]) == {"b": "one", "a": "two"}
    assert place.left_out == []


def test_a_test_that_only_several_faults_break_is_left_out():
    place = Place({"both": set(), "one": {"c"}}, together="both")
    assert find_together(place, FAULTS, ["both", "one"]) == {"c": "one"}
    assert place.left_out == ["both"]


def test_more_tests_than_are_looked_at_at_once_find_all_faults():
    place = Place({f"{key}{number}": {key} for key in "abc" for number in range(9)})
    assert find_together(place, FAULTS, list(place.finders)) == {"a": "a0", "b": "b0", "c": "c0"}


def test_the_table_counts_what_the_old_tests_find_and_what_of_it_is_found_now(tmp_path):
    answers = Answers(tmp_path / "answers.json")
    for key in FAULTS:
        answers.ask("old, nearest", key, lambda key=key: {"a": "tests/io/test_a.py::test_a[1]"}.get(key, ""))
        answers.ask("short, nearest", key, lambda: "")
    answers.ask_many("old, folder", "io", lambda: {"b": "tests/io/test_b.py::test_b"})
    answers.ask_many("shadow", "all", lambda: {"a": "formats", "c": "box"})
    lines = make_table(FAULTS, Answers(tmp_path / "answers.json"))
    assert "| `io/test_a.py::test_a` |  | `formats` |" in lines[2]
    assert lines[-2].startswith("Of 3 faults the old tests find 2, and the short suite with the shadow 2:")
    assert lines[-1] == "1 of those that the old tests find (not: b)."
