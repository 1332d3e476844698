"""How a turn ends: whatever is open gets its end, and others get their share of the event loop meanwhile."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.events.lifecycle import IterationEnd, IterationStart
from gateway.events.tool_calls import ApprovalRequest, ToolCall
from gateway.turn.context import TurnContext
from gateway.turn.progress import CALLS_PER_STEP
from gateway.turn.start_and_end import (
    CANCELLED,
    COMPLETED,
    begin_turn,
    ended_with_warning,
    failed,
    finalize_turn,
)
from tests.product import CallResult, Message
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio


def _call(turn: TurnContext, *ids: str, effect: Any = "read_only") -> None:
    """The model's message calls these."""
    begin_turn(turn.emitter)
    turn.emitter.iteration = 1
    turn.emit(IterationStart(attempt=1, model="model", prefix_hash="prefix"))
    blocks = [{"type": "tool_use", "id": each, "name": "look", "input": {}} for each in ids]
    turn.emit(IterationEnd(stop_reason="tool_use", duration_ms=1), message=Message("assistant", blocks))
    for each in ids:
        turn.emit(ToolCall(name="look", arguments={}, effect=effect), tool_call_id=each)


def _results(events: list[dict[str, Any]]) -> dict[str, str]:
    return {each["tool_call_id"]: each["data"]["status"] for each in events if each["type"] == "tool_result"}


async def test_a_turn_that_never_began_begins_before_it_ends(tmp_path: Path) -> None:
    """Whoever reads it finds what was asked."""
    async with turn_at_work(tmp_path) as turn:
        await finalize_turn(turn.emitter, CANCELLED)
        events = await stored(turn)

    assert [each["type"] for each in events] == ["turn_start", "done"]


async def test_a_model_call_that_is_open_ends_with_what_it_wrote(tmp_path: Path) -> None:
    """Its text is a message, and the warning or the error that explains the end comes before done."""
    async with turn_at_work(tmp_path) as turn:
        begin_turn(turn.emitter)
        turn.emitter.iteration = 1
        turn.emit(IterationStart(attempt=1, model="model", prefix_hash="prefix"))
        turn.emitter.delta("text", "half an")
        await finalize_turn(turn.emitter, failed("upstream_error", "It broke.", retryable=True))
        events = await stored(turn)
        history = await turn.deps.sessions.history("s")

    assert [each["type"] for each in events][-3:] == ["iteration_end", "error", "done"]
    assert history.messages[-1].message.content == [{"type": "text", "text": "half an"}]
    assert history.prefix_hash == "prefix"


@pytest.mark.parametrize(
    ("effect", "asked", "status"),
    [
        ("read_only", False, "cancelled"),
        ("effectful", False, "unknown_outcome"),
        ("effectful", True, "cancelled"),
    ],
)
async def test_an_open_call_gets_a_result_that_says_what_is_known(
    tmp_path: Path, effect: Any, asked: bool, status: str
) -> None:
    """What may have taken effect is not said to have been stopped; what waited for a person was."""
    async with turn_at_work(tmp_path) as turn:
        _call(turn, "c1")
        if asked:
            turn.progress.calls["c1"].effect, turn.progress.calls["c1"].needs_approval = effect, True
            turn.emit(ApprovalRequest(name="look", arguments={}), tool_call_id="c1")
        else:
            turn.progress.calls["c1"].effect = effect
        await finalize_turn(turn.emitter, CANCELLED)
        events = await stored(turn)

    assert _results(events) == {"c1": status}


async def test_open_calls_beside_answered_ones_make_one_message_in_their_order(tmp_path: Path) -> None:
    """It joins the history with the last result, and nothing of it is there before."""
    async with turn_at_work(tmp_path) as turn:
        _call(turn, "c1", "c2", "c3")
        turn.emit_result("c2", CallResult(name="look", status="ok", content="seen", duration_ms=1))
        await turn.emitter.flush()
        before = len((await turn.deps.sessions.history("s")).messages)
        await finalize_turn(turn.emitter, ended_with_warning("limit_reached", "max_iterations", "Enough."))
        events = await stored(turn)
        history = await turn.deps.sessions.history("s")

    assert _results(events) == {"c2": "ok", "c1": "cancelled", "c3": "cancelled"}
    assert len(history.messages) == before + 1
    last = history.messages[-1].message.content
    assert [block["tool_use_id"] for block in last] == ["c1", "c2", "c3"]
    assert turn.progress.unanswered == 0


async def test_many_open_calls_leave_others_their_share_of_the_loop(tmp_path: Path) -> None:
    """Somebody else runs at least once for each slice of them."""
    ran = 0

    async def other() -> None:
        nonlocal ran
        while True:
            await asyncio.sleep(0)
            ran += 1

    count = 10 * CALLS_PER_STEP
    async with turn_at_work(tmp_path) as turn:
        _call(turn, *(f"c{number}" for number in range(count)))
        await turn.emitter.flush()
        task = asyncio.create_task(other())
        await finalize_turn(turn.emitter, COMPLETED)
        task.cancel()
        events = await stored(turn)

    assert len(_results(events)) == count
    assert ran >= 10
