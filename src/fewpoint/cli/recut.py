"""`fewpoint recut`: other masks from a finished run, in a second."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.convert import RunPath
from fewpoint.cli.outputs import AsJson, Formats, print_json
from fewpoint.cli.voice import say

Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", metavar="P", help="Probability from which a pixel belongs to the object; 0.5 in a run."
    ),
]
Size = Annotated[
    float | None, typer.Option("--size", metavar="FACTOR", help="Instead: how many times larger the masks should be.")
]
Clean = Annotated[bool, typer.Option("--clean", help="Remove parts that are not connected to any click.")]
OutPath = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder for the masks; `recut` in that of the run if left out."),
]


def recut_command(
    run: RunPath,
    threshold: Threshold = None,
    size: Size = None,
    clean: Clean = False,
    formats: Formats = None,
    out: OutPath = None,
    as_json: AsJson = False,
) -> None:
    """Cut the masks of RUN again from its probabilities.

    Nothing is trained, and the masks of RUN stay: the new ones are in RUN/recut, until the next recut.
    """
    from fewpoint.io.formats import Outputs
    from fewpoint.runs.recutting import Recut, recut_run

    record = recut_run(run, Recut(threshold, size, clean), out, Outputs.of(formats or []))
    if as_json:
        print_json("recut", record)
        return
    for each in record["objects"]:
        sizes = f"{each['pixels']:,} pixels at {each['threshold']:.2f} and above, before {each['before']:,}"
        say(f"{each['name']}: {sizes}; Dice with the previous masks {each['dice']:.3f}")
    for path in record["files"]:
        say(f"masks:  {path}")
