"""Releases: who keeps a turn, and what the replicas tell each other of it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.service.abandoned_turns import Releases
from gateway.service.follower import StreamRange
from gateway.storage.replica_signals import Signal, Signals
from tests.product import Storage, TurnRow
from tests.storage.writing import OWNER, accepted, sqlite_storage

pytestmark = pytest.mark.anyio

ASKED, TOLD = Signal("unread", "s/t"), Signal("read", "s/t")


@dataclass
class Replica:
    """The releases of one process, what it tells the others, and the turns that it cancelled."""

    releases: Releases
    turn: TurnRow
    signals: Signals
    told: list[Signal] = field(default_factory=list[Signal])
    cancelled: list[str] = field(default_factory=list[str])
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, *told: Signal, cancelled: Sequence[str] = ()) -> None:
        while (tuple(self.told), tuple(self.cancelled)) != (told, tuple(cancelled)):
            self.changed.clear()
            await self.changed.wait()

    @property
    def place(self) -> StreamRange:
        return StreamRange("s", 0, 0, self.turn)


@pytest.fixture
async def replica(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> AsyncGenerator[Replica]:
    """One that has peers."""
    async with sqlite_storage(tmp_path) as storage:
        yield await _replica(storage, monkeypatch)


async def _replica(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Replica:
    made: Replica

    async def tell(signal: Signal) -> None:
        made.told.append(signal)
        made.changed.set()

    async def cancel(turn: TurnRow) -> None:
        made.cancelled.append(turn.id)
        made.changed.set()

    monkeypatch.setattr(storage.turns, "notify", tell)
    releases = Releases(storage.turns, storage.signals, cancel, shared=True)
    made = Replica(releases, (await accepted(storage)).turn, storage.signals)
    return made


async def test_the_others_are_asked_before_a_turn_is_cancelled(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.service.abandoned_turns.ANSWER_TIMEOUT", 0.01)
    replica.releases.release(replica.turn, 0)

    await replica.until(ASKED, cancelled=["t"])


async def test_a_reader_elsewhere_keeps_the_turn(replica: Replica) -> None:
    """Its replica says so, and the release is forgotten: asked itself, this one would not know of it."""
    replica.releases.release(replica.turn, 0)
    await replica.until(ASKED)

    replica.signals.hear([TOLD])
    await asyncio.sleep(0)
    replica.signals.hear([ASKED])
    await replica.releases.close()

    assert (replica.told, replica.cancelled) == ([ASKED], [])


@pytest.mark.parametrize("scoped", [True, False])
async def test_a_replica_with_a_reader_says_so(replica: Replica, scoped: bool) -> None:
    place = replica.place if scoped else replace(replica.place, turn=None)
    with replica.releases.reading(place):
        replica.signals.hear([ASKED])
        await replica.until(TOLD)


async def test_a_reader_that_may_come_back_is_one_until_its_grace_is_over(replica: Replica) -> None:
    """Else the release of an earlier reader elsewhere would end the turn too soon."""
    place = replace(replica.place, release_after=3600)
    with pytest.raises(asyncio.CancelledError), replica.releases.reading(place):
        raise asyncio.CancelledError

    replica.signals.hear([ASKED])
    await replica.until(TOLD)
    await replica.releases.close()


@pytest.mark.parametrize("place", [{}, {"turn": None}, {"live": False}])
async def test_a_reader_that_comes_back_ends_the_release(replica: Replica, place: dict[str, Any]) -> None:
    """Not one that only reads what is there already."""
    replica.releases.release(replica.turn, 3600)
    with replica.releases.reading(replace(replica.place, **place)):
        pass

    replica.signals.hear([ASKED])
    if "live" in place:
        await replica.until(TOLD)
    await replica.releases.close()
    assert replica.told == ([TOLD] if "live" in place else [])


async def test_a_reader_that_saw_the_end_releases_nothing(replica: Replica) -> None:
    with replica.releases.reading(replace(replica.place, release_after=3600)):
        pass

    replica.signals.hear([ASKED])
    await replica.releases.close()
    assert replica.told == []


async def test_a_turn_that_waits_for_a_person_is_not_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one, which was released after it, is."""
    monkeypatch.setattr("gateway.service.abandoned_turns.ANSWER_TIMEOUT", 0)
    async with sqlite_storage(tmp_path) as storage:
        replica = await _replica(storage, monkeypatch)
        other = (await accepted(storage, "s2", "t2")).turn
        assert await storage.approvals.park(replica.turn, [], 1000)
        for turn in (replica.turn, other):
            replica.releases.release(turn, 0)
        await replica.until(ASKED, Signal("unread", "s2/t2"), cancelled=["t2"])

        assert (await storage.turns.get(None, "t", OWNER)).status == "awaiting_approval"
