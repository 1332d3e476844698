"""The answers of a server at an address: bounded, and mended on their way to the SDK, which would leave a
call without an answer, or tell the model nothing of what the server said.

    response ──▶ a message or a stream of them: mended ──▶ the SDK
             └─▶ anything else: the error of its request, with the HTTP status and the server's words
"""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import from_json

from gateway.json_parts import PartCounter
from gateway.tools.mcp import bounds
from gateway.tools.mcp.set_aside import SetAside
from gateway.tools.mcp.wire_messages import (
    Mend,
    answer_in,
    as_bytes,
    parsed,
    read_apart,
    read_messages,
    words_of,
)

SESSION_NOT_FOUND: Final = -32001
"""What servers made with the TypeScript SDK answer to a session that they do not know."""
IN_SESSION: Final = "gateway_in_session"
"""The extension of a request that is one of a session though no header says so."""
_KEY: Final = "chat-gateway/refusal"
_NO_SESSION = re.compile(
    r"session.{0,40}\b(?:not|no|in?valid|unknown|expired|missing|required|terminated|closed|gone)\b"
    r"|\b(?:no|invalid|unknown|expired|missing|bad|stale)\b.{0,40}session|会话.{0,12}(?:不存在|无效|过期|失效|未找到)",
    re.IGNORECASE | re.DOTALL,
)
_UNKNOWN: Final = frozenset({400, 401, 403, 404, 409, 410, 503})
"""Statuses with which servers tell, in words, that they do not know the session. (404: MCP specification,
"Session Management"; the others: servers and proxies as they are)"""
_DOUBTFUL: Final = _UNKNOWN | {412, 422, 500}
_PHRASES: Final = {each.value: each.phrase for each in HTTPStatus}
_TOO_LARGE = "an answer is too large"
_NO_MESSAGE = "its answer is no message of the protocol"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is known of a request that a server at an address did not answer as it should. `status` is the
    HTTP status of an error. `forgotten`: the server did not know the session, so that it did nothing;
    `doubtful`: that may be what it means."""

    status: int | None = None
    forgotten: bool = False
    doubtful: bool = False

    @classmethod
    def of(cls, data: Any) -> "Refusal":
        """As it came with the data of an error."""
        noted = data.get(_KEY) if isinstance(data, dict) else None
        return cls(**noted) if isinstance(noted, dict) and noted.keys() <= set(cls.__slots__) else cls()


def request_of(request: httpx2.Request) -> RequestId | None:
    """The id of the JSON-RPC request that is sent; None: it is a notification, or something else."""
    if request.method != "POST":
        return None
    try:
        value = from_json(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    found = value.get("id") if isinstance(value, dict) and "method" in value else None
    return found if isinstance(found, int | str) else None


def _has_session(request: httpx2.Request) -> bool:
    return MCP_SESSION_ID in request.headers or IN_SESSION in request.extensions


async def mend(response: httpx2.Response, results: Mend, aside: SetAside) -> None:
    """Puts a stream into the response that is bounded, and that the SDK reads: its results as `results` makes
    them, or `aside` where they are large."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    asked = request_of(response.request)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/event-stream" and response.is_success:
        has_session = _has_session(response.request)
        reading = _Reading(asked, results, aside, has_session=has_session)
        response.stream = _Events(response.stream, reading)
    elif asked is None or response.has_redirect_location or response.status_code == HTTPStatus.ACCEPTED:
        response.stream = _Bounded(response.stream)
    else:
        reading = _Reading(asked, results, aside, has_session=_has_session(response.request))
        response.stream = _Answer(response, kind, asked, reading)
        response.headers["content-type"] = "application/json"


@dataclass(frozen=True, slots=True)
class _Reading:
    """How what comes for one request is read. `asked` is its id, if it has one."""

    asked: RequestId | None
    results: Mend
    aside: SetAside
    has_session: bool

    def written(self, message: JSONRPCMessage, size: int, status: int | None = None) -> bytes:
        """A message of so many bytes as the SDK gets it."""
        if isinstance(message, JSONRPCError):
            message = _noted(message, status, has_session=self.has_session)
        elif isinstance(message, JSONRPCResponse) and size > bounds.INLINE:
            message.result = self.aside.put(message.result)
        return as_bytes(message)


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error where it becomes more than a message may be."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, parts = 0, PartCounter(with_values=True)
        async for chunk in self._stream:
            size += len(chunk)
            if parts.add(chunk) > bounds.PARTS or size > bounds.MESSAGE:
                # The one kind of error that the SDK takes for that of a single call.
                raise httpx2.StreamError(_TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Answer(httpx2.AsyncByteStream):
    """A body that is the answer to one request, as one message. `kind` is its content type."""

    def __init__(self, response: httpx2.Response, kind: str, asked: RequestId, reading: _Reading) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = _Bounded(response.stream)
        self._response, self._kind, self._asked, self._reading = response, kind, asked, reading

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            body = b"".join([chunk async for chunk in self._stream])
        except httpx2.StreamError:
            yield self._reading.written(_error(self._asked, _TOO_LARGE), 0, self._status)
        else:
            yield await read_apart(len(body), lambda: self._message(body))

    async def aclose(self) -> None:
        await self._stream.aclose()

    @property
    def _status(self) -> int | None:
        return None if self._response.is_success else self._response.status_code

    def _message(self, body: bytes) -> bytes:
        results = self._reading.results
        if self._status is None:
            message = _answer(body, self._asked, results)
        else:
            message = _refusal(self._response, self._kind, body, self._asked, results)
        return self._reading.written(message, len(body), self._status)


class _Events(httpx2.AsyncByteStream):
    """A stream of events, with the message of each one mended. One that is more than a message may be ends
    it."""

    def __init__(self, stream: httpx2.AsyncByteStream, reading: _Reading) -> None:
        self._stream = stream
        self._reading = reading

    async def __aiter__(self) -> AsyncIterator[bytes]:
        asked = self._reading.asked
        try:
            async for event in self._mended():
                yield event
        except httpx2.StreamError:
            if asked is None:
                raise
            yield b"data: %b\n\n" % self._reading.written(_error(asked, _TOO_LARGE), 0)

    async def _mended(self) -> AsyncIterator[bytes]:
        # Of a line that has not ended the pieces are kept as they came: to join them each time would copy a
        # long one that comes in small pieces over and over.
        rest, lines, ends_in_return = list[bytes](), list[bytes](), False
        size, parts = 0, PartCounter(with_values=True)
        async for chunk in self._stream:
            size += len(chunk)
            if parts.add(chunk) > bounds.PARTS or size > bounds.MESSAGE:
                raise httpx2.StreamError(_TOO_LARGE)
            if ends_in_return and chunk.startswith(b"\n"):  # of one line end, cut in two
                chunk = chunk[1:]  # noqa: PLW2901
            ends_in_return = chunk.endswith(b"\r")
            *whole, tail = _LINE_END.split(chunk)
            if whole:
                whole[0] = b"".join([*rest, whole[0]])
                rest.clear()
            if tail:
                rest.append(tail)
            for line in whole:
                lines.append(line)
                if not line:
                    event, lines = lines, []
                    yield await read_apart(size, partial(self._event, event))
                    size, parts = len(tail), PartCounter(with_values=True)
                    parts.add(tail)
        yield b"".join([*(b"%b\n" % line for line in lines), *rest])

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _event(self, lines: list[bytes]) -> bytes:
        data = [line.removeprefix(b"data:").removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        text = b"\n".join(data)
        if not text.strip():
            return b"".join(b"%b\n" % line for line in lines)
        others = [line for line in lines if line and not line.startswith(b"data:")]
        return b"".join(b"%b\n" % line for line in (*others, b"data: " + self._message(text), b""))

    def _message(self, text: bytes) -> bytes:
        asked = self._reading.asked
        message: JSONRPCMessage
        try:
            message = read_messages(text, asked, self._reading.results)[0]
        except (ValueError, IndexError):
            if asked is None:  # the address that an older server names, or something that answers nobody
                return text if len(text) <= bounds.INLINE else b""
            message = _error(asked, _NO_MESSAGE)
        return self._reading.written(message, len(text))


def _answer(body: bytes, asked: RequestId, results: Mend) -> JSONRPCResponse | JSONRPCError:
    try:
        return answer_in(parsed(body), asked, results)
    except ValueError:
        return _error(asked, _NO_MESSAGE)


def _error(asked: RequestId, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=asked, error=ErrorData(code=PARSE_ERROR, message=message))


def _refusal(
    response: httpx2.Response, kind: str, body: bytes, asked: RequestId, results: Mend
) -> JSONRPCError:
    """The error that a request gets for an HTTP status: its own where the body has one (MCP specification,
    "Streamable HTTP"), with the status and the server's words."""
    has_session = _has_session(response.request)
    told = _told(response)
    code = _code(response.status_code, has_session=has_session)
    message = JSONRPCError(jsonrpc="2.0", id=asked, error=ErrorData(code=code, message=told))
    words = ""
    try:
        value = parsed(body)
    except ValueError:
        if kind == "text/plain":
            words = words_of(body[: bounds.LINE].decode(errors="replace"))
    else:
        words = words_of(value)
        if isinstance(value, dict) and "jsonrpc" in value:
            with suppress(ValueError):
                answer = answer_in(value, asked, results)
                if isinstance(answer, JSONRPCError):
                    message = answer
    message.error.message = f"{told}: {words}" if words else told
    return message


def _told(response: httpx2.Response) -> str:
    status = response.status_code
    name = _PHRASES.get(status)
    wait = response.headers.get("retry-after", "")
    later = f", to be tried again in {wait} s" if wait.isdecimal() and len(wait) < 7 else ""
    return f"HTTP status {status}{f' ({name})' if name else ''}{later}"


def _code(status: int, *, has_session: bool) -> int:
    if status == HTTPStatus.NOT_FOUND:
        return INVALID_REQUEST if has_session else METHOD_NOT_FOUND
    return INTERNAL_ERROR


def _noted(message: JSONRPCError, status: int | None, *, has_session: bool) -> JSONRPCError:
    """The error with what is known of the refusal in its data, beside the server's own."""
    error = message.error
    says_so = _NO_SESSION.search(error.message) is not None
    if status is None:
        forgotten = error.code == SESSION_NOT_FOUND and says_so
        doubtful = error.code == SESSION_NOT_FOUND or says_so
    elif status == HTTPStatus.NOT_FOUND:
        forgotten = says_so or error.code != METHOD_NOT_FOUND
        doubtful = True
    else:
        forgotten = says_so and status in _UNKNOWN
        doubtful = status in _DOUBTFUL
    known = Refusal(status, has_session and forgotten, has_session and doubtful and not forgotten)
    if known != Refusal():
        error.data = {**(error.data if isinstance(error.data, dict) else {}), _KEY: asdict(known)}
    return message
