"""Who may ask, how much, and what every answer carries."""

import asyncio
import hmac
import ipaddress
import secrets
import socket
import time
import traceback
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "fewpoint_token"
LARGEST_BODY = 16 * 2**20  # a brushed mask of many runs is the largest message there is
UPLOADS = ("/api/uploads", "/set_image")  # the second is where nnInteractive's clients send theirs
BODY_SECONDS, SLOWEST_BYTES_PER_S = 30.0, 2**13  # a body of n bytes must be there within 30 s and n / 8192 s
MOST_SOCKETS = 128  # of all who have the token
TRY_LATER, NOT_ALLOWED = 1013, 1008
SAFE_SITES = ("same-origin", "none")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Gate:
    """What is asked of a visitor.

    host: the address that the server listens at. token: needed for every request; None lets in all on this machine.
    largest_upload: bytes that one upload may have.
    """

    host: str = "127.0.0.1"
    token: str | None = None
    largest_upload: int = 8 * 2**30

    @classmethod
    def for_host(cls, host: str, token: str = "", largest_upload: int = 8 * 2**30) -> "Gate":
        """A gate with a token, a new one if none is given: other users of this machine reach loopback, too."""
        return cls(host, token or secrets.token_urlsafe(32), largest_upload)

    def allows_host(self, header: str | None) -> bool:
        """Whether a Host header names this server.

        A page of another site that makes its own name point here (DNS rebinding) sends that name. An address in
        numbers cannot be made to point elsewhere.
        """
        name = _host_name(header or "")
        if name == "localhost" or is_loopback(name):
            return True
        if is_loopback(self.host):
            return False
        return name in {self.host, socket.gethostname().lower(), socket.getfqdn().lower()} or _is_address(name)

    def knows(self, given: str | None) -> bool:
        """Whether this is the token; takes as long for a wrong one as for the right one."""
        if self.token is None:
            return True
        return hmac.compare_digest((given or "").encode("utf-8", "replace"), self.token.encode())

    def largest_body(self, path: str) -> int:
        return self.largest_upload if path in UPLOADS else LARGEST_BODY


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Asks every request and socket for its credentials, bounds its size and time, and marks the answer."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate
        self._sockets = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._examine(scope, headers)
        if scope["type"] == "http":
            await (self._pass_on if refusal is None else refusal)(scope, receive, _marking(send))
        elif refusal is not None:
            await send({"type": "websocket.close", "code": NOT_ALLOWED})
        elif self._sockets >= MOST_SOCKETS:
            await send({"type": "websocket.close", "code": TRY_LATER})
        else:
            self._sockets += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._sockets -= 1

    def _examine(self, scope: Scope, headers: Headers) -> Response | None:
        """The refusal, or None for a visitor who may come in."""
        gate = self._gate
        if not gate.allows_host(headers.get("host")):
            return _refuse(403, "wrong Host header; use the address printed at startup")
        if not _is_same_origin(scope, headers):
            return _refuse(403, "requests from another site are not allowed")
        if scope["type"] == "http" and gate.token is not None and scope["path"] == "/":
            asked = parse_qs(scope["query_string"].decode("latin-1")).get("token")
            if asked:
                return self._let_in(asked[0], headers)
        if not gate.knows(_find_token(headers)):
            if scope["type"] == "http" and scope["path"] == "/":
                return PlainTextResponse("Open the whole address that fewpoint printed, with its token.\n", 401)
            return _refuse(401, "a token is needed; use the address printed at startup, or send it as a bearer token")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > gate.largest_body(scope["path"]):
            return _refuse(413, f"at most {gate.largest_body(scope['path'])} bytes can be sent at once", CLOSING)
        return None

    def _let_in(self, asked: str, headers: Headers) -> Response:
        """Turn the token of the address into a cookie, and take it out of the address.

        By a page and not by a redirect: a browser that was led here from elsewhere would not send the cookie along.
        """
        if not self._gate.knows(asked):
            return _refuse(401, "this is not the token that fewpoint printed")
        response = HTMLResponse('<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>fewpoint</title>')
        response.set_cookie(_cookie_name(headers), asked, httponly=True, samesite="strict", path="/")
        return response

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, ending it when its body grows beyond what it may, or comes too slowly."""
        body, answered = _Body(receive, self._gate.largest_body(scope["path"])), False

        async def noting(message: Message) -> None:
            nonlocal answered
            if body.refusal is None or answered:  # what the application makes of the cut body is of no interest
                answered = True
                await send(message)

        try:
            await self._app(scope, body.take, noting)
        except _CutOffError:
            pass
        except Exception:  # what nobody foresaw is told as everything else is, with all headers
            traceback.print_exc()
            if not answered:
                await _refuse(500, "internal server error; see its log")(scope, receive, send)
        if body.refusal is not None and not answered:
            await body.refusal(scope, receive, send)


class _CutOffError(Exception):
    """A body is not taken to its end."""


class _Body:
    """What is sent with a request, as it comes. refusal: why it was cut off."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most = receive, most
        self._taken, self._whole = 0, False
        self._began = time.monotonic()
        self.refusal: Response | None = None

    async def take(self) -> Message:
        """The next piece; after the last one, news of the visitor's leaving, which may take for ever."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(self._began + self._allowed_s - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            self.refusal = _refuse(408, "the body came too slowly; send it again", CLOSING)
            raise _CutOffError from None
        self._whole = not message.get("more_body", False)
        self._taken += len(message.get("body", b""))
        if self._taken > self._most:
            self.refusal = _refuse(413, f"at most {self._most} bytes can be sent at once", CLOSING)
            raise _CutOffError
        return message

    @property
    def _allowed_s(self) -> float:
        return BODY_SECONDS + self._taken / SLOWEST_BYTES_PER_S


CLOSING = {"connection": "close"}  # of one whose rest is not waited for


def _refuse(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"detail": detail}, status, headers)


def _marking(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return marked


def _is_same_origin(scope: Scope, headers: Headers) -> bool:
    """Whether a request comes from our own page, from a script, or from a person who follows a link to the page."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != (headers.get("host") or "").lower():
        return False
    site = headers.get("sec-fetch-site", "none")
    follows_link = (
        scope["type"] == "http"
        and scope["path"] == "/"
        and scope["method"] in SAFE_METHODS
        and headers.get("sec-fetch-mode") == "navigate"
    )
    return site in SAFE_SITES or follows_link


def _find_token(headers: Headers) -> str | None:
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(headers))
    except CookieError:
        return None
    return None if cookie is None else cookie.value


def _cookie_name(headers: Headers) -> str:
    """Named by the port that the browser sees, since it sends a cookie to all ports of a machine."""
    try:
        port = urlsplit(f"//{headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"{COOKIE}_{port or 80}"


def _host_name(header: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
