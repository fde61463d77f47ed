"""`fewpoint users`: who may use a server, each in a part of its own."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The users of a server: add, list or revoke them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user, and of their folder below the root.")]
UsersPath = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The file of users. By default fewpoint/users.json with your data."),
]


@app.command("add")
def add_command(name: Name, file: UsersPath = None) -> None:
    """Add a user, and print their token, which is shown this once."""
    from fewpoint.web.users import add_user, default_file

    print(add_user(file or default_file(), name))


@app.command("list")
def list_command(file: UsersPath = None) -> None:
    """Show who may come in, and since when."""
    from fewpoint.web.users import default_file, read_users

    users = sorted(read_users(file or default_file()).values(), key=lambda user: user.name)
    for user in users:
        print(f"{user.name}  since {user.added_at}")


@app.command("revoke")
def revoke_command(name: Name, file: UsersPath = None) -> None:
    """Let a user in no longer, also on servers that run; what they made stays."""
    from fewpoint.web.users import default_file, revoke_user

    revoke_user(file or default_file(), name)
