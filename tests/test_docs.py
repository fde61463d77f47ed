"""The documents say what the program does."""

import re
import tomllib
from pathlib import Path

import pytest

from fewpoint.bench.methods import find_settings, list_methods
from fewpoint.core.settings import as_table
from fewpoint.methods.registry import PRESETS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fewpoint"
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

# Where pages and pictures of this repository are on the web; what follows is a path in it.
REPOSITORY = "https://github.com/fewpoint/fewpoint"
ON_THE_WEB = (f"{REPOSITORY}/blob/main/", "https://raw.githubusercontent.com/fewpoint/fewpoint/main/")


def list_links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))


def find_local(page: Path, target: str) -> Path | None:
    """The file of this repository that a link leads to; None if it leads elsewhere."""
    target = target.partition("#")[0]
    for prefix in ON_THE_WEB:
        if target.startswith(prefix):
            return ROOT / target.removeprefix(prefix)
    return page.parent / target if target and "://" not in target else None


def read_settings_page() -> list[tuple[str, str, str]]:
    """Preset, setting and value of each cell of the tables of settings, whose headers name presets."""
    text, presets, cells = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8"), [], []
    for row in re.findall(r"^\| (.*) \|$", text, re.MULTILINE):
        setting, *values = row.split(" | ")
        if setting == "setting":
            presets = values[:-1]
        elif re.fullmatch(r"`[a-z_]+\.[a-z_]+`", setting) and len(values) == len(presets) + 1:
            assert values[-1], f"{setting} has no meaning"
            cells += [(preset, setting.strip("`"), value) for preset, value in zip(presets, values[:-1], strict=True)]
    return cells


def test_the_settings_page_explains_every_setting_of_every_preset_with_its_value_and_no_other():
    expected = {
        (preset, f"{section}.{name}", str(value).lower() if isinstance(value, bool) else str(value))
        for preset, settings in PRESETS.items()
        for section, values in as_table(settings).items()
        for name, value in values.items()
    }
    listed = read_settings_page()
    assert set(listed) == expected and len(listed) == len(expected)


def test_the_competitors_page_explains_every_method_and_lists_every_setting_of_its_own():
    text = (ROOT / "docs" / "explanation" / "competitors.md").read_text(encoding="utf-8")
    assert [name for name in list_methods() if name not in PRESETS and f"`{name}`" not in text] == []
    listed = re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (\S+) \|", text, re.MULTILINE)
    on_the_other_page = {section for settings in PRESETS.values() for section in as_table(settings)}
    expected = {
        (f"{section}.{name}", str(value))
        for settings in map(find_settings, list_methods())
        if settings is not None
        for section, values in as_table(settings).items()
        if section not in on_the_other_page
        for name, value in values.items()
    }
    assert set(listed) == expected and len(listed) == len(expected)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in list_links(page):
        local = find_local(page, target)
        assert local is None or local.exists(), target


def test_the_readme_is_whole_on_the_page_of_the_package():
    """There a relative link leads nowhere; pages are shown by one host, pictures come from another."""
    links = list_links(README)
    assert [link for link in links if "://" not in link] == []
    ours = [link for link in links if link.startswith((f"{REPOSITORY}/", "https://raw."))]
    assert len(ours) > 20
    assert [link for link in ours if find_local(README, link) is None] == []
    _, pictures = ON_THE_WEB
    assert [link for link in ours if link.startswith(pictures) != link.endswith((".png", ".svg"))] == []


def test_the_readme_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    table = re.search(r"^\| extra \|.*?\n\n", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
    named = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(extras) - {"test"}


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
