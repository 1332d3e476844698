"""Servers at an address: what may go wrong on the way to them, and what they may do wrong."""

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from structlog.testing import capture_logs

from gateway.errors import ServerUnreachable
from gateway.tools.mcp import bounds, reconnecting_server
from tests.loopback import free_port, served
from tests.mcp_servers.serving import Attached, address, attached, before_2026, body

pytestmark = pytest.mark.anyio

Answer = Callable[[str, dict[str, Any]], Response | None]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to wait as long as a person would let it."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.01,))
    monkeypatch.setattr(reconnecting_server, "SETTLING", 0.05)


def as_json(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}, ensure_ascii=False).encode()


def application(answer: Answer, seen: list[Request] | None = None) -> Starlette:
    """A server of a version before 2026 without streams, where `answer` may take a call over."""

    async def endpoint(request: Request) -> Response:
        if seen is not None:
            seen.append(request)
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        if (taken := answer(message["method"], message)) is not None:
            return taken
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            },
            "tools/list": {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("bad", "good")]
            },
            "tools/call": {"content": [{"type": "text", "text": "好"}]},
        }
        if message["method"] not in results:
            return Response(status_code=404)
        return Response(as_json(message, results[message["method"]]), media_type="application/json")

    return Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])])


@asynccontextmanager
async def connected(answer: Answer) -> AsyncGenerator[Attached]:
    async with served(application(answer)) as url, attached(it=address(url)) as servers:
        yield servers


async def test_nobody_there_is_a_reason_without_the_address() -> None:
    """The model is not told where servers are."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with attached(it=address(f"http://ada:secret@127.0.0.1:{port}")) as servers:
        assert servers.state.status == "failed"
        assert servers.state.error == "it cannot be connected to"


async def test_a_refused_key_is_told_by_its_status() -> None:
    """An operator sees what to mend, and no secret."""
    with capture_logs() as lines:
        async with connected(
            lambda _method, _message: Response("no: t-12345678", status_code=401)
        ) as servers:
            assert servers.state.error == "it answers with HTTP status 401"

    assert "t-12345678" not in repr(lines)


async def test_a_redirect_to_somebody_else_is_not_followed() -> None:
    """The headers of the settings go to the address of the settings and nowhere else."""
    seen: list[Request] = []
    async with served(application(lambda _method, _message: None, seen)) as elsewhere:
        redirect = RedirectResponse(f"{elsewhere}/mcp", status_code=307)
        async with connected(lambda _method, _message: redirect) as servers:
            assert servers.state.status == "failed"

    assert seen == []


@pytest.mark.parametrize(
    "answer",
    [
        Response(b" " * (bounds.MESSAGE + 1), media_type="application/json"),
        Response(b"data: " + b"x" * (bounds.MESSAGE + 1) + b"\n\n", media_type="text/event-stream"),
        Response("<html>对不起</html>", media_type="text/html"),
        Response(b"{not json", media_type="application/json"),
        Response(b": and then nothing\n\n", media_type="text/event-stream"),
    ],
    ids=["huge", "huge event", "page", "no JSON", "cut off"],
)
async def test_an_answer_that_is_none_fails_its_own_call(answer: Response) -> None:
    """Other calls of the session get their answers."""

    def bad(method: str, message: dict[str, Any]) -> Response | None:
        return answer if method == "tools/call" and message["params"]["name"] == "bad" else None

    async with connected(bad) as servers:
        outcome, good = await asyncio.gather(
            servers.call("bad"), servers.call("good"), return_exceptions=True
        )

        assert isinstance(outcome, ServerUnreachable) or outcome.is_error  # pyright: ignore[reportAttributeAccessIssue]
        assert body(good) == "好"  # pyright: ignore[reportArgumentType]
        assert body(await servers.call("good")) == "好"


async def test_an_answer_of_too_many_parts_is_not_read() -> None:
    """300 kB that would take a hundred times as much memory."""

    def many(method: str, message: dict[str, Any]) -> Response | None:
        result = {"content": [], "structuredContent": {"a": [[]] * bounds.PARTS}}
        answer = Response(as_json(message, result), media_type="application/json")
        return answer if method == "tools/call" else None

    async with connected(many) as servers:
        assert (await servers.call("good")).is_error


async def test_an_error_of_the_protocol_is_told_as_the_servers_own_word() -> None:
    """Also under the code that the SDK uses for lost connections: the model reads what the server says."""

    def full(method: str, message: dict[str, Any]) -> Response | None:
        error = {"code": -32000, "message": "额度用完"}
        shown = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return Response(shown, media_type="application/json") if method == "tools/call" else None

    async with connected(full) as servers:
        output = await servers.call("good")

    assert output.is_error
    assert body(output) == "The server refused the call: 额度用完"


async def test_settings_that_cannot_be_sent_are_a_reason() -> None:
    """A header's value is no place for Chinese; the address is asked nothing."""
    async with attached(it=address("http://127.0.0.1:9", headers={"x-name": "网关"})) as servers:
        assert servers.state.error == "its settings hold a value that cannot be used there"


async def test_a_compressed_answer_is_not_unpacked() -> None:
    """A small answer cannot become a huge one: nobody asked for compression."""
    packed = gzip.compress(b" " * 10_000_000)
    headers = {"content-encoding": "gzip"}
    async with connected(
        lambda _method, _message: Response(packed, 200, headers, "application/json")
    ) as servers:
        assert servers.state.status == "failed"
        assert servers.state.error == "the connection to it broke"


@pytest.mark.parametrize("older", [True, False], ids=["before 2026", "of 2026"])
async def test_a_server_that_was_away_is_there_again(older: bool) -> None:
    """A call meanwhile fails with the reason; then the same tools work, without anybody's doing."""
    async with AsyncExitStack() as first:
        url = await first.enter_async_context(served(trial(older), port := free_port()))
        async with attached(it=address(url)) as servers:
            tools = servers.servers.tools
            await first.aclose()
            with pytest.raises(ServerUnreachable, match="lost in the call"):
                await servers.call("add", a=1, b=2)
            await servers.until(lambda: servers.state.error == "it cannot be connected to")
            async with served(trial(older), port):
                await servers.until(lambda: servers.state.status == "connected")
                assert servers.servers.tools is tools
                assert body(await servers.call("add", a=1, b=2)) == "3"


async def test_a_server_that_has_forgotten_the_session_gets_a_new_one_and_the_call_again() -> None:
    """A replaced server knows nobody, so that it did nothing: the call is sent once more."""
    async with AsyncExitStack() as first:
        url = await first.enter_async_context(served(trial(older=True), port := free_port()))
        async with attached(it=address(url)) as servers:
            await first.aclose()
            async with served(trial(older=True), port):
                with capture_logs() as lines:
                    assert body(await servers.call("add", a=1, b=2)) == "3"

    assert "mcp_session_begun_anew" in [line["event"] for line in lines]


def trial(older: bool) -> ASGIApp:
    from tests.mcp_servers.server import build

    app = build().streamable_http_app()
    return before_2026(app) if older else app
