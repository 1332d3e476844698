"""The database of the memories, of the engine that the settings name."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.memory.memories import Memories
from gateway.settings import Settings
from gateway.storage.memories.memory_database import MemoryDatabase
from gateway.storage.memories.memory_key import memory_key
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from gateway.wiring.database_server import driver_needed
from gateway.wiring.encryption import open_keyring

CONNECTIONS = 4
"""To a PostgreSQL server for the memories, made as they are needed."""


@asynccontextmanager
async def open_stored_memories(settings: Settings) -> AsyncGenerator[Memories]:
    """The memories to be listed and read, without what `open_memory` has beside them. Raises as that."""
    async with open_memory_database(settings) as database:
        yield Memories(await memories_in(database, settings), most=settings.memory_limit)


async def memories_in(database: MemoryDatabase, settings: Settings) -> MemoryStore:
    """Those of an open database, which are encrypted where there are keys. Raises errors.SettingsError: a key
    is missing."""
    key = await memory_key(database, open_keyring(settings))
    if key is None:
        return MemoryStore(database)
    from gateway.storage.memories.encrypted_memories import EncryptedMemories  # noqa: PLC0415 - for who has keys

    return EncryptedMemories(database, key, encrypts=settings.encrypt_contents)


@asynccontextmanager
async def open_memory_database(settings: Settings) -> AsyncGenerator[MemoryDatabase]:
    """Raises as `open_memory`."""
    if settings.is_shared:
        with driver_needed():
            from gateway.storage.postgres.postgres_memory_database import PostgresMemoryDatabase  # noqa: PLC0415 - an extra
        assert settings.database_url is not None  # it is shared
        async with await PostgresMemoryDatabase.open(
            settings.database_url,
            direct_url=settings.database_direct_url,
            connections=CONNECTIONS,
        ) as database:
            yield database
        return
    async with await SqliteMemoryDatabase.open(
        settings.memory_path, copy_first=settings.copy_before_migration
    ) as database:
        yield database
