"""The engines that the storage contracts run on."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.storage.memories.store import MemoryStore
from tests.postgres import needs_postgres
from tests.product import Storage
from tests.storage.remembering import (
    MemoryFactory,
    encrypted_postgres_memories,
    encrypted_sqlite_memories,
    postgres_memories,
    sqlite_memories,
)
from tests.storage.writing import ENGINES, Factory


@pytest.fixture(params=ENGINES)
def factory(request: pytest.FixtureRequest) -> Factory:
    """Opens an engine in a folder; opening the same folder again finds what was there."""
    return request.param


@pytest.fixture
async def storage(factory: Factory, tmp_path: Path) -> AsyncGenerator[Storage]:
    async with factory(tmp_path) as opened:
        yield opened


@pytest.fixture(
    params=[
        sqlite_memories,
        encrypted_sqlite_memories,
        pytest.param(postgres_memories, marks=needs_postgres),
        pytest.param(encrypted_postgres_memories, marks=needs_postgres),
    ]
)
def opens(request: pytest.FixtureRequest) -> MemoryFactory:
    """Opens a store of memories in a folder; opening the same folder again finds what was there."""
    return request.param


@pytest.fixture
async def store(opens: MemoryFactory, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryStore]:
    async with opens(tmp_path) as opened:
        yield opened
