"""The work of a turn, stopped or left to itself; and the end that every turn gets."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.turn import running_turn
from gateway.turn.context import TurnContext
from gateway.turn.observer import NullObserver, Tracing
from gateway.turn.runner import TurnRunner
from gateway.turn.running_turn import RunningTurn
from gateway.turn.start_and_end import COMPLETED, Ending
from tests.history.scripted import Scripted
from tests.loopback import TIMEOUT
from tests.product import Accepted, ModelError, StoredEvent, TurnRow
from tests.storage.writing import OWNER
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

TURN = TurnRow("t", "s", "ann", "running", None, "hi", "m", None, 1, 0, 0, 0, False)


async def _wait() -> Ending:
    await asyncio.Event().wait()
    return COMPLETED


async def test_work_that_ends_by_itself_has_its_ending() -> None:
    """Nobody asked it to stop, so there is no reason."""

    async def work() -> Ending:
        return COMPLETED

    running = RunningTurn(TURN)
    task = await running.work(work(), TIMEOUT)

    assert task.result() is COMPLETED
    assert running.stop_cause is None


async def test_the_first_reason_to_stop_counts_and_outlives_its_owner() -> None:
    """A turn that somebody stopped is not out of time because its end took long."""
    running = RunningTurn(TURN, has_waited=True)
    work = asyncio.create_task(running.work(_wait(), TIMEOUT))
    await asyncio.sleep(0)
    running.request_stop("cancelled")
    running.request_stop("out_of_time")
    task = await work

    assert task.cancelled()
    assert (running.stop_cause, running.renewed().stop_cause, running.renewed().has_waited) == (
        "cancelled",
        "cancelled",
        True,
    )


async def test_work_that_was_stopped_before_it_began_does_nothing() -> None:
    """Not even its first step."""
    begun: list[bool] = []

    async def work() -> Ending:
        begun.append(True)
        return COMPLETED

    running = RunningTurn(TURN)
    running.request_stop("cancelled")
    task = await running.work(work(), TIMEOUT)

    assert task.cancelled()
    assert begun == []


async def test_work_that_takes_too_long_is_stopped_for_that_reason() -> None:
    """Its limit is that of the whole turn."""
    running = RunningTurn(TURN)
    task = await running.work(_wait(), 0)

    assert task.cancelled()
    assert running.stop_cause == "out_of_time"


async def test_work_that_does_not_heed_its_cancellation_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is still there when the wait is over, and whoever waited goes on without it."""
    monkeypatch.setattr(running_turn, "CANCEL_TIMEOUT", 0.0)
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def stubborn() -> Ending:
        begun.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return COMPLETED

    running = RunningTurn(TURN)
    work = asyncio.create_task(running.work(stubborn(), TIMEOUT))
    await begun.wait()
    running.request_stop("cancelled")
    task = await work

    assert not task.done()
    let_go.set()
    assert await task is COMPLETED


def _runner(turn: TurnContext) -> TurnRunner:
    return TurnRunner(turn.deps, NullObserver(), Tracing(), asyncio.Event())


async def _accepted(turn: TurnContext) -> Accepted:
    taken = await turn.deps.turns.take_over("t", recovered=False)
    assert taken is not None
    return taken


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("hello", "completed", None),
        (ModelError("No.", code="upstream_auth", retryable=False), "failed", "upstream_auth"),
        (RuntimeError("of ours"), "failed", "internal"),
        (asyncio.CancelledError(), "failed", "internal"),
    ],
)
async def test_whatever_happens_to_a_turn_it_has_one_end(
    tmp_path: Path, script: Any, status: str, code: str | None
) -> None:
    """A mistake of ours is told as one; what it was stays in the log of the process."""

    def answer(_: object) -> Scripted:
        if isinstance(script, asyncio.CancelledError):
            raise script
        return script

    async with turn_at_work(tmp_path, answer) as turn:
        runner = _runner(turn)
        with structlog.testing.capture_logs():
            assert await runner.finish(await _accepted(turn))
        events = await stored(turn)

    errors = [each["data"] for each in events if each["type"] == "error"]
    assert [each["type"] for each in events].count("done") == 1
    assert events[-1]["data"]["status"] == status
    assert [each["code"] for each in errors] == ([code] if code else [])
    assert "of ours" not in str(errors)
    assert runner.running == {}


async def test_a_turn_that_was_stopped_while_it_had_no_owner_runs_nothing(tmp_path: Path) -> None:
    """It gets its end, and no model is asked."""
    async with turn_at_work(tmp_path, "never") as turn:
        await turn.deps.turns.request_cancel("t")
        assert await _runner(turn).finish(await _accepted(turn))
        events = await stored(turn)

    assert [each["type"] for each in events] == ["turn_start", "done"]
    assert events[-1]["data"]["status"] == "cancelled"


async def test_a_turn_that_loses_its_owners_again_and_again_is_given_up(tmp_path: Path) -> None:
    """One loss more than the setting allows; one less, and it goes on."""
    async with turn_at_work(tmp_path, "hello", recover_attempts=1) as turn:
        await turn.deps.turns.take_over("t", recovered=True)
        accepted = await turn.deps.turns.take_over("t", recovered=True)
        assert accepted is not None
        assert await _runner(turn).finish(accepted)
        events = await stored(turn)

    assert [each["type"] for each in events] == ["turn_start", "error", "done"]
    assert events[-1]["data"]["status"] == "interrupted"


async def test_numbers_that_were_shown_and_are_lost_are_not_used_again(tmp_path: Path) -> None:
    """The database failed over to a server that had not heard of the newest events: the turn goes on behind
    them, and says so."""
    async with turn_at_work(tmp_path, "hello") as turn:
        shown = [StoredEvent(seq, "text", "t", b"{}") for seq in (1, 2, 3)]
        turn.deps.bus.publish("s", shown)
        with structlog.testing.capture_logs():
            assert await _runner(turn).finish(await _accepted(turn))
        events = await stored(turn)
        row = await turn.deps.turns.get("s", "t", OWNER)

    assert [each["seq"] for each in events] == list(range(4, len(events) + 4))
    assert (row.first_seq, row.last_seq) == (4, events[-1]["seq"])
    warnings = [each["data"] for each in events if each["type"] == "warning"]
    assert [each["message"][:8] for each in warnings if each["code"] == "events_lost"] == ["3 events"]
    assert events[-1]["data"]["status"] == "completed"


async def test_an_owner_whose_number_is_old_takes_the_turn_anew(tmp_path: Path) -> None:
    """Its first append is refused, and the turn comes to its end under a new one: nothing is there twice."""
    async with turn_at_work(tmp_path, "hello") as turn:
        old = await _accepted(turn)
        await _accepted(turn)
        assert await _runner(turn).finish(old)
        events = await stored(turn)

    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert events[-1]["data"]["status"] == "completed"
