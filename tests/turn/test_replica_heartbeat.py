"""The loop that looks for what has no owner: what a process takes, takes back, stops and leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.storage.replicas import Beat, Lease
from gateway.storage.turns import OwnedTurn
from gateway.turn.context import TurnContext
from gateway.turn.in_flight import InFlight
from gateway.turn.replica_heartbeat import ReplicaHeartbeat
from tests.history.scripted import USAGE
from tests.loopback import TIMEOUT
from tests.product import (
    Answer,
    FunctionTool,
    NewTurn,
    StorageError,
    ToolContext,
    ToolOutput,
    ToolSpec,
    TurnLost,
)
from tests.storage.writing import OWNER
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio


async def _done(turn: TurnContext) -> list[dict[str, Any]]:
    """The events of the turn once it has its end."""
    async with asyncio.timeout(TIMEOUT):
        while (events := await stored(turn))[-1:] == [] or events[-1]["type"] != "done":
            await asyncio.sleep(0)
        return events


def _heartbeat(turn: TurnContext) -> tuple[InFlight, ReplicaHeartbeat]:
    flight = InFlight(turn.deps)
    return flight, ReplicaHeartbeat(turn.deps, flight)


async def test_a_turn_of_this_process_without_a_task_is_taken_back_at_the_second_look(tmp_path: Path) -> None:
    """At the first one it may have been accepted a moment ago."""
    async with turn_at_work(tmp_path, "hello") as turn:
        flight, heartbeat = _heartbeat(turn)
        await heartbeat.beat()
        assert not flight.runs("t")
        await heartbeat.beat()
        assert flight.runs("t")
        events = await _done(turn)
        await flight.drain(TIMEOUT)

    assert events[-1]["data"]["status"] == "completed"


async def test_a_wish_to_stop_that_only_the_database_knows_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process stored it: the next look finds it."""
    asked = asyncio.Event()

    @asynccontextmanager
    async def never(*_: object) -> AsyncGenerator[None]:
        asked.set()
        await asyncio.Event().wait()
        yield

    async with turn_at_work(tmp_path) as turn:
        monkeypatch.setattr(turn.deps.model, "stream", never)
        flight, heartbeat = _heartbeat(turn)
        accepted = await turn.deps.turns.take_over("t", recovered=False)
        assert accepted is not None
        flight.start(accepted)
        await asked.wait()
        await turn.deps.turns.request_cancel("t")
        await heartbeat.beat()
        events = await _done(turn)
        await flight.drain(TIMEOUT)

    assert events[-1]["data"]["status"] == "cancelled"


async def test_a_session_in_which_turns_only_wait_is_found(tmp_path: Path) -> None:
    """Nobody of this process heard of the turn; how many wait is counted by the database."""
    async with turn_at_work(tmp_path, "hello", "there") as turn:
        flight, heartbeat = _heartbeat(turn)
        waiting = NewTurn("t2", "s", OWNER, "and then?", "model", None, "queue", create_session=False, at=2)
        await turn.deps.turns.accept(waiting, max_queued=9)
        await heartbeat.beat()
        assert heartbeat.queued == 1
        await heartbeat.beat()
        await _done(turn)
        async with asyncio.timeout(TIMEOUT):
            while (await turn.deps.turns.get("s", "t2", OWNER)).status != "done":
                await heartbeat.beat()
        await heartbeat.beat()
        await flight.drain(TIMEOUT)

    assert heartbeat.queued == 0


async def test_what_is_woken_looks_at_once_and_a_database_that_is_away_ends_no_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks again at the next beat, or when it is woken; not any more after it has left."""
    looks: asyncio.Queue[int] = asyncio.Queue()

    async with turn_at_work(tmp_path) as turn:
        _, heartbeat = _heartbeat(turn)

        async def beat(*, slots: int, **_: object) -> Beat:
            looks.put_nowait(slots)
            if looks.qsize() == 0:
                return Beat()
            raise StorageError("away")

        monkeypatch.setattr(turn.deps.replicas, "beat", beat)
        monkeypatch.setattr(turn.deps.replicas, "every", 3600)
        loop = asyncio.create_task(heartbeat.run())
        async with asyncio.timeout(TIMEOUT):
            assert await looks.get() > 0
            heartbeat.wake()
            assert await looks.get() > 0
            await heartbeat.leave()
            heartbeat.wake()
            await loop

    assert looks.empty()


async def test_a_turn_is_handed_over_at_its_next_step_where_another_replica_is_there(tmp_path: Path) -> None:
    """The tool that runs comes to its end and its result is recorded; the model is not asked any more here,
    and the turn is nobody's."""
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        begun.set()
        await goes_on.wait()
        return ToolOutput("done")

    tool = FunctionTool(ToolSpec("slow", "Takes long.", {"type": "object"}), "read_only", 100, slow)
    call = {"type": "tool_use", "id": "c1", "name": "slow", "input": {}}
    async with turn_at_work(tmp_path, Answer([call], "tool_use", USAGE, None, "r"), tools=[tool]) as turn:
        flight, _ = _heartbeat(turn)
        accepted = await turn.deps.turns.take_over("t", recovered=False)
        assert accepted is not None
        flight.start(accepted)
        await begun.wait()
        flight.peer_count = 1
        draining = asyncio.create_task(flight.drain(TIMEOUT))
        await asyncio.sleep(0)
        goes_on.set()
        await draining
        events = await stored(turn)
        beat = await turn.deps.replicas.beat(slots=0)

    assert [each["type"] for each in events][-2:] == ["tool_call", "tool_result"]
    assert beat.owned == []


async def test_without_its_lease_a_replica_begins_nothing(tmp_path: Path) -> None:
    """When it is renewed the step begins, unless the turn has another owner since."""
    async with turn_at_work(tmp_path) as turn:
        lease = turn.deps.replicas.lease = Lease(3600)
        waits = asyncio.create_task(turn.ensure_lease())
        await asyncio.sleep(0)
        assert not lease.is_held
        assert not waits.done()
        lease.renew(asyncio.get_running_loop().time())
        await waits
        await turn.ensure_lease()

        turn.deps.replicas.lease = late = Lease(3600)
        waits = asyncio.create_task(turn.ensure_lease())
        await turn.deps.turns.take_over("t", recovered=True)
        late.renew(asyncio.get_running_loop().time())
        with pytest.raises(TurnLost):
            await waits


async def test_with_a_beat_overdue_the_database_is_asked_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease lasts, but a replica whose connections have ended counts as dead sooner. A database that is
    away is waited for."""
    async with turn_at_work(tmp_path) as turn:
        turn.deps.replicas.every = 0
        lease = turn.deps.replicas.lease = Lease(3600, unseen=0)
        lease.renew(asyncio.get_running_loop().time())
        await turn.ensure_lease()

        is_owned, asked = turn.deps.turns.is_owned, asyncio.Event()

        async def away(_: OwnedTurn) -> bool:
            if asked.is_set():
                return await is_owned(_)
            asked.set()
            raise StorageError("away")

        monkeypatch.setattr(turn.deps.turns, "is_owned", away)
        await turn.ensure_lease()
        assert asked.is_set()

        await turn.deps.turns.take_over("t", recovered=True)
        assert lease.is_held
        with pytest.raises(TurnLost):
            await turn.ensure_lease()


async def test_no_more_sessions_are_begun_than_there_are_places(tmp_path: Path) -> None:
    """What waits for a place stays where others find it, too."""
    async with turn_at_work(tmp_path, "hello", "there") as turn:
        accepted = await turn.deps.turns.take_over("t", recovered=False)
        assert accepted is not None
        places = turn.deps.settings.max_turns_in_flight
        found = Beat(waiting=[f"s{number}" for number in range(places + 5)], queued=places + 5)
        flight, heartbeat = _heartbeat(turn)
        asked = list[str]()

        async def beat(**_: object) -> Beat:
            return found

        async def claim_next(session_id: str) -> None:
            asked.append(session_id)

        turn.deps.replicas.beat = beat
        turn.deps.turns.claim_next = claim_next
        await heartbeat.beat()
        assert flight.free_slots == 0
        async with asyncio.timeout(TIMEOUT):
            while flight.free_slots < places:
                await asyncio.sleep(0)

    assert asked == found.waiting[:places]
