"""Pages of the repository outside docs/ become pages of the site, and links lead there, to GitHub, or nowhere else."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
ON_GITHUB = "https://github.com/fewpoint/fewpoint/blob/main/"
DOCS = "docs/"

# Path in the repository: page of the site.
BROUGHT = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "benchmarks.md",
}
HOMES = {page: path for path, page in BROUGHT.items()}
LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in BROUGHT.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return LINK.sub(lambda link: f"]({lead(link[1], page.file.src_uri)})", markdown)


def lead(target: str, page: str) -> str:
    """Where a link of a page leads on the site; page: its place there.

    >>> lead("../../benchmarks/README.md#words", "how-to/bench.md"), lead("docs/start.md", "project/architecture.md")
    ('../benchmarks.md#words', '../start.md')
    >>> lead("../docs/how-to/bench.md", "benchmarks.md"), lead("../LICENSE", "benchmarks.md")
    ('how-to/bench.md', 'https://github.com/fewpoint/fewpoint/blob/main/LICENSE')
    """
    target, hash_, anchor = target.partition("#")
    if target.startswith(ON_GITHUB):
        path = target.removeprefix(ON_GITHUB)
    elif not target or ":" in target:
        return f"{target}{hash_}{anchor}"
    else:
        home = HOMES.get(page, DOCS + page)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
    return _place(path, posixpath.dirname(page)) + hash_ + anchor


def _place(path: str, folder: str) -> str:
    """A file of the repository as seen from a folder of the site: a page or picture of it, or the file on GitHub."""
    if path in BROUGHT:
        return posixpath.relpath(BROUGHT[path], folder or ".")
    if path.startswith(DOCS) and path.endswith((".md", ".jpg", ".png", ".svg")):
        return posixpath.relpath(path.removeprefix(DOCS), folder or ".")
    return (ON_GITHUB.replace("/blob/", "/tree/") if (ROOT / path).is_dir() else ON_GITHUB) + path
