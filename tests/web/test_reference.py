"""The page about the HTTP interface says what the server does."""

import re
from dataclasses import fields
from pathlib import Path

from fewpoint.core.actions import KINDS
from fewpoint.web.places import Root
from fewpoint.web.remote.limits import Limits
from fewpoint.web.server import Options, create_app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "http.md"


def test_the_page_lists_every_address_and_no_other():
    paths = create_app(Options(Root(Path("/nowhere")), remote=Limits())).openapi()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    listed = re.findall(r"^\| `((?:GET|POST) [^`?]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(listed) == served and len(listed) == len(served)


def test_the_page_lists_every_action_with_its_fields():
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| ([^|]*) \|", text, re.MULTILINE))
    for kind, action in KINDS.items():
        if kind in ("undo", "redo"):
            assert f"`{kind}`" in text
        else:
            assert re.findall("`([a-z]+)`", rows[kind]) == [each.name for each in fields(action) if each.name != "kind"]
