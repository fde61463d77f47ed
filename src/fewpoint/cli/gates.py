"""Options of all commands that serve others: where to listen, and who may come in."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fewpoint.web.guard import Gate

Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Address to listen at, by default this machine's own."),
]
NoToken = Annotated[bool, typer.Option("--no-token", help="Require no token, on this machine only.")]


TOKEN_VARIABLE = "FEWPOINT_TOKEN"  # chosen by whoever starts a server; never an option, which others could list


def make_gate(host: str, no_token: bool) -> "Gate":
    """Who may come in at an address: whoever has the token, or everybody on this machine."""
    from fewpoint.web.guard import Gate, is_loopback

    token = os.environ.pop(TOKEN_VARIABLE, "")
    if no_token and not is_loopback(host):
        raise typer.BadParameter("--no-token works only at this machine's own address")
    return Gate(host) if no_token else Gate.for_host(host, token)
