"""`--trust`: files are decoded in the process itself, and in the processes that it starts."""

import os
from typing import Annotated

import typer

from fewpoint.io.apart.forker import TRUST


def _trust(wanted: bool) -> bool:
    if wanted:
        os.environ[TRUST] = "1"
    return wanted


Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        callback=_trust,
        help="Decode files in this process, without the sandbox that protects against malicious files.",
    ),
]
