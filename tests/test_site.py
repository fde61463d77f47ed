"""The site builds without a warning, and its references are those of the program."""

import doctest
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer

import fewpoint
from fewpoint.bench.methods import find_settings, list_methods
from fewpoint.cli.main import app
from fewpoint.core.settings import as_table

ROOT = Path(__file__).resolve().parents[1]


class Text(HTMLParser):
    """The words of a page, and the addresses that it refers to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.words, self.addresses = "", []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_data(self, data: str) -> None:
        self.words += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"script": "src", "img": "src", "link": "href"}.get(tag)
        self.addresses += [value for name, value in attrs if name == wanted and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", ["docstrings", "links"])
def test_examples_of_the_hooks_hold(name):
    names = runpy.run_path(str(ROOT / "docs" / "hooks" / f"{name}.py"))
    function = names[{"docstrings": "rewrite", "links": "lead"}[name]]
    (found,) = doctest.DocTestFinder(recurse=False).find(function, name, globs=names)
    assert found.examples and doctest.DocTestRunner().run(found).failed == 0


def test_the_reference_of_the_command_line_has_every_command_with_every_option(site):
    words = Text(site / "reference" / "cli" / "index.html").words
    for name, command in typer.main.get_command(app).commands.items():
        assert f"fewpoint {name}" in words
        options = [option for each in getattr(command, "params", []) for option in each.opts if option.startswith("--")]
        assert [option for option in options if option not in words] == []


def test_the_reference_of_python_has_every_public_name_with_its_docstring(site):
    words = Text(site / "reference" / "api" / "index.html").words
    for name in fewpoint.__all__:
        first = (getattr(fewpoint, name).__doc__ or "").strip().splitlines()[0]
        assert name in words and re.sub(r"[`\s]+", " ", first) in re.sub(r"[`\s]+", " ", words), name


def test_the_reference_of_settings_has_every_setting_of_every_method_with_its_value(site):
    words = Text(site / "reference" / "settings" / "index.html").words
    cells = words.split("\n")
    for settings in map(find_settings, list_methods()):
        for section, values in as_table(settings).items() if settings is not None else ():
            for name in values:
                assert f"{section}.{name}" in cells
    assert ["training.max_side", "192", "128", "96"] in [cells[i : i + 4] for i in range(len(cells))]


def test_a_page_that_the_navigation_does_not_name_stands_in_its_section(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    for folder in ("how-to", "explanation", "reference", "decisions"):
        for page in (ROOT / "docs" / folder).glob("*.md"):
            assert f"{folder}/{'' if page.stem == 'index' else page.stem + '/'}" in text, page


def test_nothing_is_fetched_from_elsewhere_when_a_page_is_opened(site):
    for page in site.rglob("*.html"):
        outside = [each for each in Text(page).addresses if re.match(r"(https?:)?//", each)]
        assert [each for each in outside if not each.startswith("https://fewpoint.github.io/")] == [], page


def test_equations_are_shown_without_a_script(site):
    assert "<math" in (site / "explanation" / "default" / "index.html").read_text(encoding="utf-8")
