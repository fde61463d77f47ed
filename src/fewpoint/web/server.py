"""The addresses that the page and scripts use, one function each."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from PIL import Image
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocketDisconnect

from fewpoint import __version__
from fewpoint.core.actions import SetSize
from fewpoint.core.job import Job
from fewpoint.core.project import apply_action
from fewpoint.errors import FewpointError
from fewpoint.io.projects import SUFFIX
from fewpoint.web import messages
from fewpoint.web.exporting import export_masks, find_export, list_formats
from fewpoint.web.faults import status_of
from fewpoint.web.following import Following
from fewpoint.web.guard import Gate, Guard
from fewpoint.web.pictures import encode_image
from fewpoint.web.places import Root
from fewpoint.web.queueing import RunQueue
from fewpoint.web.results import describe_mask, find_mask, find_present_mask, find_probability, measure_uncertainty
from fewpoint.web.sessions import Session, Workspace
from fewpoint.web.shown import MASKS, PREVIEW
from fewpoint.web.uploads import MOST_FILES, store_files

STATIC = Path(__file__).parent / "static"
FOREVER = "private, max-age=31536000, immutable"
Responses = dict[int | str, dict[str, Any]]
ERRORS: Responses = {status: {"model": messages.ErrorMessage} for status in (400, 401, 403, 404, 409, 413, 422, 507)}

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

router = APIRouter(prefix="/api", responses=ERRORS)


@dataclass(frozen=True)
class Options:
    """How the server is set up. job: what every run is given. opened: the project given on the command line.

    live: whether masks follow what is said at first, and learning goes on by itself.
    """

    root: Root
    gate: Gate = Gate()
    job: Job = Job()
    store: Path | None = None
    opened: str | None = None
    live: bool = False


@dataclass(eq=False)
class State:
    options: Options
    workspace: Workspace
    queue: RunQueue
    following: Following
    device: str = field(default="")


def create_app(options: Options) -> FastAPI:
    """The server as an ASGI application."""
    following = Following(options.live)
    queue = RunQueue(options.job, following.follow_up)
    state = State(options, Workspace(options.root, options.store), queue, following)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        queue.start()
        following.start(queue)
        yield
        following.close()
        await run_in_threadpool(queue.close)
        state.workspace.close()

    app = FastAPI(
        title="fewpoint annotate",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.fewpoint = state
    app.include_router(router)
    app.add_api_route("/", show_page, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    app.exception_handler(FewpointError)(_explain)
    app.exception_handler(RequestValidationError)(_explain_request)
    app.exception_handler(HTTPException)(_explain_http)
    app.add_middleware(Guard, gate=options.gate)
    return app


def state_of(request: Request) -> State:
    return request.app.state.fewpoint


def session_of(project: str, state: Annotated[State, Depends(state_of)]) -> Session:
    return state.workspace.find(project)


TheState = Annotated[State, Depends(state_of)]
TheSession = Annotated[Session, Depends(session_of)]


def show_page() -> Response:
    page = STATIC / "index.html"
    return Response(page.read_bytes(), media_type="text/html; charset=utf-8")


@router.get("/health")
def health(state: TheState) -> messages.Health:
    return messages.Health(
        version=__version__,
        device=state.device,
        root=str(state.options.root.path),
        opened=state.options.opened,
    )


@router.get("/files")
def list_files(
    state: TheState, path: Annotated[str, Query(max_length=messages.LONGEST_PATH)] = ""
) -> messages.FileListing:
    return state.options.root.list_folder(path)


@router.post("/uploads", openapi_extra=UPLOAD_SCHEMA)
async def upload(request: Request, state: TheState) -> messages.Uploaded:
    """Send files, as a form with a field `files` for each; they are kept below the root."""
    async with request.form(max_files=MOST_FILES, max_fields=0) as form:
        files = [(part.filename or "", part.file) for part in form.getlist("files") if isinstance(part, UploadFile)]
        return messages.Uploaded(path=await run_in_threadpool(store_files, files, state.options.root))


@router.get("/formats")
def show_formats() -> list[messages.FormatEntry]:
    return list_formats()


@router.get("/projects")
def list_projects(state: TheState) -> list[messages.ProjectEntry]:
    return state.workspace.list_projects()


@router.post("/projects")
def open_project(request: messages.OpenRequest, state: TheState) -> messages.ProjectMessage:
    root, workspace = state.options.root, state.workspace
    if request.project is not None:
        return workspace.open_project(root.resolve(request.project)).describe()
    return workspace.open_input(root.resolve(request.input or "")).describe()


@router.get("/projects/{project}")
def show_project(session: TheSession) -> messages.ProjectMessage:
    return session.describe()


@router.post("/projects/{project}/actions")
def do_action(session: TheSession, state: TheState, request: messages.ActionRequest) -> messages.ActionResult:
    done = session.do(request.action, request.base_version)
    state.following.hear(session)
    return done


@router.post("/projects/{project}/live")
def turn_live(session: TheSession, state: TheState, request: messages.LiveRequest) -> messages.LiveMessage:
    """Let masks follow what is said, and learning go on by itself, while a page is open; or no longer."""
    state.following.turn(session, request.on)
    return session.describe_live()


@router.post("/projects/{project}/live/size")
def try_size(session: TheSession, state: TheState, request: messages.SizeRequest) -> messages.LiveMessage:
    """Answer at once as if an object had another size, without writing it down."""
    action = SetSize(request.object, request.size, request.frame)
    state.following.try_out(session, apply_action(action, session.project, 0))
    return session.describe_live()


@router.get("/projects/{project}/masks/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_present_mask(
    session: TheSession, frame: int, view: Annotated[messages.MaskQuery, Query()]
) -> messages.MaskMessage | Response:
    """The mask of a frame as it is now: as it was drawn, else as answered at once, else of the last run."""
    return _answer_mask(find_present_mask(session, session.project.find(view.object), frame), frame, view)


@router.get("/projects/{project}/file", response_class=Response)
def download_project(session: TheSession) -> Response:
    return _download(session.log.read_bytes(), session.log.path.name, "application/x-ndjson")


@router.get("/projects/{project}/frames/{frame}", response_class=Response)
def show_frame(
    session: TheSession,
    state: TheState,
    request: Request,
    frame: int,
    view: Annotated[messages.FrameQuery, Query()],
) -> Response:
    """A frame as PNG or JPEG. With the project's frames_key as v it may be kept for ever."""
    window = None if view.low is None or view.high is None else (view.low, view.high)
    tag = f'"{session.frames_key}-{view.axis}-{frame}-{window}"'
    headers = {"etag": tag, "cache-control": FOREVER if view.v == session.frames_key else "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    picture = session.draw(state.workspace.cache, view.axis, frame, window)
    return Response(picture.data, media_type=picture.media_type, headers=headers)


@router.post("/projects/{project}/runs")
def start_run(session: TheSession, state: TheState, request: messages.RunRequest) -> messages.RunMessage:
    """Begin a run; it goes on when the page is closed."""
    begun = state.queue.add(session, request.refine)
    state.following.note_run(session)
    return begun


@router.get("/projects/{project}/runs/{run}")
def show_run(session: TheSession, run: int) -> messages.RunMessage:
    return session.describe_run(run)


@router.post("/projects/{project}/runs/{run}/cancel")
def cancel_run(session: TheSession, state: TheState, run: int) -> messages.RunMessage:
    """Stop a run; what it has found so far becomes its result."""
    cancelled = state.queue.cancel(session, run)
    state.following.rest(session)
    return cancelled


@router.post("/projects/{project}/runs/{run}/resume")
def resume_run(session: TheSession, state: TheState, run: int) -> messages.RunMessage:
    """Go on with a run that was interrupted or failed."""
    resumed = state.queue.resume(session, run)
    state.following.note_run(session)
    return resumed


@router.get("/projects/{project}/runs/{run}/masks/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_mask(
    session: TheSession, run: int, frame: int, view: Annotated[messages.MaskQuery, Query()]
) -> messages.MaskMessage | Response:
    """The mask of a frame; a brushed frame is as it was drawn."""
    return _answer_mask(find_mask(session, run, session.project.find(view.object), frame, MASKS), frame, view)


@router.get("/projects/{project}/runs/{run}/preview/{frame}", responses=PNG, response_model=messages.MaskMessage)
def show_preview(
    session: TheSession, run: int, frame: int, view: Annotated[messages.MaskQuery, Query()]
) -> messages.MaskMessage | Response:
    """The mask of a frame as the training last saw it."""
    return _answer_mask(find_mask(session, run, session.project.find(view.object), frame, PREVIEW), frame, view)


@router.get("/projects/{project}/runs/{run}/probabilities/{frame}", response_class=Response, responses=PNG)
def show_probability(
    session: TheSession, run: int, frame: int, view: Annotated[messages.ObjectQuery, Query()]
) -> Response:
    """An 8-bit grey PNG, 255 where the object is certain."""
    values = find_probability(session, run, session.project.find(view.object), frame)
    return _answer_image(values)


@router.get("/projects/{project}/runs/{run}/uncertainty")
def show_uncertainty(session: TheSession, run: int) -> messages.UncertaintyMessage:
    return measure_uncertainty(session, run)


@router.post("/projects/{project}/runs/{run}/exports")
def start_export(session: TheSession, run: int, request: messages.ExportRequest) -> messages.ExportMessage:
    """Write the masks of a run in another format; brushed frames are as they were drawn."""
    return export_masks(session, session.find_run(run), request.format, request.probabilities)


@router.get("/projects/{project}/exports/{name}", response_class=FileResponse)
def download_export(session: TheSession, name: str) -> Response:
    path = find_export(session, name)
    shown = f"{session.log.path.name.removesuffix(SUFFIX)}-{name}{''.join(path.suffixes)}"
    return FileResponse(path, headers={"content-disposition": _attach(shown)}, media_type="application/octet-stream")


@router.websocket("/projects/{project}/events")
async def watch(socket: WebSocket, project: str) -> None:
    """Tell a page what happens to a project until it goes away."""
    state: State = socket.app.state.fewpoint
    try:
        session = await run_in_threadpool(state.workspace.find, project)
    except FewpointError:
        await socket.close(1008)
        return
    await socket.accept()
    async with session.broadcast.listen() as queue:
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.send_text(messages.HelloEvent(version=session.log.history.version).model_dump_json())
            await run_in_threadpool(state.following.watch, session)
            await _forward(socket, queue)


async def _forward(socket: WebSocket, queue) -> None:
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


def _answer_mask(mask: np.ndarray, frame: int, view: messages.MaskQuery) -> messages.MaskMessage | Response:
    if view.as_ == "png":
        return _answer_image(mask.astype(np.uint8) * np.uint8(255))
    return describe_mask(mask, frame)


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
    return JSONResponse({"detail": " ".join(str(error).split())}, status_of(error))


async def _explain_request(request: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return JSONResponse({"detail": f"{place}: {first['msg']}".lstrip(": ")}, 422)


async def _explain_http(request: Request, error: HTTPException) -> JSONResponse:
    return JSONResponse({"detail": str(error.detail)}, error.status_code, headers=error.headers)
