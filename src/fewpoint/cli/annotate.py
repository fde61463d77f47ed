"""`fewpoint annotate`: click, run, look, correct and export in the browser."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fewpoint.cli.options import Assignments, ConfigPath, Device, DeviceName, Witness
from fewpoint.cli.trust import Trust
from fewpoint.core.job import Job
from fewpoint.core.plain_text import show_plainly
from fewpoint.errors import InputError, SettingsError

PORT = 8760
LARGEST_PORT = 65535

InputPath = Annotated[
    Path | None,
    typer.Argument(metavar="[INPUT|PROJECT]", help="Frames to open, as for segment, or a .fewpoint project."),
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Address to listen at, by default this machine's own."),
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
        "--no-live", help="Begin with live mode off: masks and learning wait for Run. The page can turn it on."
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="NAME",
        help="A pretrained model, such as dinov2-small, whose features masks are made of before anything is learnt.",
    ),
]
NoToken = Annotated[
    bool, typer.Option("--no-token", help="Let in everybody who works on this machine, without a token.")
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
    from fewpoint.io.jobs import parse_changes, read_changes
    from fewpoint.methods.resolve import refuse_unknown_changes

    job = Job(
        device=str(device),
        changes=(*(() if config is None else read_changes(config)), *parse_changes(assignments or [])),
        witness=witness,
    )
    refuse_unknown_changes(job)
    try:
        import fastapi  # noqa: F401 - asked for before anything is opened
        import uvicorn  # noqa: F401
    except ImportError:
        raise SettingsError(
            "the annotator needs FastAPI and uvicorn, which are not installed; run: pip install 'fewpoint[annotate]'"
        ) from None
    from fewpoint.web.guard import Gate, is_loopback
    from fewpoint.web.keys import TOKEN_VARIABLE
    from fewpoint.web.places import Root
    from fewpoint.web.server import Options
    from fewpoint.web.serving import serve
    from fewpoint.witness.store import check_installed

    if no_token and not is_loopback(host):
        raise typer.BadParameter("--no-token is for this machine's own address alone")
    if demo:
        input_path = write_demo(Path("fewpoint-demo"))
    chosen = Root.of(root or (Path.cwd() if input_path is None else input_path.absolute().parent))
    if input_path is not None and not (input_path.exists() and chosen.holds(input_path)):
        raise InputError(f"{input_path} must be there and lie below the root {chosen.path}; give another --root")
    for model in filter(None, (witness, features)):
        check_installed(model)
    options = Options(
        chosen,
        Gate(host) if no_token else Gate.for_host(host, os.environ.pop(TOKEN_VARIABLE, "")),
        job,
        live=not no_live,
        features=features or "",
    )
    serve(options, port, input_path, open_page=not no_browser, tell=_tell)


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


def _tell(line: str) -> None:
    print(show_plainly(line), file=sys.stderr, flush=True)
