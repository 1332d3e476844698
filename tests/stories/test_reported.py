"""A function tells more than its result: its steps, how far it is, and what is worth remembering."""

import asyncio
import json
from typing import Any

import pytest

from gateway.tools.function import Progress, ToolContext, ToolResult
from tests.harness import running_gateway, text_of, the
from tests.product import Settings, tool

pytestmark = pytest.mark.anyio


@tool(effect="read_only")
def find_trains(to: str, context: ToolContext, progress: Progress) -> ToolResult:
    """Finds trains."""
    with context.step("timetable", {"to": to}) as step:
        step.output = ["G1", "G3"]
    progress("一半", 0.5)
    return ToolResult(
        result=["G1"],
        memory_writes=[
            {
                "ownerType": "user",
                "ownerId": "local",
                "type": "fact",
                "importance": 3,
                "content": f"常去{to}",
            },
            {"content": "of nobody"},
        ],
        intermediate_steps=[{"stepName": "过滤", "duration": 3}],
    )


async def test_all_that_a_function_tells_is_in_the_events_of_its_call(
    settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    """Steps and suggestions come with the result, what could not be used is a warning, and the log knows."""
    speaking = settings.model_copy(update={"log_level": "info", "log_format": "json"})
    async with running_gateway(speaking, find_trains) as client:
        events = await client.chat('/call find_trains {"to": "上海"}\n/then\n/say 好了')

    result = the(events, "tool_result")
    assert (result["status"], result["content"]) == ("ok", '["G1"]')
    first, second = result["steps"]
    assert (first["step_id"], first["step_name"]) == ("step-1", "timetable")
    assert (first["input"], first["output"]) == ({"to": "上海"}, ["G1", "G3"])
    assert (second["step_id"], second["step_name"], second["duration_ms"]) == ("step-2", "过滤", 3)
    assert [write["content"] for write in result["memory_writes"]] == ["常去上海"]
    assert the(events, "tool_progress") == {"message": "一半", "progress": 0.5}
    assert the(events, "warning")["message"].startswith(
        "find_trains: memory_writes[1].owner_type: must be given"
    )
    assert text_of(events) == "好了"
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert "常去" not in str(lines)


def sources(events: list[dict[str, Any]]) -> set[str]:
    return {event["data"]["source"] for event in events if event["type"] == "retrieval"}


async def test_what_a_trusted_function_suggests_is_kept_and_says_whose_word_it_is(settings: Settings) -> None:
    """With its name, also where the model is told of it."""
    async with running_gateway(settings, find_trains) as client:
        await client.chat('/call find_trains {"to": "上海"}\n/then\n/say 好了', session_id="s")
        while not (kept := (await client.get("/api/memory")).json()["memories"]):
            await asyncio.sleep(0.01)
        recalled = await client.chat("我常去哪里？", session_id="t")

    (memory,) = kept
    assert (memory["quarantined"], memory["origin"], memory["tools"]) == (False, "tool", ["find_trains"])
    assert "memory" in sources(recalled)


async def test_what_a_function_suggests_waits_in_quarantine(settings: Settings) -> None:
    """Unless the operator trusts it: it is kept, is recalled by nothing until its user confirms it, and is
    told in the session's log."""
    distrusting = settings.model_copy(update={"trusted_tools": ("!find_*",)})
    async with running_gateway(distrusting, find_trains) as client:
        await client.chat('/call find_trains {"to": "上海"}\n/then\n/say 好了', session_id="s")
        while not (waiting := (await client.get("/api/memory?quarantined=true")).json()["memories"]):
            await asyncio.sleep(0.01)
        (suggested,) = waiting
        unrecalled = await client.chat("我常去哪里？", session_id="t")
        confirmed = await client.post(f"/api/memory/{suggested['id']}/confirm")
        recalled = await client.chat("我常去哪里？", session_id="u")
        while not (events := [e for e in await client.events("s") if e["type"] == "memory"]):
            await asyncio.sleep(0.01)

    assert (suggested["content"], suggested["source"]) == ("常去上海", "skill")
    assert "memory" not in sources(unrecalled)
    assert confirmed.status_code == 200
    assert "memory" in sources(recalled)
    assert (events[0]["data"]["by"], events[0]["data"]["quarantined"]) == ("find_trains", True)
