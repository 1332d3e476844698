"""A whole gateway over real sockets, and a client that reads its streams the way a frontend does."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson
from starlette.applications import Starlette

from gateway.app import build_app
from gateway.cli.http_connections import Connections
from tests.loop_watchdog import watched
from tests.loopback import TIMEOUT, served
from tests.product import FunctionTool, Settings, load_settings


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Frame:
    """One SSE frame as it came over the wire."""

    id: int | None
    event: str
    raw: bytes
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Client:
    """A user of one gateway."""

    url: str
    app: Starlette
    http: httpx2.AsyncClient

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        return await self.http.post(path, json={} if body is None else body, headers=headers)

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.http.get(path, headers=headers)

    async def session(self) -> str:
        return (await self.post("/api/sessions")).json()["id"]

    async def begin(self, session: str, message: str, **options: Any) -> dict[str, Any]:
        """Starts a turn without following it."""
        response = await self.post(f"/api/sessions/{session}/turns", {"message": message, **options})
        assert response.status_code in {200, 202}, response.text
        return response.json()

    @asynccontextmanager
    async def frames(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        """The frames of a stream as they arrive: a POST when there is a body, else a GET."""
        method = "GET" if body is None else "POST"
        accept = {"accept": "text/event-stream", **(headers or {})}
        async with self.http.stream(method, path, json=body, headers=accept) as response:
            if response.status_code != 200:
                raise AssertionError(f"{response.status_code}: {(await response.aread()).decode()}")
            yield read_frames(response)

    async def all_frames(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> list[Frame]:
        async with asyncio.timeout(TIMEOUT), self.frames(path, body, headers) as frames:
            return [frame async for frame in frames]

    async def chat(self, message: str, **options: Any) -> list[dict[str, Any]]:
        """Sends a message and returns the events of its turn, from turn_start to done."""
        return events(await self.all_frames("/api/chat", {"message": message, **options}))

    async def events(self, session: str, after: int = 0) -> list[dict[str, Any]]:
        """What the log holds of a session after a seq."""
        return events(await self.all_frames(f"/api/sessions/{session}/events?follow=0&after={after}"))


async def read_frames(response: httpx2.Response) -> AsyncIterator[Frame]:
    buffer = b""
    async for chunk in response.aiter_bytes():
        buffer += chunk
        while (end := buffer.find(b"\n\n")) >= 0:
            raw, buffer = buffer[: end + 2], buffer[end + 2 :]
            while raw.startswith(b":"):  # a heartbeat is a line of its own, before the frame
                raw = raw.partition(b"\n")[2]
            yield parse_frame(raw)


def parse_frame(raw: bytes) -> Frame:
    fields = dict(line.split(b": ", 1) for line in raw.rstrip(b"\n").split(b"\n"))
    seq = int(fields[b"id"]) if b"id" in fields else None
    return Frame(seq, fields[b"event"].decode(), raw, orjson.loads(fields[b"data"]))


def events(frames: list[Frame]) -> list[dict[str, Any]]:
    """The events among the frames: without the control frames of the stream."""
    return [frame.data for frame in frames if not frame.event.startswith("stream_")]


def types(found: list[dict[str, Any]]) -> list[str]:
    """The story in words: event types with runs of the same one told once."""
    told: list[str] = []
    for event in found:
        if not told or told[-1] != event["type"]:
            told.append(event["type"])
    return told


def text_of(found: list[dict[str, Any]]) -> str:
    return "".join(event["data"]["text"] for event in found if event["type"] == "text")


def the(found: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """The data of the only event of that type."""
    (event,) = [event for event in found if event["type"] == kind]
    return event["data"]


def settings_for(data_dir: Path, model_url: str, **given: Any) -> Settings:
    defaults: dict[str, Any] = {
        "data_dir": data_dir,
        "port": 0,
        "anthropic_base_url": model_url,
        "anthropic_api_key": "demo",
        "log_level": "error",
        "blobs_shared": True,  # where a test has several of them, they are on this machine
        "shutdown_grace": 0.2,
        "retry_after_cap": 0.2,
        "first_byte_timeout": TIMEOUT,
        "progress_timeout": TIMEOUT,
    }
    return load_settings(**(defaults | given))


@asynccontextmanager
async def running_gateway(settings: Settings, *tools: FunctionTool) -> AsyncGenerator[Client]:
    """A gateway on a free port in this event loop; it drains when the context is left."""
    app = build_app(settings, tools=tools)
    protocol = Connections(settings).protocol  # as the command serves it
    async with (
        app.router.lifespan_context(app),
        served(watched(app), lifespan=False, patient=True, http=protocol) as url,
    ):
        try:
            async with _http(url) as http:
                yield Client(url, app, http)
        finally:
            app.state.begin_shutdown()


@asynccontextmanager
async def client_at(url: str) -> AsyncGenerator[Client]:
    """A client of a gateway in another process."""
    async with _http(url) as http:
        yield Client(url, None, http)  # pyright: ignore[reportArgumentType] - the app lives over there


@contextmanager
def stalled_reader(url: str, path: str, accept: str = "*/*") -> Generator[socket.socket]:
    """A connection that asks for that path and reads none of the answer."""
    address = urlsplit(url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((address.hostname, address.port))
        head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: {accept}\r\n\r\n"
        connection.sendall(head.encode())
        yield connection


def _http(url: str) -> httpx2.AsyncClient:
    # Without the certificates of the machine: reading them takes longer than a turn.
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False, verify=no_certificates)
