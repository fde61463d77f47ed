"""A page that mkdocs.yml does not place stands at the end of the section that its folder belongs to."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

DOCS = Path(__file__).resolve().parents[1]
SECTIONS = {"how-to": "How to", "explanation": "Explanation", "reference": "Reference", "decisions": "Decisions"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    placed = set(_list_placed(config.nav))
    sections = {title: pages for entry in config.nav for title, pages in entry.items()}
    for folder, title in SECTIONS.items():
        pages = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md"))
        sections[title] += [page for page in pages if page not in placed]
    return config


def _list_placed(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _list_placed(part)]
