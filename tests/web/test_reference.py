"""The reference of the HTTP interface, which is made from the server, says what each address and action does."""

import re
import runpy
from dataclasses import fields
from pathlib import Path

import pytest

from fewpoint.core.actions import KINDS
from fewpoint.web.places import Root
from fewpoint.web.remote.limits import Limits
from fewpoint.web.server import Options, create_app

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reference" / "http.md"


@pytest.fixture(scope="module")
def tables() -> dict:
    return runpy.run_path(str(DOCS / "hooks" / "http_tables.py"))


def test_the_tables_list_every_address_with_what_it_does(tables):
    paths = create_app(Options(Root(Path("/nowhere")), remote=Limits())).openapi()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    text = tables["list_addresses"]() + "\n" + tables["list_remote_addresses"]()
    rows = dict(re.findall(r"^\| `((?:GET|POST) [^`?]+)[^`]*` \| (.*) \|$", text, re.MULTILINE))
    assert set(rows) == served
    assert [name for name, does in rows.items() if not does] == []


def test_the_tables_list_every_action_with_its_fields(tables):
    rows = re.findall(r"^\| `([a-z_]+)`(.*?) \| .* \|$", tables["list_actions"](), re.MULTILINE)
    named = {kind: re.findall("`([a-z]+)`", rest) for kind, rest in rows}
    assert named == {
        kind: [each.name for each in fields(action) if each.name != "kind"] for kind, action in KINDS.items()
    }


def test_the_page_has_a_place_for_each_table():
    marks = re.findall(r"^<!-- made: (\w+) -->$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert marks == ["addresses", "remote_addresses", "actions"]
