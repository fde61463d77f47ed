"""Who we are at a PACS: from the environment, else from a netrc file; never an option, never in a file of ours."""

import netrc
import os
from base64 import b64encode
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from fewpoint.errors import InputError, SettingsError
from fewpoint.io.pacs.addresses import ServiceAddress

TOKEN, USER, PASSWORD = "FEWPOINT_DICOMWEB_TOKEN", "FEWPOINT_DICOMWEB_USER", "FEWPOINT_DICOMWEB_PASSWORD"
HOST = "FEWPOINT_DICOMWEB_HOST"  # the only one that those of the environment are for; any if it is not set
PLAIN = "FEWPOINT_DICOMWEB_PLAIN"  # set to 1: they may travel without encryption
SECRETS = (TOKEN, USER, PASSWORD)
NETRC = "NETRC"


@dataclass(frozen=True)
class Credentials:
    """What a request says of who asks. authorisation: None for nothing. It is shown nowhere."""

    authorisation: str | None = field(default=None, repr=False)


def find_credentials(service: ServiceAddress) -> Credentials:
    """Those for a service; InputError if they would travel for everybody to read."""
    found = _from_environment(service) or _from_netrc(service)
    if found is None:
        return Credentials()
    if not (service.encrypted or service.is_own_machine or os.environ.get(PLAIN) == "1"):
        raise InputError(
            f"a password must not travel without encryption, {service} has none; use dicomwebs://, or set {PLAIN}=1 "
            "in a network that you trust"
        )
    if not found.isascii() or not found.isprintable():
        raise SettingsError("credentials for a PACS must be printable ASCII characters; check the environment")
    return Credentials(found)


def take_credentials(service: ServiceAddress, environment: MutableMapping[str, str] = os.environ) -> Credentials:
    """find_credentials, and take them out of the environment, so that processes that are started do not have them."""
    found = find_credentials(service)
    for name in SECRETS:
        environment.pop(name, None)
    return found


def _from_environment(service: ServiceAddress) -> str | None:
    wanted = os.environ.get(HOST, "").lower()
    if wanted and wanted not in (service.host.lower(), f"{service.host.lower()}:{service.port}"):
        return None
    if os.environ.get(TOKEN):
        return f"Bearer {os.environ[TOKEN]}"
    user, password = os.environ.get(USER), os.environ.get(PASSWORD)
    if (user is None) != (password is None):
        raise SettingsError(f"{USER} and {PASSWORD} must be set together, only one is")
    return None if user is None or password is None else _basic(user, password)


def _from_netrc(service: ServiceAddress) -> str | None:
    """The entry of the host itself; that for all others is not used."""
    path = Path(os.environ.get(NETRC) or "~/.netrc").expanduser()
    if not path.is_file():
        return None
    try:
        entry = netrc.netrc(path).hosts.get(service.host.lower().strip("[]"))
    except (netrc.NetrcParseError, OSError, UnicodeDecodeError):
        # the parser's own words may quote the line, and so a password
        raise SettingsError(f"{path} must be a readable netrc file, it is not; mend it, or set {NETRC}") from None
    return None if entry is None else _basic(entry[0], entry[2] or "")


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")
