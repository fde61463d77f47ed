"""Which small faults do the tests of an earlier commit find, and which `make test` with `make shadow`?

    python -P tests/mutants/mutants.py 92bdc21 --out build/mutants

Draws faults in the sources of the last commit and tries each in two clones: of the earlier commit, with all tests of
the fault's folder; and of the last commit, with the short tests that are nearest, then with the cases of the shadow,
then with the rest of the short suite. To save time, faults that the nearest tests do not find
are tried together, and one by one only on what then fails. For faults that the earlier tests alone find, the test
that did is tried in the last commit: then only the nightly tests find it.

Answers are kept in OUT/answers.json, so that a call that was ended goes on; OUT/mutants.md is the table.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants.draw import Fault, draw
from shadow.compare import compare_case
from shadow.recorder import describe_processor

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
FOLDERS = ("pipeline", "learning", "runs", "io", "web")
EACH, SEED = 6, 37
ALL, SHORT = "", "not nightly"
MOST = 5  # tests that fail before what they fail by is looked for
# Those that say most come first.
CASES = ("three-clicks", "refinements", "formats", "page", "live")


@dataclass
class Tree:
    """A clone, and the interpreter that runs it. sound: what fails there without a fault is left out."""

    root: Path
    python: str
    marks: str
    sound: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)

    @contextmanager
    def with_faults(self, faults: Sequence[Fault]) -> Iterator[None]:
        try:
            for fault in faults:
                fault.put_into(self.root)
            self._forget_compiled(faults)
            yield
        finally:
            subprocess.run(["git", "-C", str(self.root), "checkout", "--quiet", "--", "src"], check=True)
            self._forget_compiled(faults)

    def _forget_compiled(self, faults: Sequence[Fault]) -> None:
        """Python takes what it compiled before for a file of the same size and second."""
        for path in {self.root / fault.path for fault in faults}:
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
                compiled.unlink()

    def leave_out(self, test: str) -> None:
        self.broken.add(test)

    def fail(self, faults: Sequence[Fault], tests: Sequence[str], most: int = 1) -> list[str]:
        """The tests that fail because of faults, in order; it ends with so many."""
        with self.with_faults(faults):
            failed = self._run(tests, most)
        for test in failed:
            if test not in self.sound | self.broken:
                (self.broken if self._run([test], 1) else self.sound).add(test)
        return [test for test in failed if test in self.sound]

    def _run(self, tests: Sequence[str], most: int) -> list[str]:
        noted = self.root.parent / f"{self.root.name}-noted.txt"
        noted.write_text("", encoding="utf-8")
        environment = os.environ | {
            "NOTED": str(noted),
            "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{TESTS / 'mutants'}",
            "OMP_NUM_THREADS": "1",
            "CI": "false",
        }
        options = ["-p", "noting", "-p", "no:cacheprovider", "--tb=no", f"--maxfail={most}", "-m", self.marks]
        left_out = [f"--deselect={test}" for test in self.broken if test not in tests]
        command = [self.python, "-m", "pytest", *options, *left_out, *tests]
        with (self.root.parent / f"{self.root.name}-log.txt").open("ab") as log:
            subprocess.run(command, cwd=self.root, env=environment, stdout=log, stderr=log, check=False)
        lines = [line.partition(" ")[::2] for line in noted.read_text(encoding="utf-8").splitlines()]
        hanging = [test for what, test in lines[-1:] if what == "began"]
        return list(dict.fromkeys([test for what, test in lines if what == "failed"] + hanging))

    def find_nearest(self, fault: Fault) -> list[str]:
        """The test files of the fault's folder that name its module, the one called after it first."""
        _, _, folder, *_, name = fault.path.split("/")
        stem = name.removesuffix(".py")
        files = sorted((self.root / "tests" / folder).rglob("test_*.py"))
        imported = rf"fewpoint\.{folder}\.([\w.]*\.)?{stem}\b|from fewpoint\.{folder}[\w.]* import .*\b{stem}\b"
        naming = [path for path in files if re.search(imported, path.read_text(encoding="utf-8"))]
        own = [path for path in files if path.name == f"test_{stem}.py"]
        return [fault.path, *(path.relative_to(self.root).as_posix() for path in dict.fromkeys([*own, *naming]))]


@dataclass
class Shadow:
    """Cases of the shadow of a tree with faults, compared with those of the tree without."""

    tree: Tree
    out: Path

    def fail(self, faults: Sequence[Fault], cases: Sequence[str], most: int = 1) -> list[str]:
        """The cases that differ or fail, with the first stage; it ends with so many."""
        sound = self.out / "sound"
        self._record([case for case in cases if not (sound / case).exists()], sound)
        failed = []
        with self.tree.with_faults(faults):
            for case in cases:
                shutil.rmtree(self.out / "faulty", ignore_errors=True)
                self._record([case], self.out / "faulty")
                verdict = compare_case(sound / case, self.out / "faulty" / case, [])
                failed += [] if verdict.equal else [case]
                if len(failed) == most:
                    break
        return failed

    def leave_out(self, case: str) -> None:
        """Cases that are left out are not asked for again."""

    def _record(self, cases: Sequence[str], out: Path) -> None:
        """A case that fails leaves nothing."""
        if cases:
            command = [self.tree.python, "-P", str(self.tree.root / "tests/shadow/drive.py"), *cases, str(out)]
            with (self.out.parent / "shadow-log.txt").open("ab") as log:
                subprocess.run(command, cwd=self.tree.root, stdout=log, stderr=log, check=False)


class Answers:
    """What each question gave, by its kind and then by fault or folder, kept in a file; '' for nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.found: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.exists() else {}

    def ask(self, kind: str, key: str, find: Callable[[], str]) -> str:
        answers = self.found.setdefault(kind, {})
        if key not in answers:
            answers[key] = find()
            self._path.write_text(json.dumps(self.found, indent=1))
            print(f"{kind} {key}: {answers[key] or 'not found'}", flush=True)
        return answers[key]

    def ask_many(self, kind: str, key: str, find: Callable[[], dict[str, str]]) -> None:
        """Of many faults at once."""
        self.ask(kind, key, lambda: json.dumps(find()))

    def get(self, kind: str, key: str) -> str:
        return self.found.get(kind, {}).get(key, "")

    def get_many(self, kind: str) -> dict[str, str]:
        return {key: what for text in self.found.get(kind, {}).values() for key, what in json.loads(text).items()}


def find_together(place: Tree | Shadow, faults: dict[str, Fault], tests: Sequence[str]) -> dict[str, str]:
    """What finds each of many faults, by their keys: all are tried together, single ones on what then fails."""
    found: dict[str, str] = {}
    left, left_out = dict(faults), set[str]()
    while left and (failing := place.fail(list(left.values()), [test for test in tests if test not in left_out], MOST)):
        while failing:
            test, *others = failing
            hits = [key for key, fault in left.items() if place.fail([fault], [test])]
            found |= dict.fromkeys(hits, test)
            left = {key: fault for key, fault in left.items() if key not in hits}
            if not hits:  # several faults together make it fail
                left_out.add(test)
                place.leave_out(test)
            failing = place.fail(list(left.values()), others, MOST) if others and left else []
    return found


def try_old_nearest(tree: Tree, faults: dict[str, Fault], answers: Answers) -> None:
    """The tests of the folder that are nearest."""
    for key, fault in faults.items():
        answers.ask("old, nearest", key, partial(find_one_by_one, tree, fault, [tree.find_nearest(fault)]))


def try_short_nearest(tree: Tree, faults: dict[str, Fault], answers: Answers) -> None:
    """The test that found the fault in the earlier commit, then those that are nearest.

    If the nearest found nothing there, they are left to the whole suite.
    """
    for key, fault in faults.items():
        if known := answers.get("old, nearest", key):
            choices = [[known], tree.find_nearest(fault)]
            answers.ask("short, nearest", key, partial(find_one_by_one, tree, fault, choices))


def find_one_by_one(tree: Tree, fault: Fault, choices: Sequence[Sequence[str]]) -> str:
    """The first test that fails; '' for none."""
    return next((failed[0] for tests in choices if (failed := tree.fail([fault], tests))), "")


def try_shadow(shadow: Shadow, faults: dict[str, Fault], answers: Answers) -> None:
    """All cases with all faults that are left, those cases first that say most."""
    left = {key: fault for key, fault in faults.items() if not answers.get("short, nearest", key)}
    listed = [sys.executable, "-P", str(shadow.tree.root / "tests/shadow/drive.py"), "--list"]
    known = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    cases = [*CASES, *(case for case in known if case not in CASES)]
    answers.ask_many("shadow", "all", lambda: find_together(shadow, left, cases))


def try_old_folders(tree: Tree, faults: dict[str, Fault], answers: Answers) -> None:
    """All tests of a folder with all of its faults that are left."""
    for folder in FOLDERS:
        left = {key: fault for key, fault in faults.items() if fault.path.split("/")[2] == folder}
        left = {key: fault for key, fault in left.items() if not answers.get("old, nearest", key)}
        find = partial(find_together, tree, left, [f"tests/{folder}", f"src/fewpoint/{folder}"])
        answers.ask_many("old, folder", folder, find)


def try_short_rest(tree: Tree, faults: dict[str, Fault], answers: Answers) -> None:
    """The whole short suite with all faults that are left."""
    left = {key: fault for key, fault in faults.items() if not find(answers, key)["short"]}
    left = {key: fault for key, fault in left.items() if not find(answers, key)["shadow"]}
    answers.ask_many("short, rest", "all", lambda: find_together(tree, left, ["tests", "src"]))


def find(answers: Answers, key: str) -> dict[str, str]:
    """What found a fault, by column of the table."""
    by_case = answers.get_many("shadow")
    return {
        "old": answers.get("old, nearest", key) or answers.get_many("old, folder").get(key, ""),
        "short": answers.get("short, nearest", key) or answers.get_many("short, rest").get(key, ""),
        "shadow": f"`{by_case[key]}`" if key in by_case else "",
    }


def try_nightly(tree: Tree, faults: dict[str, Fault], answers: Answers) -> None:
    """The old test that found what nothing short finds, in the present tree."""
    for key, fault in faults.items():
        found = find(answers, key)
        if found["old"] and not found["short"] and not found["shadow"]:
            answers.ask("nightly", key, partial(find_one_by_one, tree, fault, [[found["old"]]]))


def make_table(faults: dict[str, Fault], answers: Answers) -> list[str]:
    """Lines of Markdown."""
    lines = [
        "| | fault | in | was | is | old tests of the folder | present short suite | shadow | nightly |",
        "|---" * 9 + "|",
    ]
    columns = {key: find(answers, key) for key in faults}
    for key, fault in faults.items():
        found, place = columns[key], f"`{fault.path.removeprefix('src/fewpoint/')}:{fault.line}`"
        texts = [f"`{text.replace('|', chr(92) + '|')}`" for text in (fault.before, fault.after)]
        tests = [found["old"], found["short"]]
        shown = [f"`{test.removeprefix('tests/').partition('[')[0]}`" if test else "" for test in tests]
        night = answers.get("nightly", key) and "finds it"
        lines.append(f"| {key} | {fault.kind} | {place} | {' | '.join([*texts, *shown, found['shadow'], night])} |")
    old = [key for key, found in columns.items() if found["old"]]
    now = [key for key, found in columns.items() if found["short"] or found["shadow"]]
    both, missed = len(set(old) & set(now)), ", ".join(key for key in old if key not in now) or "none"
    return [
        *lines,
        "",
        f"Of {len(faults)} faults the old tests find {len(old)}, and the short suite with the shadow {len(now)}:",
        f"{both} of those that the old tests find (not: {missed}).",
    ]


def ask_git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def clone(commit: str, folder: Path) -> Path:
    if not folder.exists():
        ask_git(ROOT, "clone", "--quiet", "--no-checkout", str(ROOT), str(folder))
        ask_git(folder, "checkout", "--quiet", "--detach", commit)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", help="the earlier commit")
    parser.add_argument("--new", default="HEAD", help="the commit in whose sources faults are drawn")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--each", type=int, default=EACH, help="faults of each folder")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--python", default=sys.executable, help="what runs the tests of both")
    given = parser.parse_args()
    out = given.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    old = Tree(clone(given.old, out / "old"), given.python, ALL)
    new = Tree(clone(given.new, out / "new"), given.python, SHORT)
    drawn = draw(new.root, FOLDERS, given.each, given.seed)
    faults = {str(number): fault for number, fault in enumerate(drawn, start=1)}
    answers = Answers(out / "answers.json")
    commit, today = ask_git(new.root, "rev-parse", "--short", "HEAD"), datetime.now(UTC).date()
    head = f"Commit {commit}, the old tests those of {given.old}; {describe_processor()}; {today}; seed {given.seed}."
    for find_more in (
        partial(try_old_nearest, old),
        partial(try_short_nearest, new),
        partial(try_shadow, Shadow(new, out / "shadow")),
        partial(try_short_rest, new),
        partial(try_old_folders, old),
        partial(try_nightly, Tree(new.root, given.python, ALL)),
    ):
        find_more(faults, answers)
        text = "\n".join(["# Small faults, and which tests find them", "", head, "", *make_table(faults, answers), ""])
        (out / "mutants.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
