"""The routes of the demo, and the server that runs them inside the current event loop."""

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

import orjson

from gateway.demo import side_requests, wire
from gateway.demo.api_versions import (
    VERSIONS,
    KeyHeader,
    check_content,
    check_key,
    check_thinking,
    check_version,
)
from gateway.demo.connection import Act, ClientConnection, ConnectionCounts, Pacer, Request, Script, whole
from gateway.demo.demo_models import model_info, model_list
from gateway.demo.directives import BadDirective, ScriptedStep, parse
from gateway.demo.endpoint_styles import STYLES
from gateway.demo.faults import FOR_ALL_REQUESTS, FOR_STREAMS, Case
from gateway.demo.record import Record
from gateway.demo.reply_plan import DEFAULT_PACE, Plan, plan
from gateway.demo.strictness import RejectedRequest, check
from gateway.demo.styled_streams import self_description, styled_stream, without_thinking
from gateway.demo.usage import PromptCache, count

MODELS = "/v1/models/"
WINDOW = 32_768
"""Tokens that another server says it reads, where `window` is not set."""
MAX_SCRIPTS = 100
"""Summaries that can be scripted in advance."""
_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    500: "api_error",
}

_LOOPBACK_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?", re.IGNORECASE)

log = logging.getLogger(__name__)


class Demo:
    """Answers requests with scripts. Nothing here waits: time passes only inside a script."""

    def __init__(
        self,
        pace: float,
        window: int | None = None,
        *,
        version: str | None = None,
        key_header: KeyHeader | None = None,
        refuses_pages: bool = False,
        style: str | None = None,
    ) -> None:
        self._played = style
        self._style = None if style is None else STYLES[style]
        self.counters = ConnectionCounts()
        self._refuses_pages = refuses_pages
        self._versions = VERSIONS if version is None else (version,)
        self._key_header: KeyHeader | None = key_header
        self._pace = pace
        self._window = window
        self._next_summaries = deque[str]()
        self._cache = PromptCache()
        self._record = Record()

    def answer(self, request: Request) -> Script:
        """The script for a request. There is one for any request."""
        open_to_all: dict[tuple[str, str], Callable[[Request], list[Act]]] = {
            ("GET", "/healthz"): lambda _: reply_json(200, {"status": "ok"}),
            ("GET", "/demo/requests"): self._seen,
            ("DELETE", "/demo/requests"): self._forget,
            ("POST", "/demo/summaries"): self._script_summaries,
        }
        with_key: dict[tuple[str, str], Callable[[Request], list[Act]]] = {
            ("POST", "/v1/messages"): self._messages,
            ("POST", "/v1/messages/count_tokens"): self._count_tokens,
            ("GET", "/v1/models"): lambda _: reply_json(200, model_list(self._window)),
        }
        where = (request.method, request.path)
        is_call = request.path == "/v1/messages"
        try:
            if self._refuses_pages:
                _check_no_page(request.headers)
            if where in open_to_all:
                return Script(open_to_all[where](request))
            if self._style is not None and (answer := self._described(where)) is not None:
                return Script(reply_json(200, answer))
            if request.method == "GET" and request.path.startswith(MODELS):
                check_key(request.headers, self._key_header)
                return Script(self._model(unquote(request.path.removeprefix(MODELS))))
            if where not in with_key:
                raise RejectedRequest(f"There is no {' '.join(where)} here.", status=404)
            if self._style is None or self._style.needs_key:
                check_key(request.headers, self._key_header)
            return Script(with_key[where](request), is_call)
        except RejectedRequest as refused:
            return Script(self._error(refused), is_call)
        except Exception:  # an own bug: the client gets an answer that it can name, not a lost connection
            log.exception("The demo failed at %s %s", *where)
            failed = RejectedRequest(
                "The demo failed at this request; its log on stderr says where.", status=500
            )
            return Script(_error(failed), is_call)

    def _described(self, where: tuple[str, str]) -> Any | None:
        """What the server that is played says of itself there."""
        assert self._style is not None
        assert self._played is not None
        window = self._window or WINDOW
        return self_description(self._played, self._style, where, window, self.counters.streams)

    def _error(self, refused: RejectedRequest) -> list[Act]:
        if self._style is None:
            return _error(refused)
        kind = refused.kind or _ERROR_TYPES.get(refused.status, "invalid_request_error")
        return reply_json(refused.status, self._style.error(refused.status, kind, refused.message))

    def _checked(self, request: Request) -> dict[str, Any]:
        """The body, where the API, or the server that is played, would take it."""
        if self._style is None:
            body = checked_body(request, self._versions)
            _fit(body, self._window)
            return body
        self._style.check(given := parsed_json(request.body))
        body = check(without_thinking(given))
        if self._window is not None and (size := count(body)) > self._window:
            raise self._style.too_long(size, self._window)
        return body

    def _messages(self, request: Request) -> list[Act]:
        self._record.add(request)
        body = self._checked(request)
        script = request.headers.get("x-demo")
        if self._next_summaries and side_requests.wants_summary(body):
            script = self._next_summaries.popleft().replace("\n", ";;")
        try:
            planned = plan(body, script, self._cache.usage(body), self._pace)
        except BadDirective as bad:
            raise RejectedRequest(str(bad)) from None
        _fit(body, planned.window)
        streams = bool(body.get("stream"))
        if planned.fault and not (planned.fault.once and self._record.seen_before(planned.seed)):
            return _misbehave(planned, streams)
        headers = {"request-id": f"req_{planned.seed[:24]}"}
        if streams and self._style is not None:
            return styled_stream(planned.reply, self._style)
        if streams:
            return wire.stream(planned.reply, headers=headers)
        return reply_json(200, wire.message(planned.reply), headers)

    def _count_tokens(self, request: Request) -> list[Act]:
        return reply_json(200, {"input_tokens": count(checked_body(request, self._versions, counting=True))})

    def _model(self, name: str) -> list[Act]:
        if (found := model_info(name, self._window)) is None:
            raise RejectedRequest(f"model: {name}", status=404)
        return reply_json(200, found)

    def _seen(self, request: Request) -> list[Act]:
        limit = request.query.get("limit", "20")
        requests = self._record.last(int(limit[:9]) if limit.isdecimal() else 20)
        return reply_json(200, {"requests": requests, "counters": asdict(self.counters)})

    def _script_summaries(self, request: Request) -> list[Act]:
        given = parsed_json(request.body)
        wanted = given.get("next") if isinstance(given, dict) else None
        if (
            not isinstance(wanted, list)
            or len(wanted) > MAX_SCRIPTS
            or not all(isinstance(each, str) for each in wanted)
        ):
            raise RejectedRequest(f'This takes {{"next": […]}} with at most {MAX_SCRIPTS} scripts.')
        for script in wanted:
            if not _steps(script):
                raise RejectedRequest(f"{script!r} has no directives.")
        self._next_summaries = deque(wanted)
        return reply_json(200, {"next": len(wanted)})

    def _forget(self, _: Request) -> list[Act]:
        self._record.clear()
        self._cache.clear()
        self._next_summaries.clear()
        self.counters.started = self.counters.streams
        self.counters.finished = self.counters.aborted = self.counters.broken = 0
        return reply_json(200, {"deleted": True})


def checked_body(
    request: Request, versions: tuple[str, ...] = VERSIONS, *, counting: bool = False
) -> dict[str, Any]:
    """The body of a request that the API would take; `counting`: one for /v1/messages/count_tokens.

    Raises:
        strictness.Refused: the API would answer with an error.
    """
    version = check_version(request.headers, versions)
    body = check(parsed_json(request.body), counting=counting)
    check_content(body, version)
    check_thinking(body)
    return body


def _check_no_page(headers: Mapping[str, str]) -> None:
    """A page in a browser on this machine, of any site, could otherwise read what was asked, also under a
    host name that was made to mean 127.0.0.1 (DNS rebinding). Raises RejectedRequest."""
    if "origin" in headers or not _LOOPBACK_HOST.fullmatch(headers.get("host", "")):
        raise RejectedRequest("The demo answers no pages, and only names of this machine.", status=403)


def refuse(status: int, message: str) -> Script:
    """The API's error for a status."""
    return Script(_error(RejectedRequest(message, status=status)))


def _fit(body: Mapping[str, Any], window: int | None) -> None:
    """Refuses a request that is longer than the window, in the words of the API."""
    if window is not None and (size := count(body)) > window:
        raise RejectedRequest(f"prompt is too long: {size} tokens > {window} maximum")


def _misbehave(planned: Plan, streams: bool) -> list[Act]:
    call = planned.fault
    assert call is not None
    play = FOR_ALL_REQUESTS.get(call.name) or FOR_STREAMS.get(call.name)
    if play is None:
        raise RejectedRequest(f"Unknown fault {call.name}.")
    if not streams and call.name in FOR_STREAMS:
        raise RejectedRequest(f"The fault {call.name} is for requests that stream.")
    try:
        return list(play(Case(planned.reply, call.argument, planned.tools)))
    except ValueError as bad:
        raise RejectedRequest(f"The fault {call.name} cannot take {call.argument!r}: {bad}.") from None


def _steps(script: str) -> list[ScriptedStep]:
    try:
        return parse(script.split("\n"))[0]
    except BadDirective as bad:
        raise RejectedRequest(str(bad)) from None


def parsed_json(body: bytes) -> Any:
    """A request's JSON. Raises strictness.Refused when it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RejectedRequest(f"The request body is not valid JSON: {error}") from None


def reply_json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> list[Act]:
    return whole(status, orjson.dumps(value), {"content-type": "application/json", **(headers or {})})


def _error(refused: RejectedRequest) -> list[Act]:
    kind = _ERROR_TYPES.get(refused.status, "invalid_request_error")
    body = {"type": "error", "error": {"type": kind, "message": refused.message}}
    return reply_json(refused.status, body, {"request-id": "req_refused"})


@asynccontextmanager
async def serve_demo(
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    pace: float = DEFAULT_PACE,
    window: int | None = None,
    version: str | None = None,
    key_header: KeyHeader | None = None,
    style: str | None = None,
) -> AsyncGenerator[str]:
    """Serves the demo in the current event loop and yields its base URL; leaving the context ends it at once.
    `pace` is in seconds between pieces; a request of more than `window` tokens is refused as too long, one
    that has not the API's `version` or its key in `key_header` as well (None: any will do). On loopback no
    page in a browser is answered. `style` is the name of another server that it plays (endpoint_styles.py).
    Installs no signal handlers.

    Raises:
        OSError: the port is taken.
        KeyError: there is no such style.
    """
    is_loopback = _LOOPBACK_HOST.fullmatch(f"[{host}]" if ":" in host else host) is not None
    demo = Demo(pace, window, version=version, key_header=key_header, refuses_pages=is_loopback, style=style)
    async with serve(demo.answer, demo.counters, host, port) as url:
        yield url


@asynccontextmanager
async def serve(
    answer: Callable[[Request], Script], counters: ConnectionCounts, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[str]:
    """Serves what `answer` says to each request, as `serve_demo` does the demo's answers."""
    loop = asyncio.get_running_loop()
    pacer, open_ones = Pacer(loop), set[ClientConnection]()
    server = await loop.create_server(
        lambda: ClientConnection(answer, refuse, pacer, counters, open_ones), host, port, backlog=2048
    )
    try:
        bound = server.sockets[0].getsockname()
        yield f"http://{f'[{bound[0]}]' if ':' in bound[0] else bound[0]}:{bound[1]}"
    finally:
        server.close()
        for connection in list(open_ones):
            connection.abort()
        await server.wait_closed()
