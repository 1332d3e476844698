"""The Model contract, over real sockets: the Anthropic adapter against the demo and against bare bytes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anthropic
import httpx2
import orjson
import pytest

from gateway.history.thinking_reader import is_signed, is_thinking
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Answer, Chunk, Delta, Model, ModelRequest, Started, Take
from gateway.model.endpoint_profile import OLDER_VERSION
from tests.demo.documented import CATALOGUE
from tests.loopback import TIMEOUT
from tests.product import (
    Block,
    Message,
    ModelError,
    SettingsError,
    ToolSpec,
    serve_demo,
    text_block,
    tool_result_block,
)

pytestmark = pytest.mark.anyio

KEY = "sk-ant-secret-key-0123456789"
SHORT = 0.3
"""Seconds of silence that an endpoint which says nothing more is given."""
PAUSE = 1.0
"""The same for an endpoint that says something every few milliseconds, on however busy a machine."""
"""Seconds of patience, for tests that end by it."""
CALCULATE = ToolSpec(
    "calculate",
    "Calculates.",
    {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
)


def asking(text: str, *more: Message) -> ModelRequest:
    return ModelRequest(
        model="demo",
        max_tokens=1000,
        system=[text_block("Answer.")],
        messages=[Message("user", [text_block(text)]), *more],
        tools=[CALCULATE],
    )


@asynccontextmanager
async def model_at(
    url: str, *, patience: float = TIMEOUT, key: str | None = KEY, **given: Any
) -> AsyncGenerator[Model]:
    """A model that leaves no task behind."""
    before = asyncio.all_tasks()
    model = AnthropicModel(
        api_key=key,
        base_url=url,
        connect_timeout=TIMEOUT,
        first_byte_timeout=patience,
        progress_timeout=patience,
        **given,
    )
    try:
        yield model
    finally:
        await model.close()
        await model.close()
        if left := asyncio.all_tasks() - before:
            _, left = await asyncio.wait(left, timeout=TIMEOUT)
        assert not left


@pytest.fixture
async def demo() -> AsyncGenerator[str]:
    async with serve_demo(pace=0) as url:
        yield url


async def read(model: Model, request: ModelRequest) -> list[Chunk]:
    async with model.stream(request) as stream:
        return [chunk async for chunk in stream]


async def failure(model: Model, request: ModelRequest) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await read(model, request)
    error = raised.value
    assert KEY not in str(error)
    assert KEY not in repr(error)
    assert error.__cause__ is None
    return error


async def counters(url: str) -> dict[str, int]:
    async with httpx2.AsyncClient(trust_env=False) as client:
        seen = await client.get(f"{url}/demo/requests", headers={"x-api-key": "any"})
    return seen.json()["counters"]


async def until(url: str, **wanted: int) -> None:
    """Returns once the demo's counters say so."""
    async with asyncio.timeout(TIMEOUT):
        while not wanted.items() <= (await counters(url)).items():
            await asyncio.sleep(0.01)


async def closed_upstream(url: str) -> None:
    """Returns once the demo has no stream open and no connection but the one that asks."""
    await until(url, streams=0, connections=1)


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Delta) and chunk.kind == "text")


# A good answer


async def test_a_stream_is_started_then_deltas_then_one_answer(demo: str) -> None:
    """The deltas concatenate to the text of the answer, which is complete."""
    async with model_at(demo) as model:
        first, *deltas, last = await read(model, asking("/say 你好 hello there"))
    assert isinstance(first, Started)
    assert deltas
    assert all(isinstance(delta, Delta) and delta.text for delta in deltas)
    assert isinstance(last, Answer)
    assert list(last.content) == [text_block("你好 hello there")]
    assert text_of(deltas) == "你好 hello there"
    assert last.stop_reason == "end_turn"
    assert last.usage is not None
    assert last.usage.input_tokens > 0
    assert last.response_id == first.response_id


async def test_thoughts_and_calls_go_back_as_they_came(demo: str) -> None:
    """A signed thought and a tool call are accepted by the endpoint when they return with the result."""
    request = replace(
        asking('/think Let me see.\n/call calculate {"expression":"1+1"}\n/then\n/say two'),
        max_tokens=4000,
        thinking_budget=1024,
        temperature=0.5,
    )
    async with model_at(demo) as model:
        chunks = await read(model, request)
        first = chunks[-1]
        assert isinstance(first, Answer)
        assert [block["type"] for block in first.content] == ["thinking", "tool_use"]
        assert first.stop_reason == "tool_use"
        assert first.content[1]["input"] == {"expression": "1+1"}
        assert "".join(c.text for c in chunks if isinstance(c, Delta)) == "Let me see."
        result = tool_result_block(first.content[1]["id"], "2", is_error=False)
        more = [Message("assistant", first.content), Message("user", [result])]
        again = await read(model, replace(request, messages=[*request.messages, *more]))
    assert text_of(again) == "two"


async def test_deltas_may_be_taken_as_they_arrive(demo: str) -> None:
    """What is taken is not iterated, and all comes in its order; what `take` raises comes out, and the
    connection is closed."""
    shown: list[Delta] = []
    ways: set[str] = set()

    def some(delta: Delta) -> bool:
        if len(shown) < 20:
            shown.append(delta)
            ways.add("taken")
        return shown[-1] is delta

    def fail(_: Delta) -> bool:
        raise KeyError("it")

    async def read_taking(model: Model, take: Take) -> list[Chunk]:
        chunks: list[Chunk] = []
        async with model.stream(asking("/pieces 40 /pace 5"), take) as stream:
            async for chunk in stream:
                if isinstance(chunk, Delta):
                    shown.append(chunk)
                    ways.add("iterated")
                else:
                    chunks.append(chunk)
        return chunks

    async with model_at(demo) as model:
        first, last = await read_taking(model, some)
        assert isinstance(first, Started)
        assert isinstance(last, Answer)
        assert list(last.content) == [text_block(text_of(shown))]
        assert ways == {"taken", "iterated"}
        with pytest.raises(KeyError):
            await read_taking(model, fail)
        await closed_upstream(demo)


async def test_a_connection_serves_one_call_after_the_other(demo: str) -> None:
    """Calls in turn share a connection; leaving early closes it."""
    async with model_at(demo) as model:
        for _ in range(3):
            await read(model, asking("/say hi"))
        assert (await counters(demo))["connections"] == 2  # the model's, and this question's
        async with model.stream(asking("/pieces 1000 /pace 5")) as stream:
            assert isinstance(await anext(stream), Started)
        await closed_upstream(demo)
        assert (await counters(demo))["aborted"] == 1


async def test_many_calls_run_at_once(demo: str) -> None:
    """There is no limit on connections to wait for."""
    async with model_at(demo) as model:
        answers = await asyncio.gather(*(read(model, asking("/pieces 20 /pace 20")) for _ in range(150)))
        assert {len(text_of(chunks)) for chunks in answers} == {80}


async def test_tokens_are_counted_where_the_endpoint_can(demo: str) -> None:
    """A number from an endpoint that counts."""
    async with model_at(demo) as model:
        short = await model.count_tokens(asking("hello"))
        long = await model.count_tokens(asking("hello " * 100))
    assert short
    assert long
    assert long > short


# Faults


@pytest.mark.parametrize("name", CATALOGUE)
async def test_every_fault_ends_in_its_code_or_a_complete_answer(demo: str, name: str) -> None:
    """Whatever an endpoint does, the stream is one good answer, fit to be sent back, or one failure of the
    expected code, and afterwards nothing of it is left."""
    fault = CATALOGUE[name]
    request = asking(f"/say one two three four five six 七八九\n/fault {name}")
    patience = SHORT if fault.expected == "upstream_timeout" else TIMEOUT
    async with model_at(demo, patience=patience) as model:
        if fault.expected == "ok" or name.startswith("stop_reason_"):
            chunks = await read(model, request)
            check_answer(chunks)
            if name.endswith("_after_response"):
                await closed_upstream(demo)
            await read(model, follow_up(request, chunks[-1]))
        else:
            error = await failure(model, request)
            assert (error.code, error.retryable) == (fault.expected, fault.retryable)
    await closed_upstream(demo)


def check_answer(chunks: Sequence[Chunk]) -> None:
    assert isinstance(chunks[0], Started)
    assert [type(chunk) for chunk in chunks[1:-1]] == [Delta] * (len(chunks) - 2)
    last = chunks[-1]
    assert isinstance(last, Answer)
    assert orjson.dumps(last.content)
    assert text_of(chunks) == "".join(b["text"] for b in last.content if b["type"] == "text")
    calls = {block["id"]: block["input"] for block in last.content if block["type"] == "tool_use"}
    assert set(last.bad_inputs) <= calls.keys()
    assert all(isinstance(given, dict) for given in calls.values())
    assert all(calls[call_id] == {} for call_id in last.bad_inputs)


def follow_up(request: ModelRequest, answer: Chunk) -> ModelRequest:
    """The next request of the conversation; the demo refuses an invalid history as the API does. Unsigned
    thinking is not for it."""
    assert isinstance(answer, Answer)
    content = [block for block in answer.content if not is_thinking(block) or is_signed(block)]
    results: list[Block] = [
        tool_result_block(block["id"], "done", is_error=False)
        for block in answer.content
        if block["type"] == "tool_use"
    ]
    messages = [Message("assistant", content)] if content else []
    asked = Message("user", [*results, text_block("/say fine")])
    return replace(request, messages=[*request.messages, *messages, asked])


@pytest.mark.parametrize(
    "name",
    [
        "invalid",
        "truncated",
        "not_object",
        "trailing_garbage",
        "duplicate_keys",
        "nan",
        "infinite",
        "deep",
        "surrogate",
        "cut_by_max_tokens",
    ],
)
async def test_no_tool_could_run_on_a_bad_input(demo: str, name: str) -> None:
    """The answer names the call and what is wrong with its input."""
    async with model_at(demo) as model:
        answer = (await read(model, asking(f"/say x\n/fault tool_input_{name}")))[-1]
    assert isinstance(answer, Answer)
    (call,) = (block for block in answer.content if block["type"] == "tool_use")
    assert answer.bad_inputs[call["id"]]


@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [
        ("http_429_seconds 7", 7, 7),
        ("http_429_date 30", 25, 31),
        ("http_429_ms 50", 0.05, 0.05),
        ("http_429_3600", 3600, 3600),
    ],
)
async def test_retry_after_reaches_the_caller(demo: str, fault: str, least: float, most: float) -> None:
    """Seconds, a date or milliseconds."""
    async with model_at(demo) as model:
        error = await failure(model, asking(f"/fault {fault}"))
    assert error.retry_after is not None
    assert least <= error.retry_after <= most


async def test_a_busy_reader_is_no_silence(demo: str) -> None:
    """Time that the caller takes between chunks does not count as the endpoint's."""
    async with model_at(demo, patience=PAUSE) as model:
        seen: list[Chunk] = []
        async with model.stream(asking("/pieces 40 /pace 10")) as stream:
            async for chunk in stream:
                seen.append(chunk)
                if len(seen) == 3:
                    await asyncio.sleep(1.5 * PAUSE)
    assert isinstance(seen[-1], Answer)


async def test_a_slow_answer_that_goes_on_is_no_silence(demo: str) -> None:
    """An answer may take longer than the timeout as a whole."""
    async with model_at(demo, patience=PAUSE) as model:
        chunks = await read(model, asking("/pieces 50 /pace 25"))
    assert len(text_of(chunks)) == 200


# Too much


@pytest.mark.parametrize(
    "fault",
    ["endless_text", "endless_thinking", "endless_input", "too_many_calls 50000"],
    ids=lambda it: it.split()[0],
)
async def test_an_answer_without_end_is_cut_off_at_its_bound(demo: str, fault: str) -> None:
    """Its deltas so far came, the failure says which bound, and the connection is closed at once. The one
    with an end is larger than what two sockets hold between them."""
    name = fault.split(maxsplit=1)[0]
    async with model_at(demo, max_answer_size=200_000) as model:
        chunks: list[Chunk] = []

        async def gather() -> None:
            async with model.stream(asking(f"/fault {fault}")) as stream:
                async for chunk in stream:
                    chunks.append(chunk)

        with pytest.raises(ModelError) as raised:
            await gather()
        await closed_upstream(demo)
        counted = await counters(demo)
    assert (raised.value.code, raised.value.retryable) == (CATALOGUE[name].expected, False)
    shown = sum(len(chunk.text) for chunk in chunks if isinstance(chunk, Delta))
    assert (200_000 < shown < 1_000_000) == (name in {"endless_text", "endless_thinking"})
    assert (counted["aborted"], counted["finished"]) == (1, 0)


async def test_more_tokens_may_take_more_bytes(demo: str) -> None:
    """Without a setting the bound follows from `max_tokens`."""
    request = replace(asking("/fault huge_delta 3"), max_tokens=64_000)
    async with model_at(demo) as model:
        assert len(text_of(await read(model, request))) == 3_000_000
        assert (await failure(model, replace(request, max_tokens=1000))).retryable is False


@pytest.mark.parametrize("name", ["empty_deltas_forever", "unknown_events_forever", "ping_forever"])
async def test_what_says_nothing_is_silence(demo: str, name: str) -> None:
    """An endpoint that sends something that says nothing meets the progress timeout."""
    async with model_at(demo, patience=SHORT) as model, asyncio.timeout(TIMEOUT):
        error = await failure(model, asking(f"/fault {name}"))
    assert error.code == "upstream_timeout"


# Cancelling


@pytest.mark.parametrize(
    "script",
    ["/fault headers_stall", "/fault first_event_stall", "/say a b c d\n/fault stall_mid_stream", "/say x"],
)
async def test_cancelling_closes_the_upstream_connection(demo: str, script: str) -> None:
    """Before the headers, before the first event, in the middle or at the very start: CancelledError comes
    out and the endpoint sees the connection close."""
    async with model_at(demo) as model:
        task = asyncio.ensure_future(read(model, asking(script)))
        if "fault" in script:
            await until(demo, streams=1)
        else:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await closed_upstream(demo)
        assert text_of(await read(model, asking("/say still good"))) == "still good"


# Bytes the demo does not send


@dataclass
class Upstream:
    """A server that answers every request with the same bytes and keeps what it was sent."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list[bytes])


@asynccontextmanager
async def answering(status: str, body: bytes, *headers: str) -> AsyncGenerator[Upstream]:
    upstream = Upstream()
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers, "", ""]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        upstream.requests.append(head + await reader.readexactly(length))
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield upstream


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % orjson.dumps(event) for event in events)


STREAM = "content-type: text/event-stream"
WHOLE = sse(
    {"type": "message_start", "message": {"id": "m"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_stop"},
)


async def test_nobody_there_is_an_error_that_says_where() -> None:
    """A refused connection, an unknown name and a failed handshake can be tried again; the message has the
    address, without what it may hide."""
    async with answering("200 OK", b"") as gone:
        url = gone.url
    async with model_at(url.replace("://", "://user:pass@")) as model:
        error = await failure(model, asking("x"))
        assert (error.code, error.retryable) == ("upstream_error", True)
        assert url in error.message
        assert "pass" not in error.message
    async with model_at("http://no-such-name.invalid", patience=3) as model:
        assert (await failure(model, asking("x"))).code in {"upstream_error", "upstream_timeout"}


async def test_a_server_without_tls_is_an_error() -> None:
    """https:// to a plain server fails at the handshake."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, model_at(url) as model:
        error = await failure(model, asking("x"))
    assert (error.code, error.retryable) == ("upstream_error", True)


@pytest.mark.parametrize("status", ["200 OK", "401 Unauthorized", "500 Server Error"])
async def test_an_endpoint_that_repeats_the_key_does_not_leak_it(status: str) -> None:
    """In an error's body or in the stream: the key is cut out of what is passed on."""
    body = {"type": "error", "error": {"type": "authentication_error", "message": f"bad key {KEY}!"}}
    async with (
        answering(status, sse(body) if status.startswith("200") else orjson.dumps(body), STREAM) as upstream,
        model_at(upstream.url) as model,
    ):
        error = await failure(model, asking("x"))
    assert "bad key [key]!" in error.message
    assert KEY.encode() in upstream.requests[0]


async def test_without_a_key_no_credential_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither from the environment nor empty: some endpoints need none, and must not be given another's."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-somebody-else")
    async with answering("200 OK", WHOLE, STREAM) as upstream, model_at(upstream.url, key=None) as model:
        assert text_of(await read(model, asking("x"))) == "hi"
    head = upstream.requests[0].partition(b"\r\n\r\n")[0].lower()
    assert b"authorization" not in head
    assert b"x-api-key" not in head
    assert b"somebody" not in head


async def test_a_user_name_in_the_address_takes_the_place_of_the_key() -> None:
    """Endpoints behind basic authentication: the address has the credentials."""
    async with (
        answering("200 OK", WHOLE, STREAM) as upstream,
        model_at(upstream.url.replace("://", "://user:pass@")) as model,
    ):
        assert text_of(await read(model, asking("x"))) == "hi"
    assert b"authorization: basic dxnlcjpwyxnz\r\n" in upstream.requests[0].lower()


@pytest.mark.parametrize(
    "base_url", ["localhost:11434", "ftp://host", "http://", "http://host:port", "http://["]
)
async def test_an_address_that_is_none_is_a_wrong_setting(base_url: str) -> None:
    """Found when the model is made, in words that name the setting."""
    with pytest.raises(SettingsError, match="ANTHROPIC_BASE_URL"):
        AnthropicModel(base_url=base_url)


async def test_an_endless_error_page_is_cut() -> None:
    """No more than a bounded part of a body is read to say what went wrong."""
    async with answering("500 Oops", b"x" * 3_000_000) as upstream, model_at(upstream.url) as model:
        error = await failure(model, asking("x"))
    assert error.code == "upstream_error"
    assert len(error.message) < 400


async def test_the_request_says_what_the_model_is_to_see() -> None:
    """Thinking leaves the temperature out, blank text is left out, everything else arrives."""
    request = replace(
        asking("hello", Message("assistant", [text_block(" \n")]), Message("user", [text_block("again")])),
        temperature=0.5,
        metadata={"user_id": "u"},
    )
    async with (
        answering("200 OK", WHOLE, STREAM) as upstream,
        model_at(upstream.url, api_version=OLDER_VERSION) as model,
    ):
        await read(model, request)
        await read(model, replace(request, thinking_budget=1024, tools=(), system=(), metadata={}))
    first, second = (orjson.loads(sent.partition(b"\r\n\r\n")[2]) for sent in upstream.requests)
    messages = [
        {"role": "user", "content": [text_block("hello")]},
        {"role": "user", "content": [text_block("again")]},
    ]
    assert first == {
        "model": "demo",
        "max_tokens": 1000,
        "stream": True,
        "system": [text_block("Answer.")],
        "messages": messages,
        "tools": [
            {"name": "calculate", "description": "Calculates.", "input_schema": CALCULATE.input_schema}
        ],
        "temperature": 0.5,
        "metadata": {"user_id": "u"},
    }
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert second == {
        "model": "demo",
        "max_tokens": 1000,
        "stream": True,
        "messages": messages,
        "thinking": thinking,
    }


@pytest.mark.parametrize("key_header", ["bearer", "x-api-key"])
async def test_a_call_has_the_headers_that_the_sdk_sends(
    monkeypatch: pytest.MonkeyPatch, key_header: Literal["bearer", "x-api-key"]
) -> None:
    """Each call, also the second, and the environment's own: what the SDK builds once is what it would build
    for every call."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-team: ours\nanthropic-beta: one,two")
    headers: dict[str, Any] = {"accept-encoding": "identity"}
    if key_header == "x-api-key":
        headers |= {"x-api-key": KEY, "authorization": anthropic.omit}
    async with answering("200 OK", WHOLE, STREAM) as upstream:
        async with model_at(upstream.url, key_header=key_header) as model:
            await read(model, asking("x"))
            await read(model, asking("other"))
            with pytest.raises(ModelError):  # a stream is no count
                await model.count_tokens(asking("x"))
        async with anthropic.AsyncAnthropic(
            api_key=KEY,
            base_url=upstream.url,
            timeout=TIMEOUT,
            default_headers=headers,
            http_client=anthropic.DefaultAioHttpClient(),
        ) as sdk:
            asked: Any = {"model": "demo", "messages": [{"role": "user", "content": "x"}]}
            streamed = await sdk.messages.create(**asked, max_tokens=1, stream=True)
            await streamed.close()
            with suppress(anthropic.AnthropicError):
                await sdk.messages.count_tokens(**asked)
    first, second, counted, of_sdk, counted_of_sdk = map(head_of, upstream.requests)
    assert first == second == of_sdk
    assert counted == counted_of_sdk
    assert first["x-team"] == "ours"
    assert KEY in first[{"bearer": "authorization"}.get(key_header, key_header)]


async def test_a_key_with_a_line_break_is_never_sent() -> None:
    """It would end its header, and begin another one."""
    async with (
        answering("200 OK", WHOLE, STREAM) as upstream,
        model_at(upstream.url, key="sk-ant-1234\nx-more: 1") as model,
    ):
        error = await failure(model, asking("x"))
    assert (error.code, error.retryable) == ("upstream_error", False)
    assert not upstream.requests


async def test_no_cookie_is_sent_back() -> None:
    """Calls have nothing of each other."""
    async with (
        answering("200 OK", WHOLE, STREAM, "set-cookie: a=b") as upstream,
        model_at(upstream.url) as model,
    ):
        await read(model, asking("x"))
        await read(model, asking("x"))
    assert "cookie" not in head_of(upstream.requests[1])


def head_of(request: bytes) -> dict[str, str]:
    """The first line and the headers of a request, without those of the connection and of the body's size."""
    line, *lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    found = {name.lower(): value for name, value in headers.items()}
    assert len(found) == len(lines)
    return {"": line} | {name: found[name] for name in found.keys() - {"connection", "content-length"}}


async def test_a_large_request_arrives_whole() -> None:
    """Megabytes of history are written piece by piece."""
    text = "漢字 " * 400_000
    async with answering("200 OK", WHOLE, STREAM) as upstream, model_at(upstream.url) as model:
        await read(model, asking(text))
    assert (
        orjson.loads(upstream.requests[0].partition(b"\r\n\r\n")[2])["messages"][0]["content"][0]["text"]
        == text
    )


async def test_a_request_that_is_no_json_is_refused_here(demo: str) -> None:
    """A lone surrogate never reaches the wire, and is no crash."""
    async with model_at(demo) as model:
        error = await failure(model, asking("\ud800"))
    assert (error.code, error.retryable) == ("upstream_error", False)


async def test_a_compressed_stream_is_read() -> None:
    """Asked not to, a proxy may still compress."""
    import gzip

    body = gzip.compress(WHOLE)
    async with (
        answering("200 OK", body, STREAM, "content-encoding: gzip") as upstream,
        model_at(upstream.url) as model,
    ):
        assert text_of(await read(model, asking("x"))) == "hi"


@pytest.mark.parametrize(
    ("status", "body", "counted"),
    [
        ("200 OK", b'{"input_tokens":7}', 7),
        ("200 OK", b'{"input_tokens":-7}', None),
        ("200 OK", b"[]", None),
        ("404 Not Found", b"{}", None),
        ("405 Method Not Allowed", b"", None),
        ("501 Not Implemented", b"<html>", None),
    ],
)
async def test_an_endpoint_that_cannot_count_says_nothing(
    status: str, body: bytes, counted: int | None
) -> None:
    """Counting is optional: where there is no such route, the answer is None."""
    async with answering(status, body) as upstream, model_at(upstream.url) as model:
        assert await model.count_tokens(asking("x")) == counted


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        ("200 OK", b"<html>", "upstream_error"),
        ("401 Unauthorized", b"", "upstream_auth"),
        ("529 Overloaded", b"", "upstream_overloaded"),
    ],
)
async def test_a_count_that_fails_is_a_failure(status: str, body: bytes, code: str) -> None:
    """Whatever goes wrong is classified as for a call."""
    async with answering(status, body) as upstream, model_at(upstream.url) as model:
        with pytest.raises(ModelError) as raised:
            await model.count_tokens(asking("x"))
    assert raised.value.code == code
