"""Who lives, and who takes over from whom, on a PostgreSQL server that several replicas share."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain

import psycopg
import pytest

from gateway.storage.postgres import PostgresDatabase
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.exclusive import PostgresExclusive
from gateway.storage.postgres.replicas import PostgresReplicas
from gateway.storage.turns import NewTurn, OwnedTurn
from gateway.storage.turns.store import Turns
from tests.loopback import TIMEOUT
from tests.postgres import needs_postgres, new_database, own_server
from tests.product import StorageError

pytestmark = [*needs_postgres, pytest.mark.anyio]

LEASE = 60.0
"""Seconds; whatever a test waits for is shorter than a beat, a tenth of it."""
UNSEEN = "UPDATE replicas SET seen_at = clock_timestamp() - make_interval(secs => %s) WHERE id = %s"
FREE = "SELECT pg_try_advisory_xact_lock_shared(hashtextextended(%s, %s))"
OWNERS = (
    "SELECT turn_id, replica, epoch, recoveries FROM heads JOIN turns ON turns.id = turn_id ORDER BY turn_id"
)


class Replica:
    """One process of several, as far as its storage goes."""

    def __init__(self, database: PostgresDatabase, lease: float) -> None:
        self.database = database
        self.id = database.replica
        self.replicas = PostgresReplicas(database, database.server, lease)
        self.turns = Turns(database)

    async def joins(self, *, long_ago: bool = True) -> None:
        """As if it had had the server for as long as others are waited for."""
        await self.replicas.join()
        if long_ago:
            self.there_for(2 * LEASE)

    def there_for(self, seconds: float) -> None:
        """As if it had had the server for so long, without a break."""
        now = time.monotonic()
        self.replicas.liveness.held_since = self.replicas.back_at = self.replicas.joined_at = now - seconds

    async def accepts(self, *names: str) -> None:
        """A turn in each of these sessions, which is this replica's."""
        for name in names:
            new = NewTurn(
                name, f"s_{name}", "ann", "hello", "model", None, "reject", create_session=True, at=1
            )
            await self.turns.accept(new, max_queued=0)

    async def takes(self, slots: int = 9) -> list[str]:
        """The turns that a beat takes over."""
        return [now.turn.id for now in (await self.replicas.beat(slots=slots)).taken]

    async def silent(self, seconds: float) -> None:
        """As if its last beat were so long ago."""
        async with await psycopg.AsyncConnection.connect(self.database.server.url) as connection:
            await connection.execute(UNSEEN, (seconds, self.id))

    async def holds(self) -> None:
        """Returns when it has its lock again."""
        async with asyncio.timeout(TIMEOUT):
            while (since := self.replicas.liveness.held_since) is None or since <= self.replicas.joined_at:
                self.replicas.liveness.renew()
                await asyncio.sleep(0.01)

    async def dies(self) -> None:
        """Its connections end with it, and so does its lock, as soon as the server has seen that."""
        await self.replicas.liveness.close()
        async with (
            asyncio.timeout(TIMEOUT),
            await psycopg.AsyncConnection.connect(self.database.server.url, autocommit=True) as connection,
        ):
            while await (await connection.execute(FREE, (self.id, LockClass.LIVENESS.value))).fetchone() != (
                True,
            ):
                await asyncio.sleep(0.01)


Start = Callable[..., Awaitable[Replica]]


@asynccontextmanager
async def replicas_of(url: str) -> AsyncGenerator[Start]:
    """Starts replicas of a database, by name."""
    async with AsyncExitStack() as stack:

        async def start(name: str, *, long_ago: bool = True) -> Replica:
            opened = await PostgresDatabase.open(url, replica=name)
            replica = Replica(await stack.enter_async_context(opened), LEASE)
            await replica.joins(long_ago=long_ago)
            stack.push_async_callback(replica.dies)
            return replica

        yield start


@pytest.fixture
async def started(anyio_backend: str) -> AsyncGenerator[Start]:
    """Starts replicas of one database, by name."""
    async with replicas_of(new_database()) as start:
        yield start


async def owners(replica: Replica) -> list[tuple[str, str | None, int, int]]:
    """Each open turn with its replica, its epoch and how many owners it lost."""
    async with await psycopg.AsyncConnection.connect(replica.database.server.url) as connection:
        return await (await connection.execute(OWNERS)).fetchall()


async def test_nothing_is_taken_from_a_replica_that_lives(started: Start) -> None:
    """Neither by one that starts, nor because its owner missed a beat, or its lock, alone."""
    one, two = await started("one"), await started("two")
    await one.accepts("t")

    assert await two.takes() == []
    await one.silent(LEASE / 2)
    assert await two.takes() == []
    await one.replicas.beat(slots=0)
    await one.dies()
    assert await two.takes() == []
    assert await owners(one) == [("t", "one", 1, 0)]


async def test_the_turns_of_a_replica_that_died_are_taken_as_soon_as_its_lock_is_free(started: Start) -> None:
    """Once each, under the next number, and the loss is counted."""
    one, two, three = await started("one"), await started("two"), await started("three")
    await one.accepts("a", "b", "c")
    await one.silent(LEASE / 4)
    assert await two.takes() == []
    await one.dies()

    taken = await asyncio.gather(two.takes(slots=2), three.takes(slots=2), two.takes(slots=1))

    assert sorted(chain.from_iterable(taken)) == ["a", "b", "c"]
    found = await owners(two)
    assert [(turn, epoch, lost) for turn, _, epoch, lost in found] == [("a", 2, 1), ("b", 2, 1), ("c", 2, 1)]
    assert {replica for _, replica, _, _ in found} <= {"two", "three"}


async def test_the_turns_of_a_replica_that_stands_still_are_taken_when_its_lease_is_over(
    started: Start,
) -> None:
    """It has its lock, and when it goes on nothing is its own any more; it takes nothing back."""
    one, two = await started("one"), await started("two")
    await one.accepts("t")
    await one.silent(LEASE + 1)

    assert await two.takes() == ["t"]
    beat = await one.replicas.beat(slots=9)
    assert (beat.taken, beat.owned) == ([], [])
    assert await one.turns.take_over("t", recovered=True) is None
    assert not await one.turns.is_owned(OwnedTurn("s_t", "t", 1))
    assert await two.turns.is_owned(OwnedTurn("s_t", "t", 2))


async def test_who_has_just_come_judges_nobody(started: Start) -> None:
    """It may have come together with the server: the others get the time that they would get from one that
    was there."""
    one, two = await started("one"), await started("two", long_ago=False)
    await one.accepts("t")
    await one.silent(2 * LEASE)
    await one.dies()
    assert await two.takes() == []
    two.there_for(LEASE / 4)
    assert await two.takes() == ["t"]


async def test_a_server_that_starts_anew_takes_no_turn_from_those_that_live() -> None:
    """Every lock is gone and every beat is overdue: they get the time to come back. Who has not by then is
    taken for dead."""
    with own_server() as server:
        async with replicas_of(server.url) as started:
            one, two = await started("one"), await started("two")
            await one.accepts("t")
            server.stop()
            server.start()
            await one.silent(LEASE / 4)

            assert await two.takes() == []
            await two.holds()
            assert await two.takes() == []
            await one.replicas.beat(slots=9)
            await one.holds()
            await one.silent(LEASE / 4)
            two.there_for(2 * LEASE)
            assert await two.takes() == []
            await one.dies()
            assert await two.takes() == ["t"]


async def test_what_kept_a_replica_from_its_own_beats_is_not_laid_to_the_others(
    started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that was away, a machine that slept: nobody was heard of, and nobody has died."""
    one, two = await started("one"), await started("two")
    await one.accepts("t")
    await one.silent(2 * LEASE)
    now = time.monotonic() + 2 * LEASE
    monkeypatch.setattr("gateway.storage.replicas.monotonic", lambda: now)
    monkeypatch.setattr("gateway.storage.postgres.replicas.monotonic", lambda: now)
    assert await two.takes() == []
    taken = list[str]()
    for _ in range(3):
        assert not taken
        now += 0.5 * LEASE
        taken = await two.takes()
    assert taken == ["t"]


async def test_a_name_means_another_thing_in_each_class_of_locks(started: Start) -> None:
    """A replica is dead although a task somewhere holds its name."""
    one, two = await started("one"), await started("two")
    await one.accepts("t")
    await one.silent(LEASE / 4)
    await one.dies()
    async with PostgresExclusive(two.database.direct) as exclusive, exclusive.hold("one"):
        assert await two.takes() == ["t"]


async def test_what_is_released_is_taken_at_once_and_counts_as_no_loss(started: Start) -> None:
    """One turn, or, by who leaves, all."""
    one, two = await started("one"), await started("two")
    await one.accepts("a", "b")
    heard: list[str] = []
    one.database.signals.on("released", heard.append)
    await one.replicas.release(OwnedTurn("s_a", "a", 1))
    assert await two.takes() == ["a"]
    await one.replicas.leave()
    assert heard == ["one", "one"]
    assert await two.takes() == ["b"]
    assert await owners(two) == [("a", "two", 2, 0), ("b", "two", 2, 0)]
    assert (await two.replicas.beat(slots=9)).peers == []


async def test_a_replica_that_nobody_knows_owns_nothing(started: Start) -> None:
    """As one of a version that had no rows for replicas, or of a record that was moved here."""
    one, two = await started("one"), await started("two")
    await one.accepts("t")
    await one.dies()
    async with await psycopg.AsyncConnection.connect(one.database.server.url) as connection:
        await connection.execute("DELETE FROM replicas WHERE id = 'one'")
    assert await two.takes() == ["t"]


async def test_a_head_that_is_being_written_is_passed_over(started: Start) -> None:
    """Who holds up its row holds up nobody's beat; the next one takes it."""
    one, two = await started("one"), await started("two")
    await one.accepts("a", "b")
    await one.silent(LEASE + 1)
    async with await psycopg.AsyncConnection.connect(one.database.server.url) as connection:
        await connection.execute("UPDATE heads SET head = head WHERE session_id = 's_a'")
        assert await two.takes() == ["b"]
    assert await two.takes() == ["a"]


async def test_replicas_tell_each_other_about_themselves(started: Start) -> None:
    """Each sees the others that live, what they say of themselves, and the timeline of the server."""
    one, two = await started("one"), await started("two")
    await started("silent")
    await one.replicas.beat(slots=9, about={"version": "2"}, draining=True)
    async with await psycopg.AsyncConnection.connect(one.database.server.url) as connection:
        await connection.execute(UNSEEN, (LEASE + 1, "silent"))
    beat = await two.replicas.beat(slots=9, about={"version": "1"})
    (peer,) = beat.peers
    assert (peer.id, peer.about, peer.draining, peer.timeline) == (
        "one",
        {"version": "2"},
        True,
        beat.timeline,
    )
    assert beat.timeline == 1
    assert peer.unseen < TIMEOUT


async def test_the_lease_lasts_from_before_the_beat_and_not_beyond_one_that_failed(
    started: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven tenths of it, on this replica's own clock."""
    one = await started("one")
    now = 1000.0
    monkeypatch.setattr("gateway.storage.replicas.monotonic", lambda: now)
    monkeypatch.setattr("gateway.storage.postgres.replicas.monotonic", lambda: now)
    await one.replicas.beat(slots=9)
    now += 0.69 * LEASE
    assert one.replicas.lease.is_held
    now += 0.02 * LEASE
    assert not one.replicas.lease.is_held
    await one.database.close()
    with pytest.raises(StorageError):
        await one.replicas.beat(slots=9)
    assert not one.replicas.lease.is_held
