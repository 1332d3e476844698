"""Storage as a test opens it, and a turn's writer that numbers its events the way the emitter does."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.log import Append, Closing
from gateway.storage.log.event_log import EventLog
from gateway.storage.postgres import PostgresDatabase
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.turns import Accepted, NewTurn, OnConflict
from gateway.wiring import storage_on_server
from tests.postgres import database_in, has_database, needs_postgres
from tests.product import Keyring, Message, Storage, StoredEvent, Usage, encode, encode_scope, storage_on

OWNER = "ann"


Factory = Callable[..., AbstractAsyncContextManager[Storage]]
"""Opens an engine in a folder, with a keyring or without."""


@asynccontextmanager
async def sqlite_storage(folder: Path, keyring: Keyring | None = None) -> AsyncGenerator[Storage]:
    async with await SqliteDatabase.open(folder / "gateway.db") as database:
        yield storage_on(database, None, keyring)


@asynccontextmanager
async def postgres_storage(folder: Path, keyring: Keyring | None = None) -> AsyncGenerator[Storage]:
    was_there = has_database(folder)
    url = database_in(folder)
    if was_there:  # who had it open before is gone, as with a file, also where nothing was said
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("DELETE FROM replicas")
    async with (
        await PostgresDatabase.open(url) as database,
        storage_on_server(database, open_blobs(None, folder), keyring) as storage,
    ):
        yield storage


ENGINES = [sqlite_storage, pytest.param(postgres_storage, marks=needs_postgres)]


@dataclass(slots=True)
class Writer:
    """Appends to one turn."""

    log: EventLog
    session_id: str
    turn_id: str
    epoch: int = 1
    head: int = 0
    sent: list[StoredEvent] = field(default_factory=list[StoredEvent])

    def append(
        self,
        *types: str,
        body: bytes = b"{}",
        sync: bool = False,
        message: Message | None = None,
        usage: Usage | None = None,
        outcome: Closing | None = None,
    ) -> asyncio.Future[Exception | None]:
        """Queues one event per type; the future holds what `settled` was told."""
        fate: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        first = self.head + 1
        scope = encode_scope(self.session_id, self.turn_id)
        events = [
            StoredEvent(seq, kind, self.turn_id, encode(seq, kind, 7 * seq, scope, body))
            for seq, kind in enumerate(types, first)
        ]
        self.log.append(
            Append(
                self.session_id,
                self.turn_id,
                self.epoch,
                self.head,
                events,
                fate.set_result,
                message=message,
                usage=usage,
                closing=outcome,
                sync=sync,
            )
        )
        self.head += len(types)
        self.sent += events
        return fate

    def close(self, *, at: int = 9) -> asyncio.Future[Exception | None]:
        """Queues the last event and the end of the turn."""
        return self.append("done", sync=True, outcome=Closing("completed", 1, None, None, at))


async def accepted(
    storage: Storage,
    session_id: str = "s",
    turn_id: str = "t",
    *,
    owner: str = OWNER,
    text: str = "hello",
    client_message_id: str | None = None,
    on_conflict: OnConflict = "reject",
    create: bool = True,
    max_queued: int = 9,
    at: int = 5,
    parent: str | None = None,
) -> Accepted:
    """A turn, accepted."""
    new = NewTurn(
        turn_id,
        session_id,
        owner,
        text,
        "model",
        client_message_id,
        on_conflict,
        create,
        at,
        parent_turn_id=parent,
    )
    return await storage.turns.accept(new, max_queued=max_queued)


async def running(storage: Storage, session_id: str = "s", turn_id: str = "t") -> Writer:
    """The writer of a new turn in a session where nothing runs."""
    now = await accepted(storage, session_id, turn_id)
    return writer_of(storage, now)


async def left_open(storage: Storage) -> Sequence[Accepted]:
    """The turns of a former process, which are this one's from now on."""
    return (await storage.replicas.beat(slots=99)).taken


async def taken_anew(storage: Storage) -> list[Accepted]:
    """Every turn that runs, under a new number: its writer was lost."""
    owned = await storage.turns.owned()
    found = [await storage.turns.take_over(turn.turn_id, recovered=True) for turn in owned]
    return [now for now in found if now is not None]


def writer_of(storage: Storage, now: Accepted) -> Writer:
    """The writer of a turn that runs."""
    return Writer(storage.log, now.turn.session_id, now.turn.id, now.turn.epoch, now.head)
