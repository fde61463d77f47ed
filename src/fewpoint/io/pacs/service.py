"""What a PACS is asked for: its studies, the series of one, the images of a series, and to keep a segmentation."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fewpoint.errors import InputError, OutputError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.dicom import MOST_FILES, SIGNATURE, SIGNATURE_OFFSET
from fewpoint.io.pacs.addresses import SeriesAddress, ServiceAddress, check_uid, parse_service
from fewpoint.io.pacs.credentials import Credentials, find_credentials
from fewpoint.io.pacs.multipart import find_boundary, read_parts
from fewpoint.io.pacs.talking import Answer, Limits, MissingAtPacsError, Question, ask

DICOM, JSON = "application/dicom", "application/dicom+json"
IMAGES = f'multipart/related; type="{DICOM}"; transfer-syntax=*'  # as they are stored
# Objects that hold no images of the patient.
NO_IMAGES = ("SEG", "RTSTRUCT", "RTPLAN", "RTDOSE", "RTRECORD", "SR", "PR", "KO", "REG", "FID", "AU", "DOC", "PLAN")

FETCH = Limits(seconds=3600.0, answer_bytes=2**34)
STORE = Limits(seconds=900.0)
LARGEST_ANSWER = 2**25
MOST_LISTED = 1000
LONGEST_TEXT = 200

# Attributes by their tags, as DICOM's JSON names them.
STUDY, SERIES, INSTANCE = "0020000D", "0020000E", "00080018"
DATE, DESCRIPTION, PATIENT_ID = "00080020", "00081030", "00100020"
MODALITIES, MODALITY, SERIES_DESCRIPTION = "00080061", "00080060", "0008103E"
SERIES_NUMBER, IMAGES_OF_SERIES = "00200011", "00201209"
STORED, FAILED, FAILURE = "00081199", "00081198", "00081197"


@dataclass(frozen=True)
class StudyEntry:
    """A study as a PACS lists it. date: as DICOM writes it. modalities: with spaces between."""

    uid: str
    patient: str
    date: str
    description: str
    modalities: str


@dataclass(frozen=True)
class SeriesEntry:
    """A series as a PACS lists it. images: 0 if it does not say how many there are."""

    uid: str
    number: int
    modality: str
    description: str
    images: int

    def __str__(self) -> str:
        said = f", {self.images} images" if self.images else ""
        return f"{self.uid} ({self.description or 'no description'}, {self.modality}{said})"


@dataclass(frozen=True)
class Pacs:
    """A service, and who we are there."""

    address: ServiceAddress
    credentials: Credentials = Credentials()

    @classmethod
    def at(cls, address: str | ServiceAddress) -> "Pacs":
        """The service at an address, with the credentials that are found for it."""
        found = parse_service(address) if isinstance(address, str) else address
        return cls(found, find_credentials(found))

    def list_studies(self, patient: str = "", most: int = 100) -> list[StudyEntry]:
        """Studies with the latest first, of one patient's ID if it is given; most: how many are asked for."""
        wanted = {"limit": str(most), "includefield": MODALITIES, **({"PatientID": patient} if patient else {})}
        found = [_read_study(each) for each in self._query("/studies", wanted)]
        return sorted(found, key=lambda study: study.date, reverse=True)[:most]

    def list_series(self, study: str) -> list[SeriesEntry]:
        """The series of a study that hold images, by their number."""
        fields = {"includefield": ",".join((SERIES_DESCRIPTION, IMAGES_OF_SERIES, SERIES_NUMBER, MODALITY))}
        found = [_read_series(each) for each in self._query(f"/studies/{check_uid(study)}/series", fields)]
        return sorted((each for each in found if each.modality not in NO_IMAGES), key=lambda each: each.number)

    def fetch(self, series: SeriesAddress, folder: Path, expected: int = 0) -> int:
        """Write the images of a series into a folder, one file each; returns how many bytes they are.

        expected: how many there must be at least; 0 if that is not known.
        """
        path = f"/studies/{series.study}/series/{series.series}"
        size = count = 0
        with ask(self.address, self.credentials, Question("GET", path, IMAGES), FETCH) as answer:
            for count, part in enumerate(_split(answer), start=1):
                if count > MOST_FILES:
                    raise InputError(f"a series must have at most {MOST_FILES} images, {self.address} sends more")
                size += _write_image(part, folder / f"{count:06d}.dcm", self.address)
        if count < max(1, expected):
            wanted = f"all {expected} images" if expected else "images"
            raise InputError(f"{self.address} must send {wanted} of the series, it sent {count}; try again")
        return size

    def holds(self, study: str, series: str, instance: str) -> bool:
        """Whether an object is stored there already."""
        try:
            path = f"/studies/{check_uid(study)}/series/{check_uid(series)}/instances"
            return any(_text(each, INSTANCE) == instance for each in self._query(path, {"SOPInstanceUID": instance}))
        except MissingAtPacsError:
            return False

    def store(self, data: bytes, study: str) -> None:
        """Store one DICOM object of a study; OutputError if the server does not take it."""
        boundary = secrets.token_hex(16)
        start, end = f"--{boundary}\r\nContent-Type: {DICOM}\r\n\r\n", f"\r\n--{boundary}--\r\n"
        media_type = f'multipart/related; type="{DICOM}"; boundary={boundary}'
        body = start.encode() + data + end.encode()
        question = Question("POST", f"/studies/{check_uid(study)}", JSON, body, media_type)
        with ask(self.address, self.credentials, question, STORE) as answer:
            said = _parse(answer.read_all(), self.address)
        failed = _items(said, FAILED)
        if failed or not _items(said, STORED):
            reason = f" (reason {_number(failed[0], FAILURE)})" if failed else ""
            raise OutputError(f"{self.address} did not store the segmentation{reason}; ask who runs it")

    def _query(self, path: str, wanted: dict[str, str]) -> list[dict[str, Any]]:
        question = Question("GET", f"{path}?{urlencode(wanted)}", JSON)
        with ask(self.address, self.credentials, question, Limits(answer_bytes=LARGEST_ANSWER)) as answer:
            found = [] if answer.status == HTTPStatus.NO_CONTENT else _parse(answer.read_all(), self.address)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise InputError(f"{self.address} must answer with a list, it does not; check its root")
        return found[:MOST_LISTED]


def _split(answer: Answer) -> Iterator[Iterator[bytes]]:
    if answer.media_type.split(";")[0].strip().lower() == DICOM:
        return iter((iter(lambda: answer.read(2**20), b""),))
    return read_parts(answer.read, find_boundary(answer.media_type))


def _write_image(part: Iterator[bytes], path: Path, address: ServiceAddress) -> int:
    """Write what has the signature of a DICOM file, and nothing else; the file's name is ours."""
    start = b""
    for piece in part:
        start += piece
        if len(start) >= SIGNATURE_OFFSET + len(SIGNATURE):
            break
    if start[SIGNATURE_OFFSET : SIGNATURE_OFFSET + len(SIGNATURE)] != SIGNATURE:
        raise InputError(f"{address} must send DICOM files, it sent something else; check the address")
    with explaining_write_errors(path), open(path, "xb") as stream:
        stream.write(start)
        for piece in part:
            stream.write(piece)
        return stream.tell()


def _parse(data: bytes, address: ServiceAddress) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InputError(f"{address} must answer with JSON, it does not; check its root, as /dicom-web") from None


def _read_study(table: dict[str, Any]) -> StudyEntry:
    modalities = " ".join(sorted({str(each)[:16] for each in _values(table, MODALITIES)}))
    uid = check_uid(_text(table, STUDY))
    return StudyEntry(uid, _text(table, PATIENT_ID), _text(table, DATE), _text(table, DESCRIPTION), modalities)


def _read_series(table: dict[str, Any]) -> SeriesEntry:
    return SeriesEntry(
        check_uid(_text(table, SERIES)),
        _number(table, SERIES_NUMBER),
        _text(table, MODALITY),
        _text(table, SERIES_DESCRIPTION),
        _number(table, IMAGES_OF_SERIES),
    )


def _values(table: Any, tag: str) -> list[Any]:
    """The values of an attribute in DICOM's JSON; none for whatever is not of that kind."""
    entry = table.get(tag) if isinstance(table, dict) else None
    values = entry.get("Value") if isinstance(entry, dict) else None
    return values if isinstance(values, list) else []


def _items(table: Any, tag: str) -> list[dict[str, Any]]:
    return [each for each in _values(table, tag) if isinstance(each, dict)]


def _text(table: dict[str, Any], tag: str) -> str:
    return " ".join(str(next(iter(_values(table, tag)), None) or "").split())[:LONGEST_TEXT]


def _number(table: dict[str, Any], tag: str) -> int:
    value = next(iter(_values(table, tag)), 0)
    text = str(value)[:12]
    return int(text) if text.isascii() and text.isdecimal() else 0
