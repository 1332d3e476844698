"""A store of memories on a real file."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.memory.memories import Memories
from gateway.storage.memories.store import SqlMemories
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase


@pytest.fixture
async def store(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[SqlMemories]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield SqlMemories(database)


@pytest.fixture
def memories(store: SqlMemories) -> Memories:
    return Memories(store, most=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the documents are; it does not exist yet."""
    return tmp_path / "documents"
