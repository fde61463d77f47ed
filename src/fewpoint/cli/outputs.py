"""What commands share that say or write results."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fewpoint.core.relabelling import Relabelling

SCHEMA_VERSION = 2
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON (see fewpoint info --schema) and no progress.")]


def print_json(command: str, content: dict[str, Any]) -> None:
    """One document on standard output, which says what it is; cli/output.schema.json describes it."""
    print(json.dumps({"format": f"fewpoint {command}", "schema_version": SCHEMA_VERSION, **content}))


class FormatName(StrEnum):
    AUTO = "auto"
    PNG = "png"
    NIFTI = "nifti"
    NRRD = "nrrd"
    MHA = "mha"
    TIFF = "tiff"
    ZARR = "zarr"
    DICOM_SEG = "dicom-seg"
    RTSTRUCT = "rtstruct"
    COCO = "coco"
    MP4 = "mp4"


FORMAT_HELP = "What to write the masks as; may be repeated. auto is the input's own; mp4 is a video of the outlines."
Formats = Annotated[list[FormatName] | None, typer.Option("--format", rich_help_panel="Output", help=FORMAT_HELP)]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Write the probabilities too, as floats in the same grid.")
]


class LayoutName(StrEnum):
    NNUNET = "nnunet"
    BIDS = "bids"
    COCO = "coco"
    FLAT = "flat"


Renames = Annotated[
    list[str] | None,
    typer.Option("--rename", metavar="OLD=NEW", help="Rename an object in the files; may be repeated."),
]
Codes = Annotated[
    list[str] | None,
    typer.Option(
        "--code",
        metavar="NAME=SCHEME:VALUE:MEANING",
        help="Code of an object in DICOM SEG, as liver=SCT:10200004:Liver, its category and a slash before it if it is "
        "no anatomical structure; may be repeated.",
    ),
]


def parse_labels(renames: list[str] | None, codes: list[str] | None, order: str = "") -> "Relabelling":
    """What objects are called, from the options --rename, --code and --labels."""
    from fewpoint.core.relabelling import Relabelling
    from fewpoint.errors import InputError

    try:
        return Relabelling.parse(renames or (), codes or (), order)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
