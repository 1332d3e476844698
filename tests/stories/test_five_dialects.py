"""One session passes through the clients of five dialects."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness import Client, running_gateway, settings_for
from tests.product import serve_demo
from tests.stories.asking import Asked, Outbox, parked

pytestmark = pytest.mark.anyio

LETTER = '/call send {"to": "李雷"}\n/then\n/say sent'
SUM = '/call calculate {"expression": "17*23"}\n/then\n/say 391'
QUESTIONS = ("/say one", SUM, LETTER, "/say four")


TIMES = re.compile(r'("(?:ts|[a-z]+_at|[a-z]+_ms)"):\d+')
IDS = re.compile(r"t_[0-9a-f]{32}|(?<=\"trace_id\":\")[0-9a-f]{32}")
CHECKSUM = re.compile(r'"sha256":"[0-9a-f]{64}"}$', re.MULTILINE)
DIALECTS = re.compile(r',"dialect":"([a-z-]+)"')


@asynccontextmanager
async def gateway(folder: Path, outbox: Outbox) -> AsyncGenerator[Client]:
    """With a demo model of its own, whose prompt cache knows nothing of others."""
    async with (
        serve_demo(pace=0) as url,
        running_gateway(settings_for(folder, url), *outbox.tools) as client,
    ):
        await client.post("/api/sessions", {"id": "s"})
        yield client


async def data_of(client: Client, path: str, body: Any, **headers: str) -> list[Any]:
    """What the frames of a response have, but for the mark of its end."""
    response = await client.post(path, body, **headers)
    assert response.status_code == 200, response.text
    return frames(response.text)


def frames(text: str) -> list[Any]:
    told = [frame.removeprefix("data: ") for frame in text.split("\n\n") if frame]
    return [orjson.loads(each) for each in told if each != "[DONE]"]


async def through_five_dialects(client: Client) -> None:
    """Each client begins with what is there, and adds its question. What AG-UI's is asked, the AI SDK's
    answers."""
    await client.chat(QUESTIONS[0], session_id="s", client_message_id="m-1")

    shown = (await client.get("/ai-sdk/chat/s/messages")).json()
    assert [(each["role"], words(each["parts"])) for each in shown] == [
        ("user", "/say one"),
        ("assistant", "one"),
    ]
    question = {"id": "m-2", "role": "user", "parts": [{"type": "text", "text": SUM}]}
    await data_of(client, "/ai-sdk/chat", {"id": "s", "messages": [*shown, question]})

    thread = await data_of(client, "/ag-ui/connect", {"threadId": "s"})
    assert "".join(each["delta"] for each in thread if each["type"] == "TEXT_MESSAGE_CONTENT") == "one391"
    said: list[Any] = [{"id": "m-3", "role": "user", "content": LETTER}]
    asked = await data_of(client, "/ag-ui", {"threadId": "s", "runId": "r", "messages": said})
    (interrupt,) = asked[-1]["outcome"]["interrupts"]

    resumed = frames((await client.get("/ai-sdk/chat/s/stream")).text)
    (question,) = [each for each in resumed if each["type"] == "tool-approval-request"]
    assert question["approvalId"] == interrupt["id"]
    approval = {"id": question["approvalId"], "approved": True}
    part = {"type": "dynamic-tool", "toolCallId": question["toolCallId"], "toolName": "send"}
    part |= {"state": "approval-responded", "input": {"to": "李雷"}, "approval": approval}
    answer = {"id": resumed[0]["messageId"], "role": "assistant", "parts": [part]}
    decided = await data_of(client, "/ai-sdk/chat", {"id": "s", "messages": [answer]})
    assert "".join(each["delta"] for each in decided if each["type"] == "text-delta") == "sent"

    said = []
    for message in (await client.get("/ai-sdk/chat/s/messages")).json():
        said.append({"role": message["role"], "content": words(message["parts"])})
    said.append({"role": "user", "content": QUESTIONS[3]})
    chunks = await data_of(
        client, "/v1/chat/completions", {"messages": said, "stream": True}, **{"x-session-id": "s"}
    )
    assert "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks) == "four"

    streamed = (await client.get("/streams/sessions/s?offset=-1")).json()
    assert streamed == await client.events("s")


async def natively(client: Client) -> None:
    """The same questions, under the same names."""
    for number, question in enumerate(QUESTIONS[:2], start=1):
        await client.chat(question, session_id="s", client_message_id=f"m-{number}")
    turn_id = (await client.begin("s", QUESTIONS[2], client_message_id="m-3"))["turn_id"]
    async with client.frames(f"/api/sessions/s/events?turn_id={turn_id}") as followed:
        call_id = await anext(
            frame.data["tool_call_id"] async for frame in followed if frame.event == "approval_request"
        )
    waiting = await parked(Asked(client, "s", turn_id, {"send": call_id}, []))
    assert (await waiting.decide("approve")).status_code == 200
    await waiting.all_events()
    await client.chat(QUESTIONS[3], session_id="s")


def words(parts: Sequence[Any]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


def plain(text: str) -> str:
    """Without what no two sessions have in common: times, the ids of turns and traces (which is which stays),
    and the checksum over them."""
    ids: dict[str, str] = {}
    text = IDS.sub(lambda found: ids.setdefault(found[0], f"#{len(ids)}"), TIMES.sub(r"\1:0", text))
    return CHECKSUM.sub("", text)


async def test_what_five_dialects_leave_is_what_the_native_one_leaves(tmp_path: Path) -> None:
    """Export and replay are the same bytes, but for the names of the dialects."""
    outboxes = Outbox(), Outbox()
    async with (
        gateway(tmp_path / "five", outboxes[0]) as five,
        gateway(tmp_path / "native", outboxes[1]) as native,
    ):
        await asyncio.gather(through_five_dialects(five), natively(native))
        for path in ("export", "replay?speed=max"):
            theirs, ours = [(await each.get(f"/api/sessions/s/{path}")).text for each in (five, native)]
            assert DIALECTS.findall(theirs) == ["ai-sdk", "ag-ui", "openai"]
            assert DIALECTS.findall(ours) == []
            assert plain(DIALECTS.sub("", theirs)) == plain(ours)
            assert len(ours) > 3000
    assert outboxes[0].sent == outboxes[1].sent == ["李雷"]
