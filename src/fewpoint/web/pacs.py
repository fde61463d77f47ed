"""The PACS behind the server: its studies and series, one of which is fetched to be opened, and masks stored back."""

import hashlib
from pathlib import Path

from fewpoint.errors import InputError
from fewpoint.io.pacs.addresses import SeriesAddress, check_uid, parse_series
from fewpoint.io.pacs.fetching import choose_series, fetch_series, find_origin, holding
from fewpoint.io.pacs.service import FETCH, Pacs
from fewpoint.io.pacs.storing import store_seg
from fewpoint.web import messages
from fewpoint.web.exporting import export_masks
from fewpoint.web.faults import MissingError
from fewpoint.web.keeping import keep_view
from fewpoint.web.places import UPLOADS_FOLDER, Root
from fewpoint.web.sessions import Session
from fewpoint.web.uploads import check_quota

SEG = "dicom-seg"


def need_pacs(pacs: Pacs | None) -> Pacs:
    """The PACS that the server was started with; MissingError if there is none. The page cannot name another."""
    if pacs is None:
        raise MissingError("this server has no PACS; start it with --dicomweb")
    return pacs


def list_studies(pacs: Pacs, patient: str) -> list[messages.PacsStudy]:
    """The latest studies, of a patient's ID if it is given."""
    return [messages.PacsStudy(**vars(each)) for each in pacs.list_studies(patient)]


def list_series(pacs: Pacs, study: str) -> list[messages.PacsSeries]:
    return [messages.PacsSeries(**vars(each)) for each in pacs.list_series(study)]


def fetch_below(pacs: Pacs, request: messages.FetchRequest, root: Root) -> str:
    """Fetch a series into a folder below the root, unless it is there; returns the path to open.

    It lies among what was sent, and is counted and deleted as such. Its name says nothing of the patient.
    """
    address = SeriesAddress(pacs.address, check_uid(request.study), check_uid(request.series))
    chosen = choose_series(address, pacs.list_series(address.study))
    key = hashlib.sha256(str(address).encode()).hexdigest()[:8]
    kind = chosen.modality if chosen.modality.isascii() and chosen.modality.isalnum() else "series"
    folder = root.uploads / f"{kind}-{chosen.number}-{key}"
    if not root.holds(folder.parent):
        raise InputError(f"{UPLOADS_FOLDER} is a link that leads out of the root; remove it")
    folder.parent.mkdir(exist_ok=True)
    with holding(folder.with_name(f".{folder.name}")):
        if find_origin(folder) != str(address):
            check_quota(root, FETCH.answer_bytes if not chosen.images else chosen.images * 2**20)
            fetch_series(pacs, address, folder)
    return root.name(folder)


def store_run(pacs: Pacs, session: Session, run: int | None) -> messages.StoredMessage:
    """Store the masks of a run where the images of its project came from, as DICOM SEG.

    run: None for what is shown.
    """
    origin = session.source.origin
    if not origin or parse_series(origin).service != pacs.address:
        raise InputError(
            "the images of this project did not come from the PACS of this server; export DICOM SEG instead"
        )
    record = keep_view(session) if run is None else session.find_run(run)
    written = export_masks(session, record, messages.ExportRequest(format=SEG))
    (name,) = written.files
    stored = store_seg(Path(written.path) / name, pacs)
    return messages.StoredMessage(series=stored.series, instance=stored.instance, is_new=stored.is_new)
