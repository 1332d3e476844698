"""A gateway whose memory cannot be read."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.storage.migrations import migrate_memories
from tests.harness import running_gateway, settings_for, the
from tests.product import Settings, StorageError

pytestmark = pytest.mark.anyio


def garble(file: Path) -> None:
    """Nothing of it is a database any more."""
    file.write_bytes(b"\xff" * 8192)


def garble_memories(file: Path) -> None:
    """It can be opened, and what is remembered cannot be read."""
    with closing(sqlite3.connect(file)) as database:
        ((page,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories'")
        ((size,),) = database.execute("PRAGMA page_size")
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"\xff" * size)


@pytest.fixture
def settings(tmp_path: Path, demo_url: str) -> Settings:
    settings = settings_for(tmp_path / "data", demo_url)
    migrate_memories(settings.memory_path)
    return settings


@pytest.mark.parametrize("damage", [garble, garble_memories])
async def test_a_memory_that_cannot_be_read_stops_the_start(settings: Settings, damage: object) -> None:
    """What has forgotten everything must not pass for what remembers: the refusal says what to do, and doing
    it helps."""
    assert callable(damage)
    damage(settings.memory_path)

    with pytest.raises(StorageError) as refused:
        async with running_gateway(settings):
            pass

    assert not refused.value.retryable
    for message in (
        "The memory cannot be used",
        f"{settings.memory_path} is damaged, move it away with its -wal, -shm and .identity files",
        "put a backup in its place or begin with an empty memory",
        "GATEWAY_MEMORY=false",
    ):
        assert message in refused.value.message
    async with running_gateway(settings.model_copy(update={"memory": False})) as client:
        assert the(await client.chat("hello"), "done")["status"] == "completed"
    for suffix in ("", "-wal", "-shm", ".identity"):
        settings.memory_path.with_name(f"{settings.memory_path.name}{suffix}").unlink(missing_ok=True)
    async with running_gateway(settings) as client:
        assert the(await client.chat("hello"), "done")["status"] == "completed"
