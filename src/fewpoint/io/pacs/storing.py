"""A DICOM SEG stored in a PACS: once, however often it is asked for."""

from dataclasses import dataclass
from pathlib import Path

from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.decoding import check_exists, explaining_read_errors
from fewpoint.io.dicom import read_uids
from fewpoint.io.pacs.addresses import ServiceAddress, parse_series, parse_service
from fewpoint.io.pacs.service import Pacs

BACK = "back"  # where the series came from


@dataclass(frozen=True)
class Stored:
    """A segmentation in a PACS. pacs: its address. instance: its SOP Instance UID. is_new: it was not there before."""

    pacs: str
    study: str
    series: str
    instance: str
    is_new: bool

    def __str__(self) -> str:
        return f"{self.pacs}/studies/{self.study}/series/{self.series}" + ("" if self.is_new else ", there already")


def choose_pacs(target: str, origin: str) -> ServiceAddress:
    """The service that a target names: an address, or "back" for that of the origin of the images."""
    if target != BACK:
        return parse_service(target)
    if not origin:
        raise InputError("the images were not fetched from a PACS, so nothing can go back; give its address instead")
    return parse_series(origin).service


def origin_of(source: Source | None) -> str:
    return "" if source is None else source.origin


def store_seg(path: Path, pacs: Pacs) -> Stored:
    """Store a file that was written as DICOM SEG, unless it is there.

    Its UIDs follow from the images, the masks and what objects are called, so the same masks are the same object.
    """
    check_exists(path)
    study, series, instance = call(read_uids, path)
    is_new = not pacs.holds(study, series, instance)
    if is_new:
        with explaining_read_errors(path):
            data = path.read_bytes()
        pacs.store(data, study)
    return Stored(str(pacs.address), study, series, instance, is_new)
