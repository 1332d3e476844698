"""One message of the model with very many tool calls: the turn ends by its limit, and nobody else waits."""

import asyncio
import gc
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from gateway.events.lifecycle import IterationEnd, IterationStart
from gateway.events.tool_calls import ToolCall
from tests.harness import Client, running_gateway, settings_for, text_of, the, types
from tests.loopback import TIMEOUT, served
from tests.product import (
    Append,
    Block,
    Message,
    Settings,
    StoredEvent,
    TurnStart,
    encode,
    encode_data,
    encode_scope,
    text_block,
)
from tests.storage.writing import accepted, sqlite_storage

pytestmark = pytest.mark.anyio

FLOOD = 10_000
LEFT_OPEN = 10_000
MAX_STRETCH = 0.25
"""Seconds of the processor that the event loop may spend without giving way: some ten times what it takes."""


@pytest.fixture
async def flooding_url(anyio_backend: str) -> AsyncGenerator[str]:
    """The base URL of a model that calls FLOOD tools in one message."""
    body = b"".join(_frames(FLOOD))

    async def messages(_: Request) -> StreamingResponse:
        async def chunks() -> AsyncGenerator[bytes]:
            for at in range(0, len(body), 65_536):
                yield body[at : at + 65_536]
                await asyncio.sleep(0)

        return StreamingResponse(chunks(), media_type="text/event-stream")

    async with served(Starlette(routes=[Route("/v1/messages", messages, methods=["POST"])])) as url:
        yield url


async def test_a_flood_of_tool_calls_ends_by_its_limit_and_nobody_else_waits(
    tmp_path: Path, flooding_url: str
) -> None:
    """It is cancelled on top. The reason is told, what was written stays, no call is recorded or run, and
    another client is answered all the time."""
    settings = settings_for(tmp_path / "data", flooding_url, tool_policy="*=allow")
    async with running_gateway(settings) as client, _stretches() as stretches:
        session = await client.session()
        flooded = asyncio.create_task(client.chat("flood me", session_id=session))
        healthy = 0
        while not flooded.done():
            assert (await client.get("/healthz")).status_code == 200
            healthy += 1
        events = await flooded
        turn = events[0]["turn_id"]
        cancelled = await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
        view = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]

    assert the(events, "done")["status"] == "limit_reached"
    assert the(events, "warning")["code"] == "max_tool_calls"
    assert "128" in the(events, "warning")["message"]
    assert "tool_call" not in types(events)
    assert text_of(events) == "I call."
    assert view[-1] == {"role": "assistant", "content": [{"type": "text", "text": "I call."}]}
    assert cancelled.status_code == 200
    assert healthy > 0
    assert max(stretches) < MAX_STRETCH


async def test_stopped_at_its_limit_a_message_with_many_calls_keeps_nobody_waiting(
    settings: Settings,
) -> None:
    """As many calls as a limit allows that wait for a person: each has its result."""
    most = settings.model_copy(update={"max_tool_calls": 900, "log_level": "info", "tool_policy": ("*=ask",)})
    calls = "\n".join(['/call calculate {"expression": "1+1"}'] * 900)
    async with running_gateway(most) as client:
        session = await client.session()
        path = f"/api/sessions/{session}"
        turn = (await client.begin(session, f"{calls}\n/then\n/say no"))["turn_id"]
        async with _stretches() as stretches:
            await _until(client, f"{path}/turns/{turn}", "awaiting_approval")
            await client.post(f"{path}/turns/{turn}/cancel")
            await _until(client, f"{path}/turns/{turn}", "done")
        events = await client.events(session)

    results = [each["data"]["status"] for each in events if each["type"] == "tool_result"]
    assert results == ["cancelled"] * 900
    assert the(events, "done")["status"] == "cancelled"
    assert max(stretches) < MAX_STRETCH


async def test_very_many_calls_that_a_former_version_left_open_get_their_results(settings: Settings) -> None:
    """The turn is found in the log, without the limit of today: it ends by it, and nobody else waits."""
    data_dir = settings.data_dir
    data_dir.mkdir(mode=0o700)
    async with sqlite_storage(data_dir) as storage:
        now = await accepted(storage, "s", "t", owner="local")
        await _leave_open(storage.log, now.turn.epoch, LEFT_OPEN)
    async with running_gateway(settings) as client, _stretches() as stretches:
        turn = await _until(client, "/api/sessions/s/turns/t", "done")
        page = await client.get(
            f"/api/sessions/s/events?after={turn['last_seq'] - 3}", accept="application/json"
        )

    last = page.json()["events"]
    assert turn["outcome"] == "limit_reached"
    assert [each["type"] for each in last] == ["tool_result", "warning", "done"]
    assert last[1]["data"]["code"] == "max_tool_calls"
    assert turn["last_seq"] == 3 + 2 * LEFT_OPEN + 2
    assert max(stretches) < MAX_STRETCH


async def _until(client: Client, path: str, status: str) -> dict[str, Any]:
    """The turn once it has that status; another client is answered meanwhile."""
    async with asyncio.timeout(TIMEOUT):
        while (turn := (await client.get(path)).json())["status"] != status:
            assert (await client.get("/healthz")).status_code == 200
    return turn


@asynccontextmanager
async def _stretches() -> AsyncGenerator[list[float]]:
    """How long the event loop ran without giving way, measured by itself in seconds of the processor: what
    other processes take does not count. Nor does looking for garbage among what other tests left."""
    found: list[float] = []
    gc.collect()
    gc.freeze()

    async def measure() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            found.append(now - before)
            before = now

    task = asyncio.create_task(measure())
    try:
        yield found
    finally:
        task.cancel()
        gc.unfreeze()


def _frames(count: int) -> list[bytes]:
    """The stream of one message: a text and so many tool calls."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I call."}},
        {"type": "content_block_stop", "index": 0},
    ]
    for index in range(1, count + 1):
        block: Block = {"type": "tool_use", "id": f"toolu_{index}", "name": "calculate", "input": {}}
        arguments = {"type": "input_json_delta", "partial_json": '{"expression": "1+1"}'}
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": arguments},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [b"event: %b\ndata: %b\n\n" % (each["type"].encode(), orjson.dumps(each)) for each in events]


async def _leave_open(log: Any, epoch: int, count: int) -> None:
    """The record of a turn whose message has so many calls, and nobody answered one."""
    scope, head = encode_scope("s", "t"), 0
    ids = [f"toolu_{number}" for number in range(count)]
    blocks: list[Block] = [{"type": "tool_use", "id": each, "name": "calculate", "input": {}} for each in ids]
    intent = ToolCall(name="calculate", arguments={}, effect="read_only")
    story: list[tuple[Any, int | None, str | None, Message | None]] = [
        (TurnStart(input="hello", model="model", trace_id="0" * 32), None, None, _user("hello")),
        (IterationStart(attempt=1, model="model"), 1, None, None),
        (IterationEnd(stop_reason="tool_use", duration_ms=1), 1, None, Message("assistant", blocks)),
        *((intent, 1, each, None) for each in ids),
    ]
    loop = asyncio.get_running_loop()
    for at in range(0, len(story), 500):
        fates: list[asyncio.Future[Exception | None]] = []
        for data, iteration, call_id, message in story[at : at + 500]:
            body = encode(
                head + 1, data.event_type, 1_795_000_000_000, scope, encode_data(data), iteration, call_id
            )
            event = StoredEvent(head + 1, data.event_type, "t", body)
            fates.append(fate := loop.create_future())
            log.append(Append("s", "t", epoch, head, [event], fate.set_result, message))
            head += 1
        assert set(await asyncio.gather(*fates)) == {None}


def _user(text: str) -> Message:
    return Message("user", [text_block(text)])
