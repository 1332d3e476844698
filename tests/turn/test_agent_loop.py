"""A whole turn without the task that owns it: what the model says, and how the turn ends because of it."""

from pathlib import Path
from typing import Any

import pytest

from gateway.errors import ModelError
from gateway.messages import Block, ToolSpec, text_block
from gateway.model.base import Answer
from gateway.tools.base import FunctionTool, ToolContext, ToolOutput
from gateway.turn.run import run_turn
from tests.history.scripted import USAGE, answer
from tests.turn.working import LIMITS, stored, turn_at_work

pytestmark = pytest.mark.anyio


def _calls(count: int, *texts: str) -> Answer:
    """A message that calls `look` so many times."""
    blocks: list[Block] = [
        {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}} for n in range(count)
    ]
    return Answer([*(text_block(each) for each in texts), *blocks], "tool_use", USAGE, "scripted", "r")


def _look(looked: list[str]) -> FunctionTool:
    async def run(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        looked.append(context.tool_call_id)
        return ToolOutput("seen")

    return FunctionTool(ToolSpec("look", "Looks.", {"type": "object"}), "read_only", 5, run)


@pytest.mark.parametrize(
    ("script", "outcome", "code"),
    [
        (answer(""), "completed", "empty_answer"),
        (answer("half an", "max_tokens"), "completed", "max_tokens"),
        (answer("no", "refusal"), "failed", "content_refused"),
        (ModelError("No.", code="upstream_auth", retryable=False), "failed", "upstream_auth"),
    ],
)
async def test_what_the_model_says_decides_how_the_turn_ends(
    tmp_path: Path, script: Any, outcome: str, code: str | None
) -> None:
    """Each end that is no whole answer has its reason. (This model streams no text.)"""
    async with turn_at_work(tmp_path, script) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    why = ending.warning or ending.error
    assert (ending.outcome, why.code if why else None) == (outcome, code)


async def test_all_calls_within_the_limit_run_and_their_results_go_back(tmp_path: Path) -> None:
    """In one message, in the order of the calls, before the model is asked again."""
    looked: list[str] = []
    async with turn_at_work(
        tmp_path, _calls(5), answer("done"), tools=[_look(looked)], max_tool_calls=5
    ) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        await turn.emitter.flush()
        history = await turn.deps.sessions.history("s")

    assert ending is not None
    assert ending.outcome == "completed"
    assert sorted(looked) == [f"c{number}" for number in range(5)]
    answers = history.messages[2].message.content
    assert [block["tool_use_id"] for block in answers] == [f"c{number}" for number in range(5)]


async def test_one_call_more_than_the_limit_ends_the_turn_and_none_is_run(tmp_path: Path) -> None:
    """No intent is recorded, so there is nothing to answer; what was written can be kept."""
    looked: list[str] = []
    async with turn_at_work(tmp_path, _calls(6), tools=[_look(looked)], max_tool_calls=5) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        events = await stored(turn)

    assert ending is not None
    assert ending.warning is not None
    assert (ending.outcome, ending.warning.code) == ("limit_reached", "max_tool_calls")
    assert looked == []
    assert [each["type"] for each in events] == ["turn_start", "iteration_start"]
    assert turn.progress.attempt_usage == USAGE


async def test_model_calls_are_limited(tmp_path: Path) -> None:
    """A model that only ever calls tools is asked as often as the limit says."""
    looked: list[str] = []
    async with turn_at_work(tmp_path, *(_calls(1) for _ in range(9)), tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert ending.warning is not None
    assert ending.warning.code == "max_iterations"
    assert len(looked) == LIMITS.iterations
