"""The tool calls of one message: what is recorded of them, which run, and the order of their answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.events.lifecycle import IterationStart
from gateway.turn.context import TurnContext
from gateway.turn.start_and_end import begin_turn
from gateway.turn.tool_calls import (
    CONCURRENT_CALLS,
    record_intents,
    refuse_bad_inputs,
    run_tool_calls,
    settle_interrupted,
)
from tests.history.scripted import USAGE, call
from tests.product import Answer, Block, FunctionTool, Message, ToolContext, ToolOutput, ToolSpec, text_block
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio


def _tool(name: str, effect: Any, run: Any = None) -> FunctionTool:
    async def seen(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        return ToolOutput("seen")

    return FunctionTool(ToolSpec(name, "Does it.", {"type": "object"}), effect, 5, run or seen)


TOOLS = [_tool("look", "read_only"), _tool("set", "idempotent"), _tool("buy", "effectful")]


async def _record(turn: TurnContext, *blocks: Block, bad_inputs: dict[str, str] | None = None) -> Answer:
    """The model's message calls these."""
    begin_turn(turn.emitter)
    turn.set_history(await turn.deps.sessions.history("s"))
    turn.emitter.iteration = 1
    turn.emit(IterationStart(attempt=1, model="model"))
    answer = Answer([text_block("Let me see."), *blocks], "tool_use", USAGE, None, "r", bad_inputs or {})
    turn.emitter.record(Message("assistant", list(answer.content)))
    record_intents(turn, answer)
    return answer


def _of(events: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {each["tool_call_id"]: each["data"] for each in events if each["type"] == kind}


async def test_every_call_is_recorded_with_its_effect_and_whether_a_person_is_asked(tmp_path: Path) -> None:
    """What nobody knows counts as effectful: should the process end now, nothing repeats it."""
    async with turn_at_work(tmp_path, tools=TOOLS, tool_policy=["look=ask"]) as turn:
        blocks = [call("look", "c1"), call("set", "c2"), call("buy", "c3"), call("unknown", "c4")]
        await _record(turn, *blocks, call("look", "c5"), bad_inputs={"c5": "no JSON"})
        intents = _of(await stored(turn), "tool_call")

    assert {key: (data["effect"], data.get("needs_approval")) for key, data in intents.items()} == {
        "c1": ("read_only", True),
        "c2": ("idempotent", None),
        "c3": ("effectful", True),
        "c4": ("effectful", True),
        "c5": ("effectful", True),
    }


async def test_a_call_whose_arguments_are_no_object_is_answered_and_never_runs(tmp_path: Path) -> None:
    """The model reads what was wrong, and that nothing happened."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        answer = await _record(turn, call("set", "c1"), call("set", "c2"), bad_inputs={"c2": "line 1"})
        refuse_bad_inputs(turn, answer)
        results = _of(await stored(turn), "tool_result")

    assert list(results) == ["c2"]
    assert results["c2"]["status"] == "error"
    assert "line 1" in results["c2"]["content"]
    assert turn.progress.unanswered == 1


async def test_only_calls_that_may_have_taken_effect_are_not_repeated(tmp_path: Path) -> None:
    """After a restart; one that a person has still to decide about has certainly not run."""
    async with turn_at_work(tmp_path, tools=TOOLS, tool_policy=["buy=allow"]) as turn:
        await _record(turn, call("look", "c1"), call("set", "c2"), call("buy", "c3"), call("buy", "c4"))
        turn.progress.calls["c4"].needs_approval = True
        await settle_interrupted(turn)
        results = _of(await stored(turn), "tool_result")

    assert {key: data["status"] for key, data in results.items()} == {"c3": "unknown_outcome"}


async def test_calls_run_side_by_side_within_a_bound_and_are_answered_in_their_order(tmp_path: Path) -> None:
    """The last one is done first, and stands last in the message all the same."""
    count, running, most = 2 * CONCURRENT_CALLS + 1, 0, 0
    all_run = asyncio.Event()

    async def meet(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == CONCURRENT_CALLS:
            all_run.set()
        await all_run.wait()
        await asyncio.sleep(0)
        running -= 1
        return ToolOutput("met")

    async with turn_at_work(tmp_path, tools=[_tool("look", "read_only", meet)]) as turn:
        await _record(turn, *(call("look", f"c{number}") for number in range(count)))
        message = await run_tool_calls(turn)

    assert most == CONCURRENT_CALLS
    assert message is not None
    assert [block["tool_use_id"] for block in message.content] == [f"c{number}" for number in range(count)]


async def test_no_tool_begins_before_its_call_is_in_the_log(tmp_path: Path) -> None:
    """Should the process end while it runs, the next one knows of it."""
    known: list[bool] = []
    turns: list[TurnContext] = []

    async def look(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        events = await turns[0].deps.log.read("s", after=0, limit=100)
        known.append(context.tool_call_id in _of([each.load() for each in events], "tool_call"))
        return ToolOutput("seen")

    async with turn_at_work(tmp_path, tools=[_tool("look", "read_only", look)]) as turn:
        turns.append(turn)
        await _record(turn, call("look", "c1"), call("look", "c2"))
        await run_tool_calls(turn)

    assert known == [True, True]


async def test_what_is_answered_already_does_not_run_again(tmp_path: Path) -> None:
    """Its answer is in the message with the others."""
    ran: list[str] = []

    async def look(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        ran.append(context.tool_call_id)
        return ToolOutput("seen")

    async with turn_at_work(tmp_path, tools=[_tool("look", "read_only", look)]) as turn:
        answer = await _record(turn, call("look", "c1"), call("look", "c2"), bad_inputs={"c1": "no JSON"})
        turn.progress.calls["c1"].needs_approval = False
        refuse_bad_inputs(turn, answer)
        message = await run_tool_calls(turn)

    assert ran == ["c2"]
    assert message is not None
    assert [block.get("is_error") for block in message.content] == [True, None]
