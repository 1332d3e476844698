"""Memories in a file of their own, and what corrects them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.memory.memories import Memories
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.memory.correcting import Corrections


@pytest.fixture
async def memories(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Memories]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield Memories(MemoryStore(database), most=100)


@pytest.fixture
def corrections(memories: Memories) -> Corrections:
    return Corrections(memories)
