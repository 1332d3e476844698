"""What storage owes about the bytes of a user's sessions."""

import asyncio

import pytest
from sqlalchemy import text

from gateway.errors import SessionsFull
from gateway.storage.database import Database
from gateway.storage.sessions.session_sizes import SESSION_SIZE
from gateway.storage.sessions.store import Sessions
from gateway.storage.turns import NewTurn
from tests.product import Storage
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


def database_of(storage: Storage) -> Database:
    """Of either engine."""
    assert isinstance(storage.sessions, Sessions)
    return storage.sessions.database


async def test_what_is_said_counts_and_is_given_back(storage: Storage) -> None:
    """A message as its turn is accepted, what was answered once the session is indexed; all of it is free
    again as the session is deleted."""
    assert await storage.sessions.size_of_all(OWNER) == 0
    await add_turn(storage, "s", "t1", "é" * 1000, "y" * 500)
    asked = await storage.sessions.size_of_all(OWNER)
    assert asked == SESSION_SIZE + 2000

    await storage.search.index("s")
    answered = await storage.sessions.size_of_all(OWNER)
    assert asked + 500 <= answered <= asked + 700

    await add_turn(storage, "s", "t2", "more", "z" * 100)
    await storage.search.index("s")
    assert answered + 100 <= await storage.sessions.size_of_all(OWNER) <= answered + 300

    await storage.sessions.delete("s", OWNER)
    assert await storage.sessions.size_of_all(OWNER) == 0


async def test_to_count_again_changes_nothing(storage: Storage) -> None:
    """Also several times at once."""
    await add_turn(storage, "s", "t", "question", "answer")
    await storage.search.index("s")
    before = await storage.sessions.size_of_all(OWNER)

    await asyncio.gather(*(storage.sessions.count("s") for _ in range(4)))

    assert await storage.sessions.size_of_all(OWNER) == before


async def test_sessions_of_a_version_that_did_not_count_are_counted_once(storage: Storage) -> None:
    """Whole; what is asked in them before is not counted twice."""
    await add_turn(storage, "old", "t1", "x" * 1000, "y" * 1000)
    for change in ("UPDATE sessions SET size = NULL, sized_to = NULL", "DELETE FROM session_totals"):
        await database_of(storage).write(
            lambda connection, change=change: connection.execute(text(change)).close()
        )
    await add_turn(storage, "old", "t2", "z" * 1000, "w" * 10)
    assert await storage.sessions.size_of_all(OWNER) == 0
    assert list(await storage.sessions.unsized(10)) == ["old"]

    await storage.sessions.count("old")

    counted = await storage.sessions.size_of_all(OWNER)
    assert SESSION_SIZE + 3010 <= counted <= SESSION_SIZE + 3400
    assert list(await storage.sessions.unsized(10)) == []
    await storage.sessions.delete("old", OWNER)
    assert await storage.sessions.size_of_all(OWNER) == 0


async def test_beyond_the_quota_nothing_is_added(storage: Storage) -> None:
    """Neither a turn nor a session; what was there before stays, and so do others' sessions."""
    await add_turn(storage, "s", "t", "hello", "Hi.")
    await storage.search.index("s")
    used = await storage.sessions.size_of_all(OWNER)

    async def ask(quota: int) -> None:
        new = NewTurn("t2", "s", OWNER, "x" * 1000, "demo", None, "reject", False, 2, session_quota=quota)
        await storage.turns.accept(new, max_queued=1)

    with pytest.raises(SessionsFull, match="GATEWAY_SESSION_QUOTA") as refused:
        await ask(used + 999)
    assert refused.value.details == {"quota": used + 999, "used": used, "wanted": 1000}
    with pytest.raises(SessionsFull):
        await storage.sessions.create("new", OWNER, "A title", 1, quota=used + SESSION_SIZE - 1)

    assert await storage.sessions.size_of_all(OWNER) == used
    assert [row.id for row in await storage.sessions.list(OWNER, limit=9)] == ["s"]
    await storage.sessions.create("theirs", "bob", None, 1, quota=SESSION_SIZE)
    await ask(used + 1000)


async def test_many_at_once_stay_within_the_quota(storage: Storage) -> None:
    """As many as have room, in whatever order they come."""
    tries = [storage.sessions.create(f"s{n}", OWNER, None, 1, quota=5 * SESSION_SIZE) for n in range(12)]

    outcomes = await asyncio.gather(*tries, return_exceptions=True)

    assert sum(isinstance(each, SessionsFull) for each in outcomes) == 7
    assert await storage.sessions.size_of_all(OWNER) == 5 * SESSION_SIZE
