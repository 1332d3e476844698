"""Memories as a test opens and makes them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway.lexical import tokens
from gateway.memory.validation import digest_of
from gateway.storage.memories import Change, Filter, Indexed, MemoryRow, Operation, Scope, Viewer
from gateway.storage.memories.encrypted_memories import EncryptedMemories
from gateway.storage.memories.memory_database import MemoryDatabase
from gateway.storage.memories.memory_key import memory_key
from gateway.storage.memories.store import MemoryStore
from gateway.storage.postgres.postgres_memory_database import PostgresMemoryDatabase
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.postgres import database_in
from tests.product import Keyring, indexed, query_tokens

ANN = Scope("ann", role_id="writer")
RECALLABLE = Filter(recallable=True)

MemoryFactory = Callable[[Path], AbstractAsyncContextManager[MemoryStore]]


@asynccontextmanager
async def sqlite_memory(folder: Path) -> AsyncGenerator[MemoryDatabase]:
    async with await SqliteMemoryDatabase.open(folder / "memory.db") as database:
        yield database


@asynccontextmanager
async def postgres_memory(folder: Path) -> AsyncGenerator[MemoryDatabase]:
    async with await PostgresMemoryDatabase.open(database_in(folder)) as database:
        yield database


@asynccontextmanager
async def sqlite_memories(folder: Path) -> AsyncGenerator[MemoryStore]:
    async with sqlite_memory(folder) as database:
        yield MemoryStore(database)


@asynccontextmanager
async def postgres_memories(folder: Path) -> AsyncGenerator[MemoryStore]:
    async with postgres_memory(folder) as database:
        yield MemoryStore(database)


KEYRING = Keyring([bytes(range(32))])


async def encrypted_in(database: MemoryDatabase, *, encrypts: bool = True) -> EncryptedMemories:
    key = await memory_key(database, KEYRING)
    assert key is not None
    return EncryptedMemories(database, key, encrypts=encrypts)


@asynccontextmanager
async def encrypted_sqlite_memories(folder: Path) -> AsyncGenerator[MemoryStore]:
    async with sqlite_memory(folder) as database:
        yield await encrypted_in(database)


@asynccontextmanager
async def encrypted_postgres_memories(folder: Path) -> AsyncGenerator[MemoryStore]:
    async with postgres_memory(folder) as database:
        yield await encrypted_in(database)


def memory(memory_id: str, content: str = "", **fields: Any) -> MemoryRow:
    """A fact about ann, known to all her roles, unless `fields` say otherwise."""
    text = content or f"the fact {memory_id}"
    row = MemoryRow(
        id=memory_id,
        user_id="ann",
        owner_type="user",
        owner_id="ann",
        type="fact",
        content=text,
        summary=text[:200],
        digest=digest_of(text),
        visibility="global",
        source="user",
        created_at=1,
        updated_at=1,
        last_used=1,
    )
    return replace(row, **fields)


def document(memory_id: str, content: str = "", **fields: Any) -> tuple[MemoryRow, list[Indexed]]:
    """A documented memory with by what it is found."""
    row = memory(memory_id, content, source="document", user_id="nobody", owner_id="nobody", **fields)
    return row, [Indexed(tokens(row.content))]


def step(row: MemoryRow, operation: Operation = "remembered", **more: Any) -> Change:
    stated_by = more.pop("stated_by", row.user_id)
    return Change(row, operation, "ann", "she said so", indexed(row), stated_by=stated_by, **more)


def became(row: MemoryRow, operation: Operation = "updated", **fields: Any) -> Change:
    """The next version of `row`."""
    content = fields.get("content")
    derived = {} if content is None else {"digest": digest_of(content), "summary": content[:200]}
    return step(replace(row, version=row.version + 1, **derived | fields), operation)


async def remember(store: MemoryStore, *rows: MemoryRow, most: int = 10_000) -> None:
    await store.write([step(row) for row in rows], most=most)


async def matched(
    store: MemoryStore, query: str, viewer: Viewer = ANN, which: Filter = RECALLABLE
) -> list[str]:
    found = await store.match(viewer, query_tokens(query), which, limit=50)
    return [match.row.id for match in found]


async def listed(store: MemoryStore, viewer: Viewer = ANN, which: Filter | None = None) -> list[str]:
    return [row.id for row in await store.list(viewer, which, limit=50)]
