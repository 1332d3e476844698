"""Memories in a file of their own, and what corrects them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.memory.memories import Memories
from gateway.storage.memories.store import SqlMemories
from gateway.storage.sqlite.shared import SharedDatabase
from tests.memory.correcting import Corrections


@pytest.fixture
async def memories(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Memories]:
    async with await SharedDatabase.open(tmp_path / "memory.db") as database:
        yield Memories(SqlMemories(database), most=100)


@pytest.fixture
def corrections(memories: Memories) -> Corrections:
    return Corrections(memories)
