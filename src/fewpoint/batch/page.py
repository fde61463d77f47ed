"""The page about a batch: what failed, and one montage per sequence, worst health first."""

from collections.abc import Iterable
from pathlib import Path

from fewpoint.batch.summary import Entry, State
from fewpoint.io.atomic import write_text
from fewpoint.report.health import WORDS
from fewpoint.report.pages import load_template
from fewpoint.report.wording import format_seconds, format_share

MOST_CONCERNS = 3
SOUND = 0.8


def render_index(title: str, entries: Iterable[Entry]) -> str:
    """An HTML page that shows the pictures of the run folders next to it, and needs no network."""
    ranked = sorted(entries, key=lambda entry: entry.rank)
    groups = {state.value: [entry for entry in ranked if entry.state == state] for state in State}
    filters = {"seconds": format_seconds, "share": format_share, "concerns": list_concerns}
    return load_template("fewpoint.batch", "index.html", filters).render(title=title, total=len(ranked), **groups)


def write_index(title: str, entries: Iterable[Entry], path: Path) -> None:
    write_text(path, render_index(title, entries))


def list_concerns(entry: Entry) -> list[str]:
    """The worst figures of a sequence's health, those that are sound left out, as words with their value."""
    if entry.health is None:
        return []
    figures = [(getattr(entry.health, name), words) for name, words in WORDS.items()]
    poor = sorted((value, words) for value, words in figures if value is not None and value < SOUND)
    return [f"{words} {value:.2f}" for value, words in poor[:MOST_CONCERNS]]
