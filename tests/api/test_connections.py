"""Connections that wait for ever, say half of something, or do not take what they asked for: each ends."""

import asyncio
import resource
import select
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from gateway.cli import http_connections
from gateway.cli.http_connections import PROBE_PLACES, HttpConnection
from gateway.request_heads import MAX_HEAD
from tests.harness import TIMEOUT, Client, client_at, running_gateway, stalled_reader
from tests.product import Settings
from tests.running import gateway_process, hurry, limited_gateway_process

pytestmark = pytest.mark.anyio

POST = b"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
HALF_A_BODY = POST + b"Content-Length: 100\r\n\r\n{"
BIG = 8_000_000
"""Bytes: more than the buffers of both ends hold."""


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server closes, or resets, the connection."""
    answer = b""
    try:
        async with asyncio.timeout(TIMEOUT):
            while piece := await reader.read(65536):
                answer += piece
    except ConnectionResetError:
        pass
    return answer


async def reset(connection: socket.socket) -> bool:
    """Whether the connection is reset, though nothing of what waits in it is read."""
    poller = select.poll()
    poller.register(connection, 0)  # errors and the end of both directions are told in any case
    return bool(await asyncio.to_thread(poller.poll, TIMEOUT * 1000))


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Gives the server's connections small buffers from now on: the kernel takes much otherwise."""
    made = HttpConnection.connection_made

    def with_a_small_buffer(connection: HttpConnection, transport: asyncio.Transport) -> None:
        end = transport.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        made(connection, transport)

    return lambda: monkeypatch.setattr(HttpConnection, "connection_made", with_a_small_buffer)


@pytest.mark.parametrize("what", ["stream", "download", "JSON"])
async def test_who_does_not_take_an_answer_loses_the_connection(
    settings: Settings, what: str, capsys: pytest.CaptureFixture[str], small_buffers: Callable[[], None]
) -> None:
    """A reader that takes nothing for the send timeout is reset: neither a descriptor nor what it did not
    take stays behind, be it a stream, a download or an answer that is complete for the server. It is no error
    of the server's."""
    given = {"send_timeout": 1.0, "header_timeout": 0.3, "max_answer_size": 2 * BIG}
    async with running_gateway(settings.model_copy(update=given)) as client:
        if what == "download":
            kept = await client.http.post("/api/artifacts?raw=1", content=b"x" * BIG)
            path = f"/api/artifacts/{kept.json()['ref']}"
        else:
            await client.chat("/fault huge_delta 8", session_id="s")
            path = "/api/sessions/s/events"
        accept = "application/json" if what == "JSON" else "*/*"
        small_buffers()
        with stalled_reader(client.url, path, accept) as connection:
            assert await reset(connection)
    assert '"level": "error"' not in capsys.readouterr().err


async def test_who_takes_an_answer_by_the_byte_loses_the_connection_too(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, small_buffers: Callable[[], None]
) -> None:
    """Something now and then is not enough for ever: what is left has a time, by its size."""

    def take(connection: socket.socket) -> int:
        taken = 0
        with suppress(ConnectionResetError):
            while piece := connection.recv(4096):
                taken += len(piece)
                time.sleep(0.03)
        return taken

    given = {"max_answer_size": 2 * BIG}
    async with running_gateway(settings.model_copy(update=given)) as client:
        await client.chat("/fault huge_delta 8", session_id="s")
        page = await client.http.get("/api/sessions/s/events", headers={"accept": "application/json"})
    small_buffers()
    monkeypatch.setattr(http_connections, "MIN_RATE", 100 * BIG)
    given = {"send_timeout": 0.5, "header_timeout": 0.3}
    async with running_gateway(settings.model_copy(update=given)) as client:
        with stalled_reader(client.url, "/api/sessions/s/events", "application/json") as connection:
            taken = await asyncio.to_thread(take, connection)

    assert taken < len(page.content)


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"G", POST])
@pytest.mark.parametrize("asked_before", [False, True])
async def test_a_connection_that_asks_for_nothing_is_closed(
    settings: Settings, sent: bytes, asked_before: bool
) -> None:
    """With nothing said or half a head, on a new connection and after an answer. No key is needed for it."""
    async with (
        running_gateway(settings.model_copy(update={"header_timeout": 1.0})) as client,
        connected(client.url) as (reader, writer),
    ):
        if asked_before:
            writer.write(POST + b"Content-Length: 2\r\n\r\n{}")
            assert b"201 Created" in await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)

        rest = await all_of(reader)

    assert b"HTTP/1.1" not in rest


async def test_a_body_that_goes_on_after_its_refusal_keeps_nothing_open(settings: Settings) -> None:
    """A client without a key is refused at once; it cannot hold the connection by sending its body slowly."""
    given = {"header_timeout": 0.2, "api_keys": SecretStr("ada:0123456789abcdef")}
    async with (
        running_gateway(settings.model_copy(update=given)) as client,
        connected(client.url) as (reader, writer),
    ):
        writer.write(POST + b"Content-Length: 1000000\r\n\r\n{")
        closed = asyncio.create_task(all_of(reader))
        while not closed.done():
            writer.write(b" ")
            await asyncio.wait([closed], timeout=0.05)

    assert (await closed).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("path", ["/api/sessions", "/api/artifacts?raw=1", "/api/sessions/import"])
async def test_a_body_that_trickles_is_refused(settings: Settings, path: str) -> None:
    """408 when it comes more slowly than `body_min_rate`, and the connection is closed; also where something
    comes all the time."""
    given = {"body_timeout": 0.3, "body_min_rate": 10_000}
    kind = "application/json" if path == "/api/sessions" else "application/octet-stream"
    async with (
        running_gateway(settings.model_copy(update=given)) as client,
        connected(client.url) as (reader, writer),
    ):
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: 9999\r\n\r\n"
        )
        writer.write(head.encode())
        closed = asyncio.create_task(all_of(reader))
        while not closed.done():
            writer.write(b" ")
            await asyncio.wait([closed], timeout=0.02)

    answer = await closed
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request_timeout"' in answer
    assert b"GATEWAY_BODY_TIMEOUT" in answer


async def test_a_large_body_may_take_longer(settings: Settings) -> None:
    """What came is worth time: a pause behind much of a file is no reason to refuse it."""
    given = {"body_timeout": 1.0, "body_min_rate": 10_000}

    async def pausing() -> AsyncGenerator[bytes]:
        yield b"a" * 100_000
        await asyncio.sleep(1.5)
        yield b"b" * 100_000

    async with running_gateway(settings.model_copy(update=given)) as client:
        kept = await client.http.post("/api/artifacts?raw=1", content=pausing())

    assert (kept.status_code, kept.json()["size"]) == (201, 200_000)


async def test_a_body_that_breaks_off_is_the_clients_doing(tmp_path: Path) -> None:
    """It counts as 499, not as a failure of the server, and leaves no traceback in the log."""
    with gateway_process(tmp_path) as running:
        for _ in range(3):
            async with connected(running.url) as (_, writer):
                writer.write(HALF_A_BODY)
                await writer.drain()
        async with asyncio.timeout(TIMEOUT), client_at(running.url) as client:
            while not (ended := await _requests(client, "/api/sessions")):
                await asyncio.sleep(0.05)
        output = running.output.read_text()

    assert all('status_code="499"' in line for line in ended)
    assert "Traceback" not in output
    assert "request_failed" not in output


async def test_a_stream_ends_with_its_connection_whatever_was_asked_behind_it(settings: Settings) -> None:
    """Also when the client sent another request on the same connection without waiting for an answer."""
    async with running_gateway(settings.model_copy(update={"heartbeat": 0.05})) as client:
        await client.post("/api/sessions", {"id": "s"})
        async with connected(client.url) as (reader, writer):
            writer.write(b"GET /api/sessions/s/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await reader.readuntil(b"stream_open")
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await writer.drain()
        bus = client.app.state.deps.bus
        async with asyncio.timeout(TIMEOUT):
            while bus.readers:
                await asyncio.sleep(0.01)


async def test_idle_connections_make_room_for_requests(settings: Settings) -> None:
    """At the limit the connection that has waited longest for a request goes; whoever asks is answered."""
    async with (
        running_gateway(settings.model_copy(update={"max_connections": 4})) as client,
        AsyncExitStack() as stack,
    ):
        idle = [await stack.enter_async_context(connected(client.url)) for _ in range(8)]
        answers = [await client.get("/healthz", connection="close") for _ in range(3)]
        gone = await asyncio.gather(*[all_of(reader) for reader, _ in idle[:4]])

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert gone == [b"", b"", b"", b""]


async def test_when_all_connections_are_in_use_a_new_one_is_refused_in_words(settings: Settings) -> None:
    """503 with the usual body, at once; streams that are open stay open. Who asks whether the gateway lives
    is told so, on connections that are kept for that."""
    async with (
        running_gateway(settings.model_copy(update={"max_connections": 2})) as client,
        AsyncExitStack() as stack,
    ):
        await client.post("/api/sessions", {"id": "s"}, connection="close")
        path = "/api/sessions/s/events"
        streams = [await stack.enter_async_context(client.frames(path)) for _ in range(2)]
        opened = [(await anext(frames)).event for frames in streams]
        refused = await client.get("/api/me")
        probes = [await client.get(path) for _ in range(40) for path in ("/healthz", "/readyz")]
        client.app.state.begin_shutdown()

    assert {(each.status_code, each.headers["connection"]) for each in probes} == {(200, "close")}
    assert opened == ["stream_open"] * 2
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "server_busy")
    assert refused.json()["request_id"] == refused.headers["x-request-id"]
    assert refused.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    "more",
    [b"x" * 4 * MAX_HEAD, b"".join(b"x-%d: %b\r\n" % (number, b"y" * 999) for number in range(400))],
)
async def test_an_endless_head_is_refused(client: Client, more: bytes) -> None:
    """One that does not end, or has too many fields, is 400 before it fills the memory."""
    async with connected(client.url) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + more)

        answer = await all_of(reader)

    assert answer.startswith(b"HTTP/1.1 400 ")


async def test_silent_connections_do_not_keep_probes_out(settings: Settings) -> None:
    """Where all connections are in use, more than are kept for probes say nothing: each probe is answered."""
    async with (
        running_gateway(settings.model_copy(update={"max_connections": 2})) as client,
        AsyncExitStack() as stack,
    ):
        await client.post("/api/sessions", {"id": "s"}, connection="close")
        path = "/api/sessions/s/events"
        streams = [await stack.enter_async_context(client.frames(path)) for _ in range(2)]
        assert [(await anext(frames)).event for frames in streams] == ["stream_open"] * 2
        for _ in range(2 * PROBE_PLACES):
            await stack.enter_async_context(connected(client.url))
        answers = [(await client.get("/healthz")).status_code for _ in range(5)]
        client.app.state.begin_shutdown()

    assert answers == [200] * 5


@pytest.mark.parametrize("files", [(256, 256), None])
async def test_a_full_gateway_is_alive_and_keeps_place_for_others(
    tmp_path: Path, files: tuple[int, int] | None
) -> None:
    """With few connections, and with few open files: one user opens streams until they are refused, and
    others are served; many users together take all, and probes are answered still."""
    users = [f"user{number}" for number in range(30)]
    keys = ",".join(f"{name}:{name}-secret-0123456789" for name in users)
    given = {"GATEWAY_API_KEYS": keys, "GATEWAY_ADMINS": users[0]}
    if files is None:
        given["GATEWAY_MAX_CONNECTIONS"] = "60"
    with (
        limited_gateway_process(tmp_path, files, begin=hurry, **given) as running,
        ExitStack() as stack,
    ):

        def stream(user: str) -> bytes:
            """The answer to who follows a session of theirs; of a stream its beginning."""
            address = urlsplit(running.url)
            connection = stack.enter_context(
                socket.create_connection((address.hostname, address.port), timeout=TIMEOUT)
            )
            key = f"x-api-key: {user}-secret-0123456789"
            lines = (f"GET /api/sessions/of-{user}/events HTTP/1.1", "host: x", "connection: close", key)
            head = "\r\n".join((*lines, "", ""))
            connection.sendall(head.encode())
            answer = connection.recv(4096)
            while b" 200 " not in answer[:16] and (piece := connection.recv(4096)):
                answer += piece
            return answer

        for user in users:
            async with client_at(running.url) as client:
                headers = {"x-api-key": f"{user}-secret-0123456789", "connection": "close"}
                assert (
                    await client.post("/api/sessions", {"id": f"of-{user}"}, **headers)
                ).status_code == 201
        alone = [await asyncio.to_thread(stream, users[0]) for _ in range(20)]
        first = await asyncio.to_thread(stream, users[1])
        answers = [await asyncio.to_thread(stream, user) for user in users for _ in range(8)]
        async with client_at(running.url) as client:
            probes = [(await client.get(path)).status_code for path in ("/healthz", "/readyz") * 3]

    refused = [each for each in alone if b" 429 " in each]
    assert 0 < len(refused) < 20
    assert all(b'"too_many_streams"' in each and b"retry-after: " in each for each in refused)
    assert b" 200 " in first.partition(b"\r\n")[0]
    assert any(b" 503 " in each and b'"server_busy"' in each for each in answers)
    assert probes == [200] * 6


async def test_idle_connections_cannot_take_all_descriptors(tmp_path: Path) -> None:
    """The soft limit of open files is raised to the hard one, and connections take half of them at most: with
    more idle ones than there are descriptors, who asks is answered."""
    with (
        limited_gateway_process(tmp_path, (256, 400), GATEWAY_HEADER_TIMEOUT="600") as running,
        ExitStack() as stack,
    ):
        address = urlsplit(running.url)
        for _ in range(500):
            stack.enter_context(socket.create_connection((address.hostname, address.port)))
        async with client_at(running.url) as client:
            answer = await client.get("/healthz")
        limits = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)

    assert answer.status_code == 200
    assert limits == (400, 400)


async def _requests(client: Client, route: str) -> list[str]:
    metrics = (await client.get("/metrics")).text
    return [
        line
        for line in metrics.splitlines()
        if line.startswith("http_server_request_duration_seconds_count") and f'"{route}"' in line
    ]
