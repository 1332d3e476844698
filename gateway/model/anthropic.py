"""The Anthropic Messages API, or any endpoint that speaks it. The only file that imports the SDK.

The SDK does authentication, headers, request building and typed errors. Retries are ours (`retry.py`), and
so is reading the stream: the SDK takes a cut stream and half a tool input for good ones, and costs 20 times
as much.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

import orjson

from gateway.errors import ModelError, SettingsError
from gateway.model.base import Chunk, ModelRequest
from gateway.model.body import counted_body, streamed_body
from gateway.model.bounds import Bounds
from gateway.model.endpoint import Endpoint, Way, refuses_key
from gateway.model.failures import (
    failure_of_status,
    presentable,
    protocol_failure,
    timed_out,
    truncated,
    unreachable,
)
from gateway.model.message_stream import MessageStream
from gateway.model.sse import SseParser
from gateway.model.watchdog import Watchdog

if TYPE_CHECKING:
    import aiohttp
    import httpx2

MAX_STREAM = 256 * 1024 * 1024
"""Bytes of one stream: far above any answer, so that an endless one ends."""

_LINGER = 0.02
"""Seconds a complete stream gets to end properly, so that its connection can serve the next call."""


class AnthropicModel:
    """A `Model` (see base.py). Times are in seconds: `first_byte_timeout` runs from the call to the first
    event, `progress_timeout` between events; pings are not events. Without `api_key` no credential is sent,
    whatever the environment holds. `base_url` None means Anthropic's own; `proxy` is the address of an HTTP
    proxy on the way there. `api_version` None and `key_header` "auto" are found out (see endpoint.py), which
    `adapted` is told of. `max_answer_size` is in bytes (None: see bounds.py), `max_tool_calls` those of one
    message.

    Raises:
        SettingsError: `base_url` or `proxy` is not the address of a web server.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        connect_timeout: float = 5,
        first_byte_timeout: float = 60,
        progress_timeout: float = 90,
        api_version: str | None = None,
        key_header: Literal["auto", "bearer", "x-api-key"] = "auto",
        proxy: str | None = None,
        max_answer_size: int | None = None,
        max_tool_calls: int = 128,
        adapted: Callable[[str], None] = lambda _: None,
    ) -> None:
        base_url = base_url or "https://api.anthropic.com"
        self._where = _origin(base_url, "ANTHROPIC_BASE_URL", "https://api.anthropic.com (without /v1)")
        if proxy is not None:
            _origin(proxy, "GATEWAY_MODEL_PROXY", "http://proxy.example:3128")
        # 2 s of import that only a gateway with a model needs
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        from gateway.model.transport import AiohttpTransport, upstream_of  # noqa: PLC0415

        # Below these levels they log whole requests, or a line for each.
        logging.getLogger("anthropic").setLevel(logging.INFO)
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        self._response_type, self._stream_type = httpx2.Response, anthropic.AsyncStream[Any]
        self._upstream_of = upstream_of
        self._key, self._no_header = api_key, anthropic.omit
        self._endpoint = Endpoint(api_version, key_header, has_key=bool(api_key), adapted=adapted)
        self._max_answer_size, self._max_tool_calls = max_answer_size, max_tool_calls
        self._first_byte_timeout, self._progress_timeout = first_byte_timeout, progress_timeout
        # An SSE stream that is compressed arrives in lumps.
        headers: dict[str, Any] = {"accept-encoding": "identity"}
        if not api_key:
            headers["authorization"] = anthropic.omit
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "",
            base_url=base_url,
            max_retries=0,
            timeout=first_byte_timeout,
            default_headers=headers,
            open_telemetry=False,
            http_client=httpx2.AsyncClient(
                transport=AiohttpTransport(connect_timeout, proxy), follow_redirects=False, trust_env=False
            ),
        )

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        started = asyncio.get_running_loop().time()
        upstream = await self._open(request)
        bounds = Bounds.of(request.max_tokens, size=self._max_answer_size, tool_calls=self._max_tool_calls)
        try:
            async with aclosing(self._chunks(upstream, started + self._first_byte_timeout, bounds)) as chunks:
                yield chunks
        finally:
            # Keeps the connection when its response has ended, closes it at once when it has not.
            upstream.release()

    async def _open(self, request: ModelRequest) -> "aiohttp.ClientResponse":
        # A method of its own, so that no open stream keeps the body it was asked with.
        temperature = request.temperature if request.thinking_budget is None else None
        return self._upstream_of(await self._ask("/v1/messages", streamed_body(request), temperature))

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            response = await self._ask("/v1/messages/count_tokens", counted_body(request))
            counted = orjson.loads(response.content)
        except _NoSuchRoute:
            return None
        except orjson.JSONDecodeError:
            raise protocol_failure("a token count that is not JSON") from None
        count = counted.get("input_tokens") if isinstance(counted, dict) else None
        return count if type(count) is int and count >= 0 else None

    async def close(self) -> None:
        await self._client.close()

    async def _ask(
        self, path: str, body: dict[str, Any], temperature: float | None = None
    ) -> "httpx2.Response":
        """A response that is a success; the body of one that streams is still to come. An endpoint that wants
        to be asked another way is asked once more in that."""
        first = way = self._endpoint.way(body["model"], temperature)
        key_refused: ModelError | None = None
        while True:
            try:
                response = await self._post(path, body, way)
            except ModelError as refusal:
                other = self._endpoint.other_way(way, refusal, temperature)
                if other is None:
                    if key_refused is not None and refuses_key(refusal):
                        # The other header was a guess: the first refusal says more.
                        raise key_refused from None
                    raise
                if other.key_header != way.key_header:
                    key_refused = refusal
                way = other
            else:
                self._endpoint.answered(body["model"], first, way)
                return response

    async def _post(self, path: str, body: dict[str, Any], way: Way) -> "httpx2.Response":
        sampled = body if way.temperature is None else {**body, "temperature": way.temperature}
        try:
            content = orjson.dumps(sampled)
        except TypeError as why:  # a lone surrogate, a number over 64 bits
            raise ModelError(
                f"The request cannot be written as JSON: {why}.", code="upstream_error", retryable=False
            ) from None
        headers: dict[str, Any] = {"anthropic-version": way.version}
        if self._key and way.key_header == "x-api-key":
            headers |= {"x-api-key": self._key, "authorization": self._no_header}
        try:
            async with asyncio.timeout(self._first_byte_timeout):
                # The body as bytes, the bare response: `messages.create` would double the cost of a call.
                response = await self._client.post(
                    path,
                    cast_to=self._response_type,
                    content=content,
                    options={"headers": headers},
                    stream="stream" in body,
                    stream_cls=self._stream_type,
                )
                return cast("httpx2.Response", response)
        except TimeoutError:
            failure = timed_out(f"The model's endpoint did not answer within {self._first_byte_timeout:g} s.")
        except Exception as error:  # noqa: BLE001 - the edge: whatever the SDK raises becomes ours
            failure = self._failure_of(error)
        # Outside of `except`, so that no traceback drags the SDK's request along; and this one not the body.
        try:
            raise failure
        finally:
            del failure

    def _failure_of(self, error: Exception) -> ModelError:
        import anthropic  # noqa: PLC0415 - already imported by now

        if isinstance(error, anthropic.APIStatusError):
            if error.status_code in {404, 405, 501} and error.request.url.path.endswith("/count_tokens"):
                return _NoSuchRoute()
            return presentable(
                failure_of_status(error.status_code, error.response.headers, error.body), self._key
            )
        if isinstance(error, anthropic.APIConnectionError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        if isinstance(error, TimeoutError):
            return timed_out(f"The model's endpoint {self._where} could not be reached in time.")
        return presentable(unreachable(self._where, error), self._key)

    async def _chunks(
        self, upstream: "aiohttp.ClientResponse", deadline: float, bounds: Bounds
    ) -> AsyncGenerator[Chunk]:
        content, parser, message = upstream.content, SseParser(), MessageStream(bounds)
        # A connection that is closed ends the read that waits for it.
        watchdog = Watchdog(deadline, self._progress_timeout, upstream.close)
        left = MAX_STREAM
        try:
            while not message.finished:
                data = await _read(content, watchdog)
                left -= len(data)
                if not data:
                    raise truncated() if message.started else _no_stream(upstream)
                if left < 0:
                    raise protocol_failure("the stream does not end")
                chunks = message.feed(parser.feed(data))
                if chunks:
                    watchdog.pause()
                    for chunk in chunks:
                        yield chunk
                if message.failure is not None:
                    raise presentable(message.failure, self._key)
                if chunks or message.progress:
                    watchdog.progress()
        finally:
            watchdog.stop()
            message.failure = None  # its traceback ends here, and would keep the answer until a collection
        await _linger(content)


class _NoSuchRoute(ModelError):
    """The endpoint does not count tokens."""

    def __init__(self) -> None:
        super().__init__("This endpoint does not count tokens.", code="upstream_error", retryable=False)


def _origin(address: str, setting: str, example: str) -> str:
    """The part of an address that may be shown: a user name or a path can be secret."""
    try:
        found = urlsplit(address)
        if found.scheme in {"http", "https"} and found.hostname and found.port != 0:
            return f"{found.scheme}://{found.netloc.rpartition('@')[2]}"
    except ValueError:  # a port that is no number, half a bracket
        pass
    raise SettingsError(f"{setting} must be an address like {example}.")


async def _read(content: "aiohttp.StreamReader", watchdog: Watchdog) -> bytes:
    """All bytes that came since the last read; none at the end."""
    try:
        return await content.readany()
    except Exception:  # noqa: BLE001, S110 - the edge: a reset, a broken chunk, a broken encoding
        pass
    if watchdog.expired:
        raise timed_out("The model's endpoint fell silent before its answer was complete.")
    raise truncated()


def _no_stream(upstream: "aiohttp.ClientResponse") -> ModelError:
    """No message ever began: often the address is some other server's, and its content type tells."""
    if upstream.content_type in {"text/event-stream", "application/octet-stream"}:
        return truncated()
    return protocol_failure(
        f"it sent {upstream.content_type:.40} instead of a stream (check ANTHROPIC_BASE_URL)"
    )


async def _linger(content: "aiohttp.StreamReader") -> None:
    if content.is_eof():
        return
    try:
        async with asyncio.timeout(_LINGER):
            while await content.readany():
                pass
    except Exception:  # noqa: BLE001 - the answer is complete; only the connection is lost
        return
