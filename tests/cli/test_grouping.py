"""Options that a command takes as dataclasses."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from fewpoint.cli.grouping import grouped

Size = Annotated[int, typer.Option("--size", help="How large.")]


@dataclass(frozen=True)
class Shape:
    size: Size = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def call(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command()
    @grouped
    def show(place: str, shape: Shape, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        print(place, shape, loud)

    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.output.strip()


def test_fields_are_options_with_their_defaults():
    assert call("here") == (0, f"here {Shape()} False")


def test_options_fill_the_fields():
    given = call("here", "--name", "a", "--size", "5", "--name", "b", "--loud")
    assert given == (0, f"here {Shape(5, ['a', 'b'])} True")


def test_help_shows_the_options_of_a_group_and_not_the_group():
    code, text = call("--help")
    assert code == 0
    assert "--size" in text and "How large." in text
    assert "--shape" not in text
