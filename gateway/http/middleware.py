"""Around every request: an id, a span, a log line, an answer if it fails, who asks, and whether the page that
asks may. Pure ASGI: a stream passes through without a copy."""

import asyncio
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from time import monotonic
from typing import cast
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.auth import Principal
from gateway.auth.authentication import Authentication, needs_user
from gateway.auth.client_addresses import Client, ClientAddresses
from gateway.auth.identity_fields import IdentityFields, caller_fields
from gateway.auth.signed_in import check_same_origin, page_origin
from gateway.errors import Draining, Forbidden, GatewayError, LimitReached, NotAuthenticated
from gateway.http.error_responses import dialect_of, on_bug, refusal
from gateway.http.limit_headers import put_limits
from gateway.http.open_requests import answered
from gateway.http.public_address import name_in, own_hosts
from gateway.ids import is_id, new_request_id
from gateway.service.limits import CALLER, STANDINGS
from gateway.service.request_rates import RequestRates
from gateway.settings import LOOPBACK_HOSTS, Settings
from gateway.storage.limits import Standing
from gateway.telemetry.setup import Telemetry

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; manifest-src 'self'; frame-src 'self' blob:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'"
)

STRICT_FIELDS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
"""Header fields of every answer."""
DEFAULT_FIELDS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""Those of each answer that does not have them itself."""

PROBES = frozenset({"/healthz", "/readyz"})
"""What is asked for by who watches over the gateway: never limited."""

log = structlog.get_logger(__name__)
debug_log = logging.getLogger(__name__)


class RequestScope:
    """Gives every request an id (the client's `x-request-id` if it is one), the address of its client and a
    span, binds them to the log, and answers with them; adds the headers that keep browsers strict."""

    def __init__(self, app: ASGIApp, *, settings: Settings, addresses: ClientAddresses) -> None:
        self._app = app
        self._addresses = addresses
        self._varies_by = frozenset(caller_fields(settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["path"] = same_path(scope)
        headers = Headers(scope=scope)
        came_from = scope["came_from"] = self._addresses.of(scope)
        if came_from.address != came_from.peer:
            scope["client"] = (came_from.address, 0)
        given = headers.get("x-request-id", "")
        request_id = scope["request_id"] = given if is_id(given) else new_request_id()
        telemetry: Telemetry = scope["app"].state.telemetry
        dialect = dialect_of(scope)
        named = scope["dialect"] = dialect.name if dialect is not None else None
        span = scope["request_span"] = telemetry.http.begin(scope, headers, request_id, named)
        # For streams: once a response has begun nobody on the way looks at what it sends. Our own server has
        # put its `send` there, which lies below Starlette's.
        scope.setdefault("send_body", send)
        started = monotonic()
        status, is_stream, mark = 0, False, request_id.encode()

        async def send_marked(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                given = dict(message["headers"])
                is_stream = given.get(b"content-type", b"").startswith(b"text/event-stream")
                own = [(b"x-request-id", mark), (b"request-id", mark)]  # SDKs read the one or the other
                if span.traceparent is not None:
                    own.append((b"server-timing", f'traceparent;desc="{span.traceparent}"'.encode()))
                own += [*STRICT_FIELDS, *[field for field in DEFAULT_FIELDS if field[0] not in given]]
                if "principal" in scope:
                    own += _kept_apart(given, self._varies_by)
                replaced = dict(own)
                kept = [field for field in message["headers"] if field[0] not in replaced]
                message["headers"] = kept + own
            await send(message)

        error: str | None = None
        about = {"dialect": named} if named is not None else {}
        with structlog.contextvars.bound_contextvars(request_id=request_id, **about, **span.ids):
            try:
                await self._app(scope, receive, send_marked)
            except Exception as failure:
                status, error = 500, type(failure).__name__
                raise
            finally:
                if (failed := scope.get("failure")) is not None:
                    status, error = 500, failed
                seconds, route = monotonic() - started, _route_of(scope)
                span.end(scope["method"], route, status, _session_of(scope), error)
                if not is_stream:
                    telemetry.metrics.requests.ended(
                        scope["method"], route, status, seconds, scheme=scope["scheme"]
                    )
                if debug_log.isEnabledFor(logging.DEBUG):
                    log.debug(
                        "request",
                        method=scope["method"],
                        path=scope["path"],
                        status=status,
                        duration_ms=int(seconds * 1000),
                    )


def same_path(scope: Scope) -> str:
    """The path by which routes, rights and dialects are found: one that ends in a slash is the one without.
    A redirect would name an address that a proxy in front does not have, of another scheme or place."""
    path: str = scope["path"]
    is_same = path.endswith("/") and not path.endswith("//") and path != "/"
    return path[:-1] if is_same and scope.get("raw_path", b"/").endswith(b"/") else path


class FailureResponses:
    """Answers with 500 what no handler knew. Inside of the others, so that the answer has their headers too;
    Starlette's own place for it is outside of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_begun = False

        async def noting(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except asyncio.CancelledError:
            # It takes longer than a shutdown may: the HTTP server would log a failure, and say 500.
            if is_begun or scope["type"] != "http" or not scope["app"].state.gateway.is_draining:
                raise
            late = Draining("The server is shutting down. Ask again in a moment.")
            await refusal(scope, late)(scope, receive, send)
        except Exception as failure:  # noqa: BLE001 - whatever it was: the client gets an answer, the log the reason
            scope["failure"] = type(failure).__name__
            response = await on_bug(Request(scope), failure)
            if not is_begun:
                await response(scope, receive, send)


class Access:
    """Finds out who asks, and refuses pages of other origins and foreign host names: a gateway on loopback
    without keys must not be reachable through a browser tab of some other site (DNS rebinding, cross-site
    requests)."""

    def __init__(self, app: ASGIApp, *, settings: Settings, open_paths: Collection[str]) -> None:
        """`open_paths` are what nobody is asked for who they are; those that end in a slash are prefixes."""
        self._app = app
        self._open_paths = frozenset(open_paths)
        self._open_prefixes = tuple(path for path in open_paths if path.endswith("/") and path != "/")
        self._hosts = own_hosts(settings)
        self._settings = settings
        self._page_origin = page_origin(settings)
        self._origins = frozenset(settings.cors_origins)
        self._has_proxies = settings.proxies_name_users
        self._fields = IdentityFields(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        authentication: Authentication = scope["app"].state.authentication
        rates: RequestRates | None = scope["app"].state.request_rates
        standings = list[Standing]()
        if rates is not None:
            send = _with_limits(send, standings)
            STANDINGS.set(standings)
        try:
            self._fields.check(scope)
            client: Client = scope["came_from"]
            # A page that gave its own name this machine's address could say what a proxy on it says.
            if not authentication.is_required or (self._has_proxies and client.peer in LOOPBACK_HOSTS):
                self._check_host(headers)
            self._check_origin(headers)
            check_same_origin(scope["method"], headers, self._settings)
            if path in self._open_paths or path.startswith(self._open_prefixes):
                if rates is not None and path not in PROBES:
                    standings += await rates.take_address(client.address)
            else:
                who = await _identified(authentication, rates, headers, client, path)
                scope["app"].state.being_erased.check(who, path)
                scope["principal"] = replace(who, dialect=scope["dialect"]) if scope["dialect"] else who
                CALLER.set(who)
                if rates is not None:
                    standings += await rates.take(who)
        except GatewayError as error:
            if isinstance(error, LimitReached):
                standings[:] = [cast("Standing", error.standing)]
            await refusal(scope, error)(scope, receive, send)
            return
        await answered(self._app, scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        given = headers.get("host", "")
        if name_in(given) not in self._hosts:
            raise Forbidden(
                f"The host name {given[:100]!r} is not this gateway's. "
                "Add it to GATEWAY_ALLOWED_HOSTS if it is."
            )

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None:
            # Of an image or a script of another site; a link that somebody follows is another matter.
            fetched = headers.get("sec-fetch-site") == "cross-site"
            if fetched and headers.get("sec-fetch-mode", "navigate") != "navigate":
                raise Forbidden("Pages of other sites may not load this. See GATEWAY_CORS_ORIGINS.")
            return
        if origin in self._origins:
            return
        server, page = _server_of(origin), self._page_origin
        is_other_scheme = page is not None and server == _server_of(page) and origin.lower() != page
        if server != headers.get("host", "").lower() or is_other_scheme:
            raise Forbidden("Pages of this origin may not call the gateway. See GATEWAY_CORS_ORIGINS.")


async def _identified(
    authentication: Authentication,
    rates: RequestRates | None,
    headers: Headers,
    client: Client,
    path: str,
) -> Principal:
    """Who asks. An address from which nobody is known is limited as one that asks for what is open to all."""
    try:
        return await authentication.identify(headers, client, needs_user=needs_user(path))
    except NotAuthenticated:
        if rates is not None:
            await rates.take_address(client.address)
        raise


def _with_limits(send: Send, standings: Sequence[Standing]) -> Send:
    """Adds to the answer how the limits stand, as of when it begins."""

    async def send_with_limits(message: Message) -> None:
        if message["type"] == "http.response.start" and standings:
            put_limits(MutableHeaders(scope=message), standings)
        await send(message)

    return send_with_limits


def _kept_apart(given: Mapping[bytes, bytes], varies_by: Set[str]) -> Iterator[tuple[bytes, bytes]]:
    """How an answer to somebody may be kept: not at all, where it does not say so itself; else by caches of
    one reader, apart for all that says who asks (RFC 9111, 4.1)."""
    kept = given.get(b"cache-control", b"no-store")
    if b"no-store" in kept:
        yield b"cache-control", kept
        return
    yield b"cache-control", kept if b"private" in kept else b"private, no-cache"
    named = {name.strip().lower() for name in given.get(b"vary", b"").decode("latin-1").split(",")}
    yield b"vary", ", ".join(sorted(named - {""} | varies_by)).encode()


def _route_of(scope: Scope) -> str | None:
    """The template of the path; None when no route has it."""
    return getattr(scope.get("route"), "path", None)


def _session_of(scope: Scope) -> str | None:
    session_id = scope.get("path_params", {}).get("session_id", "")
    return session_id if is_id(session_id) else None


def _server_of(origin: str) -> str | None:
    """Host and port of a page's origin; None when it has none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
