"""`fewpoint convert`: the result of a finished run in another format."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import AsJson, Codes, FormatName, Formats, Probabilities, Renames, parse_labels, print_json
from fewpoint.cli.storing import Store, describe_stored, reach_pacs, with_seg
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
    store: Store = None,
    as_json: AsJson = False,
    trust: Trust = False,
) -> None:
    """Write the masks of RUN in other formats.

    Nothing different in another --out is overwritten; for many runs use fewpoint collect.
    mp4 and DICOM SEG need the input of the run where it was.
    """
    if not formats and not probabilities and store is None:
        raise typer.BadParameter("give --format, --probabilities or --store")
    from fewpoint.core.result import Result
    from fewpoint.io.formats import FILES, Outputs
    from fewpoint.io.pacs.storing import origin_of, store_seg
    from fewpoint.io.runs import load_source
    from fewpoint.runs.exports import convert_run

    labels = parse_labels(renames, codes)

    def relabel(result: Result) -> Result:
        labels.check(each.name for each in result.objects)
        return labels.apply(result)

    pacs = reach_pacs(store, origin_of(load_source(run))) if store is not None else None
    outputs = Outputs.of(with_seg(formats, store), probabilities=probabilities)
    written = convert_run(run, outputs, out or run, relabel)
    stored = None if pacs is None else store_seg((out or run) / FILES[FormatName.DICOM_SEG], pacs)
    if as_json:
        print_json("convert", {"files": [str(path) for path in written], **describe_stored(stored)})
        return
    for path in written:
        say(str(path))
    if stored is not None:
        say(f"stored: {stored}")
