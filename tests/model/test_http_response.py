"""A response that is read where it arrives: bytes of a server that does as each test says."""

import asyncio
import gzip
import json
import re
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import httptools
import pytest

from gateway.model import base as model_base
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Delta, ModelRequest
from gateway.model.credentials import Credential
from gateway.model.http_client import PreparedRequest, Wire
from gateway.model.http_response import MAX_HEAD, HttpResponse
from gateway.model.message_stream import MessageStream
from gateway.model.response_chunks import chunks_of
from gateway.model.watchdog import Watchdog
from tests.loopback import TIMEOUT
from tests.product import Message, ModelError, text_block

pytestmark = pytest.mark.anyio

Answer = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Server:
    """Answers each request on a connection with the next of `answers`; counts connections."""

    def __init__(self, *answers: bytes | Answer) -> None:
        self.answers = list(answers)
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while self.answers:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            answer = self.answers.pop(0)
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(writer)
                break
        writer.close()


@asynccontextmanager
async def asking(*answers: bytes | Answer) -> AsyncGenerator[tuple[Server, Callable[[], Any]]]:
    """A server, and what asks it once and gives the open response."""
    server, wire = Server(*answers), Wire(TIMEOUT)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    request = PreparedRequest("POST", f"http://{host}:{port}/", b"host: %b\r\n" % host.encode())
    async with listening:
        try:
            yield server, lambda: wire.send(request, b"")
        finally:
            await wire.close()


async def body_of(response: HttpResponse) -> bytes:
    found = b""
    while data := await response.read():
        found += data
    return found


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


async def test_a_connection_serves_the_next_request_when_its_response_has_ended() -> None:
    """Of a body in chunks, with a length, or none; and interim responses are passed over."""
    early = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    async with asking(
        CHUNKED + b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
        early + OK + b"content-length: 3\r\nX-Two: 1\r\nx-two: 2\r\n\r\nabc",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ) as (server, ask):
        for status, body in ((200, b"abc"), (200, b"abc"), (204, b"")):
            response = await ask()
            assert (response.status, await body_of(response)) == (status, body)
            assert "link" not in response.headers
            assert response.headers.get("x-two", "1") == "1"
            response.close()
        assert server.connections == 1


@pytest.mark.parametrize(
    "first",
    [
        OK + b"content-length: 1\r\nconnection: close\r\n\r\na",
        OK + b"content-length: 1\r\n\r\na and more",
        CHUNKED + b"1\r\na\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n",
    ],
    ids=["says so", "bytes behind", "a second response"],
)
async def test_a_connection_that_cannot_serve_another_request_is_not_kept(first: bytes) -> None:
    """What came behind a response must not be the beginning of the next."""
    async with asking(first, OK + b"content-length: 1\r\n\r\nb") as (server, ask):
        assert await body_of(await ask()) == b"a"
        if server.answers:
            assert await body_of(await ask()) == b"b"
        assert server.connections == 2


async def test_a_body_may_end_with_its_connection() -> None:
    """One without a length is whole then; one with a length, or in chunks, has broken off."""

    async def closing(*lines: bytes) -> bytes:
        async def answer(writer: asyncio.StreamWriter) -> None:
            writer.write(b"".join(lines))
            await writer.drain()

        async with asking(answer) as (_, ask):
            return await body_of(await ask())

    assert await closing(b"HTTP/1.0 200 OK\r\n\r\n", b"abc") == b"abc"
    for head in (OK + b"content-length: 9\r\n\r\n", CHUNKED + b"9\r\n"):
        with pytest.raises((aiohttp.ClientError, OSError)):
            await closing(head, b"abc")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        OK + b"x: " + b"x" * 2 * MAX_HEAD,
        CHUNKED + b"zz\r\n",
    ],
    ids=["no HTTP", "endless head", "broken chunk"],
)
async def test_what_is_no_response_is_an_error(answer: bytes) -> None:
    """At the head or behind it."""
    async with asking(answer) as (_, ask):
        with pytest.raises((httptools.HttpParserError, aiohttp.ClientError)):
            await body_of(await ask())


async def test_a_body_in_an_encoding_that_is_not_known_is_empty_and_named() -> None:
    """Its bytes say nothing; an encoding that is none is none."""
    async with asking(OK + b"content-encoding: Br\r\ncontent-length: 3\r\n\r\nabc") as (_, ask):
        response = await ask()
        assert (await body_of(response), response.unread_coding) == (b"", "br")
    async with asking(OK + b"content-encoding:\r\ncontent-length: 3\r\n\r\nabc") as (_, ask):
        response = await ask()
        assert (await body_of(response), response.unread_coding) == (b"abc", None)


async def test_a_compressed_body_is_inflated_within_a_bound() -> None:
    """A read that becomes thousands of times as large is refused."""
    for body in (b"text " * 1000, b"\0" * 64_000_000):
        packed = gzip.compress(body)
        head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
        async with asking(head + packed) as (_, ask):
            if len(body) < 10_000:
                assert await body_of(await ask()) == body
            else:
                with pytest.raises(httptools.HttpParserError):
                    await body_of(await ask())


async def test_a_reader_that_takes_nothing_holds_the_server_back() -> None:
    """The socket is not read on; what the server wrote arrives whole once it is read."""
    size, blocked, done = 32_000_000, asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"content-length: %d\r\n\r\n" % size)
        for _ in range(size // 1_000_000):
            writer.write(b"x" * 1_000_000)
            blocked.set()
            await writer.drain()
        done.set()

    async with asking(answer) as (_, ask):
        response = await ask()
        await blocked.wait()
        while not response.is_ready:
            await asyncio.sleep(0)
        assert not done.is_set()
        assert len(await body_of(response)) == size
        assert done.is_set()


async def test_whoever_is_told_may_take_at_once() -> None:
    """Without a task that waits: each part within the read that brings it, then the end."""
    taken, over, go_on = list[bytes](), asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(3):
            await go_on.wait()
            go_on.clear()
            writer.write(b"1\r\na\r\n")
            await writer.drain()
        await go_on.wait()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with asking(answer) as (_, ask):
        response = await ask()

        def on_data() -> None:
            if response.is_ready:
                taken.append(response.taken())
            go_on.set()
            if response.has_ended:
                over.set()

        response.on_data = on_data
        go_on.set()
        await over.wait()
        assert taken == [b"a", b"a", b"a", b""]


async def test_a_response_that_is_closed_has_broken_off() -> None:
    """For the reader that waits, too; its connection is gone."""
    stay = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"1\r\na\r\n")
        await stay.wait()

    async with asking(answer) as (_, ask):
        response = await ask()
        assert await response.read() == b"a"
        waiting = asyncio.ensure_future(response.read())
        await asyncio.sleep(0)
        response.close()
        with pytest.raises(aiohttp.ClientError):
            await waiting
        stay.set()


async def test_what_comes_behind_a_response_is_no_part_of_it_and_ends_its_connection() -> None:
    """A second response that nobody asked for, in the same read."""
    stray = OK + b"content-length: 5\r\n\r\nstray"
    async with asking(OK + b"content-length: 2\r\n\r\nok" + stray, OK + b"content-length: 3\r\n\r\nnew") as (
        server,
        ask,
    ):
        assert await body_of(await ask()) == b"ok"
        server.answers[:] = [OK + b"content-length: 3\r\n\r\nnew"]
        assert await body_of(await ask()) == b"new"
        assert server.connections == 2


@pytest.mark.parametrize("end", [b"0\r\n\r\n", b"not a chunk\r\n\r\n"])
async def test_an_end_in_the_read_of_a_delta_that_was_taken_is_seen_at_once(end: bytes) -> None:
    """An endpoint that ends its body without the end of the message: the caller neither waits for more, nor
    for the watchdog."""
    began = b'{"type":"message_start","message":{"id":"m","model":"x","usage":{}}}'
    block = b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
    text = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}'
    taken: list[str] = []

    def chunk(*events: bytes) -> bytes:
        data = b"".join(b"data: %b\n\n" % event for event in events)
        return b"%x\r\n%b\r\n" % (len(data), data)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + chunk(began, block))
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(chunk(text) + end)
        await writer.drain()

    def take(delta: Delta) -> bool:
        taken.append(delta.text)
        return True

    async with asking(answer) as (_, ask):
        response = await ask()
        watchdog = Watchdog(asyncio.get_running_loop().time() + TIMEOUT, TIMEOUT, response.close)
        with pytest.raises(ModelError) as failed:
            async for _ in chunks_of(response, MessageStream(), watchdog, Credential(None), take):
                pass

    assert (failed.value.code, watchdog.expired) == ("upstream_truncated", False)
    assert taken in ([], ["hello"])  # the bytes before a broken end may be refused with it


MESSAGE = "".join(
    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
    for event in (
        {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )
).encode()


@pytest.mark.parametrize(
    ("end", "within", "connections"),
    [(b"0\r\n\r\n", TIMEOUT, 1), (b"", 0, 2)],
    ids=["ends", "stays open"],
)
async def test_a_complete_message_is_taken_before_its_response_ends(
    end: bytes, within: float, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caller goes at once; the connection serves the next call if the response ends soon after."""
    monkeypatch.setattr("gateway.model.anthropic.END_TIMEOUT", within)
    accepted, may_end, ended = 0, asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(re.findall(rb"(?i)content-length: (\d+)", head)[0]))
                writer.write(OK + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                writer.write(b"%x\r\n%b\r\n" % (len(MESSAGE), MESSAGE))
                await may_end.wait()
                may_end.clear()
                writer.write(end)
                await writer.drain()
                ended.set()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    model = AnthropicModel(base_url=f"http://{host}:{port}")
    request = ModelRequest("claude-test", 9, [], [Message("user", [text_block("Hi")])])
    async with listening:
        for _ in range(2):
            ended.clear()
            async with model.stream(request) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, model_base.Answer):
                        break
            may_end.set()
            await asyncio.wait_for(ended.wait(), TIMEOUT)
            await asyncio.sleep(0.05)  # the client's turn
        await model.close()
    assert accepted == connections
