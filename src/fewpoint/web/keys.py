"""The tokens of this user's servers, each in a file that nobody else can read, for scripts on the same machine."""

import json
import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from urllib.parse import urlsplit

TOKEN_VARIABLE = "FEWPOINT_TOKEN"  # chosen by whoever starts a server; never an option, which others could list

PAGE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>fewpoint</title>'
)


def keys_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fewpoint" / "servers"


def keep_key(port: int, token: str) -> Path | None:
    """Write a token down for scripts of the same user; None if there is no place for it."""
    path = keys_folder() / f"{port}.json"
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            json.dump({"token": token}, stream)
        return path
    return None


def find_key(address: str) -> str | None:
    """The token of this user's server at an address of this machine, None if none is known."""
    parts = urlsplit(address)
    if parts.hostname not in ("localhost", "127.0.0.1", "::1") or parts.port is None:
        return None
    try:
        return str(json.loads((keys_folder() / f"{parts.port}.json").read_text())["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_door(address: str) -> Path:
    """A page that leads to an address with a token, for a browser to open: its command line can be listed by others."""
    number, name = mkstemp(prefix="fewpoint-", suffix=".html")  # which nobody else can read
    with open(number, "w") as stream:
        stream.write(PAGE.format(address=address))
    return Path(name)
