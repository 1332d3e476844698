"""A store of memories on a real file."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.memory.memories import Memories
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase


@pytest.fixture
async def store(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryStore]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield MemoryStore(database)


@pytest.fixture
def memories(store: MemoryStore) -> Memories:
    return Memories(store, most=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the documents are; it does not exist yet."""
    return tmp_path / "documents"
