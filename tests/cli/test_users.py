"""`fewpoint users`, and `fewpoint annotate --users`."""

import os

import pytest

from fewpoint.cli.main import run
from fewpoint.web.users import UsersFile, default_file


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_users_are_added_listed_and_revoked_and_a_token_is_shown_once(capsys):
    assert run(["users", "add", "anna"]) == 0 and run(["users", "add", "bob"]) == 0
    tokens = capsys.readouterr().out.split()
    known = UsersFile(default_file())
    assert [known.find(token).name for token in tokens] == ["anna", "bob"]
    assert run(["users", "list"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == ["anna", "bob"] and tokens[0] not in listed
    assert run(["users", "revoke", "anna"]) == 0
    assert known.find(tokens[0]) is None and known.find(tokens[1]) is not None


def test_a_file_elsewhere_can_be_named(tmp_path, capsys):
    assert run(["users", "add", "anna", "--file", str(tmp_path / "mine.json")]) == 0
    assert UsersFile(tmp_path / "mine.json").find(capsys.readouterr().out.strip()) is not None
    assert not default_file().exists()


@pytest.mark.parametrize(
    ("arguments", "fragment", "code"),
    [
        (["users", "add", "shared"], "name", 1),
        (["users", "revoke", "nobody"], "cannot read", 1),
        (["users", "list"], "make it with fewpoint users add", 1),
        (["users", "add"], "NAME", 2),
        (["annotate", "--users", "there-is-none", "--no-browser"], "cannot read there-is-none", 1),
        (["annotate", ".", "--users", "u.json"], "no INPUT", 2),
        (["annotate", "--users", "u.json", "--no-token"], "not both", 2),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments, fragment, code, capsys):
    assert run(arguments) == code
    told = capsys.readouterr().err
    assert fragment in told and told.count("\n") == 1


def test_a_server_does_not_start_with_a_file_that_others_can_read(tmp_path, capsys):
    run(["users", "add", "anna"])
    os.chmod(default_file(), 0o644)
    capsys.readouterr()
    assert run(["annotate", "--users", str(default_file()), "--no-browser", "--port", "0"]) == 1
    assert "chmod 600" in capsys.readouterr().err
