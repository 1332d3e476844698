"""Which calls run: those that no rule forbids and, where a person decides, those that were allowed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.decisions.approvals import ApprovalRow, Verdict
from gateway.turn.context import TurnContext
from gateway.turn.permission import EXPIRED, apply_decisions, park, seek_permission, waiting_calls
from gateway.turn.progress import CallState
from tests.product import FunctionTool, ToolContext, ToolOutput, ToolSpec, now_ms
from tests.storage.writing import OWNER
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}}


def _tool(name: str, effect: Any) -> FunctionTool:
    async def done(_: dict[str, Any], __: ToolContext) -> ToolOutput:
        return ToolOutput("done")

    return FunctionTool(ToolSpec(name, "Does it.", SCHEMA), effect, 5, done)


TOOLS = [_tool("look", "read_only"), _tool("buy", "effectful"), _tool("burn", "effectful")]
POLICY = ["burn=deny"]


async def _seek(turn: TurnContext, **calls: CallState) -> None:
    """These calls are open."""
    turn.set_history(await turn.deps.sessions.history("s"))
    turn.progress.calls.update(calls)
    turn.progress.unanswered = len(calls)
    await seek_permission(turn)


def _call(name: str, effect: Any = "effectful", **arguments: Any) -> CallState:
    return CallState(name, arguments, effect)


async def _decide(turn: TurnContext, call_id: str, decision: Any, **given: Any) -> None:
    row = await turn.deps.approvals.get("s", "t", call_id, OWNER)
    await turn.deps.approvals.decide(row, Verdict(decision, OWNER, now_ms(), **given))


async def _told(turn: TurnContext, kind: str) -> dict[str, dict[str, Any]]:
    return {each["tool_call_id"]: each["data"] for each in await stored(turn) if each["type"] == kind}


async def test_each_call_runs_waits_or_is_answered_at_once(tmp_path: Path) -> None:
    """By its rule, and without one by its effect; nobody is asked about what is forbidden."""
    async with turn_at_work(tmp_path, tools=TOOLS, tool_policy=POLICY) as turn:
        await _seek(turn, c1=_call("look", "read_only"), c2=_call("buy"), c3=_call("burn"))
        results, requests = await _told(turn, "tool_result"), await _told(turn, "approval_request")
        responses = await _told(turn, "approval_response")

    assert list(waiting_calls(turn)) == list(requests) == ["c2"]
    assert {key: data["status"] for key, data in results.items()} == {"c3": "denied"}
    assert [(data["decision"], data["by"]) for data in responses.values()] == [("denied", "policy")]


@pytest.mark.parametrize("call", [_call("buy", count="many"), _call("teleport")])
async def test_nobody_is_asked_about_a_call_that_cannot_run(tmp_path: Path, call: CallState) -> None:
    """Its arguments do not fit, or there is no such tool: the model is told, and no person."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=call)

        assert await _told(turn, "approval_request") == {}
        assert await turn.deps.approvals.of_turn("t") == []


async def test_to_seek_again_asks_nothing_twice(tmp_path: Path) -> None:
    """A turn that goes on under another owner finds what was asked."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=_call("buy"))
        await seek_permission(turn)
        events = await stored(turn)

    assert [each["type"] for each in events] == ["approval_request"]


async def test_what_was_granted_before_is_told_and_not_asked(tmp_path: Path) -> None:
    """For as long as the grant says."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=_call("buy"))
        await _decide(turn, "c1", "approved", scope="session")
        assert await apply_decisions(turn)
        turn.progress.calls["c2"] = _call("buy")
        await seek_permission(turn)
        responses = await _told(turn, "approval_response")

    assert [(key, data["by"], data["scope"]) for key, data in responses.items()] == [
        ("c1", OWNER, "session"),
        ("c2", "grant", "session"),
    ]
    assert waiting_calls(turn) == {}


async def test_a_decision_is_applied_once_with_its_words(tmp_path: Path) -> None:
    """A call that is allowed may run with other arguments; one that is not is answered with the reason."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=_call("buy", count=9), c2=_call("buy"), c3=_call("buy"))
        assert not await apply_decisions(turn)
        await _decide(turn, "c1", "approved", arguments={"count": 1})
        await _decide(turn, "c2", "denied", reason="Too dear.")
        assert await apply_decisions(turn)
        assert not await apply_decisions(turn)
        results = await _told(turn, "tool_result")

    assert list(waiting_calls(turn)) == ["c3"]
    assert (turn.progress.calls["c1"].arguments, turn.progress.calls["c1"].edited) == ({"count": 1}, True)
    assert list(results) == ["c2"]
    assert results["c2"]["status"] == "denied"
    assert "Too dear." in results["c2"]["content"]


async def test_what_the_rules_forbid_meanwhile_does_not_run_though_it_was_approved(tmp_path: Path) -> None:
    """The settings of the process that goes on hold."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=_call("buy"))
        await _decide(turn, "c1", "approved")
        turn.settings = turn.settings.model_copy(update={"tool_policy": ("buy=deny",)})
        assert await apply_decisions(turn)
        results = await _told(turn, "tool_result")

    assert results["c1"]["status"] == "denied"


async def test_what_nobody_decides_in_time_is_denied(tmp_path: Path) -> None:
    """The model tells the user, and goes on without it."""
    async with turn_at_work(tmp_path, tools=TOOLS, approval_timeout=0.001) as turn:
        await _seek(turn, c1=_call("buy"))
        (row,) = await turn.deps.approvals.of_turn("t")
        while now_ms() <= row.expires_at:
            pass
        assert await apply_decisions(turn)
        results = await _told(turn, "tool_result")

    assert (results["c1"]["status"], results["c1"]["content"]) == ("denied", EXPIRED)


@pytest.mark.parametrize("is_decided", [False, True])
async def test_a_turn_is_parked_only_while_a_decision_is_missing(tmp_path: Path, is_decided: bool) -> None:
    """One that came in the last moment would wake nobody: the turn goes on itself."""
    async with turn_at_work(tmp_path, tools=TOOLS) as turn:
        await _seek(turn, c1=_call("buy"))
        rows: list[ApprovalRow] = list(await turn.deps.approvals.of_turn("t"))
        if is_decided:
            await _decide(turn, "c1", "approved")
        parked = await park(turn)
        owned = await turn.deps.turns.owned()

    assert parked is not is_decided
    assert [each.turn_id for each in owned] == (["t"] if is_decided else [])
    assert [replace(row, verdict=None) for row in rows] == rows
