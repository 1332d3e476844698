"""The demo as a server: what it remembers, what it counts, and what it makes of bad HTTP."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.demo.record import MAX_REQUESTS
from gateway.demo.server import serve_demo
from tests.demo.bare import ask, fetch, read, request_of
from tests.demo.conftest import Send
from tests.loopback import TIMEOUT

pytestmark = pytest.mark.anyio


async def seen(send: Send, limit: int = 20) -> dict[str, Any]:
    received = await send(b"", method="GET", path=f"/demo/requests?limit={limit}")
    return json.loads(received.body)


async def test_requests_are_remembered_without_secrets(send: Send) -> None:
    """The newest requests come back in order, with their headers but without the key."""
    for n in range(3):
        await send(ask(f"/say {n}"), x_api_key="very-secret", traceparent="00-1-2-03")
    answer = await seen(send, 2)
    assert [request["body"]["messages"][0]["content"] for request in answer["requests"]] == [
        "/say 1",
        "/say 2",
    ]
    assert answer["requests"][0]["headers"]["traceparent"] == "00-1-2-03"
    assert answer["requests"][0]["auth"] == "x-api-key"
    assert "very-secret" not in json.dumps(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebind.example"},
        {"host": "127.0.0.1.rebind.example"},
        {"host": ""},
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
    ],
)
async def test_no_page_in_a_browser_is_answered(send: Send, headers: dict[str, str]) -> None:
    """Neither of another site nor under a name that was made to mean 127.0.0.1: it could read what was asked,
    and say what the next summaries are."""
    await send(ask("/say private"))
    read = await send(b"", method="GET", path="/demo/requests", **headers)
    script = await send({"next": ["/say forged"]}, path="/demo/summaries", **headers)
    forget = await send(b"", method="DELETE", path="/demo/requests", **headers)

    for refused in (read, script, forget):
        assert (refused.status, json.loads(refused.body)["error"]["type"]) == (403, "permission_error")
    assert [each["body"]["messages"][0]["content"] for each in (await seen(send))["requests"]] == [
        "/say private"
    ]


@pytest.mark.parametrize("host", ["127.0.0.1:8801", "localhost", "LOCALHOST:80", "[::1]:8801"])
async def test_names_of_this_machine_are_answered(send: Send, host: str) -> None:
    """However a program here writes the address."""
    assert (await send(ask("/say hi"), host=host)).text == "hi"


async def test_the_list_of_requests_is_bounded(demo_url: str, send: Send) -> None:
    """However many were sent, only the newest are kept."""
    where = urlsplit(demo_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    for _ in range(MAX_REQUESTS + 20):
        writer.write(request_of(ask("/say x", stream=False)))
        assert (await read(reader)).status == 200
    writer.close()
    assert len((await seen(send, 10_000))["requests"]) == MAX_REQUESTS


async def test_a_client_that_leaves_is_counted(demo_url: str, send: Send) -> None:
    """A stream cut by its client is open, then aborted; one read to its end is finished."""
    await send(ask("/say whole"))
    await send(ask("/fault reset_mid_stream"))
    where = urlsplit(demo_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(request_of(ask("/pieces 1000 /pace 1000")))
    await reader.readuntil(b"message_start")
    running = (await seen(send))["counters"]
    writer.close()
    async with asyncio.timeout(TIMEOUT):
        while (left := (await seen(send))["counters"])["streams"]:
            pass  # asking is the wait
    assert (running["streams"], running["started"], running["aborted"]) == (1, 3, 0)
    assert (left["finished"], left["aborted"], left["broken"]) == (1, 1, 1)


async def test_a_reset_of_the_record_forgets_requests_and_counters(send: Send) -> None:
    """DELETE empties the list and sets the counters back; what is open stays counted."""
    await send(ask("/say x"))
    await send(b"", method="DELETE", path="/demo/requests")
    answer = await seen(send)
    assert answer["requests"] == []
    assert answer["counters"].pop("connections") >= 1
    assert set(answer["counters"].values()) == {0}


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n", 404),
        (b"PUT /v1/messages HTTP/1.1\r\nhost: localhost\r\n\r\n", 404),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: -1\r\n\r\n", 411),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"GET //[ HTTP/1.1\r\nhost: localhost\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000, 431),
    ],
)
async def test_bad_http_has_an_answer(demo_url: str, request_bytes: bytes, status: int) -> None:
    """What cannot be understood gets the fitting status."""
    where = urlsplit(demo_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(request_bytes)
    received = await read(reader)
    writer.close()
    assert received.status == status
    assert json.loads(received.body)["type"] == "error"


async def test_its_own_bug_is_a_500_and_a_log_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What breaks inside the demo is an api_error with an end, and the log says where it broke."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gateway.demo.server.plan", broken)
    async with serve_demo() as url:
        received = await fetch(url, ask("hello"))

    assert (received.status, received.ended) == (500, "complete")
    assert json.loads(received.body)["error"]["type"] == "api_error"
    assert "ZeroDivisionError" in caplog.text


async def test_requests_in_pieces_and_pipelined_are_answered_in_order(demo_url: str) -> None:
    """Bytes may arrive one by one, and a second request before the first is answered."""
    where = urlsplit(demo_url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    both = request_of(ask("/say first /")) + request_of(ask("/say second"), connection="close")
    for at in range(0, len(both), 50):
        writer.write(both[at : at + 50])
        await writer.drain()
        await asyncio.sleep(0)
    raw = await asyncio.wait_for(reader.read(-1), TIMEOUT)
    writer.close()
    assert raw.count(b"HTTP/1.1 200 OK") == 2
    assert raw.index(b'"first ') < raw.index(b'"second"')


async def test_it_runs_in_the_current_loop_and_ends_at_once() -> None:
    """serve_demo answers inside this event loop; leaving it closes even a stream that is running."""
    async with serve_demo(pace=0) as url:
        assert (await fetch(url, ask("/say inside"))).text == "inside"
        where = urlsplit(url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(request_of(ask("/pieces 1000 /pace 1000")))
        await reader.readuntil(b"message_start")
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(reader.readexactly(10_000_000), TIMEOUT)
    writer.close()
    with pytest.raises(OSError, match="Connect call failed"):
        await fetch(url, ask("/say gone"))


async def test_a_slow_reader_holds_the_writer_back() -> None:
    """A client that reads late still gets everything."""
    async with serve_demo(pace=0) as url:
        where = urlsplit(url)
        reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=2**10)
        writer.write(request_of(ask("/pieces 100000"), connection="close"))
        await reader.readuntil(b"message_start")
        rest = await asyncio.wait_for(reader.read(-1), TIMEOUT)
        writer.close()
    assert rest.count(b"content_block_delta\n") == 100_000
    assert rest.endswith(b"0\r\n\r\n")
