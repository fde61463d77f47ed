"""The people who may use one server, each known by a token of which a file keeps the hash."""

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fewpoint.errors import InputError
from fewpoint.io.atomic import explaining_write_errors, write_atomically

FORMAT, VERSION = "fewpoint users", 1
NAME = re.compile("[a-z0-9][a-z0-9_-]{0,31}")
SHARED = "shared"  # the folder below the root that is common to all
MOST_USERS = 1000
LARGEST_FILE = 2**20
DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class User:
    """digest: SHA-256 of the token. A token is 256 random bits, so that no slow hash is needed to keep it secret."""

    name: str
    digest: str
    added_at: str = ""


def check_name(name: str) -> str:
    """The name of a user, which is that of their folder too.

    >>> check_name("anna")
    'anna'
    """
    if not NAME.fullmatch(name) or name == SHARED:
        raise InputError(
            f"a user's name must be 1 to 32 of a to z, 0 to 9, _ and -, not begin with _ or -, and not be {SHARED}; "
            f"got {name[:40]!r}"
        )
    return name


def default_file() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fewpoint" / "users.json"


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def read_users(path: Path) -> dict[str, User]:
    """All users of a file by their names; InputError for one that others can read or change."""
    try:
        with open(path, "rb") as stream:
            _check_mode(path, os.fstat(stream.fileno()))
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}; make it with fewpoint users add NAME --file {path}"
        ) from error
    try:
        table = json.loads(data) if len(data) <= LARGEST_FILE else None
    except (ValueError, RecursionError):
        table = None
    return _take_users(table, path)


def add_user(path: Path, name: str) -> str:
    """Add a user; returns the token, which is kept nowhere."""
    check_name(name)
    with _alone(path):
        users = read_users(path) if path.exists() else {}
        if name in users:
            raise InputError(
                f"there is a user {name} already; for another token revoke them first, then add them again"
            )
        if len(users) >= MOST_USERS:
            raise InputError(f"a file can hold {MOST_USERS} users; revoke one first")
        token = secrets.token_urlsafe(32)
        added = User(name, hash_token(token), datetime.now(UTC).isoformat(timespec="seconds"))
        _write(path, {**users, name: added})
    return token


def revoke_user(path: Path, name: str) -> None:
    """Remove a user; a server that runs lets them in no longer."""
    with _alone(path):
        users = read_users(path)
        if name not in users:
            known = ", ".join(sorted(users)) or "nobody"
            raise InputError(f"there is no user {name[:40]!r}; known are: {known}")
        _write(path, {other: user for other, user in users.items() if other != name})


class UsersFile:
    """The users of a file as it now is: it is looked at again whenever it has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._users = read_users(path)
        self._seen = self._look()

    def find(self, token: str | None) -> User | None:
        """Whose token this is; takes as long whoever it is."""
        digest, found = hash_token(token or ""), None
        for user in self._read().values():
            if hmac.compare_digest(digest, user.digest):
                found = user
        return found

    def holds(self, user: User) -> bool:
        """Whether a user still may come in, with the same token."""
        return self._read().get(user.name) == user

    def _read(self) -> dict[str, User]:
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                try:
                    self._users = read_users(self.path)
                except InputError as error:
                    self._users = {}  # rather nobody than somebody who was revoked
                    print(f"fewpoint: nobody can come in: {error}", file=sys.stderr, flush=True)
            return self._users

    def _look(self) -> tuple[int, ...] | None:
        with suppress(OSError):
            found = os.stat(self.path)
            return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
        return None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let nobody else change the file meanwhile."""
    import filelock

    with explaining_write_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock"):
            yield


def _check_mode(path: Path, found: os.stat_result) -> None:
    if os.name == "nt":  # whose files have other rights than these
        return
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"nobody else may read or change {path}; run: chmod 600 {path}")
    if found.st_uid not in (0, os.geteuid()):
        raise InputError(f"{path} must belong to whoever starts the server, or to root; copy it")


def _take_users(table: Any, path: Path) -> dict[str, User]:
    damaged = InputError(f"{path} is not a file of fewpoint users; make one with fewpoint users add NAME")
    if not isinstance(table, dict) or table.get("format") != FORMAT or not isinstance(table.get("users"), dict):
        raise damaged
    if table.get("version") != VERSION:
        raise InputError(f"{path} was written by another version of fewpoint; update fewpoint")
    users = {}
    for name, about in table["users"].items():
        if not (isinstance(about, dict) and DIGEST.fullmatch(str(about.get("token_sha256")))):
            raise damaged
        users[check_name(name)] = User(name, about["token_sha256"], str(about.get("added_at", "")))
    return users


def _write(path: Path, users: dict[str, User]) -> None:
    entries = {user.name: {"token_sha256": user.digest, "added_at": user.added_at} for user in users.values()}
    text = json.dumps({"format": FORMAT, "version": VERSION, "users": entries}, indent=1) + "\n"
    with explaining_write_errors(path):
        before = os.umask(0o077)
        try:
            write_atomically(path, lambda stream: stream.write(text.encode()))
        finally:
            os.umask(before)
