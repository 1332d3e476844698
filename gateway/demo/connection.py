"""A small HTTP/1.1 server that plays scripts: what goes to the socket, when, and how it ends.

A general server refuses to misbehave. The demo must cut a chunk in half, stall or reset on demand, and
still cost next to nothing per piece when a bench streams thousands a second: no task, no lock, no parsing.
"""

import asyncio
import math
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qsl

MAX_HEAD = 65_536
MAX_BODY = 32 * 1024 * 1024
"""The Messages API takes requests of up to 32 MB (docs.claude.com, "Errors")."""
MAX_DIGITS = 12
_SLOT = 0.002


class Disconnect(Enum):
    """How a script can end the connection itself."""

    CLOSE = auto()
    """FIN: what was written is still delivered."""
    RESET = auto()
    """RST: the peer's next read fails."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Bytes with a hole of 20 digits that takes `time.time_ns()` at the moment of sending."""

    before: bytes
    after: bytes

    def now(self) -> bytes:
        return b"%b%020d%b" % (self.before, time.time_ns(), self.after)


Act = bytes | float | Stamp | Disconnect
"""Bytes to write as they are, seconds to wait, a stamped write, or the end of the connection."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Script:
    """What happens on the socket in answer to one request. `is_call` marks a model call, which is counted.
    A script without an `Disconnect` leaves the connection open for the next request."""

    acts: Sequence[Act]
    is_call: bool = False


@dataclass(slots=True)
class ConnectionCounts:
    """`connections` and `streams` are open now; the others only grow, and
    started = streams + finished + aborted (by the client) + broken (by a fault)."""

    connections: int = 0
    streams: int = 0
    started: int = 0
    finished: int = 0
    aborted: int = 0
    broken: int = 0


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The status line and headers of a response, up to and including the blank line."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status in _KNOWN else 'Overloaded'}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


_KNOWN = frozenset(int(status) for status in HTTPStatus)


def whole(status: int, body: bytes, headers: Mapping[str, str]) -> list[Act]:
    """A response that is sent at once with its length."""
    return [head(status, {**headers, "content-length": str(len(body))}) + body]


def chunk(part: bytes | Stamp) -> bytes | Stamp:
    """One chunk of a `transfer-encoding: chunked` body."""
    if isinstance(part, Stamp):
        size = len(part.before) + 20 + len(part.after)
        return Stamp(b"%x\r\n%b" % (size, part.before), part.after + b"\r\n")
    return b"%x\r\n%b\r\n" % (len(part), part)


LAST_CHUNK = b"0\r\n\r\n"


@dataclass(slots=True)
class Pacer:
    """One timer for all streams that are due in the same 2 ms, however many there are."""

    loop: asyncio.AbstractEventLoop
    _due: dict[int, list[Callable[[], None]]] = field(default_factory=dict[int, list[Callable[[], None]]])

    def after(self, seconds: float, step: Callable[[], None]) -> None:
        slot = math.ceil((self.loop.time() + seconds) / _SLOT)
        steps = self._due.get(slot)
        if steps is None:
            steps = self._due[slot] = []
            self.loop.call_at(slot * _SLOT, self._run, slot)
        steps.append(step)

    def _run(self, slot: int) -> None:
        for step in self._due.pop(slot):
            step()


class ClientConnection(asyncio.Protocol):
    """One client connection: reads a request, plays its script, reads the next."""

    def __init__(
        self,
        answer: Callable[[Request], Script],
        refuse: Callable[[int, str], Script],
        pacer: Pacer,
        counters: ConnectionCounts,
        open_ones: "set[ClientConnection]",
    ) -> None:
        self._answer, self._refuse = answer, refuse
        self._pacer, self._counters, self._open_ones = pacer, counters, open_ones
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str]] | None = None
        self._script: Script | None = None
        self._at = 0
        self._close_after = False
        self._paused = self._held = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by class
        self._open_ones.add(self)
        self._counters.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._open_ones.discard(self)
        self._counters.connections -= 1
        if self._script is not None:
            self._conclude("aborted")

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Reading

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._script is None:
            self._read()

    def _read(self) -> None:
        if self._head is None:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAX_HEAD:
                    self._refuse_and_close(431, "The request head is too large.")
                return None
            text = bytes(self._buffer[:end]).decode("latin-1")
            del self._buffer[: end + 4]
            self._head = _parse_head(text)
            if self._head is None:
                return self._refuse_and_close(400, "This is not an HTTP/1.1 request.")
        method, target, headers = self._head
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal():
            return self._refuse_and_close(411, "Send the body with its content-length.")
        size = int(length[:MAX_DIGITS])
        if len(length) > MAX_DIGITS or size > MAX_BODY:
            return self._refuse_and_close(413, "Request exceeds the maximum size")
        if len(self._buffer) < size:
            if headers.pop("expect", None) and self._transport is not None:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return None
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._head = None
        self._close_after = headers.get("connection", "").lower() == "close"
        path, _, query = target.partition("?")
        self._start(self._answer(Request(method, path, dict(parse_qsl(query)), headers, body)))
        return None

    def _refuse_and_close(self, status: int, message: str) -> None:
        self._buffer.clear()
        self._close_after = True
        self._start(self._refuse(status, message))

    # Playing

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._held:
            self._held = False
            # Not at once: asyncio's transports close twice when they are closed inside this callback.
            self._pacer.loop.call_soon(self._play)

    def _start(self, script: Script) -> None:
        self._script, self._at = script, 0
        if script.is_call:
            self._counters.started += 1
            self._counters.streams += 1
        self._play()

    def _play(self) -> None:
        """Writes until the next wait, a full socket buffer or the end."""
        transport, script = self._transport, self._script
        if transport is None or script is None:
            return
        acts = script.acts
        while self._at < len(acts):
            if self._paused:
                self._held = True
                return
            act = acts[self._at]
            self._at += 1
            if type(act) is bytes:
                transport.write(act)
            elif type(act) is float:
                self._pacer.after(act, self._play)
                return
            elif type(act) is Stamp:
                transport.write(act.now())
            else:
                self._break(transport, act is Disconnect.RESET)
                return
        self._conclude("finished")
        if self._close_after:
            transport.close()
        elif self._buffer:
            self._read()

    def _break(self, transport: asyncio.Transport, reset: bool) -> None:
        self._conclude("broken")
        if reset:
            own: socket.socket = transport.get_extra_info("socket")
            # A close that lingers for 0 s is a reset.
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()

    def _conclude(self, how: str) -> None:
        if self._script is not None and self._script.is_call:
            self._counters.streams -= 1
            setattr(self._counters, how, getattr(self._counters, how) + 1)
        self._script = None


def _parse_head(text: str) -> tuple[str, str, dict[str, str]] | None:
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers[name.strip().lower()] = value.strip()
    if words[2] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    return words[0], words[1], headers
