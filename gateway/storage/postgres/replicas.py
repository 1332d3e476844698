"""The replicas that share a PostgreSQL database, on the clock of its server.

lives     its row in `replicas` was touched less than a lease ago
died      it holds no lock on its name any more, and missed a beat: its connections ended with it
stopped   it holds the lock and missed a whole lease: what it does when it goes on is refused

A server that starts anew, or cannot be reached, ends the connections of those that live, too. So a replica
judges the others only by the time for which it has had the server itself, without a break.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic

import orjson
import psycopg
from psycopg import sql
from sqlalchemy import Connection, text

from gateway.errors import StorageError
from gateway.storage.database import Store, send
from gateway.storage.migrations import HEAD, MEMORY_HEAD
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import Raw, ServerAddress
from gateway.storage.postgres.postgres_database import PostgresDatabase
from gateway.storage.replica_signals import Signal
from gateway.storage.replicas import NOTHING, Beat, Lease, Peer
from gateway.storage.replicas.statements import look, release, release_all, take_orphans
from gateway.storage.turns import Accepted, OwnedTurn

BEATS = 10
"""Beats in a lease."""
MISSED = 1.5
"""Beats that a replica without its lock has missed when it counts as dead: a lock alone may be lost with a
connection, and come back."""
RECONNECT = 6.0
"""Seconds in which those that live have reached a server again that was away: an attempt at a connection
takes 5 (connections.py), and the next begins with the next beat. Never more than a lease."""

log = logging.getLogger(__name__)

TOUCH = text("""
    INSERT INTO replicas (id, draining, about, timeline) VALUES (:me, :draining, :about,
        CASE WHEN pg_is_in_recovery() THEN NULL
        ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END)
    ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), draining = excluded.draining,
        about = excluded.about, timeline = excluded.timeline
    RETURNING timeline
""")
# CASE, as AND has no order: the lock of a replica that lives is left alone. The own lock is free when the
# server was started since it was taken, unnoticed by all replicas. NULL as seconds: no replica is judged so.
GONE = text(f"""
    WITH mine AS MATERIALIZED (
        SELECT NOT pg_try_advisory_xact_lock_shared(hashtextextended(:me, {LockClass.LIVENESS:d})) AS is_held
    )
    SELECT id FROM replicas, mine WHERE id <> :me AND mine.is_held AND CASE
        WHEN seen_at < clock_timestamp() - make_interval(secs => :stopped) THEN true
        WHEN seen_at < clock_timestamp() - make_interval(secs => :died)
            THEN pg_try_advisory_xact_lock_shared(hashtextextended(id, {LockClass.LIVENESS:d}))
        ELSE false END
""")  # noqa: S608 - a number of ours
# A head that is locked at this moment is skipped, and looked at again with the next beat.
ORPHANS = text("""
    SELECT h.session_id, h.turn_id, h.replica FROM heads h LEFT JOIN replicas r ON r.id = h.replica
    WHERE h.turn_id IS NOT NULL AND h.parked_until IS NULL
        AND (h.replica IS NULL OR (r.id IS NULL AND h.replica <> :me) OR h.replica = ANY(:gone))
    ORDER BY h.session_id LIMIT :slots FOR NO KEY UPDATE OF h SKIP LOCKED
""")
PEERS = text("""
    SELECT id, about, timeline, draining, extract(epoch FROM clock_timestamp() - seen_at)::float8 AS unseen
    FROM replicas WHERE id <> :me AND id <> ALL(:gone)
        AND seen_at >= clock_timestamp() - make_interval(secs => :lease)
    ORDER BY started_at, id
""")
LEAVE = text("DELETE FROM replicas WHERE id = :me")
HOLD = sql.SQL("SELECT pg_advisory_lock(hashtextextended(%s, %s))")
FORGET = text("""
    DELETE FROM replicas r WHERE seen_at < clock_timestamp() - interval '1 hour'
        AND NOT EXISTS (SELECT FROM heads h WHERE h.replica = r.id)
""")


def peers(connection: Connection, lease: float, me: str = "", gone: Sequence[str] = ()) -> list[Peer]:
    """Those that live, but for one, and for those that are known to be `gone` before their lease is over."""
    found = connection.execute(PEERS, {"lease": lease, "me": me, "gone": [*gone]}).all()
    return [Peer(row.id, orjson.loads(row.about), row.timeline, row.draining, row.unseen) for row in found]


def touch(connection: Connection, me: str, about: Mapping[str, str], *, draining: bool) -> int | None:
    """A sign of life; returns the timeline of the server."""
    description = orjson.dumps(dict(about), option=orjson.OPT_SORT_KEYS).decode()
    return connection.execute(TOUCH, {"me": me, "draining": draining, "about": description}).scalar()


class PostgresReplicas(Store):
    """The `Replicas` protocol. `direct` is the server's own address, where a lock lasts."""

    database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, direct: ServerAddress, lease: float) -> None:
        super().__init__(database)
        self.every = lease / BEATS
        self.lease = Lease(lease, MISSED * self.every)
        self._seconds = lease
        self.about: Mapping[str, str] = {"schema": f"{HEAD}/{MEMORY_HEAD}", "lease": f"{lease:g}"}
        self.joined_at = self.back_at = monotonic()
        self.liveness = Liveness(direct, database.replica)

    async def join(self) -> None:
        """Before any turn runs: turns without a known lease holder are taken over. Raises StorageError."""
        await asyncio.to_thread(self.liveness.hold)
        self.joined_at = self.back_at = monotonic()

        def joined(connection: Connection) -> None:
            connection.execute(FORGET)
            touch(connection, self.database.replica, NOTHING, draining=False)

        asked_at = monotonic()
        await self.database.write(joined)
        self.lease.renew(asked_at)

    async def beat(self, *, slots: int, draining: bool = False, about: Mapping[str, str] = NOTHING) -> Beat:
        """Renews the lease, takes over at most `slots` turns, and returns what there is to do."""
        me, lease = self.database.replica, self._seconds
        asked_at = monotonic()
        if not self.lease.is_held:
            self.back_at = asked_at  # what kept this one from its beats may have kept all
        judged = self._judged(asked_at)

        def beaten(connection: Connection) -> Beat:
            timeline = touch(connection, me, about, draining=draining)
            taken: list[Accepted] = []
            gone = list(connection.execute(GONE, {"me": me, **judged}).scalars())
            if slots:
                orphans = connection.execute(ORPHANS, {"me": me, "gone": gone, "slots": slots}).all()
                taken = take_orphans(connection, ((row[0], row[1], row[2]) for row in orphans), me)
            found = look(connection, me, taken)
            return replace(found, peers=peers(connection, lease, me, gone), timeline=timeline)

        beat = await self.database.write(beaten)
        self.lease.renew(asked_at)
        self.liveness.renew()
        return beat

    def _judged(self, at: float) -> dict[str, float | None]:
        """After how many seconds without a beat others count as stopped, and as died without their lock; None
        while that cannot be known."""
        held_since = self.liveness.held_since
        if held_since is None:
            return {"stopped": None, "died": None}
        since = max(held_since, self.back_at)
        missed = MISSED * self.every
        timeout = missed if since <= self.joined_at else min(self._seconds, RECONNECT)
        return {
            "stopped": self._seconds if at - since > self._seconds else None,
            "died": missed if at - since > timeout else None,
        }

    async def release(self, turn: OwnedTurn) -> None:
        """Leaves a turn to the next replica."""

        def released(connection: Connection) -> None:
            release(connection, turn)
            send(connection, Signal("released", self.database.replica))

        await self.database.write(released)

    async def leave(self) -> None:
        """Releases all turns of this replica and removes it from the list."""
        replica = self.database.replica

        def left(connection: Connection) -> None:
            release_all(connection, replica)
            connection.execute(LEAVE, {"me": replica})
            send(connection, Signal("released", replica))

        await self.database.write(left)
        await self.liveness.close()


class Liveness:
    """A lock on the replica's name that ends with the process, on a connection of its own."""

    def __init__(self, direct: ServerAddress, replica: str) -> None:
        self.held_since: float | None = None
        """Since when it is held without a break, on the monotonic clock; None while it is not."""
        self._direct = direct
        self._replica = replica
        self._raw: Raw | None = None
        self._renewing: asyncio.Future[None] | None = None
        self._closed = False

    def renew(self) -> None:
        """Sees to it that it is held, without anybody waiting for that."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(asyncio.to_thread(self.hold))

    def hold(self) -> None:
        """Takes the lock if it is not held. Without it others wait for the whole lease."""
        try:
            if self._raw is None and not self._closed:
                self._raw = self._direct.connect()
                self._raw.execute(HOLD, (self._replica, LockClass.LIVENESS.value))
                self.held_since = monotonic()
            elif self._raw is not None:
                self._raw.execute("SELECT 1")
        except (StorageError, psycopg.Error) as error:
            log.warning("the lock of this replica is not held: %s", type(error).__name__)
            self._drop()

    async def close(self) -> None:
        """Gives it up."""
        self._closed = True
        if self._renewing is not None:
            await self._renewing
        self._drop()

    def _drop(self) -> None:
        self.held_since = None
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.close()
