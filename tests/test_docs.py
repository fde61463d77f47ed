"""The documents say what the program does."""

import doctest
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from fewpoint.bench.methods import list_methods
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


def test_the_settings_page_explains_every_setting_of_every_method_and_no_other():
    tables = runpy.run_path(str(ROOT / "docs" / "hooks" / "settings_tables.py"))
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    tables["check"](page)
    with pytest.raises(ValueError, match=r"not so: training\.batch$"):
        tables["check"](page.replace("`training.batch`", "`training`"))


def test_the_competitors_page_explains_every_method():
    text = (ROOT / "docs" / "explanation" / "competitors.md").read_text(encoding="utf-8")
    assert [name for name in list_methods() if name not in PRESETS and f"`{name}`" not in text] == []


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
    assert len(ours) > 10
    assert [link for link in ours if find_local(README, link) is None] == []
    _, pictures = ON_THE_WEB
    assert [link for link in ours if link.startswith(pictures) != link.endswith((".png", ".svg"))] == []


def test_the_readme_is_read_in_one_go():
    assert len(README.read_text(encoding="utf-8").split()) <= 500


def test_the_architecture_is_one_page():
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) <= 900


def test_the_drawings_show_the_folders_and_the_steps_of_a_run_as_they_are():
    drawings = runpy.run_path(str(ROOT / "docs" / "drawings.py"))
    for name in ("read_layers", "read_steps"):
        (example,) = doctest.DocTestFinder().find(drawings[name], name, globs=drawings)
        assert doctest.DocTestRunner().run(example).failed == 0
    for name, content in drawings["draw"]().items():
        drawn = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert drawn == content, f"run python docs/drawings.py and commit docs/images/{name}"


def test_the_page_about_installing_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    table = re.search(r"^\| extra \|.*?\n\n", page, re.MULTILINE | re.DOTALL)[0]
    named = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == set(extras) - {"test", "nightly"}


ACCURATE = {"file": "dev20.csv", "method": "accurate", "variant": "plain"}
EVERY_FRAME, EVERY_FIFTH = {"points": "2dlocs"}, {"points": "points_every5"}
TABLE_1 = {"file": "dev20-table1.csv"}
PAPER = {"file": "paper-table1-h200.csv", "method": "ssnnpu+ksptrack"}
NO_BOUND = {"file": "effort-h200.csv", "bound": "none", "round": "0"}
# How rows of the tables begin, and the results that they are the means of.
SHOWN = {
    "`accurate`, a click on every frame, size limit": {**ACCURATE, **EVERY_FRAME, "bound": "eta"},
    "the same, limit from a box": {**ACCURATE, **EVERY_FRAME, "bound": "box"},
    "`accurate`, a click on every frame, no size limit": {**NO_BOUND, **EVERY_FRAME},
    "`accurate`, clicks on every fifth frame, size limit": {**ACCURATE, **EVERY_FIFTH, "bound": "eta"},
    "`accurate`, clicks on every fifth frame, no size limit": {**NO_BOUND, **EVERY_FIFTH},
    "`fast` on ": {"file": "dev20-fast-cpu.csv"},
    "`fast`, with epochs of 100": {**TABLE_1, "method": "fast"},
    "the paper's method": PAPER,
    "`ssnnpu+ksptrack`": PAPER,
    "`alterestpu`": {**PAPER, "method": "alterestpu"},
    "a disc of half": {**TABLE_1, "method": "half-disc"},
    "a network of MobileSAM": {**TABLE_1, "method": "sam-points-bound"},
    "Max SP": {**ACCURATE, **EVERY_FRAME, "bound": "eta", "column": "max_sp"},
}


@pytest.mark.parametrize("page", [README, ROOT / "benchmarks" / "README.md"], ids=["README", "benchmarks"])
def test_figures_of_the_tables_are_the_means_of_the_results(page):
    figures = runpy.run_path(str(ROOT / "docs" / "hooks" / "figures.py"))
    tables = re.findall(r"^\| \| brain \|.*\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row.strip("| ").split(" | ") for table in tables for row in table.splitlines()]
    assert len(rows) >= (3 if page == README else 9)
    for name, *cells in rows:
        known = [source for start, source in SHOWN.items() if name.startswith(start)]
        method = re.match(r"`([a-z0-9+-]+)`", name)
        wanted = dict(known[0]) if known else {**TABLE_1, "method": method[1]}
        column = wanted.pop("column", "f1")
        means = figures["average"](figures["read"](wanted.pop("file"), **wanted), column)
        assert [cell.strip("*") for cell in cells[:6]] == [f"{mean:.2f}" for mean in means.values()], name


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
