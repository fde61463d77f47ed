"""`fewpoint convert`: the result of a finished run in another format."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import Formats, Probabilities

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]
OutPath = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files; that of the run if left out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def convert_command(
    run: RunPath,
    formats: Formats = None,
    probabilities: Probabilities = False,
    out: OutPath = None,
    as_json: AsJson = False,
) -> None:
    """Write the masks of RUN in other formats.

    A film and DICOM SEG need the input of the run in its old place.
    """
    if not formats and not probabilities:
        raise typer.BadParameter("give --format or --probabilities")
    from fewpoint.io.atomic import explaining_write_errors
    from fewpoint.io.formats import Outputs
    from fewpoint.runs.exports import convert_run

    folder = out or run
    if out is not None:
        with explaining_write_errors(out):
            out.mkdir(parents=True, exist_ok=True)
    written = convert_run(run, Outputs.of(formats or [], probabilities=probabilities), folder)
    print(json.dumps([str(path) for path in written]) if as_json else "\n".join(map(str, written)))
