"""What pages say of commands, settings, names and results is made from these when the site is built.

A line `<!-- made: NAME -->` of a page becomes what MAKERS[NAME] returns. On the page of settings, tables of settings
and their meanings get the values of the presets.
"""

import re
from collections.abc import Callable

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

import commands
import figures
import http_tables
import notebooks
import settings_tables

MARK = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)


def list_names() -> str:
    """A directive for each public name, functions first, which mkdocstrings replaces by signature and docstring."""
    import fewpoint

    names = sorted(fewpoint.__all__, key=lambda name: (name[0].isupper(), name.endswith("Error"), name))
    return "\n\n".join(f"::: fewpoint.{name}" for name in names)


MAKERS: dict[str, Callable[[], str]] = {
    "api": list_names,
    "actions": http_tables.list_actions,
    "addresses": http_tables.list_addresses,
    "cli": commands.describe_all,
    "notebook": notebooks.show_first_run,
    "remote_addresses": http_tables.list_remote_addresses,
    "sequences": figures.list_sequences,
}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri == "reference/settings.md":
        return settings_tables.fill(markdown)
    return MARK.sub(lambda mark: MAKERS[mark[1]](), markdown)
