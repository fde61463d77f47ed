"""`fewpoint convert`: the result of a finished run in another format."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import AsJson, Codes, Formats, Probabilities, Renames, parse_labels, print_json
from fewpoint.cli.trust import Trust
from fewpoint.cli.voice import say

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")]
OutPath = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files; that of the run if left out.")
]


def convert_command(  # noqa: PLR0913 - one argument per option
    run: RunPath,
    formats: Formats = None,
    probabilities: Probabilities = False,
    renames: Renames = None,
    codes: Codes = None,
    out: OutPath = None,
    as_json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Write the masks of RUN in other formats.

    Nothing in another --out is overwritten, unless it is the same; for many runs there is fewpoint collect.
    A film and DICOM SEG need the input of the run in its old place.
    """
    if not formats and not probabilities:
        raise typer.BadParameter("give --format or --probabilities")
    from fewpoint.core.result import Result
    from fewpoint.io.formats import Outputs
    from fewpoint.runs.exports import convert_run

    labels = parse_labels(renames, codes)

    def relabel(result: Result) -> Result:
        labels.check(each.name for each in result.objects)
        return labels.apply(result)

    written = convert_run(run, Outputs.of(formats or [], probabilities=probabilities), out or run, relabel)
    if as_json:
        print_json("convert", {"files": [str(path) for path in written]})
        return
    for path in written:
        say(str(path))
