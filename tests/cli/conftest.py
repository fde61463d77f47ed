from collections.abc import Callable

import pytest

from commands import Case, Outcome
from fewpoint.cli.main import run


@pytest.fixture
def case(tmp_path) -> Case:
    return Case.make(tmp_path)


@pytest.fixture
def call(capsys) -> Callable[..., Outcome]:
    """Run a command in this process."""

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call
