"""What a person reads uses the words of the field: no phrase of the dialect that this project once had comes back."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fewpoint"

# A phrase of the dialect, and what to write instead.
DIALECT = {
    r"\bheed(s|ed|ing)?\b|\bobey(s|ed|ing)?\b": "apply, follow, satisfy",
    r"\btestif(y|ies)\b|(?<![\[/._-])\bwitness(es)?\b": "foundation model",
    r"\b(is|are|was|were|been) (told|heard|believed)\b": "given, used, accepted",
    r"\bwords (said|about|since|of (a|the|each) person)\b|\blast words\b": "annotations",
    r"\b(each|every|any|no) word (of|changes|counts)\b": "annotation",
    r"\bwhat (was|is|has been|had been) said\b|\bsaid (of|about|since)\b|\bnothing was said\b": "annotated",
    r"\boutlined (frames?|masks?)\b|\bframes? outlined\b": "drawn mask",
    r"\ba negative\b(?! (risk|label|weight|number|control))|\bnegative points?\b": "background click",
    r"\bpoints? where the object is not\b": "background click",
    r"\bhangs? together\b|\bwith no click\b": "connected to",
    r"\brough (masks?|ones?)\b|\banswers? at once\b|\banswered at once\b": "live preview",
    r"\bworth a look\b|\blook(ed)? first\b": "to review",
    r"\bnonsense\b|\blets nobody in\b|\bgoes by another name\b|\bfound finished\b": "plain words of the error",
    r"\banew\b": "again",
    r"\bvery middle\b|\btells? nothing\b": "near the centre, cannot be estimated",
    r"\bcarried points?\b|\bpoints? (is|are|was|were) carried\b": "propagated points",
    r"\bis no (mask|file|folder|share|picture|film|video)\b": "is not a",
    r"\bfilms?\b": "video",
    r"\bhealth of\b|\bhealth [0-9{]|\bhealth figures?\b": "quality check",
    r"\bsays? where to look\b|\bstands? in for\b|\bgo(es)? on with\b": "review, replaces, continue",
}
# How many phrases a file still has. Only to be made fewer.
ALLOWED: dict[str, int] = {
    "docs/explanation/competitors.md": 2,
    "docs/reproduction.md": 2,
    "src/fewpoint/bench/suite.py": 1,
}


def list_files(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def read_messages(source: str) -> Iterator[str]:
    """The texts of a program of several words that are no docstrings, but of commands: help, messages, errors."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    owners = [node for node in nodes if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    bodies = [node.body for node in owners if not getattr(node, "name", "").endswith("_command")]  # theirs are help
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    others = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)} | parts
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in others:
            yield node.value


def read_page(source: str) -> Iterator[str]:
    """The texts of a page: of HTML and of JavaScript without comments."""
    source = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*|<!--.*?-->", "", source, flags=re.DOTALL)
    for quoted, template, text in re.findall(
        r"\"([^\"\n]* [^\"\n]*)\"|`([^`]* [^`]*)`|>([^<>{}]*[a-z] [^<>{}]*)<", source
    ):
        yield quoted or template or text


def read_pages(text: str) -> Iterator[str]:
    """Prose of Markdown: without blocks of code and what stands in backticks."""
    yield re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)


def find_dialect() -> dict[str, int]:
    """How many phrases of the dialect each file has that a person reads."""
    readers = {".py": read_messages, ".md": read_pages, ".js": read_page, ".html": read_page}
    files = list_files("src/fewpoint/*.py", "src/fewpoint/*.js", "src/fewpoint/*.html", "docs/*.md", "*.md")
    found = {}
    for path in files:
        texts = readers[path.suffix](path.read_text(encoding="utf-8"))
        count = sum(len(re.findall(phrase, text)) for text in texts if " " in text for phrase in DIALECT)
        if count:
            found[path.relative_to(ROOT).as_posix()] = count
    return found


def test_a_phrase_of_the_dialect_is_found():
    assert list(read_messages('def f():\n    """Doc string."""\n    raise E(f"a {x} is told")')) == ["a {} is told"]
    assert list(read_page('// a comment\ncall("a text of it");<p>Some text</p>')) == ["a text of it", "Some text"]
    assert [re.sub(" +", " ", text) for text in read_pages("a `code word` and\n```sh\nmore\n```\n")] == ["a and\n \n"]


@pytest.mark.nightly
def test_nothing_that_a_person_reads_has_a_new_phrase_of_the_dialect():
    found = find_dialect()
    more = {name: count for name, count in found.items() if count > ALLOWED.get(name, 0)}
    fewer = {name: found.get(name, 0) for name, count in ALLOWED.items() if found.get(name, 0) < count}
    hint = "write as the list DIALECT says; if there are fewer, write that number into ALLOWED"
    assert (more, fewer) == ({}, {}), hint
