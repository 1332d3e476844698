"""Both clients of Python, over real sockets: at a server that does what servers do, and at a gateway."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gateway.client import AsyncGatewayClient, Frame, GatewayClient, Unreachable
from gateway.errors import RequestRefused
from tests.harness import running_gateway
from tests.loopback import TIMEOUT, served
from tests.product import Settings
from tests.recorded import lines, names

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
LINES = lines("tools")
Answer = Callable[[Request], Awaitable[Response]]
Follow = Callable[..., Awaitable[list[Frame]]]
Verb = Callable[..., Awaitable[dict[str, Any]]]


def frame_of(line: bytes) -> bytes:
    event = orjson.loads(line)
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event["seq"], event["type"].encode(), line)


def frames(first: int, last: int = len(LINES)) -> bytes:
    return b"".join(frame_of(line) for line in LINES[first - 1 : last])


class BreakingOff(Exception):
    """What ends a connection in the midst of a response."""


def stream(*chunks: bytes, breaks_off: bool = False) -> Answer:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk
        if breaks_off:
            raise BreakingOff

    async def answer(_: Request) -> Response:
        return StreamingResponse(body(), media_type="text/event-stream")

    return answer


def refusing(status: int, code: str) -> Answer:
    async def answer(_: Request) -> Response:
        problem = {"code": code, "message": code, "retryable": status == 503}
        return JSONResponse({"error": problem, "request_id": "r"}, status)

    return answer


async def nothing(_: Request) -> Response:
    return Response(status_code=204)


@asynccontextmanager
async def server(*answers: Answer) -> AsyncGenerator[tuple[str, list[tuple[Request, bytes]]]]:
    """Gives these answers one after the other, the last one again and again; what it was asked."""
    asked: list[tuple[Request, bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        asked.append((request, await request.body()))
        response = await answers[min(len(asked), len(answers)) - 1](request)
        await response(scope, receive, send)

    async with served(app, lifespan=False) as url:
        yield url, asked


def _follow(url: str, count: int | None, options: dict[str, Any]) -> list[Frame]:
    found: list[Frame] = []
    with GatewayClient(url) as client:
        for frame in client.follow_session("s", **options):
            found.append(frame)
            if len(found) == count:
                break
    return found


async def follow_blocking(url: str, count: int | None = None, **options: Any) -> list[Frame]:
    return await asyncio.to_thread(_follow, url, count, options)


async def follow_awaited(url: str, count: int | None = None, **options: Any) -> list[Frame]:
    found: list[Frame] = []
    async with (
        AsyncGatewayClient(url) as client,
        aclosing(client.follow_session("s", **options)) as following,
    ):
        async for frame in following:
            found.append(frame)
            if len(found) == count:
                break
    return found


async def verb_blocking(url: str, name: str, *given: Any, **options: Any) -> dict[str, Any]:
    with GatewayClient(url) as client:
        return await asyncio.to_thread(getattr(client, name), *given, **options)


async def verb_awaited(url: str, name: str, *given: Any, **options: Any) -> dict[str, Any]:
    async with AsyncGatewayClient(url) as client:
        return await getattr(client, name)(*given, **options)


both_follow = pytest.mark.parametrize("follow", [follow_blocking, follow_awaited])
both_ask = pytest.mark.parametrize("ask", [verb_blocking, verb_awaited])


def seqs(found: Sequence[Frame]) -> list[int | None]:
    return [frame.seq for frame in found]


@both_follow
async def test_a_session_is_resumed_however_its_connection_ends(follow: Follow) -> None:
    """Broken off, ended in a frame, refused for a while, failing: each event comes once, as it was stored."""
    async with server(
        stream(frames(1, 10), breaks_off=True),
        stream(frames(8, 20), frames(21, 21)[:-30]),
        refusing(503, "draining"),
        stream(b'event: stream_error\ndata: {"code":"storage_unavailable"}\n\n'),
        stream(b": heartbeat\n", frames(21)),
    ) as (url, asked):
        found = await follow(url, len(LINES))

    assert [frame.data for frame in found] == LINES
    assert [request.headers["last-event-id"] for request, _ in asked] == ["0", "10", "20", "20", "20"]


@both_follow
@pytest.mark.parametrize("name", names())
async def test_recorded_sessions_come_as_they_were_streamed(follow: Follow, name: str) -> None:
    """The same recordings with which the client in TypeScript is tested."""
    stored = lines(name)
    async with server(stream(*(frame_of(line) for line in stored))) as (url, _):
        found = await follow(url, len(stored))

    assert [frame.data for frame in found] == stored
    assert [frame.load()["type"] for frame in found] == [frame.event for frame in found]


@both_follow
async def test_a_turn_ends_with_its_done(follow: Follow) -> None:
    """Also where the stream does not, and where nothing of it is left."""
    turn = orjson.loads(LINES[0])["turn_id"]
    async with server(stream(frames(1)), nothing) as (url, _):
        found = await follow(url, turn_id=turn)
        rest = await follow(url, turn_id=turn, after=found[-1].seq)

    assert (found[-1].event, rest) == ("done", [])


@both_follow
@pytest.mark.parametrize(("status", "code"), [(404, "session_not_found"), (400, "cursor_ahead")])
async def test_a_final_no_is_raised(follow: Follow, status: int, code: str) -> None:
    async with server(refusing(status, code)) as (url, asked):
        with pytest.raises(RequestRefused) as refused:
            await follow(url)

    assert (refused.value.code, len(asked)) == (code, 1)


@both_follow
async def test_patience_ends(follow: Follow) -> None:
    """What the server said last is raised."""
    async with server(refusing(503, "draining")) as (url, _):
        with pytest.raises(RequestRefused, match="draining"):
            await follow(url, patience=0.0)
    with pytest.raises(Unreachable):
        await follow(url, patience=0.0)


async def _accepting(_: Request) -> Response:
    return JSONResponse({"turn_id": "t", "session_id": "s", "seq": 0}, 202)


@both_ask
async def test_a_turn_is_started_once(ask: Verb) -> None:
    """What got lost is sent again, with the same id; one that is given stays."""
    async with server(stream(b"{", breaks_off=True), refusing(503, "draining"), _accepting) as (url, asked):
        turn = await ask(url, "start_turn", "s", "hi")
        await ask(url, "start_turn", "s", "hi", client_message_id="m-1", on_conflict="queue")

    bodies = [orjson.loads(body) for _, body in asked]
    assert turn["turn_id"] == "t"
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(bodies[0]["client_message_id"]) == 32
    assert bodies[3] == {"message": "hi", "client_message_id": "m-1", "on_conflict": "queue"}


@both_ask
async def test_a_refusal_is_not_repeated(ask: Verb) -> None:
    async with server(refusing(409, "turn_in_progress")) as (url, asked):
        with pytest.raises(RequestRefused) as refused:
            await ask(url, "start_turn", "s", "hi")

    assert (refused.value.code, len(asked)) == ("turn_in_progress", 1)


@both_ask
@both_follow
async def test_a_conversation_with_a_gateway(settings: Settings, ask: Verb, follow: Follow) -> None:
    """Session, turn, events, branches, feedback: by the same verbs, blocking or awaited."""
    async with running_gateway(settings) as client:
        await ask(client.url, "create_session", id="s", title="Mine")
        turn = await ask(client.url, "start_turn", "s", "/say hello")
        found = await follow(client.url, after=turn["seq"], turn_id=turn["turn_id"])
        rated = await ask(client.url, "give_feedback", "s", turn["turn_id"], "up", of="turn")
        page = await ask(client.url, "events", "s", types="text,feedback", limit=10)
        again = await ask(client.url, "regenerate", "s", turn["turn_id"])
        await follow(client.url, after=again["seq"], turn_id=again["turn_id"])
        branches = await ask(client.url, "branches", "s")
        listed = await ask(client.url, "sessions", q=None, limit=5)
        cancelled = await ask(client.url, "cancel", "s", turn["turn_id"])

    assert (found[0].event, found[-1].event) == ("turn_start", "done")
    assert [event["type"] for event in page["events"]][-1] == "feedback"
    assert rated["feedback"]["rating"] == "up"
    assert len(branches["branches"]) == 2
    assert [each["title"] for each in listed["sessions"]] == ["Mine"]
    assert cancelled["outcome"] == "completed"


async def test_the_program_of_the_page(settings: Settings) -> None:
    """docs/frontend.md, as it stands there."""
    text = (ROOT / "docs" / "frontend.md").read_text(encoding="utf-8")
    program = text.partition("```python\n")[2].partition("```")[0]
    async with running_gateway(settings) as client:
        program = program.replace("http://127.0.0.1:8000", client.url)
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT
        )

    assert (done.returncode, done.stderr) == (0, "")
    assert "calculate {'expression': '17*23'}" in done.stdout
    assert done.stdout.endswith("completed\n")
