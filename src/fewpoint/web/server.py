"""The addresses that the page and scripts use, one function each."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.requests import HTTPConnection
from fastapi.responses import FileResponse, JSONResponse
from PIL import Image
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocketDisconnect

from fewpoint import __version__
from fewpoint.core.actions import Action, SetSize
from fewpoint.core.anatomical_codes import CODES
from fewpoint.core.job import Job
from fewpoint.core.project import apply_action
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.images import WINDOWS
from fewpoint.io.pacs.service import Pacs
from fewpoint.io.projects import SUFFIX
from fewpoint.web import messages
from fewpoint.web.aside import Aside
from fewpoint.web.broadcast import Waiting
from fewpoint.web.edits import edit_masks
from fewpoint.web.exporting import export_masks, find_export, list_formats
from fewpoint.web.faults import status_of
from fewpoint.web.following import Following
from fewpoint.web.guard import Gate, Guard
from fewpoint.web.imports import find_own_points, plan_import
from fewpoint.web.keeping import keep_answers, keep_view
from fewpoint.web.pacs import fetch_below, list_series, list_studies, need_pacs, store_run
from fewpoint.web.pictures import encode_image
from fewpoint.web.places import Root
from fewpoint.web.queueing import RunQueue, find_asked
from fewpoint.web.remote.leases import Leases
from fewpoint.web.remote.limits import Limits
from fewpoint.web.remote.routes import router as remote_router
from fewpoint.web.results import (
    ObjectMasks,
    draw_plane,
    find_masks,
    find_present_masks,
    find_probability,
    measure_agreement,
    measure_uncertainty,
    write_mask,
)
from fewpoint.web.sessions import Session, Workspace
from fewpoint.web.shown import MASKS, PREVIEW
from fewpoint.web.surfaces import build_surface
from fewpoint.web.uploads import MOST_FILES, store_files
from fewpoint.web.wording import word_for_page
from fewpoint.web.worklist import (
    delete_export,
    delete_run,
    delete_upload,
    describe_series,
    export_all,
    list_work,
    measure_storage,
)

STATIC = Path(__file__).parent / "static"
MOST_THREADS = 128  # in which requests are worked on
FOREVER = "private, max-age=31536000, immutable"
Responses = dict[int | str, dict[str, Any]]
ERROR_CODES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 507)
ERRORS: Responses = {status: {"model": messages.ErrorMessage} for status in ERROR_CODES}

UPLOAD_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}
PNG: Responses = {200: {"content": {"image/png": {}}}}
BINARY: Responses = {200: {"content": {"application/octet-stream": {}}}}

router = APIRouter(prefix="/api", responses=ERRORS)


@dataclass(frozen=True)
class Options:
    """How the server is set up. job: what every run is given. opened: the project given on the command line.

    live: whether masks follow what is said at first, and learning goes on by itself. features: a pretrained model whose
    features rough masks are made of, "" for none. remote: what nnInteractive's clients may take, who are then served in
    the place of the page; None for the page. pacs: where series can be opened from, and masks stored; None for nowhere.
    """

    root: Root
    gate: Gate = Gate()
    job: Job = Job()
    store: Path | None = None
    opened: str | None = None
    live: bool = False
    features: str = ""
    remote: Limits | None = None
    pacs: Pacs | None = None


@dataclass(eq=False)
class State:
    options: Options
    workspace: Workspace
    queue: RunQueue
    following: Following
    device: str = field(default="")

    @property
    def root(self) -> Root:
        """What may be opened."""
        return self.workspace.root


def create_app(options: Options) -> FastAPI:
    """The server as an ASGI application."""
    following = Following(options.live, features=options.features)
    queue = RunQueue(options.job, following.follow_up)
    state = State(options, Workspace(options.root, options.store), queue, following)
    place = state.workspace.store.fallback
    leases = None if options.remote is None else Leases(place, options.remote, following, queue)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = MOST_THREADS
        queue.start()
        following.start(queue)
        if leases is not None:
            await run_in_threadpool(leases.start)
        yield
        if leases is not None:
            await run_in_threadpool(leases.close)
        following.close()
        await run_in_threadpool(queue.close)
        state.workspace.close()

    app = FastAPI(
        title="fewpoint annotate" if leases is None else "fewpoint serve",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.fewpoint = state
    app.include_router(router)
    if leases is None:
        app.add_api_route("/", show_page, include_in_schema=False)
        app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    else:
        app.state.leases = leases
        app.include_router(remote_router)
    app.exception_handler(FewpointError)(_explain)
    app.exception_handler(RequestValidationError)(_explain_request)
    app.exception_handler(HTTPException)(_explain_http)
    app.add_middleware(Aside)
    app.add_middleware(Guard, gate=options.gate)
    return app


def state_of(connection: HTTPConnection) -> State:
    return connection.app.state.fewpoint


TheState = Annotated[State, Depends(state_of)]


def session_of(project: str, state: TheState) -> Session:
    return state.workspace.find(project)


TheSession = Annotated[Session, Depends(session_of)]


def show_page() -> Response:
    page = STATIC / "index.html"
    return Response(page.read_bytes(), media_type="text/html; charset=utf-8")


@router.get("/health")
def health(state: TheState) -> messages.Health:
    """Version, device, root, the project of the command line."""
    return messages.Health(
        version=__version__,
        device=state.device,
        root=str(state.root.path),
        opened=state.options.opened,
        windows={name: list(window) for name, window in WINDOWS.items()},
        labels=CODES,
        pacs="" if state.options.pacs is None else str(state.options.pacs.address),
    )


@router.get("/files")
def list_files(
    state: TheState, path: Annotated[str, Query(max_length=messages.LONGEST_PATH)] = ""
) -> messages.FileListing:
    """Contents of a folder below the root."""
    return state.root.list_folder(path)


@router.post("/uploads", openapi_extra=UPLOAD_SCHEMA)
async def upload(request: Request, state: TheState) -> messages.Uploaded:
    """A form with a field `files` for each file; returns the path to open."""
    async with request.form(max_files=MOST_FILES, max_fields=0) as form:
        files = [(part.filename or "", part.file) for part in form.getlist("files") if isinstance(part, UploadFile)]
        path = await run_in_threadpool(store_files, files, state.root)
    return messages.Uploaded(path=path)


@router.get("/series")
def show_series(
    state: TheState, path: Annotated[str, Query(max_length=messages.LONGEST_PATH)]
) -> list[messages.SeriesEntry]:
    """The series of a folder of DICOM images, with patient, study and the image to open for each."""
    folder = state.root.resolve(path)
    state.root.check_input(folder)
    return describe_series(folder, state.root)


@router.get("/pacs/studies")
def show_studies(state: TheState, patient: Annotated[str, Query(max_length=64)] = "") -> list[messages.PacsStudy]:
    """With `--dicomweb`: the latest studies in the PACS, of a patient's ID if it is given."""
    return list_studies(need_pacs(state.options.pacs), patient)


@router.get("/pacs/studies/{study}/series")
def show_pacs_series(state: TheState, study: str) -> list[messages.PacsSeries]:
    """The series of images of a study in the PACS."""
    return list_series(need_pacs(state.options.pacs), study)


@router.post("/pacs/series")
def fetch_from_pacs(state: TheState, request: messages.FetchRequest) -> messages.Uploaded:
    """`{"study": UID, "series": UID}` fetches a series; returns the path to open."""
    return messages.Uploaded(path=fetch_below(need_pacs(state.options.pacs), request, state.root))


@router.get("/work")
def show_work(state: TheState) -> list[messages.WorkEntry]:
    """All studies below the root: input, state (`new`, `clicked`, `run`, `accepted`, `rejected`, `exported`),
    people, points, runs, quality.
    """
    return list_work(state.workspace)


@router.post("/work/exports")
def export_work(state: TheState, request: messages.ExportAllRequest) -> list[messages.ExportMessage]:
    """`{"format": NAME}` writes the masks of every accepted study."""
    return export_all(state.workspace, request)


@router.get("/queue")
def show_queue(state: TheState) -> list[messages.QueueEntry]:
    """Active and waiting runs of all projects."""
    return state.queue.list_entries()


@router.get("/formats")
def show_formats() -> list[messages.FormatEntry]:
    """Export formats."""
    return list_formats()


@router.get("/projects")
def list_projects(state: TheState) -> list[messages.ProjectEntry]:
    """All projects below the root."""
    return state.workspace.list_projects()


@router.post("/projects")
def open_project(request: messages.OpenRequest, state: TheState) -> messages.ProjectMessage:
    """`{"input": PATH}` opens or creates the project of an input; `{"project": PATH}` opens a project file."""
    root, workspace = state.root, state.workspace
    if request.project is not None:
        return workspace.open_project(root.resolve(request.project)).describe()
    return workspace.open_input(root.resolve(request.input or "")).describe()


@router.get("/projects/{project}")
def show_project(session: TheSession) -> messages.ProjectMessage:
    """The project."""
    return session.describe()


@router.post("/projects/{project}/actions")
def do_action(session: TheSession, state: TheState, request: messages.ActionRequest) -> messages.ActionResult:
    """`{"action": …}`, see below; refused unless the project is at `base_version`, if given; `view`: the frame in
    view, which is updated first.
    """
    done = session.do(request.action, request.base_version, request.by)
    state.following.hear(session, request.view)
    return done


@router.post("/projects/{project}/live")
def turn_live(session: TheSession, state: TheState, request: messages.LiveRequest) -> messages.LiveMessage:
    """`{"on": true}`: live preview and automatic training, while somebody listens to the project's events; returns
    `live` as below.
    """
    state.following.turn(session, request.on)
    return session.describe_live()


@router.post("/projects/{project}/live/size")
def try_size(session: TheSession, state: TheState, request: messages.SizeRequest) -> messages.LiveMessage:
    """`{"object": NAME, "size": 1.5, "frame": null}`: previews a size without saving it; `view` as for actions."""
    action = SetSize(request.object, request.size, request.frame)
    state.following.try_out(session, apply_action(action, session.project, 0), request.view)
    return session.describe_live()


@router.get("/projects/{project}/masks/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_present_mask(session: TheSession, frame: int, view: Annotated[messages.MaskQuery, Query()]) -> Response:
    """`object`: its name. The current mask, which the page shows: as drawn, else of the live preview, else of the
    last run; `axis` as for frames; `as=png`: as an image.
    """
    return _answer_mask(find_present_masks(session, session.find_object(view)), frame, view)


@router.post("/projects/{project}/strokes")
def paint(session: TheSession, state: TheState, request: messages.StrokeRequest) -> messages.ActionResult:
    """`{"object": NAME, "axis": 1, "index": 30, "runs": …}`: the whole mask of a plane as painted; all frames that
    it changes become drawn masks, as one undo step.
    """
    return _change(session, state, lambda: [draw_plane(session, request)], request.by)


@router.post("/projects/{project}/edits")
def edit(session: TheSession, state: TheState, request: messages.EditRequest) -> messages.ActionResult:
    """`{"object": NAME, "edit": EDIT, "frame": 3, "everywhere": false, "value": null}`: edits masks: `fill` between
    drawn frames, `islands`, `smooth`, `copy` (`value` -1 or 1: from the frame before or after), `threshold`
    (`value`: least probability), `ball` (`places`, `value`: radius, `erase`).
    """
    return _change(session, state, lambda: [edit_masks(session, request)], request.by)


@router.post("/projects/{project}/imports")
def take_over(session: TheSession, state: TheState, request: messages.ImportRequest) -> messages.ActionResult:
    """`{"object": NAME, "path": PATH}`: imports points or masks of a file below the root; without `path` the points
    next to the images.
    """
    found = find_own_points(session) if request.path is None else state.root.resolve(request.path)
    if found is None or not state.root.holds(found):
        raise InputError("there are no points next to the images; give a file")
    return _change(session, state, lambda: plan_import(session, found, request.object), request.by)


def _change(session: Session, state: State, plan: Callable[[], Sequence[Action]], by: str) -> messages.ActionResult:
    """Do what is planned from the masks as they are now, with nobody in between."""
    done = None
    with session.lock:
        for action in plan():
            done = session.do(action, by=by)
    state.following.hear(session)
    if done is None:
        raise InputError("the file holds nothing to import; give another one")
    return done


@router.get("/projects/{project}/measures")
def measure(session: TheSession, view: Annotated[messages.ObjectQuery, Query()]) -> messages.MeasureMessage:
    """`object`: its name. Its pixels per frame, in the current masks."""
    masks = find_present_masks(session, session.find_object(view))
    return messages.MeasureMessage(areas=masks.count().tolist())


@router.get("/projects/{project}/surface", response_class=Response, responses=BINARY)
def show_surface(session: TheSession, view: Annotated[messages.ObjectQuery, Query()]) -> Response:
    """`object`: its name. Surface in RAS millimetres: numbers of vertices and triangles as uint32, vertices as
    float32, triangles as uint32 triples.
    """
    masks = find_present_masks(session, session.find_object(view))
    data = build_surface(masks.whole(), session.sequence.geometry)
    return Response(data, media_type="application/octet-stream")


@router.get("/projects/{project}/value")
def show_value(session: TheSession, at: Annotated[messages.PlaceQuery, Query()]) -> messages.ValueMessage:
    """`frame`, `y`, `x`: the value of a pixel in each channel, in the `unit` of the project."""
    return messages.ValueMessage(values=session.read_values(at.frame, at.y, at.x))


@router.post("/projects/{project}/look")
def keep_look(session: TheSession, request: messages.LookMessage) -> messages.LookMessage:
    """`{"low": -160, "high": 240}`: display window, kept with the project; `null` for that of the file."""
    session.keep_look(request)
    return request


@router.get("/projects/{project}/file", response_class=Response)
def download_project(session: TheSession) -> Response:
    """The project file."""
    return _download(session.log.read_bytes(), session.log.path.name, "application/x-ndjson")


@router.get("/projects/{project}/frames/{frame}", response_class=Response)
def show_frame(
    session: TheSession,
    state: TheState,
    request: Request,
    frame: int,
    view: Annotated[messages.FrameQuery, Query()],
) -> Response:
    """The frame as PNG, above 512 x 512 pixels as JPEG; `low`, `high`: display window; `axis` 1 or 2: the plane at
    a row or column; `v`: the project's `frames_key`, for caching.
    """
    window = None if view.low is None or view.high is None else (view.low, view.high)
    tag = f'"{session.frames_key}-{view.axis}-{frame}-{window}"'
    headers = {"etag": tag, "cache-control": FOREVER if view.v == session.frames_key else "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    picture = session.draw(state.workspace.cache, view.axis, frame, window)
    return Response(picture.data, media_type=picture.media_type, headers=headers)


@router.post("/projects/{project}/runs")
def start_run(session: TheSession, state: TheState, request: messages.RunRequest) -> messages.RunMessage:
    """Starts a run on all objects; `{"refine": true}` continues from the networks of the last finished one;
    `{"warm_start": true}` starts with those of another project, `{"added": [PATH]}` adds channels of other inputs
    on the same grid.
    """
    asked = find_asked(state.workspace, session, request)
    begun = state.queue.add(session, request.refine, asked)
    state.following.note_run(session)
    return begun


@router.get("/projects/{project}/runs/{run}")
def show_run(session: TheSession, run: int) -> messages.RunMessage:
    """The state of a run."""
    return session.describe_run(run)


@router.post("/projects/{project}/runs/{run}/cancel")
def cancel_run(session: TheSession, state: TheState, run: int) -> messages.RunMessage:
    """Stops it, also one that waits; after 1.5 seconds its process is ended. The latest prediction is its result."""
    cancelled = state.queue.cancel(session, run)
    state.following.rest(session)
    return cancelled


@router.post("/projects/{project}/runs/{run}/resume")
def resume_run(session: TheSession, state: TheState, run: int) -> messages.RunMessage:
    """Continues one that failed or was interrupted."""
    resumed = state.queue.resume(session, run)
    state.following.note_run(session)
    return resumed


@router.post("/projects/{project}/review")
def review(session: TheSession, request: messages.ReviewRequest) -> messages.ProjectMessage:
    """`{"verdict": "accepted", "by": WHO}`, `rejected`, or empty; it holds until an annotation changes. The current
    masks that are accepted are kept, and are those that `work/exports` writes.
    """
    result = keep_view(session).id if request.verdict == "accepted" else None
    return session.review(request.verdict, request.by, result)


@router.get("/projects/{project}/storage")
def show_storage(session: TheSession, state: TheState) -> messages.StorageMessage:
    """Bytes on disk of each run and export, and of the upload if the input is one."""
    return measure_storage(session, state.root)


@router.post("/projects/{project}/runs/{run}/delete")
def remove_run(session: TheSession, run: int) -> messages.ProjectMessage:
    """Removes a finished run."""
    delete_run(session, run)
    return session.describe()


@router.post("/projects/{project}/exports/{name}/delete")
def remove_export(session: TheSession, state: TheState, name: str) -> messages.StorageMessage:
    """Removes an export."""
    delete_export(session, name)
    return measure_storage(session, state.root)


@router.post("/projects/{project}/upload/delete")
def remove_upload(session: TheSession, state: TheState) -> list[messages.ProjectEntry]:
    """Removes an upload, with its project and runs."""
    delete_upload(state.workspace, session)
    return state.workspace.list_projects()


@router.post("/projects/{project}/runs/{run}/choose")
def choose_run(session: TheSession, state: TheState, run: int) -> messages.ProjectMessage:
    """Shows its masks, and refines from it, until a later run has finished."""
    keep_answers(session)
    session.choose_run(run)
    state.following.follow_up(session)
    return session.describe()


@router.get("/projects/{project}/runs/{run}/agreement")
def compare_runs(
    session: TheSession, run: int, view: Annotated[messages.AgreementQuery, Query()]
) -> messages.AgreementMessage:
    """`object`: its name, `other`: another run. Dice coefficient of both."""
    return measure_agreement(session, session.find_object(view), run, view.other)


@router.get("/projects/{project}/agreement")
def compare_shown(session: TheSession, view: Annotated[messages.AgreementQuery, Query()]) -> messages.AgreementMessage:
    """`object`: its name, `other`: a run. Dice coefficient of the current masks and those of the run."""
    return measure_agreement(session, session.find_object(view), None, view.other)


@router.get("/projects/{project}/runs/{run}/masks/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_mask(session: TheSession, run: int, frame: int, view: Annotated[messages.MaskQuery, Query()]) -> Response:
    """`object`: its name. The mask as `runs`: pairs of start and length in row-major order; `as=png`: as an image."""
    return _answer_mask(find_masks(session, run, session.find_object(view), MASKS), frame, view)


@router.get("/projects/{project}/runs/{run}/preview/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_preview(session: TheSession, run: int, frame: int, view: Annotated[messages.MaskQuery, Query()]) -> Response:
    """The same, as predicted by the current training."""
    return _answer_mask(find_masks(session, run, session.find_object(view), PREVIEW), frame, view)


@router.get("/projects/{project}/runs/{run}/probabilities/{frame}", response_class=Response, responses=PNG)
def show_probability(
    session: TheSession, run: int, frame: int, view: Annotated[messages.PlaneQuery, Query()]
) -> Response:
    """8-bit grey PNG, 255 where the object is certain."""
    values = find_probability(session, run, session.find_object(view), view.axis, frame)
    return _answer_image(values)


@router.get("/projects/{project}/runs/{run}/uncertainty")
def show_uncertainty(session: TheSession, run: int) -> messages.UncertaintyMessage:
    """Uncertainty of each frame, 0 to 1, and the one to review."""
    return measure_uncertainty(session, run)


@router.post("/projects/{project}/exports")
def export_shown(session: TheSession, request: messages.ExportRequest) -> messages.ExportMessage:
    """`{"format": NAME, "probabilities": false}` writes the current masks of all objects; if they are not those of
    one run, they are kept as one of `answers`.
    """
    return export_masks(session, keep_view(session), request)


@router.post("/projects/{project}/runs/{run}/exports")
def start_export(session: TheSession, run: int, request: messages.ExportRequest) -> messages.ExportMessage:
    """`{"format": NAME, "probabilities": false}` writes the masks of all objects in a run."""
    return export_masks(session, session.find_run(run), request)


@router.post("/projects/{project}/store")
def store_shown(session: TheSession, state: TheState) -> messages.StoredMessage:
    """Stores the current masks as DICOM SEG in the PACS that the images came from."""
    return store_run(need_pacs(state.options.pacs), session, None)


@router.post("/projects/{project}/runs/{run}/store")
def store_masks(session: TheSession, state: TheState, run: int) -> messages.StoredMessage:
    """Stores the masks of a run as DICOM SEG in the PACS that the images came from."""
    return store_run(need_pacs(state.options.pacs), session, run)


@router.get("/projects/{project}/exports/{name}", response_class=FileResponse)
def download_export(session: TheSession, name: str) -> Response:
    """Downloads an export, as a zip if it has several files."""
    path = find_export(session, name)
    shown = f"{session.log.path.name.removesuffix(SUFFIX)}-{name}{''.join(path.suffixes)}"
    return FileResponse(path, headers={"content-disposition": _attach(shown)}, media_type="application/octet-stream")


@router.websocket("/projects/{project}/events")
async def watch(socket: WebSocket, project: str, state: TheState) -> None:
    """Tell a page what happens to a project until it goes away."""
    try:
        session = await run_in_threadpool(session_of, project, state)
    except FewpointError:
        await socket.close(1008)
        return
    await socket.accept()
    async with session.broadcast.listen() as queue:
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.send_text(messages.HelloEvent(version=session.log.history.version).model_dump_json())
            await run_in_threadpool(state.following.watch, session)
            await run_in_threadpool(state.queue.look_again)
            await _forward(socket, queue)
    await run_in_threadpool(state.queue.look_again)


async def _forward(socket: WebSocket, queue: Waiting) -> None:
    """Send what comes, until the page leaves; what a page sends is not listened to."""
    import asyncio

    leaving = asyncio.create_task(_wait_until_left(socket))
    try:
        while True:
            coming = asyncio.create_task(queue.get())
            await asyncio.wait({leaving, coming}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            text = coming.result()
            if text is None:
                await socket.close(1013)
                return
            await socket.send_text(text)
    finally:
        leaving.cancel()


async def _wait_until_left(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _answer_mask(masks: ObjectMasks, index: int, view: messages.MaskQuery) -> Response:
    mask = masks.cut(view.axis, index)
    if view.as_ == "png":
        return _answer_image(mask.astype(np.uint8) * np.uint8(255))
    return Response(write_mask(mask, index), media_type="application/json")


def _answer_image(values: np.ndarray) -> Response:
    picture = encode_image(Image.fromarray(values))
    return Response(picture.data, media_type=picture.media_type)


def _download(data: bytes, name: str, media_type: str) -> Response:
    return Response(data, media_type=media_type, headers={"content-disposition": _attach(name)})


def _attach(name: str) -> str:
    """The header that makes a browser save an answer under a name, whatever is in the name."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def _explain(request: Request, error: FewpointError) -> JSONResponse:
    reason = " ".join(str(error).split())
    return JSONResponse({"detail": word_for_page(reason) or reason}, status_of(error))


async def _explain_request(request: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return JSONResponse({"detail": f"{place}: {first['msg']}".lstrip(": ")}, 422)


async def _explain_http(request: Request, error: HTTPException) -> JSONResponse:
    return JSONResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)
