"""Addresses of a DICOMweb service, and of a study or series in it; they never hold a password."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from fewpoint.errors import InputError

# What people write, and whether the way there is encrypted.
SCHEMES = {"dicomweb": False, "dicomwebs": True, "http": False, "https": True}
START = re.compile(rf"({'|'.join(SCHEMES)}):[/\\]+", re.IGNORECASE)
UID = re.compile(r"[0-9]+(\.[0-9]+)*")
LONGEST_UID = 64
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
ROOT = re.compile(r"(/[A-Za-z0-9._~-]+)*")
INSIDE = re.compile(r"(?P<root>.*?)/studies/(?P<study>[^/]+)(/series/(?P<series>[^/]+))?")
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
EXAMPLE = "dicomwebs://HOST/ROOT/studies/UID/series/UID"


@dataclass(frozen=True)
class ServiceAddress:
    """Where a DICOMweb service answers. host: as in a URL. root: before /studies, "" or starting with a slash."""

    encrypted: bool
    host: str
    port: int
    root: str

    @property
    def is_own_machine(self) -> bool:
        return self.host.lower() in LOOPBACK

    def __str__(self) -> str:
        usual = 443 if self.encrypted else 80
        port = "" if self.port == usual else f":{self.port}"
        return f"dicomweb{'s' if self.encrypted else ''}://{self.host.lower()}{port}{self.root}"


@dataclass(frozen=True)
class SeriesAddress:
    """A study of a service, and one of its series; "" if it is not said which."""

    service: ServiceAddress
    study: str
    series: str = ""

    def of_series(self, series: str) -> "SeriesAddress":
        return replace(self, series=check_uid(series))

    def __str__(self) -> str:
        return f"{self.service}/studies/{self.study}" + (f"/series/{self.series}" if self.series else "")


def is_remote(path: str | Path) -> bool:
    """Whether what is named as an input lies on a server.

    >>> is_remote("dicomweb://pacs/studies/1.2"), is_remote(Path("dicomweb://pacs/studies/1.2")), is_remote("a/b.nii")
    (True, True, False)
    """
    return START.match(str(path)) is not None


def name_input(path: str | Path) -> str:
    """An input in full: the address of a series in its usual form, a path from the root of the file system.

    >>> name_input(Path("HTTP://Pacs:80/studies/1.2/"))
    'dicomweb://pacs/studies/1.2'
    """
    return str(parse_series(path)) if is_remote(path) else str(Path(path).absolute())


def parse_series(text: str | Path) -> SeriesAddress:
    """The address of a study or series; InputError for anything else.

    >>> str(parse_series("https://pacs.example.org/dicom-web/studies/1.2.3/series/1.2.3.4/"))
    'dicomwebs://pacs.example.org/dicom-web/studies/1.2.3/series/1.2.3.4'
    """
    service, path = _split(text)
    found = INSIDE.fullmatch(path)
    if found is None:
        raise InputError(f"an input on a PACS must name a study, as {EXAMPLE}, got {_show(text)}")
    study, series = check_uid(found["study"]), check_uid(found["series"]) if found["series"] else ""
    return SeriesAddress(_with_root(service, found["root"], text), study, series)


def parse_service(text: str | Path) -> ServiceAddress:
    """The address of a service; InputError for one of a study, or for anything else.

    >>> parse_service("dicomweb://localhost:8042/dicom-web")
    ServiceAddress(encrypted=False, host='localhost', port=8042, root='/dicom-web')
    """
    if not is_remote(text):
        raise InputError(f"a PACS must be given as dicomwebs://HOST/ROOT, got {_show(text)}")
    service, path = _split(text)
    if INSIDE.fullmatch(path):
        raise InputError(f"a PACS must be given as dicomwebs://HOST/ROOT without a study, got {_show(text)}")
    return _with_root(service, path, text)


def check_uid(text: str) -> str:
    """A UID as it is; InputError for what is none, before it stands in an address."""
    if len(text) > LONGEST_UID or not UID.fullmatch(text):
        raise InputError(f"a UID must be numbers with dots between, at most 64 characters, got {text[:80]!r}")
    return text


def _split(text: str | Path) -> tuple[ServiceAddress, str]:
    """The service without its root, and the path. A Path has lost one of the two slashes."""
    plain = START.sub(lambda start: f"{start[1].lower()}://", str(text)).replace("\\", "/").rstrip("/")
    try:
        parts = urlsplit(plain)
        port = parts.port
    except ValueError:
        raise InputError(f"an input on a PACS must be given as {EXAMPLE}, got {_show(text)}") from None
    if "@" in parts.netloc:
        raise InputError("a PACS's address must hold no user or password; set FEWPOINT_DICOMWEB_USER and _PASSWORD")
    host = parts.netloc.removesuffix(f":{port}")
    if not HOST.fullmatch(host) or parts.query or parts.fragment:
        raise InputError(f"a PACS's address must be a host and a path alone, as {EXAMPLE}, got {_show(text)}")
    encrypted = SCHEMES[parts.scheme]
    return ServiceAddress(encrypted, host, port or (443 if encrypted else 80), ""), parts.path


def _with_root(service: ServiceAddress, root: str, text: str | Path) -> ServiceAddress:
    if not ROOT.fullmatch(root) or any(part in (".", "..") for part in root.split("/")):
        raise InputError(f"the path of a PACS must be names with slashes between, got {_show(text)}")
    return replace(service, root=root)


def _show(text: str | Path) -> str:
    """What was given, less all that could be a password."""
    return re.sub(r"//?[^/@]*@", "//…@", str(text))[:200].split("?")[0]
