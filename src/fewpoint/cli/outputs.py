"""Options of the commands that write results."""

from enum import StrEnum
from typing import Annotated

import typer


class FormatName(StrEnum):
    AUTO = "auto"
    PNG = "png"
    NIFTI = "nifti"
    NRRD = "nrrd"
    MHA = "mha"
    TIFF = "tiff"
    ZARR = "zarr"
    DICOM_SEG = "dicom-seg"
    COCO = "coco"
    MP4 = "mp4"


FORMAT_HELP = "What to write the masks as; may be repeated. auto is the input's own; mp4 is a film of the outlines."
Formats = Annotated[list[FormatName] | None, typer.Option("--format", help=FORMAT_HELP)]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Write the probabilities too, as floats in the same grid.")
]
