"""`fewpoint annotate`: click, run, look, correct and export in the browser."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.gates import Host, NoToken, make_gate
from fewpoint.cli.options import Assignments, ConfigPath, Device, DeviceName, Witness
from fewpoint.cli.trust import Trust
from fewpoint.core.job import Job
from fewpoint.core.plain_text import show_plainly
from fewpoint.errors import InputError, SettingsError

if TYPE_CHECKING:
    from fewpoint.io.pacs.service import Pacs
    from fewpoint.web.places import Root

PORT = 8760
LARGEST_PORT = 65535

InputPath = Annotated[
    Path | None,
    typer.Argument(metavar="[INPUT|PROJECT]", help="Frames to open, as for segment, or a .fewpoint project."),
]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=LARGEST_PORT, help="0 takes any that is free.")]
RootPath = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="Nothing outside can be opened. By default the folder of INPUT."),
]
Demo = Annotated[bool, typer.Option("--demo", help="Open a synthetic sequence, written to ./fewpoint-demo.")]
NoLive = Annotated[
    bool,
    typer.Option(
        "--no-live", help="Start with the live preview and automatic training off. The page can turn them on."
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="NAME",
        help="A pretrained model, such as dinov2-small, whose features the live preview uses before any training.",
    ),
]
DicomWeb = Annotated[
    str | None,
    typer.Option(
        "--dicomweb",
        metavar="URL",
        help="A PACS, dicomwebs://HOST/ROOT, whose series can be opened and masks stored back. Credentials come from "
        "the environment or ~/.netrc, see the manual.",
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open the page.")]


def annotate_command(  # noqa: PLR0913 - one argument per option
    input_path: InputPath = None,
    root: RootPath = None,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    demo: Demo = False,
    device: Device = DeviceName.AUTO,
    assignments: Assignments = None,
    config: ConfigPath = None,
    witness: Witness = None,
    features: Features = None,
    dicomweb: DicomWeb = None,
    no_live: NoLive = False,
    no_browser: NoBrowser = False,
    no_token: NoToken = False,
    trust: Trust = False,
) -> None:
    """Annotate in the browser.

    Everything is kept in a project file INPUT.fewpoint next to INPUT, which fewpoint segment reads too.
    """
    if demo and input_path is not None:
        raise typer.BadParameter("give INPUT or --demo, not both")
    job = make_job(device, config, assignments, witness)
    need_server()
    from fewpoint.web.server import Options
    from fewpoint.web.serving import serve

    gate = make_gate(host, no_token)
    if demo:
        input_path = write_demo(Path("fewpoint-demo"))
    chosen = choose_root(root, input_path)
    check_models(witness, features)
    pacs = reach_pacs(dicomweb)
    options = Options(chosen, gate, job, live=not no_live, features=features or "", pacs=pacs)
    serve(options, port, input_path, open_page=not no_browser, tell=tell)


def make_job(device: DeviceName, config: Path | None, assignments: list[str] | None, witness: str | None) -> Job:
    """What every run of a server is given; InputError for settings that there are not."""
    from fewpoint.io.jobs import parse_changes, read_changes
    from fewpoint.methods.resolve import refuse_unknown_changes

    job = Job(
        device=str(device),
        changes=(*(() if config is None else read_changes(config)), *parse_changes(assignments or [])),
        witness=witness,
    )
    refuse_unknown_changes(job)
    return job


def need_server() -> None:
    """Raise SettingsError unless the libraries of a server are there, before anything is opened."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise SettingsError(
            "the annotator needs FastAPI and uvicorn, which are not installed; run: pip install 'fewpoint[annotate]'"
        ) from None


def choose_root(root: Path | None, input_path: Path | None = None) -> "Root":
    """The folder below which everything lies that can be opened."""
    from fewpoint.web.places import Root

    chosen = Root.of(root or (Path.cwd() if input_path is None else input_path.absolute().parent))
    if input_path is not None and not (input_path.exists() and chosen.holds(input_path)):
        raise InputError(f"{input_path} must be there and lie below the root {chosen.path}; give another --root")
    return chosen


def reach_pacs(address: str | None) -> "Pacs | None":
    """The PACS of a server, which has answered; its credentials are no longer in the environment of workers."""
    if address is None:
        return None
    from fewpoint.io.extras import need
    from fewpoint.io.pacs.addresses import parse_service
    from fewpoint.io.pacs.credentials import take_credentials
    from fewpoint.io.pacs.service import Pacs

    need("highdicom", "dicom", "a PACS needs")
    service = parse_service(address)
    pacs = Pacs(service, take_credentials(service))
    pacs.list_studies(most=1)
    return pacs


def check_models(*models: str | None) -> None:
    """Raise InputError for a pretrained model that is not installed."""
    from fewpoint.witness.store import check_installed

    for model in filter(None, models):
        check_installed(model)


def write_demo(folder: Path) -> Path:
    """Write the frames of the sequence that `fewpoint demo` segments, if they are not there yet."""
    from fewpoint.cli.demo import COLOURS, FRAMES, SIDE
    from fewpoint.evaluation.phantom import make_phantom
    from fewpoint.io.atomic import explaining_write_errors, replace_folder, write_new
    from fewpoint.report.montage import encode_png

    frames = folder / "frames"
    if frames.exists():
        return frames
    phantom = make_phantom(FRAMES, (SIDE, SIDE), 0, channels=COLOURS)

    def fill(temporary: Path) -> None:
        for name, frame in zip(phantom.sequence.names, phantom.sequence.frames, strict=True):
            data = encode_png(frame)
            write_new(temporary / f"{name}.png", lambda stream, data=data: stream.write(data))

    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    replace_folder(frames, fill)
    return frames


def tell(line: str) -> None:
    """Print a line for the person who started a server."""
    print(show_plainly(line), file=sys.stderr, flush=True)
