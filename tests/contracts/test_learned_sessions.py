"""What storage owes about how far sessions were learned from."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.storage.sessions import BESIDE
from gateway.storage.sessions.learning_progress import LearnedSessions
from gateway.storage.sqlite import SqliteDatabase
from tests.product import Storage, storage_on
from tests.storage.saying import add_turn, archive, ask, finish
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class Opened:
    storage: Storage
    learned: LearnedSessions


@pytest.fixture
async def opened(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Opened]:
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        yield Opened(storage_on(database), LearnedSessions(database))


async def test_a_session_is_read_from_the_turn_on_with_which_it_begins(opened: Opened) -> None:
    """Also when that turn has said something already; a later turn does not move it."""
    storage, learned = opened.storage, opened.learned
    await add_turn(storage, "s", "t1", "one", "two")
    assert await learned.learned_to("s") is None
    writer = await ask(storage, "s", "t2", "three")
    await learned.begin("s", "t2")
    await finish(writer, "four")
    await add_turn(storage, "s", "t3", "five", "six")
    await learned.begin("s", "t3")

    assert await learned.learned_to("s") == 2


async def test_nothing_is_learned_from_what_a_frontend_asks_for_itself(opened: Opened) -> None:
    """Titles and tags are not the user's words. Other roles are."""
    for role in (BESIDE, "cook"):
        await opened.storage.sessions.create(role, OWNER, None, 1, role_id=role)
        await add_turn(opened.storage, role, f"t-{role}", "one", "two")
        await opened.learned.begin(role, f"t-{role}")

    assert await opened.learned.learned_to(BESIDE) is None
    assert await opened.learned.learned_to("cook") == 0


async def test_what_lies_in_an_archive_counts(opened: Opened) -> None:
    storage, learned = opened.storage, opened.learned
    await add_turn(storage, "s", "t1", "one", "two")
    await archive(storage, "s")
    await add_turn(storage, "s", "t2", "three", "four")
    await learned.begin("s", "t2")
    assert await learned.learned_to("s") == 2

    await archive(storage, "s")
    await learned.advance("s", 3)
    assert await learned.learned_to("s") == 3


async def test_once_everything_was_read_nothing_is_to_be_read(opened: Opened) -> None:
    """Not while there are later messages, or a turn whose messages are still to come."""
    storage, learned = opened.storage, opened.learned
    writer = await ask(storage, "s", "t1", "one")
    await learned.begin("s", "t1")
    await learned.advance("s", 1)
    assert await learned.learned_to("s") == 1
    await finish(writer, "two")
    await learned.advance("s", 1)
    assert await learned.learned_to("s") == 1
    await learned.advance("s", 2)
    assert await learned.learned_to("s") is None

    await learned.advance("s", 1)
    assert await learned.learned_to("s") is None


async def test_sessions_to_read_are_found_in_parts(opened: Opened) -> None:
    """Without those that a turn is in, that were used since, and that were read."""
    storage, learned = opened.storage, opened.learned
    for name in ("a", "b", "c", "d", "read"):
        await add_turn(storage, name, f"t_{name}", "one", "two")
        await learned.begin(name, f"t_{name}")
    await add_turn(storage, "old", "t_old", "one", "two")
    await ask(storage, "c", "t_c2", "three")
    await learned.advance("read", 2)

    first = await learned.due(before=100, limit=2)
    assert first == [("a", OWNER), ("b", OWNER)]
    assert await learned.due(before=100, after="b", limit=2) == [("d", OWNER)]
    assert await learned.due(before=9, limit=9) == []


async def test_a_session_that_is_gone_is_not_to_be_read(opened: Opened) -> None:
    """Nor one that has its id later."""
    storage, learned = opened.storage, opened.learned
    await add_turn(storage, "s", "t1", "one", "two")
    await learned.begin("s", "t1")
    await storage.sessions.delete("s", OWNER)
    await learned.begin("s", "t1")
    await learned.advance("s", 2)
    assert await learned.learned_to("s") is None

    await storage.sessions.create("s", OWNER, None, 1)
    assert await learned.learned_to("s") is None
