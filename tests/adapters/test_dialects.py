"""What holds in every dialect, and between them."""

import asyncio
import re

import pytest

from gateway.adapters.adapter import MODULES
from tests.adapters.plain_clients import ASKING, NATIVE
from tests.harness import TIMEOUT, Client, the

pytestmark = pytest.mark.anyio


async def counted(client: Client, metric: str, dialect: str) -> float:
    """A metric of one dialect, over its other labels."""
    found = re.findall(rf"^{metric}(\S*) (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)
    named = f'gateway_dialect="{dialect}"'
    return sum(
        float(value)
        for labels, value in found
        if (named in labels if dialect != NATIVE else "gateway_dialect=" not in labels)
    )


async def test_a_turn_says_by_which_client_it_was_asked_for(client: Client) -> None:
    """The first event does, and the metrics of turns, streams and the first content; our own routes have no
    name there. All are turns of one session."""
    await client.post("/api/sessions", {"id": "s"})
    for name, asking in ASKING.items():
        path, body, headers = asking("s", f"/say {name}", f"m-{name}")
        accept = {"accept": "text/event-stream", **headers}
        assert (await client.post(path, body, **accept)).status_code == 200

    for name in ASKING:
        assert await counted(client, "gateway_stream_opened_total", name) == 1
        assert await counted(client, "gateway_client_time_to_first_event_seconds_count", name) == 1
        async with asyncio.timeout(TIMEOUT):
            while await counted(client, "gateway_turns_total", name) != 1:
                await asyncio.sleep(0.005)
            while await counted(client, "gateway_stream_active", name):
                await asyncio.sleep(0.005)
    started = [event["data"] for event in await client.events("s") if event["type"] == "turn_start"]
    assert [each["input"] for each in started] == [f"/say {name}" for name in ASKING]
    assert [each.get("dialect", NATIVE) for each in started] == [*ASKING]
    assert set(ASKING) - {NATIVE} <= set(MODULES)


async def test_a_turn_that_waits_for_another_keeps_its_dialect(client: Client) -> None:
    await client.post("/api/sessions", {"id": "s"})
    running = await client.begin("s", "/pieces 2000 /pace 20")
    path, body, headers = ASKING["openai"]("s", "/say later", "")
    waiting = asyncio.create_task(client.post(path, body, **headers))
    async with asyncio.timeout(TIMEOUT):
        while not (await client.get("/api/turns?status=accepted")).json()["turns"]:
            await asyncio.sleep(0.005)
    await client.post(f"/api/sessions/s/turns/{running['turn_id']}/cancel")
    turn_id = (await waiting).headers["x-turn-id"]

    events = [event for event in await client.events("s") if event["turn_id"] == turn_id]
    assert the(events, "turn_start")["dialect"] == "openai"


async def test_calls_that_a_page_of_the_log_tells_apart_are_one_question(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that comes back is asked for the results of all calls of a message, and after one of them for
    the others, wherever the log is cut into pages."""
    tools = {"zoom": {"parameters": {"type": "object"}}}
    said = [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "/call zoom {}\n/call zoom {}"}]}]
    body = {"id": "s", "messages": said, "tools": tools}
    asked = await client.post("/ai-sdk/chat", body)
    events = await client.events("s")
    first, second = (event["tool_call_id"] for event in events if event["type"] == "tool_call")
    result = {"type": "tool-zoom", "toolCallId": first, "state": "output-available", "output": "done"}
    answer = {"id": events[0]["turn_id"], "role": "assistant", "parts": [result]}

    async def resumed() -> list[str]:
        again = await client.get("/ai-sdk/chat/s/stream")
        rest = await client.post("/ai-sdk/chat", {"id": "s", "messages": [*said, answer]})
        return [again.text, rest.text]

    assert (await resumed())[0] == asked.text
    whole = await resumed()
    assert (first in whole[1], second in whole[1]) == (False, False)
    for page in range(1, len(events)):
        monkeypatch.setattr("gateway.service.follower.PAGE", page)
        assert await resumed() == whole, page
