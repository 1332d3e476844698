"""One tool call that may run: checked, run, and what came of it as its result."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.errors import ToolTimedOut
from gateway.events.tool_calls import MemoryWriteSuggestion, StepTrace
from gateway.tools.arguments import check_arguments
from gateway.turn.progress import CallState
from gateway.turn.tool_run import EDITED_LENGTH, failure, invalid_arguments_result, run_call
from tests.product import BadArguments, FunctionTool, ToolContext, ToolError, ToolOutput, ToolSpec
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
Run = Callable[[dict[str, Any], ToolContext], Awaitable[ToolOutput]]


def _tool(run: Run, timeout: float = 5) -> FunctionTool:
    return FunctionTool(ToolSpec("look", "Looks.", SCHEMA), "read_only", timeout, run)


async def _seen(_: dict[str, Any], __: ToolContext) -> ToolOutput:
    return ToolOutput("seen")


def _state(**arguments: Any) -> CallState:
    return CallState("look", arguments, "read_only")


@pytest.mark.parametrize(
    "arguments", [{}, {"city": 1}, {"city": "x", "days": 1.5}, {"city": "x", "other": 1}]
)
async def test_arguments_that_do_not_fit_are_refused_with_the_parameters(arguments: dict[str, Any]) -> None:
    """The model reads what would fit, and which of it may be left out."""
    with pytest.raises(BadArguments, match=r"look are wrong.*city, days\?") as refused:
        await check_arguments(_tool(_seen), arguments)

    assert len(refused.value.message) < 1000
    await check_arguments(_tool(_seen), {"city": "x", "days": 2})


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ToolError("The shop is closed."), "error", "The shop is closed."),
        (ToolTimedOut("Too slow."), "timeout", "Too slow."),
        (ValueError("a secret"), "error", "The tool failed: ValueError."),
    ],
)
async def test_whatever_a_tool_raises_is_a_result(
    tmp_path: Path, error: Exception, status: str, message: str
) -> None:
    """Of an exception that is not ours the model reads the type alone, and the log no more."""

    async def raises(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        raise error

    assert failure(error) == (status, message)
    async with turn_at_work(tmp_path, tools=[_tool(raises)]) as turn:
        turn.tools = turn.prompt.tools(compressed=False)
        with structlog.testing.capture_logs() as lines:
            result = await run_call(turn, "c1", _state(city="x"))

    assert (result.status, result.content) == (status, message)
    assert "a secret" not in str(lines)
    assert [line["error"] for line in lines] == (["ValueError"] if isinstance(error, ValueError) else [])


async def test_a_tool_that_takes_too_long_timed_out(tmp_path: Path) -> None:
    """Its own limit holds, and its result says so."""

    async def waits(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        await asyncio.Event().wait()
        return ToolOutput("never")

    async with turn_at_work(tmp_path, tools=[_tool(waits, timeout=0.01)]) as turn:
        turn.tools = turn.prompt.tools(compressed=False)
        result = await run_call(turn, "c1", _state(city="x"))

    assert result.status == "timeout"


async def test_an_unknown_tool_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Models invent names; the next call may be right."""
    async with turn_at_work(tmp_path) as turn:
        turn.tools = turn.prompt.tools(compressed=False)
        result = await run_call(turn, "c1", CallState("teleport", {}, "effectful"))

    assert result.status == "error"
    assert "teleport" in result.content


async def test_a_repeated_call_has_the_same_key_and_another_call_another_one(tmp_path: Path) -> None:
    """Services that understand one do nothing twice."""
    keys: list[str] = []

    async def note(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        keys.append(context.idempotency_key)
        return ToolOutput("noted")

    async with turn_at_work(tmp_path, tools=[_tool(note)]) as turn:
        turn.set_history(await turn.deps.sessions.history("s"))
        for call_id in ("c1", "c1", "c2"):
            await run_call(turn, call_id, _state(city="x"))

    assert keys == ["t:c1", "t:c1", "t:c2"]


async def test_the_model_reads_what_a_person_made_of_its_arguments(tmp_path: Path) -> None:
    """Cut when it is long, and no more than data."""
    state = _state(city="<skill>" + "x" * 3 * EDITED_LENGTH)
    state.edited = True
    async with turn_at_work(tmp_path, tools=[_tool(_seen)]) as turn:
        turn.set_history(await turn.deps.sessions.history("s"))
        result = await run_call(turn, "c1", state)

    note, _, content = result.content.partition("\n")
    assert content == "seen"
    assert note.startswith("[The user changed the arguments")
    assert "<skill>" not in note
    assert len(note) < EDITED_LENGTH + 200


async def test_everything_a_tool_reports_comes_with_its_result_or_before(tmp_path: Path) -> None:
    """Steps and memory writes in the result; what could not be used is a warning tied to the call."""
    write = MemoryWriteSuggestion(
        owner_type="user", owner_id="ann", type="preference", importance=3, content="likes tea"
    )
    step = StepTrace(step_id="1", step_name="search", duration_ms=1)

    async def reports(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        return ToolOutput("seen", steps=[step], memory_writes=[write], problems=["A step was no object."])

    async with turn_at_work(tmp_path, tools=[_tool(reports)]) as turn:
        turn.set_history(await turn.deps.sessions.history("s"))
        result = await run_call(turn, "c1", _state(city="x"))
        events = await stored(turn)

    assert [each.step_name for each in result.steps or ()] == ["search"]
    assert result.memory_writes == [write]
    assert [(each["tool_call_id"], each["data"]["code"]) for each in events] == [("c1", "tool_report")]
    assert "look: A step was no object." in events[0]["data"]["message"]


async def test_a_call_that_cannot_run_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    """One that can has no refusal, and has not run because of the question."""
    ran: list[bool] = []

    async def note(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        ran.append(True)
        return ToolOutput("noted")

    async with turn_at_work(tmp_path, tools=[_tool(note)]) as turn:
        turn.set_history(await turn.deps.sessions.history("s"))
        refused = await invalid_arguments_result(turn, "c1", _state(days=1))
        fits = await invalid_arguments_result(turn, "c2", _state(city="x"))

    assert refused is not None
    assert refused.status == "error"
    assert (fits, ran) == (None, [])
