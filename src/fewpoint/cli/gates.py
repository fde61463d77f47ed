"""Options of all commands that serve others: where to listen, and who may come in."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fewpoint.web.guard import Gate

Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Address to listen at, by default this machine's own."),
]
NoToken = Annotated[
    bool, typer.Option("--no-token", help="Let in everybody who works on this machine, without a token.")
]
Users = Annotated[
    Path | None,
    typer.Option(
        "--users",
        metavar="FILE",
        help="Let in the users of FILE (see fewpoint users), each into a folder of their own below the root.",
    ),
]


def make_gate(host: str, no_token: bool, users: Path | None = None) -> "Gate":
    """Who may come in at an address: the users of a file, whoever has the token, or everybody on this machine."""
    from fewpoint.web.guard import Gate, is_loopback
    from fewpoint.web.keys import TOKEN_VARIABLE
    from fewpoint.web.users import UsersFile

    token = os.environ.pop(TOKEN_VARIABLE, "")
    if no_token and users is not None:
        raise typer.BadParameter("give --users or --no-token, not both")
    if users is not None:
        return Gate(host, users=UsersFile(users))
    if no_token and not is_loopback(host):
        raise typer.BadParameter("--no-token is for this machine's own address alone")
    return Gate(host) if no_token else Gate.for_host(host, token)
