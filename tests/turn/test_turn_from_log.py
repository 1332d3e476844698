"""A turn as the log has it: how far it came, and its end where nobody can go on with it."""

from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.events.lifecycle import IterationEnd, IterationStart, TurnWarning
from gateway.turn import turn_from_log
from gateway.turn.context import TurnContext
from gateway.turn.observer import NullObserver, Tracing
from gateway.turn.start_and_end import CANCELLED, begin_turn, failed
from gateway.turn.turn_from_log import close_from_log, progress_of
from tests.product import Message, StoredEvent, TurnLost
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

GONE = failed("server_restart", "The server stopped.", retryable=True)


class Recalling(NullObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seqs: list[int] = []

    def replay(self, session_id: str, events: Any) -> None:
        self.seqs += [event.seq for event in events]


def _begin(turn: TurnContext, pieces: int = 0) -> None:
    begin_turn(turn.emitter)
    turn.emitter.iteration = 1
    turn.emit(IterationStart(attempt=1, model="model", prefix_hash="prefix"))
    for number in range(pieces):
        turn.emitter.delta("text", f"{number} ")


async def _close(turn: TurnContext, ending: Any = GONE) -> list[dict[str, Any]]:
    await close_from_log(
        turn.deps.log, turn.deps.turns, turn.row, ending, observer=NullObserver(), tracing=Tracing()
    )
    events: list[StoredEvent] = await turn.deps.log.read("s", after=0, limit=100)
    return [event.load() for event in events]


@pytest.mark.parametrize("page", [1, 3, 500])
async def test_the_log_leads_to_where_the_turn_was_however_it_is_read(
    tmp_path: Path, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every event is folded and recalled once. Whether the endpoint had begun to answer is not in the log, so
    that an open call counts as begun."""
    monkeypatch.setattr(turn_from_log, "PAGE", page)
    observer = Recalling()
    async with turn_at_work(tmp_path) as turn:
        _begin(turn, pieces=4)
        await turn.emitter.flush()
        now = await turn.deps.turns.take_over("t", recovered=False)
        assert now is not None
        found = await progress_of(turn.deps.log, now.turn, now.head, observer)
        turn.progress.attempt_began = True

    assert found == turn.progress
    assert observer.seqs == list(range(1, now.head + 1))


async def test_a_turn_without_events_is_at_its_beginning(tmp_path: Path) -> None:
    """There is nothing to read, and nothing to recall."""
    observer = Recalling()
    async with turn_at_work(tmp_path) as turn:
        found = await progress_of(turn.deps.log, turn.row, 0, observer)

    assert found.started_at is None
    assert observer.seqs == []


async def test_the_end_from_the_log_keeps_what_was_written_and_shuts_the_writer_out(tmp_path: Path) -> None:
    """The one that wrote before may be there still: whatever it says from now on is refused."""
    async with turn_at_work(tmp_path) as turn:
        _begin(turn, pieces=2)
        await turn.emitter.flush()
        events = await _close(turn)
        history = await turn.deps.sessions.history("s")
        turn.emit(TurnWarning(code="late", message="m"))
        with pytest.raises(TurnLost):
            await turn.emitter.flush()

    assert [each["type"] for each in events][-3:] == ["iteration_end", "error", "done"]
    assert history.messages[-1].message.content == [{"type": "text", "text": "0 1 "}]


async def test_a_turn_that_is_over_stays_as_it_is(tmp_path: Path) -> None:
    """The second end is none."""
    async with turn_at_work(tmp_path) as turn:
        first = await _close(turn)
        second = await _close(turn, CANCELLED)

    assert first == second
    assert [each["type"] for each in first] == ["turn_start", "error", "done"]


@pytest.mark.parametrize("broken", ["progress_of", "_end"])
async def test_a_turn_that_cannot_be_understood_gets_its_end_all_the_same(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event of another version, or a mistake of ours: `done` comes with what explains it, once."""
    given, failures = getattr(turn_from_log, broken), [ValueError("not understood")]

    async def fails_once(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return await given(*arguments)

    async with turn_at_work(tmp_path) as turn:
        _begin(turn)
        turn.emit(IterationEnd(stop_reason="end_turn", duration_ms=1), message=Message("assistant", []))
        await stored(turn)
        monkeypatch.setattr(turn_from_log, broken, fails_once)
        with structlog.testing.capture_logs():
            events = await _close(turn)

    assert [each["type"] for each in events][-2:] == ["error", "done"]
    assert [each["type"] for each in events].count("done") == 1
    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
