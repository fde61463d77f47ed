"""The addresses that nnInteractive's clients use, one function each."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Request, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from fewpoint import __version__
from fewpoint.errors import InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.packed import LONGEST_HEADER, SUFFIX, Declared, pack, read_packed
from fewpoint.web import messages
from fewpoint.web.remote.interactions import plan_box, plan_clicks, plan_lasso, plan_mask, plan_scribble
from fewpoint.web.remote.leases import LARGEST_IMAGE, Leases
from fewpoint.web.remote.works import Answer, Work

LEASE_HEADER, META_HEADER = "X-Lease-Token", "X-Meta"
LONGEST_META = 8192
BODY_S = 120.0  # within which a body must have come
SCRIBBLE_VOXELS = 2  # how thick clients draw

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": messages.ErrorMessage} for status in (401, 403, 409, 410, 413, 422, 503, 504, 507)
}
router = APIRouter(responses=ERRORS, tags=["nnInteractive"])


class Marked(BaseModel):
    """What everything marked has. include_interaction: on the object, not beside it. run_prediction: answer it."""

    include_interaction: bool = True
    run_prediction: bool = True


class PointMarked(Marked):
    coordinates: list[float] = Field(max_length=3)


class BoxMarked(Marked):
    bbox_coords: list[list[float]] = Field(max_length=3)


class MaskMarked(Marked):
    """interaction_bbox: the part of the image that the mask is of, None for the whole."""

    interaction_bbox: list[list[float]] | None = Field(None, max_length=3)


class MaskGiven(BaseModel):
    run_prediction: bool = False


class ImageProperties(BaseModel):
    spacing: list[float] | None = None


class ImageSent(BaseModel):
    image_properties: ImageProperties = ImageProperties()


class Buffer(BaseModel):
    shape: list[int] = Field(max_length=3)


class Zoom(BaseModel):
    do_autozoom: bool = True


class Wanted(BaseModel):
    """force_full_refine: wait for what is being learnt, as long as a client waits."""

    force_full_refine: bool = False


Token = Annotated[str | None, Header(alias=LEASE_HEADER, max_length=200)]


def leases_of(request: Request) -> Leases:
    return request.app.state.leases


TheLeases = Annotated[Leases, Depends(leases_of)]
Meta = TypeVar("Meta", bound=BaseModel)


@router.get("/healthz")
def is_there() -> dict[str, bool]:
    """Health check."""
    return {"ok": True}


@router.post("/claim")
def claim(leases: TheLeases) -> dict[str, Any]:
    """Starts a session: `lease_token`, `idle_timeout_seconds`, `liveness_timeout_seconds`."""
    lease, limits = leases.claim(), leases.limits
    return {
        "lease_token": lease.token,
        "idle_timeout_seconds": limits.idle_s,
        "liveness_timeout_seconds": limits.alive_s,
    }


@router.post("/release")
def release(leases: TheLeases, token: Token = None) -> dict[str, bool]:
    """Ends it."""
    leases.release(token)
    return {"ok": True}


@router.post("/heartbeat")
def give_sign(leases: TheLeases, token: Token = None) -> dict[str, float]:
    """Keeps the connection."""
    return {"remaining_seconds": leases.count_left_s(leases.find(token))}


@router.get("/lease_status")
def show_lease(leases: TheLeases, token: Token = None) -> dict[str, float]:
    """Seconds left without an annotation."""
    left = leases.count_left_s(leases.find(token))
    return {"remaining_seconds": left, "idle_timeout_seconds": leases.limits.idle_s}


@router.get("/capabilities")
def show_capabilities() -> dict[str, Any]:
    """Supported annotations."""
    return {
        "supported_interactions": {"points": True, "bbox2d": True, "bbox3d": False, "scribble": True, "lasso": True},
        "channel_mapping": {},
        "num_interaction_channels": 0,
        "supports_initial_label": True,
        "supports_zero_shot_label_refinement": True,
        "supports_undo": True,
        "preferred_scribble_thickness": [SCRIBBLE_VOXELS] * 3,
        "interaction_decay": None,
        "do_autozoom": False,
        "inference_session_version": f"fewpoint {__version__}",
        "license": "Apache-2.0 (fewpoint: no pretrained model)",
    }


@router.post("/set_image")
async def take_image(request: Request, leases: TheLeases, token: Token = None) -> dict[str, list[int]]:
    """The image as (1, a, b, c); `{"image_properties": {"spacing": [5, 1, 1]}}`."""
    meta = read_meta(request, ImageSent)
    spacing = check_spacing(meta.image_properties.spacing)

    def work(sent: Path) -> tuple[int, ...]:
        with leases.use(token) as lease:
            return leases.open_image(lease, sent, spacing)

    async with keep_body(request, leases, token) as sent:
        return {"original_image_shape": list(await run_in_threadpool(work, sent))}


@router.post("/set_target_buffer")
def take_buffer(buffer: Buffer, leases: TheLeases, token: Token = None) -> dict[str, bool]:
    """Checks the `shape` of the client's mask."""
    with leases.use(token) as lease:
        shape = lease.need_work().grid.shape
        if tuple(buffer.shape) != shape:
            raise InputError(f"the target buffer must have the shape {shape} of the image, got {buffer.shape}")
    return {"ok": True}


@router.post("/set_do_autozoom")
def set_zoom(zoom: Zoom, leases: TheLeases, token: Token = None) -> dict[str, bool]:
    """Has no effect."""
    leases.find(token)
    return {"ok": True}


@router.post("/reset_interactions")
def reset(leases: TheLeases, token: Token = None) -> dict[str, bool]:
    """Starts another object."""
    with leases.use(token) as lease:
        if lease.work is not None:
            lease.work.reset()
    return {"ok": True}


@router.post("/undo")
def undo(leases: TheLeases, token: Token = None) -> Response:
    """Undoes the last annotation."""
    with leases.use(token) as lease:
        work = lease.need_work()
        return answer(work.answer() if work.undo() else None)


@router.post("/predict")
def predict(wanted: Wanted, leases: TheLeases, token: Token = None) -> Response:
    """The current mask; `{"force_full_refine": true}` waits for the training."""
    with leases.use(token) as lease:
        return answer(lease.need_work().answer(wanted.force_full_refine))


@router.post("/add_point_interaction")
def add_point(marked: PointMarked, leases: TheLeases, token: Token = None) -> Response:
    """`{"coordinates": [a, b, c], "include_interaction": true, "run_prediction": true}`."""
    with leases.use(token) as lease:
        work = lease.need_work()
        place = work.grid.find_place(marked.coordinates)
        work.say(lambda project, target: plan_clicks(project, target, [place], marked.include_interaction))
        return answer(work.answer() if marked.run_prediction else None)


@router.post("/add_bbox_interaction")
def add_box(marked: BoxMarked, leases: TheLeases, token: Token = None) -> Response:
    """`bbox_coords`: first and after the last voxel along each axis."""
    with leases.use(token) as lease:
        work = lease.need_work()
        sides = work.grid.find_sides(marked.bbox_coords)
        work.say(lambda project, target: plan_box(project, target, sides, marked.include_interaction))
        return answer(work.answer() if marked.run_prediction else None)


@router.post("/add_scribble_interaction")
async def add_scribble(request: Request, leases: TheLeases, token: Token = None) -> Response:
    """A mask; `{"interaction_bbox": …}` if it is of a part of the image only."""
    return await _add_drawing(request, leases, token, plan_scribble)


@router.post("/add_lasso_interaction")
async def add_lasso(request: Request, leases: TheLeases, token: Token = None) -> Response:
    """The same."""
    return await _add_drawing(request, leases, token, plan_lasso)


@router.post("/add_initial_seg_interaction")
async def add_mask(request: Request, leases: TheLeases, token: Token = None) -> Response:
    """An initial mask."""
    meta = read_meta(request, MaskGiven)

    def work_on(sent: Path) -> Response:
        with leases.use(token) as lease:
            work = lease.need_work()
            given = _read_mask(sent, work)
            work.grid.place_mask(given, None)  # checks it
            work.say(lambda _, target: plan_mask(target, work.grid.to_frames(given > 0)))
            work.take_buffer(given > 0)
            return answer(work.answer() if meta.run_prediction else None)

    async with keep_body(request, leases, token) as sent:
        return await run_in_threadpool(work_on, sent)


async def _add_drawing(request: Request, leases: Leases, token: str | None, plan: Any) -> Response:
    """plan: plan_scribble or plan_lasso."""
    meta = read_meta(request, MaskMarked)

    def work_on(sent: Path) -> Response:
        with leases.use(token) as lease:
            work = lease.need_work()
            drawn = work.grid.place_mask(_read_mask(sent, work), meta.interaction_bbox)
            work.say(lambda project, target: plan(project, target, drawn, meta.include_interaction))
            return answer(work.answer() if meta.run_prediction else None)

    async with keep_body(request, leases, token) as sent:
        return await run_in_threadpool(work_on, sent)


def _read_mask(sent: Path, work: Work) -> Any:
    """A mask that is at most as large as the image."""
    a, b, c = work.grid.shape
    return call(read_packed, sent, 8 * a * b * c)


@asynccontextmanager
async def keep_body(request: Request, leases: Leases, token: str | None) -> AsyncIterator[Path]:
    """The packed array of a request in a file, for as long as it is needed; its size is known before it is taken."""
    folder = leases.find(token).folder
    path = folder / f"sent-{secrets.token_hex(8)}{SUFFIX}"
    try:
        try:
            async with asyncio.timeout(BODY_S):
                await _write_body(request, leases, path)
        except TimeoutError:
            raise InputError(f"what is sent must come within {BODY_S:.0f} s; send it again") from None
        except ClientDisconnect:
            raise InputError("the client went away before all had come") from None
        yield path
    finally:
        path.unlink(missing_ok=True)


async def _write_body(request: Request, leases: Leases, path: Path) -> None:
    first = b""
    declared = None
    leases.check_room(int(request.headers.get("content-length", "0")))
    try:
        with open(path, "xb") as file:
            async for piece in request.stream():
                if declared is None:
                    first = (first + piece)[:LONGEST_HEADER]
                    if len(first) == LONGEST_HEADER:
                        declared = _check_declared(first, leases)
                await run_in_threadpool(file.write, piece)
    except FileNotFoundError:
        leases.find("")  # the session was ended meanwhile
    if declared is None:
        _check_declared(first, leases)


def _check_declared(first: bytes, leases: Leases) -> Declared:
    declared = Declared.parse(first)
    if declared.n_bytes > LARGEST_IMAGE:
        raise InputError(f"an array may have {LARGEST_IMAGE // 2**30} GiB, this one has {declared.n_bytes} bytes")
    leases.check_room(declared.n_bytes)
    return declared


def read_meta(request: Request, kind: type[Meta]) -> Meta:
    """What the header X-Meta says as JSON."""
    text = request.headers.get(META_HEADER, "{}")
    if len(text) > LONGEST_META:
        raise InputError(f"the header {META_HEADER} may have {LONGEST_META} characters, got {len(text)}")
    try:
        return kind.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        raise InputError(f"the header {META_HEADER} must be JSON as nnInteractive's clients send it") from None


def check_spacing(given: list[float] | None) -> tuple[float, float, float]:
    """Millimetres between voxels along the three axes, 1 each if nothing is said."""
    spacing = given or [1.0, 1.0, 1.0]
    if len(spacing) != 3 or not all(isfinite(each) and 1e-6 < abs(each) < 1e6 for each in spacing):
        raise InputError(f"spacing must be three numbers other than 0, got {str(given)[:60]}")
    a, b, c = map(abs, spacing)
    return a, b, c


def answer(found: Answer | None) -> Response:
    """The part of a mask where it is or was something, packed; X-Meta says where that is. None: nothing was asked."""
    bounds = None if found is None else found.bounds
    meta = json.dumps({"ran_prediction": found is not None, "bbox": bounds})
    body = b"" if found is None or bounds is None else pack(found.part)
    return Response(body, media_type="application/octet-stream", headers={META_HEADER: meta})
