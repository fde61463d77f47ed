"""The reference of the HTTP interface, made from the server's routes and from the actions of a project."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from fewpoint.core.actions import KINDS
from fewpoint.web.places import Root
from fewpoint.web.remote.limits import Limits
from fewpoint.web.server import Options, create_app

OWN = "/api/"  # how addresses of the annotator itself begin


def list_addresses() -> str:
    """A row for each address of the annotator."""
    return _tabulate("address", ((call, text) for call, text in _list_calls() if f" {OWN}" in call))


def list_remote_addresses() -> str:
    """A row for each address that nnInteractive's clients use."""
    return _tabulate("address", ((call, text) for call, text in _list_calls() if f" {OWN}" not in call))


def list_actions() -> str:
    """A row for each way to change a project, with its fields."""
    rows = []
    for kind, action in KINDS.items():
        names = ", ".join(f"`{each.name}`" for each in fields(action) if each.name != "kind")
        text = (
            "" if (action.__doc__ or "").startswith(f"{action.__name__}(") else action.__doc__
        )  # what dataclass makes
        rows.append((f"`{kind}`{': ' if names else ''}{names}", _join(text)))
    return _tabulate("action and its fields", rows)


def _list_calls() -> Iterator[tuple[str, str]]:
    """Method, path and queries of each address, with what its function's docstring says."""
    paths = create_app(Options(Root(Path("/nowhere")), remote=Limits())).openapi()["paths"]
    for path, methods in paths.items():
        for method, call in methods.items():
            queries = "&".join(f"{each['name']}=" for each in call.get("parameters", []) if each["in"] == "query")
            yield f"`{method.upper()} {path}{'?' if queries else ''}{queries}`", _join(call.get("description"))


def _join(text: str | None) -> str:
    return " ".join((text or "").split())


def _tabulate(head: str, rows: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> str:
    return "\n".join([f"| {head} | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)])
