"""What holds in every dialect, and between them."""

import asyncio
import re
from itertools import groupby, permutations
from typing import Any

import pytest

from gateway.adapters.adapter import MODULES
from gateway.demo.demo_tools import demo_tools
from tests.adapters.plain_clients import ASKING, DECIDING, NATIVE, Request
from tests.harness import TIMEOUT, Client, running_gateway, text_of, the
from tests.product import Settings
from tests.stories.asking import Asked, Outbox, ask, parked
from tests.stories.test_five_dialects import plain

pytestmark = pytest.mark.anyio

OF_REQUESTS = re.compile(r',"(?:dialect|client_message_id|on_conflict)":(?:null|"[^"]*")')
"""How a client names its message, and whether that waits for another turn."""


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


async def test_every_dialect_leaves_the_log_that_the_native_one_leaves(client: Client) -> None:
    """Of a turn with thinking, a call of a tool and what it found. The response is one that proxies shall not
    keep or collect, and no line of it ends with CR, of which some clients die."""
    question = '/think 让我想想\n/call search_docs {"query": "resume a stream"}\n/then\n/say 好'
    responses = {"stream": True, "conversation": "responses", "input": question}
    named = {"name": "chat", "arguments": {"message": question, "session_id": "mcp"}}
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": named}
    asked = {name: asking(name, question, "m-1") for name, asking in ASKING.items()}
    asked["responses"] = Request("/v1/responses", responses, {})
    asked["mcp"] = Request("/mcp", call, {"mcp-protocol-version": "2025-06-18"})
    await client.chat(question)  # of the prompt cache all have the same, then
    logs: dict[str, str] = {}
    for name, (path, body, headers) in asked.items():
        await client.post("/api/sessions", {"id": name})
        accept = {"accept": "application/json, text/event-stream", **headers}
        response = await client.post(path, body, **accept)
        assert response.status_code == 200, response.text
        if name != "mcp":
            assert response.headers["content-type"].startswith("text/event-stream")
            assert response.headers["x-accel-buffering"] == "no"
            assert response.headers["cache-control"].startswith("no-")
            assert b"\r" not in response.content
        exported = (await client.get(f"/api/sessions/{name}/export")).text
        logs[name] = plain(OF_REQUESTS.sub("", exported).replace(f'"{name}"', '"s"'))

    assert "让我想想" in logs[NATIVE]
    assert '"type":"retrieval"' in logs[NATIVE]
    for name, log in logs.items():
        assert log == logs[NATIVE], name


async def test_a_large_result_is_an_artifact_that_the_client_can_get(settings: Settings) -> None:
    """By the address that it is told, in the dialects that have files or events of their own."""
    question = '/call sample_orders {"count": 200}\n/then\n/say there'
    told: dict[str, str] = {}
    async with running_gateway(settings, *demo_tools(settings.data_dir)) as client:
        for name in ("a2a", "ag-ui", "ai-sdk"):
            path, body, headers = ASKING[name](name, question, "m-1")
            told[name] = (await client.post(path, body, accept="text/event-stream", **headers)).text
        kept = {name: the(await client.events(name), "artifact")["ref"] for name in told}
        for name, ref in kept.items():
            assert f'"ref":"{ref}"' in told[name]
            content = await client.get(f"/api/artifacts/{ref}")
            assert (content.status_code, "A-00200" in content.text) == (200, True)
    assert f'"url":"{client.url}/api/artifacts/{kept["a2a"]}"' in told["a2a"]
    assert f'"url":"/api/artifacts/{kept["ai-sdk"]}"' in told["ai-sdk"]


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


async def test_clients_of_all_dialects_that_ask_at_once_are_answered_one_by_one(client: Client) -> None:
    """Or refused, where that is what their dialect does while a turn runs. What is accepted is in the log as
    a whole, and nothing else is."""
    await client.post("/api/sessions", {"id": "s"})
    names = [name for name in ASKING for _ in range(3)]
    asked = [
        client.post(request.path, request.body, accept="text/event-stream", **request.headers)
        for number, name in enumerate(names)
        for request in [ASKING[name]("s", f"/say {number} {name}", f"m-{number}")]
    ]
    answers = dict(enumerate(await asyncio.gather(*asked)))

    accepted = {number for number, answer in answers.items() if answer.status_code == 200}
    assert all(answer.status_code == 409 for number, answer in answers.items() if number not in accepted)
    assert accepted >= {number for number, name in enumerate(names) if name == "openai"}
    turns = [[*found] for _, found in groupby(await client.events("s"), lambda event: event["turn_id"])]
    assert sorted(text_of(turn) for turn in turns) == sorted(f"{each} {names[each]}" for each in accepted)
    assert all((turn[0]["type"], turn[-1]["type"]) == ("turn_start", "done") for turn in turns)


async def decided(asked: Asked, dialect: str, *, approved: bool) -> int:
    """The status of the response to a decision."""
    path, body, headers = DECIDING[dialect](asked.session, asked.turn, asked.calls["send"], approved=approved)
    return (await asked.client.post(path, body, **headers)).status_code


async def test_an_approval_is_decided_once_by_whichever_client(settings: Settings) -> None:
    """The same decision by another one changes nothing, another is refused."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        for first, second in permutations(DECIDING, 2):
            asked = await parked(
                await ask(client, f'/call send {{"to": "{first} {second}"}}\n/then\n/say over')
            )
            assert await decided(asked, first, approved=True) == 200
            assert await decided(asked, second, approved=False) == 409
            assert await decided(asked, second, approved=True) == 200
            events = await asked.all_events()
            assert the(events, "approval_response")["decision"] == "approved"
            assert text_of(events) == "over"

    assert outbox.sent == [f"{first} {second}" for first, second in permutations(DECIDING, 2)]


async def test_decisions_of_several_clients_at_once_come_to_one(settings: Settings) -> None:
    """Those that said the same are content, the others hear that it was decided."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await parked(await ask(client, '/call send {"to": "李雷"}\n/then\n/say over'))
        words = {NATIVE: True, "ag-ui": False, "ai-sdk": True}
        found = await asyncio.gather(
            *(decided(asked, name, approved=approved) for name, approved in words.items())
        )
        was_approved = the(await asked.all_events(), "approval_response")["decision"] == "approved"

    assert found == [200 if approved is was_approved else 409 for approved in words.values()]
    assert outbox.sent == (["李雷"] if was_approved else [])


async def test_an_approval_is_not_given_after_its_time(settings: Settings) -> None:
    """By no client; the call did not run."""
    outbox = Outbox()
    brief = settings.model_copy(update={"approval_timeout": 0.2})
    async with running_gateway(brief, *outbox.tools) as client:
        asked = await ask(client, '/call send {"to": "李雷"}\n/then\n/say over')
        events = await asked.all_events()
        found = [await decided(asked, name, approved=True) for name in DECIDING]

    assert the(events, "approval_response")["by"] == "expiry"
    assert found == [409, 409, 409]
    assert outbox.sent == []


async def test_a_message_is_no_longer_than_one_of_our_own_may_be(settings: Settings) -> None:
    """Where a body has room for files: a text of 32 MB in a session would stop the server in each turn."""
    async with running_gateway(settings.model_copy(update={"max_body_size": 5000})) as client:
        for name, asking in ASKING.items():
            path, body, headers = asking(f"s-{name}", "x" * 5001, "m")
            refused = await client.post(path, body, **headers)
            assert refused.status_code == 413, name
        assert (await client.get("/api/sessions")).json()["sessions"] == []
