"""The turns of one process: how many run, which wait, and what becomes of those without an owner."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.turn.context import TurnContext
from gateway.turn.in_flight import InFlight
from tests.loopback import TIMEOUT
from tests.product import NewTurn, QueueFull
from tests.storage.writing import OWNER
from tests.turn.working import turn_at_work

pytestmark = pytest.mark.anyio


def _waiting(turn_id: str) -> NewTurn:
    return NewTurn(turn_id, "s", OWNER, "and then?", "model", None, "queue", create_session=False, at=2)


async def _own(turn: TurnContext, flight: InFlight) -> None:
    """The turn at work is in flight from now on."""
    accepted = await turn.deps.turns.take_over("t", recovered=False)
    assert accepted is not None
    flight.start(accepted)


async def _done(turn: TurnContext, count: int) -> list[dict[str, Any]]:
    """The events of the session once so many of its turns have their end."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            events = [each.load() for each in await turn.deps.log.read("s", after=0, limit=100)]
            if sum(each["type"] == "done" for each in events) == count:
                return events
            await asyncio.sleep(0)


async def test_a_shutdown_waits_for_a_turn_that_is_being_accepted(tmp_path: Path) -> None:
    """It has its place and no task yet: it runs like those before it, and is not left to nobody."""
    async with turn_at_work(tmp_path, "hello") as turn:
        flight = InFlight(turn.deps)
        with flight.admission("ann", "s"):
            draining = asyncio.create_task(flight.drain(TIMEOUT))
            await flight.draining.wait()
            await _own(turn, flight)
        await draining
        events = await _done(turn, 1)

    assert events[-1]["data"]["status"] == "completed"
    assert flight.free_slots == turn.deps.settings.max_turns_in_flight


async def test_as_many_turns_are_admitted_as_the_settings_allow(tmp_path: Path) -> None:
    """A turn holds its place until it has its end."""
    async with turn_at_work(tmp_path, "hello", max_turns_in_flight=1) as turn:
        flight = InFlight(turn.deps)
        with flight.admission("ann", "s"), pytest.raises(QueueFull, match="1 turns already"):
            flight.admission("bob", "other").__enter__()
        await _own(turn, flight)
        assert flight.free_slots == 0
        with pytest.raises(QueueFull, match="1 turns already"):
            flight.admission("ann", "s").__enter__()
        await _done(turn, 1)
        await flight.drain(TIMEOUT)

        assert flight.free_slots == 1
        with flight.admission("ann", "s"):
            pass


async def test_turns_that_are_being_accepted_count_for_their_user_and_key(tmp_path: Path) -> None:
    """Many at once are not too many; what comes in one session takes one place, and gives it back."""
    async with turn_at_work(tmp_path, "hello", max_turns_per_user=1, max_turns_per_key=2) as turn:
        flight = InFlight(turn.deps)
        with flight.admission("desk.ann", "s"), flight.admission("desk.ann", "s"):
            for user, busy in (("desk.ann", "user_busy"), ("desk.cat", "key_busy")):
                with flight.admission("desk.bob", "b"), pytest.raises(QueueFull) as refused:
                    flight.admission(user, "other").__enter__()
                assert refused.value.code == busy
            with flight.admission("shop.ann", "x"), flight.admission("ann", "y"):
                pass
        with flight.admission("desk.ann", "other"):
            pass


async def test_a_turn_that_waits_runs_when_the_one_before_it_is_done(tmp_path: Path) -> None:
    """Never beside it, and nobody has to ask again."""
    async with turn_at_work(tmp_path, "hello") as turn:
        flight = InFlight(turn.deps)
        await turn.deps.turns.accept(_waiting("t2"), max_queued=9)
        await _own(turn, flight)
        flight.queue("s")
        events = await _done(turn, 2)
        await flight.drain(TIMEOUT)

    order = [each["turn_id"] for each in events]
    assert order == sorted(order)
    assert set(order) == {"t", "t2"}


async def test_a_turn_that_waits_can_be_ended_once_and_asks_no_model(tmp_path: Path) -> None:
    """Its end is told to the session; the second time there is nothing to end."""
    async with turn_at_work(tmp_path, "hello") as turn:
        flight = InFlight(turn.deps)
        waiting = (await turn.deps.turns.accept(_waiting("t2"), max_queued=9)).turn
        assert await flight.close_waiting(waiting)
        assert not await flight.close_waiting(waiting)
        await _own(turn, flight)
        events = await _done(turn, 2)
        await flight.drain(TIMEOUT)

    own = [each for each in events if each["turn_id"] == "t2"]
    assert [each["type"] for each in own] == ["turn_start", "done"]
    assert own[-1]["data"]["status"] == "cancelled"


async def test_a_turn_that_is_stopped_has_its_end_and_a_stranger_changes_nothing(tmp_path: Path) -> None:
    """Only turns of this process can be stopped here."""
    async with turn_at_work(tmp_path, "hello") as turn:
        flight = InFlight(turn.deps)
        flight.cancel("another")
        await _own(turn, flight)
        flight.cancel("t")
        events = await _done(turn, 1)
        await flight.drain(TIMEOUT)

    assert events[-1]["data"]["status"] == "cancelled"


async def test_what_does_not_end_in_time_stays_open_for_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shutdown is no end of a turn: the log has it as it was. It is released: its next owner goes
    on, and nobody was lost."""
    asked = asyncio.Event()

    @asynccontextmanager
    async def never(*_: object) -> AsyncGenerator[None]:
        asked.set()
        await asyncio.Event().wait()
        yield

    async with turn_at_work(tmp_path) as turn:
        monkeypatch.setattr(turn.deps.model, "stream", never)
        flight = InFlight(turn.deps)
        await _own(turn, flight)
        await asked.wait()
        await flight.drain(0)
        events = [each.load() for each in await turn.deps.log.read("s", after=0, limit=100)]
        owned = await turn.deps.replicas.beat(slots=0)
        again = await turn.deps.turns.take_over("t", recovered=False)

    assert [each["type"] for each in events] == ["turn_start", "iteration_start"]
    assert owned.owned == []
    assert again is not None
    assert again.turn.recoveries == 0
