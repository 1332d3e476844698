"""A store of memories in a file of its own, and an embeddings API on loopback."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.loopback import served
from tests.memory.search.vector_server import VectorServer


@pytest.fixture
async def memory_database(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[SqliteMemoryDatabase]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield database


@pytest.fixture
def store(memory_database: SqliteMemoryDatabase) -> MemoryStore:
    return MemoryStore(memory_database)


@pytest.fixture
async def server(anyio_backend: str) -> AsyncGenerator[VectorServer]:
    server = VectorServer()
    async with served(server.app, lifespan=False) as url:
        server.url = f"{url}/v1"
        yield server
