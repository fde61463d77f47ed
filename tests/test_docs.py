"""The documents say what the program does."""

import re
from pathlib import Path

import pytest

from fewpoint.bench.methods import find_settings, list_methods
from fewpoint.pipeline.config import PAPER, PRESETS, as_table

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fewpoint"
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_the_settings_page_lists_every_setting_with_its_value():
    text = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_.]+)` \| (\S+) \|", text, re.MULTILINE)
    expected = [
        (f"{section}.{name}", str(value).lower() if isinstance(value, bool) else str(value))
        for section, values in as_table(PAPER).items()
        for name, value in values.items()
    ]
    assert listed == expected


def test_the_competitors_page_explains_every_method_and_lists_every_setting_of_its_own():
    text = (ROOT / "docs" / "explanation" / "competitors.md").read_text(encoding="utf-8")
    assert [name for name in list_methods() if name not in PRESETS and f"`{name}`" not in text] == []
    listed = re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (\S+) \|", text, re.MULTILINE)
    expected = {
        (f"{section}.{name}", str(value))
        for settings in map(find_settings, list_methods())
        if settings is not None
        for section, values in as_table(settings).items()
        if section not in as_table(PAPER)
        for name, value in values.items()
    }
    assert set(listed) == expected and len(listed) == len(expected)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_name_are_there(page):
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text(encoding="utf-8")):
        assert (PACKAGE / name).exists() or (ROOT / name).exists(), name


def test_every_name_of_the_notation_is_in_the_file_beside_it():
    rows = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").splitlines()
    checked = 0
    for row in rows:
        cells = [cell.strip() for cell in row.replace("\\|", " ").strip("|").split("|")]
        files = re.findall(r"`([a-z_/]+\.py)`", cells[-1])
        if not files:
            continue
        source = "".join((PACKAGE / file).read_text(encoding="utf-8") for file in files)
        for name in re.findall(r"`[^`]+`", cells[2]):
            for word in re.findall(r"[A-Za-z_]{2,}", name.partition("(")[0]):
                assert re.search(rf"\b{word}\b", source) or word in ("sequence", "len"), (word, files)
                checked += 1
    assert checked > 40
