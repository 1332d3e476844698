"""The words of sessions where several processes index, rename and remove them at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgres import database_in, needs_postgres
from tests.product import Storage
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER, postgres_storage

pytestmark = [*needs_postgres, pytest.mark.anyio]

SESSIONS = [f"s{number}" for number in range(8)]
WORDS = "SELECT session_id, count(*) FROM search_words WHERE turn > 0 GROUP BY session_id ORDER BY session_id"
KEPT = "SELECT session_id FROM search_words UNION SELECT session_id FROM search_sessions"

Storages = Sequence[Storage]


@pytest.fixture
async def storages(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Storages]:
    """Two of them on one database, as two replicas have; each session has three turns."""
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(postgres_storage(tmp_path)) for _ in range(2)]
        for name in SESSIONS:
            for number in range(3):
                await add_turn(both[0], name, f"{name}_{number}", f"question{number}", f"answer{number} 鲸鱼")
        yield both


async def found(storage: Storage, query: str) -> list[str]:
    return sorted(row.id for row in await storage.sessions.list(OWNER, limit=99, query=query))


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_in(folder)) as connection:
        return connection.execute(query.encode()).fetchall()


async def test_what_two_index_at_once_is_there_once(storages: Storages, tmp_path: Path) -> None:
    """In whichever order each of them goes through the sessions."""
    await asyncio.gather(
        *(storage.search.index(*SESSIONS[::way]) for storage in storages for way in (1, -1)),
        *(storage.search.index(name) for storage in storages for name in SESSIONS),
    )

    assert rows(tmp_path, WORDS) == [(name, 3) for name in SESSIONS]
    assert await found(storages[1], "鲸鱼 question1") == SESSIONS
    assert await storages[0].search.due(limit=9) == []


async def test_a_session_that_is_renamed_or_removed_meanwhile_has_no_old_words(
    storages: Storages, tmp_path: Path
) -> None:
    indexing, changing = storages
    gone, renamed = SESSIONS[:4], SESSIONS[4:]
    await asyncio.gather(
        *(indexing.search.index(name) for name in SESSIONS),
        *(changing.sessions.delete(name, OWNER) for name in gone),
        *(changing.sessions.change(name, OWNER, 1, title=f"harvest {name}") for name in renamed),
    )
    while await changing.purges.next_slice() is not None:
        pass
    await indexing.search.index(*SESSIONS)

    assert sorted(name for (name,) in rows(tmp_path, KEPT)) == renamed
    assert await found(indexing, "harvest") == await found(changing, "question2 answer2") == renamed
