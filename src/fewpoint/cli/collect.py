"""`fewpoint collect`: the masks of a study in one folder, as other programs expect them."""

from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.outputs import AsJson, Codes, FormatName, LayoutName, Renames, parse_labels, print_json
from fewpoint.cli.voice import say, tell

RunPaths = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS…", help="Folders of finished runs, or folders that hold such, as the --out of batch."),
]
OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the study; an earlier collection in it is replaced.")
]
Layout = Annotated[
    LayoutName,
    typer.Option(
        "--layout",
        help="nnunet: a dataset for nnU-Net v2; bids: derivatives; coco: one annotations.json; flat: a file per run.",
    ),
]
Labels = Annotated[
    str,
    typer.Option(
        "--labels", metavar="A,B,…", help="Objects in the order of their numbers; all of them by name if left out."
    ),
]
Format = Annotated[
    FormatName, typer.Option("--format", help="Format of the masks of flat; auto is that of each input.")
]
NoImages = Annotated[bool, typer.Option("--no-images", help="Masks only, without the frames that nnunet and coco get.")]


def collect_command(  # noqa: PLR0913 - one argument per option
    runs: RunPaths,
    out: OutPath,
    layout: Layout = LayoutName.FLAT,
    labels: Labels = "",
    renames: Renames = None,
    codes: Codes = None,
    mask_format: Format = FormatName.AUTO,
    no_images: NoImages = False,
    as_json: AsJson = False,
) -> None:
    """Gather the masks of many runs, by name.

    Objects have the same numbers in all runs. For nnunet and coco the frames are read again.
    """
    if mask_format != FormatName.AUTO and layout != LayoutName.FLAT:
        raise typer.BadParameter(f"--format is for the layout flat, {layout} has its own; leave it out")
    if mask_format == FormatName.MP4:
        raise typer.BadParameter("mp4 is not a mask format; give another --format, or use fewpoint convert for a video")
    from fewpoint.runs.collecting import Choice, collect_runs
    from fewpoint.runs.collecting import Layout as Chosen

    choice = Choice(Chosen(layout), parse_labels(renames, codes, labels), str(mask_format), not no_images)
    done = collect_runs(runs, out, choice, _tell)
    if as_json:
        own = {name: [str(path) for path in files] for name, files in done.runs.items()}
        print_json(
            "collect",
            {"layout": str(layout), "out": str(out), "runs": own, "files": [str(path) for path in done.files]},
        )
        return
    for name, files in done.runs.items():
        say(f"{name}: {files[0] if files else 'frames where they are'}")
    for path in done.files:
        say(str(path))


def _tell(line: str) -> None:
    tell(f"warning: {line}")
