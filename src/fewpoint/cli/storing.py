"""`--store`: the masks as DICOM SEG in a PACS, too."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewpoint.cli.outputs import FormatName

if TYPE_CHECKING:
    from fewpoint.io.pacs.service import Pacs
    from fewpoint.io.pacs.storing import Stored

Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PACS|back",
        help="Store the masks as DICOM SEG in a PACS, dicomwebs://HOST/ROOT, or back where the series came from; what "
        "is there already is not stored again. Credentials come from the environment or ~/.netrc, see the manual.",
    ),
]


def with_seg(formats: list[FormatName] | None, store: str | None) -> list[FormatName]:
    """The formats asked for, and that which a PACS takes."""
    asked = list(formats or ())
    return asked if store is None or FormatName.DICOM_SEG in asked else [*asked, FormatName.DICOM_SEG]


def reach_pacs(store: str | None, source: str | Path) -> "Pacs | None":
    """The PACS to store in, which has answered with these credentials; None if nothing is to be stored.

    source: the address or folder of the images.
    """
    if store is None:
        return None
    from fewpoint.io.pacs.addresses import is_remote
    from fewpoint.io.pacs.fetching import find_origin
    from fewpoint.io.pacs.service import Pacs
    from fewpoint.io.pacs.storing import choose_pacs

    pacs = Pacs.at(choose_pacs(store, str(source) if is_remote(source) else find_origin(Path(source))))
    pacs.list_studies(most=1)
    return pacs


def describe_stored(stored: "Stored | None") -> dict[str, Any]:
    """What --json says of it."""
    return {} if stored is None else {"stored": vars(stored)}
