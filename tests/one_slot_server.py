"""A model server of few slots, as llama-server is one: over real sockets, one request after the other.

A request that finds no free slot gets no byte until one before it has its end. Of a client that leaves
while it waits, or while its prompt is read, the server hears late. While it loads it answers 503; `kill`
cuts all connections, and `start` has it back on its port.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.loopback import free_port

LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}


@dataclass(slots=True)
class Asked:
    """One request for a message: what for, when it came and had a slot, and how it ended."""

    purpose: str
    text: str
    max_tokens: int
    came_at: float
    began_at: float | None = None
    ended_at: float | None = None
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Play:
    """Seconds to read the prompt, pieces of text, and seconds before each piece."""

    reads: float = 0.0
    pieces: int = 3
    pause: float = 0.01


@dataclass(slots=True)
class OneSlotServer:
    """`play` says how a request is answered, by its purpose and the user's newest text."""

    slots: int = 1
    play: Callable[[str, str], Play] = lambda _purpose, _text: Play()
    health: bool = True
    port: int = field(default_factory=free_port)
    asked: list[Asked] = field(default_factory=list[Asked])
    most: int = 0
    """The most requests that were there at once, in slots and before them."""
    _here: int = 0
    _loads_until: float = 0.0
    _free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, *, loads: float = 0.0) -> None:
        """Listens; says for `loads` seconds that it loads."""
        self._loads_until = asyncio.get_running_loop().time() + loads
        self._free, self._here = asyncio.Semaphore(self.slots), 0
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def kill(self) -> None:
        """Takes no connection any more, and cuts those that are open."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def answers(self) -> list[Asked]:
        return [each for each in self.asked if each.purpose == "answer"]

    async def begun(self, text: str) -> Asked:
        """Returns when the request with that text has a slot."""
        while True:
            for each in self.asked:
                if text in each.text and each.began_at is not None:
                    return each
            await asyncio.sleep(0.005)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._one(reader, writer):
                    pass
        finally:
            self._tasks.discard(task)
            transport = writer.transport
            transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, *_ = head.split(" ", 2)
        lengths = [each for each in head.lower().split("\r\n") if each.startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0].partition(":")[2]) if lengths else 0)
        if asyncio.get_running_loop().time() < self._loads_until:
            await _answer(writer, 503, LOADING)
        elif (method, path) == ("GET", "/health") and self.health:
            await _answer(writer, 200, {"status": "ok"})
        elif (method, path) == ("POST", "/v1/messages"):
            await self._message(orjson.loads(body), writer)
            return False
        else:
            await _answer(writer, 404, {"error": {"message": "no such route", "type": "not_found_error"}})
        return True

    async def _message(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        asked = Asked(_purpose(body), _text(body), body["max_tokens"], loop.time())
        self.asked.append(asked)
        self._here += 1
        self.most = max(self.most, self._here)
        try:
            async with self._free:
                asked.began_at = loop.time()
                await self._stream(asked, writer)
        finally:
            self._here -= 1
            asked.ended_at = loop.time()

    async def _stream(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        play = self.play(asked.purpose, asked.text)
        await asyncio.sleep(play.reads)  # a whole batch is read, also for a client that has left
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m"}
        message["content"] = []
        message["usage"] = {"input_tokens": 20, "output_tokens": 0}
        _event(writer, "message_start", message=message)
        _event(writer, "content_block_start", index=0, content_block={"type": "text", "text": ""})
        for number in range(play.pieces):
            await asyncio.sleep(play.pause)
            _event(
                writer, "content_block_delta", index=0, delta={"type": "text_delta", "text": f"word{number} "}
            )
            await writer.drain()
            if writer.transport.is_closing():
                raise ConnectionResetError
        _event(writer, "content_block_stop", index=0)
        usage = {"output_tokens": play.pieces}
        _event(writer, "message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=usage)
        _event(writer, "message_stop")
        await writer.drain()
        asked.is_answered = True


@asynccontextmanager
async def one_slot_server(**given: Any) -> AsyncGenerator[OneSlotServer]:
    """A server that serves until the context is left."""
    server = OneSlotServer(**given)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


def _event(writer: asyncio.StreamWriter, kind: str, **data: Any) -> None:
    writer.write(b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **data})))


async def _answer(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    content = orjson.dumps(body)
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()


def _text(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(each.get("text", "") for each in content)


def _purpose(body: dict[str, Any]) -> str:
    system = body.get("system") or ""
    system = system if isinstance(system, str) else "\n".join(each["text"] for each in system)
    if "title of a conversation" in system:
        return "title"
    return "answer" if body.get("tools") else "beside"
