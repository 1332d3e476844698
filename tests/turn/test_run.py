"""One turn from its first event to how it ends: what is refused before the model is asked."""

from pathlib import Path

import pytest

from gateway.events.lifecycle import IterationStart
from gateway.events.tool_calls import ToolCall
from gateway.turn import run
from gateway.turn.context import TurnContext
from gateway.turn.run import run_turn
from gateway.turn.start_and_end import CANCELLED, begin_turn, finalize_turn
from tests.product import ArchiveDamaged, GatewayError
from tests.turn.working import LIMITS, stored, turn_at_work

pytestmark = pytest.mark.anyio


async def test_a_turn_that_is_over_is_not_run(tmp_path: Path) -> None:
    """That would be a mistake of whoever owns it; its log stays as it is."""
    async with turn_at_work(tmp_path, "never") as turn:
        await finalize_turn(turn.emitter, CANCELLED)
        before = await stored(turn)
        with pytest.raises(GatewayError, match="over already"):
            await run_turn(turn.deps, turn.emitter, LIMITS)

        assert await stored(turn) == before


async def test_calls_that_were_recorded_under_another_limit_are_not_run(tmp_path: Path) -> None:
    """The limit of today holds for what a former process left open, too."""
    async with turn_at_work(tmp_path, "never", max_tool_calls=1) as turn:
        begin_turn(turn.emitter)
        turn.emit(IterationStart(attempt=1, model="model"))
        for call_id in ("c1", "c2"):
            turn.emit(ToolCall(name="look", arguments={}, effect="read_only"), tool_call_id=call_id)
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        events = await stored(turn)

    assert ending is not None
    assert ending.warning is not None
    assert (ending.outcome, ending.warning.code) == ("limit_reached", "max_tool_calls")
    assert "tool_result" not in [each["type"] for each in events]


async def test_a_history_that_cannot_be_read_ends_the_turn_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked about half a conversation, and the same would happen again."""

    async def damaged(_: TurnContext) -> None:
        raise ArchiveDamaged("The archive is damaged.")

    monkeypatch.setattr(run, "prepare", damaged)
    async with turn_at_work(tmp_path, "never") as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert ending.error is not None
    assert (ending.error.code, ending.error.retryable) == ("archive_damaged", False)
