"""A load client that costs little: one protocol per chat, frames looked at as bytes, C for the HTTP part.

A piece is one delta of the upstream. The gateway joins pieces that arrived together into one event, so
servers are compared by pieces delivered: the length of the text they carry.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

import httptools
import orjson

from bench.upstream import PIECE

DEADLINE = 120.0
"""Seconds after which a load is given up; what has not ended by then has failed."""
TEXT = b'"text":"'


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server is asked, and how its stream marks text, what comes before the text itself, and a good
    end."""

    path: str
    text: bytes
    end: bytes
    before: bytes = TEXT
    head: str = ""
    """Further lines of its requests' heads."""

    def requests(self, message: str) -> list[bytes]:
        """The bytes of the HTTP requests that say `message`, each to be sent when the one before is answered.
        Who asks for a tool call of what does not call tools asks again with the result."""
        if self.path != "/v1/messages":
            return [self._request(self._body(message))]
        messages: list[dict[str, Any]] = [{"role": "user", "content": message}]
        body = {"model": "demo", "max_tokens": 8192, "stream": True}
        if "/call " not in message:
            return [self._request(body | {"messages": messages})]
        call = {"type": "tool_use", "id": "toolu_bench", "name": "current_time", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "toolu_bench", "content": "2026-01-01T12:00:00Z"}
        round_ = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        return [self._request(body | {"messages": each}) for each in (messages, messages + round_)]

    def continuing(self, chat: str, said: Sequence[str]) -> bytes:
        """The bytes of the request that says the last of `said` in a chat; what stands before it are messages
        and their answers, by turns, which clients that can name the chat leave out."""
        match self.path:
            case "/v1/chat/completions" | "/v1/responses" | "/v1/messages":
                roles = ("user", "assistant")
                history = [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]
                model = {"model": "demo", "max_tokens": 8192} if self.path == "/v1/messages" else {}
                field = "input" if self.path == "/v1/responses" else "messages"
                return self._request({**model, "stream": True, field: history})
            case "/ai-sdk/chat":
                return self._request(self._body(said[-1]) | {"id": chat})
            case "/a2a":
                body = self._body(said[-1])
                body["params"]["message"]["contextId"] = chat
                return self._request(body)
            case "/ag-ui":
                last = {"id": f"m-{len(said)}", "role": "user", "content": said[-1]}
                return self._request({"threadId": chat, "runId": "r", "messages": [last]})
            case _:
                return self._request({"message": said[-1], "session_id": chat})

    def _body(self, message: str) -> dict[str, Any]:
        said = {"id": "m", "role": "user", "content": message}
        match self.path:
            case "/ai-sdk/chat":
                parts = [{"type": "text", "text": message}]
                return {"messages": [{"role": "user", "parts": parts}]}
            case "/v1/chat/completions":
                return {"stream": True, "messages": [said]}
            case "/v1/responses":
                return {"stream": True, "input": message}
            case "/a2a":
                asked = {"message": {"messageId": uuid4().hex, "parts": [{"text": message}]}}
                return {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": asked}
            case "/ag-ui":
                return {"threadId": uuid4().hex, "runId": "r", "messages": [said]}
            case _:
                return {"message": message}

    def _request(self, body: dict[str, Any]) -> bytes:
        data = orjson.dumps(body)
        head = f"POST {self.path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
        head += self.head
        if self.path == "/v1/messages":
            head += "x-api-key: bench\r\nanthropic-version: 2023-06-01\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        return head.encode() + data


MESSAGES = Dialect("/v1/messages", b"event: content_block_delta\n", b"event: message_stop\n")
GATEWAY = Dialect("/api/chat", b"event: text\n", b"event: done\n")
OPENAI = Dialect("/v1/chat/completions", b'"delta":{"content":', b"data: [DONE]", b'"content":"')
RESPONSES = Dialect(
    "/v1/responses", b"event: response.output_text.delta\n", b"event: response.completed\n", b'"delta":"'
)
A2A = Dialect("/a2a", b'"artifactId":"answer"', b'"state":"TASK_STATE_COMPLETED"')
AG_UI = Dialect("/ag-ui", b'"type":"TEXT_MESSAGE_CONTENT"', b'"type":"RUN_FINISHED"', b'"delta":"')
AI_SDK = Dialect("/ai-sdk/chat", b'"type":"text-delta"', b'"type":"finish"', b'"delta":"')


@dataclass(slots=True)
class Load:
    """What a load came to. Times are in seconds; a latency is from the upstream's write to our read."""

    pieces: int = 0
    events: int = 0
    seconds: float = 0
    first_text: list[float] = field(default_factory=list[float])
    latencies: list[float] = field(default_factory=list[float])
    failures: list[str] = field(default_factory=list[str])


class Chat(asyncio.Protocol):
    """One chat on a connection of its own; `ended` is set when its stream has ended, well or not."""

    def __init__(self, message: str, dialect: Dialect, load: Load) -> None:
        self.requests = iter(dialect.requests(message))
        self.dialect, self.load, self.stamped = dialect, load, "/stamp" in message
        self.parser = httptools.HttpResponseParser(self)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.rest = b""
        self.pieces = 0
        self.finished = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.asked_at = time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:  # also what on_body raises: not the text that was asked for
            self.end()

    def on_body(self, body: bytes) -> None:
        *frames, self.rest = (self.rest + body).split(b"\n\n")
        for frame in frames:
            if self.dialect.text in frame and self.dialect.before in frame:
                self.on_text(frame)
            elif self.dialect.end in frame:
                self.finished = b'"status":' not in frame or b'"status":"completed"' in frame

    def on_text(self, frame: bytes) -> None:
        if not self.pieces:
            self.load.first_text.append(time.perf_counter() - self.asked_at)
        start = frame.index(self.dialect.before) + len(self.dialect.before)
        end = frame.index(b'"', start)
        self.pieces += (end - start) // PIECE
        self.load.events += 1
        if self.stamped:
            now = time.time_ns()
            self.load.latencies += [
                (now - int(frame[at : at + PIECE])) / 1e9 for at in range(start, end, PIECE)
            ]

    def on_message_complete(self) -> None:
        following = next(self.requests, None) if self.finished else None
        if following is None:
            self.end()
        else:
            self.finished = False
            self.transport.write(following)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)
            self.transport.close()


async def chat(port: int, dialect: Dialect, message: str, load: Load) -> None:
    """One chat, added to `load`. Everything but the wanted number of pieces and a good end is a failure."""
    wanted = int(message.split("/pieces ")[1].split(maxsplit=1)[0])
    loop = asyncio.get_running_loop()
    try:
        _, protocol = await loop.create_connection(lambda: Chat(message, dialect, load), "127.0.0.1", port)
    except OSError as error:
        load.failures.append(str(error))
        return
    try:
        await protocol.ended
    finally:
        protocol.transport.close()
        load.pieces += protocol.pieces
        status = protocol.parser.get_status_code() if protocol.parser else 0
        if status != 200 or not protocol.finished or protocol.pieces != wanted:
            end = "" if protocol.finished else ", no good end"
            load.failures.append(f"status {status}, {protocol.pieces} of {wanted} pieces{end}")


async def first_text(port: int, dialect: Dialect, chat: str, said: Sequence[str]) -> tuple[float, str]:
    """The seconds until the first text of the answer, and the whole of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        began, took, rest, texts = time.perf_counter(), 0.0, b"", list[str]()
        writer.write(dialect.continuing(chat, said))
        while chunk := await reader.read(65_536):
            *frames, rest = (rest + chunk).split(b"\n\n")
            for frame in frames:
                if dialect.text in frame and dialect.before in frame:
                    took = took or time.perf_counter() - began
                    start = frame.index(dialect.before) + len(dialect.before)
                    texts.append(frame[start : frame.index(b'"', start)].decode())
                elif dialect.end in frame:
                    assert took, frame
                    return took, "".join(texts)
        raise AssertionError(rest)
    finally:
        writer.close()


async def run(
    port: int, dialect: Dialect, message: str, *, chats: int, at_once: int, ramp: float = 0
) -> Load:
    """`chats` chats, never more than `at_once` together; the first of them begin within `ramp` seconds."""
    load = Load()
    waiting = iter(range(chats))

    async def one_after_the_other(number: int) -> None:
        await asyncio.sleep(ramp * number / at_once)
        for _ in waiting:
            await chat(port, dialect, message, load)

    begun = time.perf_counter()
    workers = [asyncio.create_task(one_after_the_other(number)) for number in range(at_once)]
    _, late = await asyncio.wait(workers, timeout=DEADLINE)
    for worker in late:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    load.seconds = time.perf_counter() - begun
    return load


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie; 0 of none."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0
