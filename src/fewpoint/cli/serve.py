"""`fewpoint serve`: the annotator's server without its page, for other programs."""

from typing import Annotated

import typer

from fewpoint.cli.annotate import (
    PORT,
    DicomWeb,
    Features,
    Port,
    RootPath,
    check_models,
    choose_root,
    make_job,
    need_server,
    reach_pacs,
    tell,
)
from fewpoint.cli.gates import Host, NoToken, make_gate
from fewpoint.cli.options import Assignments, ConfigPath, Device, DeviceName, PresetName, Witness
from fewpoint.cli.trust import Trust

MOST_SESSIONS, IDLE_MINUTES = 4, 30.0

LearningPreset = Annotated[
    PresetName, typer.Option("--preset", help="Settings for training on what nnInteractive's clients mark.")
]
MostSessions = Annotated[
    int, typer.Option("--sessions", metavar="N", min=1, max=100, help="Clients of nnInteractive at once.")
]
IdleMinutes = Annotated[
    float,
    typer.Option(
        "--idle", metavar="MINUTES", min=0.1, help="A client's session ends after this long without an annotation."
    ),
]


def serve_command(  # noqa: PLR0913 - one argument per option
    root: RootPath = None,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    preset: LearningPreset = PresetName.AUTO,
    sessions: MostSessions = MOST_SESSIONS,
    idle: IdleMinutes = IDLE_MINUTES,
    device: Device = DeviceName.AUTO,
    assignments: Assignments = None,
    config: ConfigPath = None,
    witness: Witness = None,
    features: Features = None,
    dicomweb: DicomWeb = None,
    no_token: NoToken = False,
    trust: Trust = False,
) -> None:
    """Serve napari, 3D Slicer, MITK and scripts.

    The annotator's server without its page. Clients of nnInteractive connect to the address that is printed, with the
    token as their API key.
    """
    job = make_job(device, config, assignments, witness)
    need_server()
    from fewpoint.web.remote.limits import Limits
    from fewpoint.web.server import Options
    from fewpoint.web.serving import serve

    gate, chosen = make_gate(host, no_token), choose_root(root)
    check_models(witness, features)
    limits = Limits(sessions, 60 * idle, preset=str(preset))
    options = Options(chosen, gate, job, live=True, features=features or "", remote=limits, pacs=reach_pacs(dicomweb))
    serve(options, port, None, open_page=False, tell=tell)
