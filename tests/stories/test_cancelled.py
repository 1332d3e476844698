"""Stop at every moment: before the first byte, in the text, inside a tool."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.harness import Client, running_gateway, text_of, the
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import FunctionTool, Settings, ToolContext, ToolOutput, ToolSpec

pytestmark = pytest.mark.anyio


async def _cancel_when(client: Client, message: str, moment: str) -> list[dict[str, Any]]:
    session = await client.session()
    turn = (await client.begin(session, message))["turn_id"]
    seen = []
    async with (
        asyncio.timeout(TIMEOUT),
        client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames,
    ):
        async for frame in frames:
            if frame.event == moment:
                await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
                moment = "never again"
            if not frame.event.startswith("stream_"):
                seen.append(frame.data)
    return seen


async def _upstream_is_idle(demo_url: str) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http, asyncio.timeout(TIMEOUT):
        while (await http.get(f"{demo_url}/demo/requests?limit=1")).json()["counters"]["streams"]:
            await asyncio.sleep(0.01)


async def test_stop_before_the_first_byte_closes_the_upstream_request(client: Client, demo_url: str) -> None:
    """A turn that waits for the model's first byte stops at once, and so does the model call."""
    events = await _cancel_when(client, "/fault headers_stall", "iteration_start")

    assert the(events, "done")["status"] == "cancelled"
    await _upstream_is_idle(demo_url)


@on_both_engines
async def test_stop_in_the_text_keeps_what_was_written(client: Client, demo_url: str) -> None:
    """The partial answer stays in the log and in the history; the upstream stream is closed."""
    events = await _cancel_when(client, "/pieces 500\n/pace 20", "text")

    assert the(events, "done")["status"] == "cancelled"
    assert 0 < len(text_of(events)) < 2000
    session = events[0]["session_id"]
    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert text_of(events) == messages[-1]["content"][0]["text"]
    await _upstream_is_idle(demo_url)


@on_both_engines
async def test_stop_inside_a_tool_answers_its_call(settings: Settings) -> None:
    """The tool is cancelled, its call gets a result, and the next message finds a valid history."""
    cancelled = asyncio.Event()

    async def sleep(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()
        return ToolOutput("slept")

    tool = FunctionTool(ToolSpec("sleep", "Sleeps.", {"type": "object"}), "idempotent", 100, sleep)
    async with running_gateway(settings, tool) as client:
        events = await _cancel_when(client, "/call sleep {}\n/then\n/say never", "tool_call")
        again = await client.chat("/say fine", session_id=events[0]["session_id"])

    assert cancelled.is_set()
    assert the(events, "tool_result")["status"] == "cancelled"
    assert the(events, "done")["status"] == "cancelled"
    assert the(again, "done")["status"] == "completed"


async def test_stop_is_idempotent_and_too_late_changes_nothing(client: Client) -> None:
    """Cancelling a finished turn answers 200 and adds no event."""
    events = await client.chat("/say hi")
    session, turn = events[0]["session_id"], events[0]["turn_id"]

    first = await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
    second = await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")

    assert [first.status_code, second.status_code] == [200, 200]
    assert events == await client.events(session)


async def test_leaving_is_not_stopping(client: Client) -> None:
    """A reader that goes away leaves the turn alone; it completes and can be read later."""
    session = await client.session()
    path = f"/api/sessions/{session}/turns"
    async with client.frames(path, {"message": "/pieces 50\n/pace 5"}) as frames:
        opening = await anext(frames)

    rest = await client.all_frames(f"/api/sessions/{session}/events?turn_id={opening.data['turn_id']}")

    assert rest[-1].data["data"]["status"] == "completed"
