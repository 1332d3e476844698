"""The Anthropic Messages API, or any endpoint that speaks it.

The SDK does authentication, headers and request building, once for each way to ask (`sdk_requests.py`), with
a place for the key of whoever asks; sending is the wire's (`http_client.py`). Retries are ours
(`retry_delay.py`), and so is reading the stream (`response_chunks.py`): the SDK takes a cut stream and half a
tool input for good ones, and costs 20 times as much.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

import orjson

from gateway.errors import ModelError
from gateway.model.base import Chunk, ModelRequest, Take
from gateway.model.bounds import Bounds
from gateway.model.credentials import Credential, Credentials, named
from gateway.model.endpoint_address import ANTHROPIC_URL, is_anthropics, is_local, origin_of, unused_proxy
from gateway.model.endpoint_facts import ANTHROPIC, EndpointFacts
from gateway.model.endpoint_inquiry import EndpointInquiry
from gateway.model.endpoint_profile import MAX_TEMPERATURE, EndpointProfile, Way, refuses_key
from gateway.model.endpoint_questions import EndpointQuestions
from gateway.model.endpoint_queue import EndpointQueue
from gateway.model.message_stream import MessageStream
from gateway.model.request_body import NONE, counted_body, in_way, streamed_body
from gateway.model.response_chunks import chunks_of
from gateway.model.upstream_failures import (
    decoded_body,
    failure_of_status,
    presentable,
    protocol_failure,
    timed_out,
    unreachable,
)
from gateway.model.watchdog import Watchdog

if TYPE_CHECKING:
    from gateway.model.endpoint_liveness import FirstByteWait
    from gateway.model.http_client import PreparedRequest
    from gateway.model.http_response import HttpResponse
    from gateway.model.sdk_requests import SdkRequests

_MESSAGES, _COUNT = "/v1/messages", "/v1/messages/count_tokens"
_NAME = 8  # hex digits of the name of an endpoint
_NEVER = 1e9
_NO_TOOLS = re.compile(
    r"not support (tools|tool (use|calling|calls)|function calling)|no endpoints found that support tool use"
    r"|requires? --(enable-auto-tool-choice|jinja)|不支持(工具|函数)",
    re.IGNORECASE,
)
"""The words of Ollama, OpenRouter, vLLM and llama.cpp about a model that calls none as it is served."""
END_TIMEOUT = 0.02
"""Seconds that the response of a complete message gets to end, so that its connection serves the next."""


class AnthropicModel:
    """A `Model` (see base.py). Times are in seconds: `first_byte_timeout` runs from the call to the first
    event, `progress_timeout` between events; pings are not events. Without `api_key` no credential is sent,
    never those of the environment; `credentials` are those of users who have their own. `base_url` None means
    Anthropic's own; `proxy` is the address of an HTTP proxy on the way there. `api_version` None and
    `key_header` "auto" are found out (see endpoint_profile.py) and reported to `adapted`. `max_answer_size`
    is in bytes (None: see bounds.py), `max_tool_calls` those of one message. An endpoint on this machine or
    in a private network is waited for beyond `first_byte_timeout` while it shows life (see
    endpoint_liveness.py; None: for 60 s, and without signs of life up to ten minutes), and for
    `loading_timeout` while its server starts. `slots` is how many requests it is sent at once (None: as it
    says itself). `models` are those that may be asked for, `open_default`, `found` and `picks` as in
    endpoint_inquiry.py.

    Raises:
        SettingsError: `base_url` or `proxy` is not the address of a web server.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        connect_timeout: float = 5,
        first_byte_timeout: float | None = None,
        progress_timeout: float = 90,
        api_version: str | None = None,
        key_header: Literal["auto", "bearer", "x-api-key"] = "auto",
        proxy: str | None = None,
        max_answer_size: int | None = None,
        max_tool_calls: int = 128,
        credentials: Credentials | None = None,
        adapted: Callable[[str], None] = lambda _: None,
        slots: int | None = None,
        loading_timeout: float = 0,
        models: Callable[[], Sequence[str]] = tuple,
        open_default: str | None = None,
        found: Callable[[str], None] = lambda _: None,
        picks: bool = False,
    ) -> None:
        base_url = base_url or ANTHROPIC_URL
        self._where = origin_of(base_url, "ANTHROPIC_BASE_URL", f"{ANTHROPIC_URL} (without /v1)")
        if proxy is not None:
            origin_of(proxy, "GATEWAY_MODEL_PROXY", "http://proxy.example:3128")
        # Slow to import, and only a gateway with a model needs it.
        from gateway.model.endpoint_liveness import LOCAL_FIRST_BYTE, EndpointLiveness  # noqa: PLC0415
        from gateway.model.http_client import Wire  # noqa: PLC0415

        self._wire, self._prepared = Wire(connect_timeout, proxy), {}
        self._unused_proxy = unused_proxy(base_url, proxy)
        self._life = EndpointLiveness(
            self._wire,
            base_url,
            local=proxy is None and is_local(base_url),
            loading_timeout=loading_timeout,
        )
        self._own, self._base_url, self._credentials = Credential(api_key or None), base_url, credentials
        self._requests: asyncio.Task[SdkRequests] | None = None
        self.facts = facts = EndpointFacts()
        self.queue = EndpointQueue(facts, slots)
        facts.name = sha256(base_url.rstrip("/").encode()).hexdigest()[:_NAME]
        facts.adapted = adapted
        if is_anthropics(base_url):
            facts.kind = ANTHROPIC
        self._endpoint = EndpointProfile(
            api_version, key_header, has_key=bool(api_key or credentials), adapted=adapted, facts=facts
        )
        questions = EndpointQuestions(
            self._wire,
            base_url,
            self._own.key,
            version=lambda: self._endpoint.way("", NONE, thinks=False).version,
            key_headers=lambda: self._key_headers(key_header),
        )
        self._inquiry = EndpointInquiry(
            questions, self.facts, models=models, open_default=open_default, found=found, picks=picks
        )
        self._max_answer_size, self._max_tool_calls = max_answer_size, max_tool_calls
        self._longest_silence = LOCAL_FIRST_BYTE if first_byte_timeout is None else first_byte_timeout
        self._first_byte_timeout, self._progress_timeout = first_byte_timeout or 60, progress_timeout

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        started = asyncio.get_running_loop().time()
        request = self._named(request)
        credential = await self._credential(request.owner)
        upstream = await self._open(request, credential)
        bounds = Bounds.of(request.max_tokens, size=self._max_answer_size, tool_calls=self._max_tool_calls)
        message = MessageStream(bounds, credential.key_of)
        waits: FirstByteWait | None = None
        try:
            # A connection that is closed ends the read that waits for it.
            first = started + (_NEVER if self._life.is_local else self._first_byte_timeout)
            watchdog = Watchdog(first, self._progress_timeout, upstream.close)
            if self._life.is_local:
                waits = self._first_byte_wait(started, watchdog.expire, lambda: watchdog.has_begun)
            chunks = chunks_of(upstream, message, watchdog, credential, take)
            async with aclosing(chunks):
                yield chunks
        finally:
            if waits is not None:
                waits.stop()
            if message.finished:
                self._inquiry.answered(request.model, message.model)
                upstream.end_within(END_TIMEOUT)
            else:
                upstream.close()

    async def _credential(self, owner: str | None) -> Credential:
        return self._own if self._credentials is None else await self._credentials.of(owner, self._own.key)

    async def _open(self, request: ModelRequest, credential: Credential) -> "HttpResponse":
        # A method of its own, so that no open stream keeps the body it was asked with.
        sampling = request.sampling
        if self.facts.kind == ANTHROPIC and sampling.get("temperature", 0) > MAX_TEMPERATURE:
            sampling["temperature"] = MAX_TEMPERATURE
        upstream, _ = await self._ask(_MESSAGES, streamed_body(request), credential, sampling)
        return upstream

    async def count_tokens(self, request: ModelRequest) -> int | None:
        try:
            request = self._named(request)
            credential = await self._credential(request.owner)
            _, body = await self._ask(_COUNT, counted_body(request), credential)
            counted = orjson.loads(body)
        except _NoSuchRoute:
            return None
        except orjson.JSONDecodeError:
            raise protocol_failure("a token count that is not JSON") from None
        count = counted.get("input_tokens") if isinstance(counted, dict) else None
        return count if type(count) is int and count >= 0 else None

    async def started(self, seconds: float) -> None:
        await self._life.started(seconds)

    async def prepare(self) -> None:
        """Loads the SDK ahead of the first call: 2 s of import."""
        loading = self._requests
        if loading is None or (loading.done() and (loading.cancelled() or loading.exception() is not None)):
            loading = self._requests = asyncio.create_task(asyncio.to_thread(self._load))
        await asyncio.shield(loading)

    async def inquire(self) -> None:
        await self._inquiry.ask()

    async def watch(self) -> None:
        await self._inquiry.run()

    async def close(self) -> None:
        await self._wire.close()

    def _named(self, request: ModelRequest) -> ModelRequest:
        name = self._inquiry.name_of(request.model)
        return request if name == request.model else replace(request, model=name)

    def _key_headers(self, key_header: Literal["auto", "bearer", "x-api-key"]) -> tuple[str, ...]:
        """The headers to try the key in, that of the calls first."""
        first = self._endpoint.way("", NONE, thinks=False).key_header
        other = "x-api-key" if first == "bearer" else "bearer"
        return (first, other) if key_header == "auto" else (first,)

    async def _ask(
        self, path: str, body: dict[str, Any], credential: Credential, sampling: Mapping[str, float] = NONE
    ) -> "tuple[HttpResponse, bytes]":
        """A response that is a success, and its body; that of one that streams is still to come. An endpoint
        that wants to be asked another way is asked once more in that."""
        first = way = self._endpoint.way(body["model"], sampling, thinks="thinking" in body)
        key_refused: ModelError | None = None
        while True:
            try:
                response = await self._post(path, in_way(body, way, sampling), way, credential)
            except ModelError as refusal:
                other = self._endpoint.other_way(way, refusal, sampling)
                if other is None:
                    if key_refused is not None and refuses_key(refusal):
                        # The other header was a guess: the first refusal is more informative.
                        raise key_refused from None
                    raise
                if other.key_header != way.key_header:
                    key_refused = refusal
                way = other
            else:
                self._endpoint.answered(body["model"], first, way, sampling)
                return response

    async def _post(
        self, path: str, body: dict[str, Any], way: Way, credential: Credential
    ) -> "tuple[HttpResponse, bytes]":
        from gateway.model.http_client import whole_body  # noqa: PLC0415 - already imported by now

        try:
            content = orjson.dumps(body)
        except TypeError as why:  # a lone surrogate, a number over 64 bits
            raise ModelError(
                f"The request cannot be written as JSON: {why}.", code="upstream_error", retryable=False
            ) from None
        limit = asyncio.timeout(None if self._life.is_local else self._first_byte_timeout)
        key_header = way.key_header if credential.key else None
        request = self._prepared.get((path, way.version, key_header)) or await self._prepare(
            path, way.version, key_header
        )
        if credential.key:
            request = request.with_key(credential.key)
        waits: FirstByteWait | None = None
        try:
            async with limit:
                if self._life.is_local:
                    loop = asyncio.get_running_loop()
                    waits = self._first_byte_wait(loop.time(), lambda: limit.reschedule(loop.time()))
                upstream = await self._wire.send(request, content)
                self._life.has_answered = True
                succeeded = 200 <= upstream.status < 300
                if succeeded and "stream" in body:
                    return upstream, b""
                answer = await whole_body(upstream)
            if succeeded:
                return upstream, answer
            failure = self._refusal(path, upstream, answer, credential)
            self._note(failure, body["model"], upstream.status)
        except Exception as error:  # noqa: BLE001 - the boundary: all that the wire raises becomes ours
            failure = self._failure_of(error, credential, late=limit.expired())
        finally:
            if waits is not None:
                waits.stop()
        # Outside of `except`, so that no traceback drags the request along; and this one not the body.
        try:
            raise failure
        finally:
            del failure

    def _first_byte_wait(
        self, since: float, expire: Callable[[], None], has_begun: Callable[[], bool] = lambda: False
    ) -> "FirstByteWait":
        from gateway.model.endpoint_liveness import FirstByteWait  # noqa: PLC0415 - already imported by now

        times = self._first_byte_timeout, self._longest_silence
        return FirstByteWait(self._life, since, times, expire, has_begun)

    def _load(self) -> "SdkRequests":
        from gateway.model.sdk_requests import SdkRequests  # noqa: PLC0415 - on a thread, beside the event loop

        return SdkRequests(self._base_url, self._longest_silence)

    async def _prepare(self, path: str, version: str, key_header: str | None) -> "PreparedRequest":
        """The request to `path` in that version as the SDK builds it, the same for every body and key."""
        try:
            await self.prepare()
        except (ImportError, OSError) as why:
            raise ModelError(
                f"The Anthropic SDK cannot be loaded: {why}.", code="upstream_error", retryable=True
            ) from None
        assert self._requests is not None
        found = await self._requests.result().request(path, version, key_header)
        self._prepared[path, version, key_header] = found
        return found

    def _refusal(
        self, path: str, upstream: "HttpResponse", body: bytes, credential: Credential
    ) -> ModelError:
        """The failure of a response that is not a success."""
        if path == _COUNT and upstream.status in {404, 405, 501}:
            return _NoSuchRoute()
        body_of_failure = decoded_body(body, upstream.charset)
        if upstream.unread_coding is not None:
            body_of_failure = f"its words are in the content-encoding {upstream.unread_coding:.40}"
        failure = failure_of_status(upstream.status, upstream.headers, body_of_failure)
        if upstream.status == 503 and b"loading" in body.lower():
            failure.starts_within = self._life.loading_patience
        return presentable(named(failure, credential), credential.key)

    def _failure_of(self, error: Exception, credential: Credential, *, late: bool) -> ModelError:
        """The failure that it is when no whole response came."""
        self._inquiry.failed()
        if late:
            return timed_out(f"The model's endpoint did not answer within {self._first_byte_timeout:g} s.")
        if isinstance(error, TimeoutError):
            failure = timed_out(f"The model's endpoint {self._where} could not be reached in time.")
        else:
            failure = presentable(unreachable(self._where, error), credential.key)
            if self._life.takes_no_connection(error):
                failure.starts_within = self._life.start_patience
        failure.message += self._unused_proxy
        return failure

    def _note(self, failure: ModelError, model: str, status: int) -> None:
        """Tells the inquiry what a refusal shows of the endpoint, and the person who reads it what to set."""
        if status in {502, 503, 504}:
            self._inquiry.failed()
        if 400 <= status < 500 and _NO_TOOLS.search(failure.message):
            self._inquiry.refused_tools(model)
        if status == 404 and self.facts.choice is not None:
            failure.message = f"{failure.message} {self.facts.choice}"


class _NoSuchRoute(ModelError):
    """The endpoint does not count tokens."""

    def __init__(self) -> None:
        super().__init__("This endpoint does not count tokens.", code="upstream_error", retryable=False)
