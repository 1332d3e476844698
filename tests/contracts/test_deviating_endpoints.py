"""Endpoints that answer otherwise than the Messages API does, over real sockets: understood where it is plain
what they mean, and else told in their own words."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from gateway.model.base import Answer
from tests.contracts.test_model import STREAM, answering, asking, failure, model_at, read, sse, text_of
from tests.product import ModelError

pytestmark = pytest.mark.anyio

JSON = "content-type: application/json; charset=utf-8"
START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}
TOLD = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
STOP = {"type": "message_stop"}


@asynccontextmanager
async def sending(*parts: bytes, reset: bool = False) -> AsyncGenerator[str]:
    """A server that answers with these bytes as they are, and then closes the connection, or resets it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if reset:
            writer.transport.abort()
            return
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def chunked(*parts: bytes, ends: bool = True) -> bytes:
    """The body in chunks, with or without the one that ends it."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + (b"0\r\n\r\n" if ends else b"")


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def delta(index: int, kind: str, field: str, value: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: value}}


def begun(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def stopped(*indices: int) -> list[dict[str, Any]]:
    return [{"type": "content_block_stop", "index": index} for index in indices]


CALLS = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}
THINKING_AND_TEXT = [
    START,
    begun(0, type="thinking", thinking=""),
    delta(0, "thinking_delta", "thinking", "hm"),
    begun(1, type="text", text=""),
    delta(1, "text_delta", "text", "hi"),
    delta(0, "signature_delta", "signature", ""),
    *stopped(0, 1),
    TOLD,
    STOP,
]
TEXT_AND_CALL = [
    START,
    TEXT,
    begun(1, type="tool_use", id="a", name="n"),
    delta(1, "input_json_delta", "partial_json", '{"q":1}'),
    *stopped(0, 1),
    CALLS,
    STOP,
]
TWO_CALLS = [
    START,
    begun(0, type="tool_use", id="a", name="n"),
    delta(0, "input_json_delta", "partial_json", '{"q":0}'),
    begun(1, type="tool_use", id="b", name="n"),
    delta(1, "input_json_delta", "partial_json", '{"q":1}'),
    *stopped(0, 1),
    CALLS,
    STOP,
]


@pytest.mark.parametrize(
    ("events", "text", "calls"),
    [(THINKING_AND_TEXT, "hi", []), (TEXT_AND_CALL, "hi", [1]), (TWO_CALLS, "", [0, 1])],
)
async def test_blocks_that_end_with_the_message_are_read(
    events: list[dict[str, Any]], text: str, calls: list[int]
) -> None:
    """As llama.cpp streams thinking before text, a call after text, and two calls."""
    async with sending(HEAD, chunked(*(sse(event) for event in events))) as url, model_at(url) as model:
        chunks = await read(model, asking("x"))
    last = chunks[-1]
    assert isinstance(last, Answer)
    assert text_of(chunks) == text
    assert [block["input"]["q"] for block in last.content if block["type"] == "tool_use"] == calls


@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n", b"data: [DONE]"])
async def test_an_answer_that_lacks_only_its_message_stop_is_one(end: bytes) -> None:
    """It told its stop reason, and the response ended in order."""
    body = chunked(sse(START, TEXT, TOLD), *([end] if end else []))
    async with sending(HEAD, body) as url, model_at(url) as model:
        chunks = await read(model, asking("x"))
    last = chunks[-1]
    assert isinstance(last, Answer)
    assert (text_of(chunks), last.stop_reason) == ("hi", "end_turn")


async def test_a_message_stop_without_its_empty_line_counts() -> None:
    """Also without a stop reason before it; half of one does not."""
    whole = sse(START, TEXT, STOP)
    async with answering("200 OK", whole[:-2], STREAM) as upstream, model_at(upstream.url) as model:
        assert text_of(await read(model, asking("x"))) == "hi"
    async with answering("200 OK", whole[:-4], STREAM) as upstream, model_at(upstream.url) as model:
        assert (await failure(model, asking("x"))).code == "upstream_truncated"


@pytest.mark.parametrize("reset", [False, True])
async def test_an_answer_that_breaks_off_is_none_whatever_it_told(reset: bool) -> None:
    """A body without its last chunk, or a reset: what was to come is not known. A clean end without a stop
    reason is no end either."""
    cut = chunked(sse(START, TEXT, TOLD), ends=False)
    async with sending(HEAD, cut, reset=reset) as url, model_at(url) as model:
        assert (await failure(model, asking("x"))).code == "upstream_truncated"
    async with sending(HEAD, chunked(sse(START, TEXT), b"data: [DONE]\n\n")) as url, model_at(url) as model:
        assert (await failure(model, asking("x"))).code == "upstream_truncated"


LLAMA = b'{"code":500,"message":"The model produced output that does not match","type":"server_error"}'


@pytest.mark.parametrize(
    ("event", "code", "words"),
    [
        (b"event: error\ndata: " + LLAMA + b"\n\n", "upstream_error", "does not match"),
        (b"data: " + LLAMA + b"\n\n", "upstream_error", "does not match"),
        (b"event: error\ndata: out of memory\n\n", "upstream_error", "out of memory"),
        (b"data: out of memory\n\n", "upstream_error", "out of memory"),
        (b'data: {"error":"words"}\n\n', "upstream_error", "words"),
        (b'data: {"error":{"message":"The server is busy"}}\n\n', "upstream_overloaded", "busy"),
        (b'data: {"detail":"words"}\n\n', "upstream_error", "words"),
        (b'data: {"detail":[{"loc":["body"],"msg":"words"}]}\n\n', "upstream_error", "body: words"),
        (b'data: {"type":"ModelException","message":"words"}\n\n', "upstream_error", "words"),
        (b'event: error\ndata: {"msg":"words"}\n\n', "upstream_error", "words"),
        (b'data: {"msg":"words"}\n\n', "upstream_error", "words"),
        (
            b'data: {"code":1113,"msg":"\xe4\xbd\x99\xe9\xa2\x9d\xe4\xb8\x8d\xe8\xb6\xb3"}\n\n',
            "upstream_quota",
            "余额",
        ),
        (b'data: {"object":"error","message":"words","code":400}\n\n', "upstream_error", "words"),
        (b'data: {"error":{"message":"words"}}', "upstream_error", "words"),
        (b'event: error\ndata: {"error":{"message":"words"}}\n', "upstream_error", "words"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
async def test_an_error_in_a_stream_is_told_in_its_words(
    event: bytes, code: str, words: str, begun: bool
) -> None:
    """Of any shape, first or in the middle, also where the last empty line is missing."""
    before = sse(START, TEXT) if begun else b""
    async with answering("200 OK", before + event, STREAM) as upstream, model_at(upstream.url) as model:
        error = await failure(model, asking("x"))
    assert error.code == code
    assert words in error.message


async def test_a_notice_in_a_stream_is_no_error() -> None:
    """An object with a message and nothing else may be one: the answer goes on."""
    body = b'data: {"message":"in the queue"}\n\n' + sse(START, TEXT, TOLD, STOP)
    async with answering("200 OK", body, STREAM) as upstream, model_at(upstream.url) as model:
        assert text_of(await read(model, asking("x"))) == "hi"


@pytest.mark.parametrize(
    ("body", "code", "retryable", "words"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
            "upstream_overloaded",
            True,
            "m",
        ),
        ({"error": {"message": "quota exceeded", "type": "x"}}, "upstream_quota", False, "quota exceeded"),
        ({"code": 1113, "msg": "余额不足或无可用资源包,请充值。"}, "upstream_quota", False, "请充值"),
        ({"code": "1302", "msg": "并发数过高"}, "upstream_rate_limited", True, "并发数过高"),
        ({"success": False, "msg": "x", "code": 500}, "upstream_error", True, "x"),
        ({"error": {"message": "gemma3 does not support tools"}}, "upstream_error", False, "support tools"),
        (
            {"status": "ok"},
            "upstream_error",
            True,
            "application/json instead of a stream (check ANTHROPIC_BASE_URL)",
        ),
    ],
)
@pytest.mark.parametrize("content_type", [JSON, "content-type: text/json", STREAM, "x-none: x"])
async def test_an_error_that_is_called_a_success_is_told_in_its_words(
    body: dict[str, Any], code: str, retryable: bool, words: str, content_type: str
) -> None:
    """HTTP 200 with JSON in place of a stream, whatever it is called."""
    async with (
        answering("200 OK", orjson.dumps(body), content_type) as upstream,
        model_at(upstream.url) as model,
    ):
        error = await failure(model, asking("x"))
    assert (error.code, error.retryable) == (code, retryable), error.message
    assert words.removeprefix("application/json ") in error.message


async def test_a_page_is_told_by_its_title() -> None:
    """A sign-in of a network, or the front page of another server."""
    page = b"<!doctype html><html><head><title>Sign in to Wi-Fi</title></head></html>"
    async with (
        answering("200 OK", page, "content-type: text/html") as upstream,
        model_at(upstream.url) as model,
    ):
        error = await failure(model, asking("x"))
    assert "text/html instead of a stream (check ANTHROPIC_BASE_URL): Sign in to Wi-Fi" in error.message


@pytest.mark.parametrize("content_type", [JSON, STREAM])
async def test_an_endpoint_that_does_not_stream_is_understood(content_type: str) -> None:
    """The whole message in one piece, as it answers without `stream`."""
    content = [
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"q": 1}},
    ]
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use",
    }
    body = orjson.dumps({**message, "usage": {"input_tokens": 3, "output_tokens": 2}})
    async with answering("200 OK", body, content_type) as upstream, model_at(upstream.url) as model:
        chunks = await read(model, asking("x"))
    last = chunks[-1]
    assert isinstance(last, Answer)
    assert (text_of(chunks), last.content, last.stop_reason) == ("hi", content, "tool_use")
    assert last.usage is not None
    assert last.usage.output_tokens == 2


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, br"])
async def test_an_encoding_that_nobody_asked_for_is_named(coding: str) -> None:
    """In place of a stream, and of the words of a refusal."""
    header = f"content-encoding: {coding}"
    async with (
        answering("200 OK", b"\x0b\x02\x80x\x03", STREAM, header) as upstream,
        model_at(upstream.url) as model,
    ):
        error = await failure(model, asking("x"))
    assert f"content-encoding {coding}" in error.message
    async with (
        answering("429 Slow", b"\x0b\x02\x80x\x03", JSON, header) as upstream,
        model_at(upstream.url) as model,
    ):
        error = await failure(model, asking("x"))
    assert error.code == "upstream_rate_limited"
    assert f"content-encoding {coding}" in error.message


@pytest.mark.parametrize("coding", ["", "identity", "none", "gzip, identity"])
async def test_an_encoding_that_is_none_is_no_hindrance(coding: str) -> None:
    """An empty header, and names for nothing."""
    body = sse(START, TEXT, TOLD, STOP)
    body = gzip.compress(body) if "gzip" in coding else body
    header = f"content-encoding: {coding}"
    async with answering("200 OK", body, STREAM, header) as upstream, model_at(upstream.url) as model:
        assert text_of(await read(model, asking("x"))) == "hi"


async def test_words_of_a_stream_never_show_the_key() -> None:
    """Whichever way they came."""
    for body in (
        b'data: {"error":"bad key sk-test-1234567890"}\n\n',
        b'{"msg":"bad key sk-test-1234567890"}',
    ):
        async with (
            answering("200 OK", body, STREAM) as upstream,
            model_at(upstream.url, key="sk-test-1234567890") as model,
        ):
            error = await failure(model, asking("x"))
        assert "[key]" in error.message
        assert "1234567890" not in error.message
        assert isinstance(error, ModelError)
