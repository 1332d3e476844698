"""The background worker that makes finished turns searchable."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.history.indexer import BATCH, MAX_ATTEMPTS, MAX_WAITING, Indexer
from gateway.storage.sessions.search import Search
from tests.loopback import TIMEOUT
from tests.product import Storage, StorageError, StoredEvent
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER, sqlite_storage

pytestmark = pytest.mark.anyio

DONE = [StoredEvent(1, "text", "t", b"{}"), StoredEvent(2, "done", "t", b"{}")]


@asynccontextmanager
async def indexing(search: Search) -> AsyncGenerator[Indexer]:
    """An indexer that runs, without pauses."""
    indexer = Indexer(search, gather=0, pause=0, first_retry=0)
    tasks = [asyncio.create_task(work) for work in (indexer.look(), indexer.run())]
    try:
        async with asyncio.timeout(TIMEOUT):
            yield indexer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Recorded(Search):
    """A search that writes down what it is asked, and fails as often as it is told."""

    def __init__(self, *due: str, failures: int = 0, poison: str | None = None) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.waiting = sorted(due)
        self.failures = failures
        self.poison = poison

    async def index(self, *session_ids: str) -> None:
        self.calls.append(session_ids)
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise StorageError("the disk is full")
        if self.poison in session_ids:
            raise ValueError("a bug")
        self.waiting = [name for name in self.waiting if name not in session_ids]

    async def due(self, *, after: str = "", limit: int) -> Sequence[str]:
        return [name for name in self.waiting if name > after][:limit]

    @property
    def indexed(self) -> list[str]:
        return sorted({name for call in self.calls for name in call})


async def test_finished_turns_become_searchable(tmp_path: Path) -> None:
    """Those that a former process left, then those whose end is published on the bus."""
    async with sqlite_storage(tmp_path) as storage:
        await add_turn(storage, "old", "t1", "question", "an old answer")
        async with indexing(storage.search) as indexer:
            storage.bus.watch(indexer.watch)
            await indexer.settled()
            assert await found(storage, "answer") == ["old"]
            await add_turn(storage, "new", "t2", "question", "a new answer")
            await indexer.settled()
            assert await found(storage, "answer") == ["new", "old"]


async def test_turns_that_end_one_after_the_other_are_indexed_together() -> None:
    """Those of a moment share a batch, whoever came first."""
    search = Recorded()
    indexer = Indexer(search, gather=0.05)
    task = asyncio.create_task(indexer.run())
    await indexer.settled()
    for name in ("a", "b", "c"):
        indexer.watch(name, DONE)
        await asyncio.sleep(0)
    async with asyncio.timeout(TIMEOUT):
        await indexer.settled()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert search.calls == [("a", "b", "c")]


async def found(storage: Storage, query: str) -> list[str]:
    return sorted(row.id for row in await storage.sessions.list(OWNER, limit=9, query=query))


async def test_only_the_end_of_a_turn_is_heard() -> None:
    """Other events make no work."""
    search = Recorded()
    async with indexing(search) as indexer:
        indexer.watch("s", DONE[:1])
        await indexer.settled()
        assert search.calls == []
        indexer.watch("s", DONE)
        await indexer.settled()
    assert search.calls == [("s",)]


async def test_a_burst_is_indexed_together() -> None:
    """Sessions that finish while another batch is written go into one, each once, up to BATCH."""
    search = Recorded()
    async with indexing(search) as indexer:
        await indexer.settled()
        for _ in range(3):
            for number in range(BATCH + 5):
                indexer.watch(f"s{number}", DONE)
        await indexer.settled()

    assert [len(call) for call in search.calls] == [BATCH, 5]


async def test_a_failure_is_tried_again() -> None:
    """While storage cannot do its work nothing is forgotten."""
    search = Recorded("due", failures=MAX_ATTEMPTS - 2)
    async with indexing(search) as indexer:
        indexer.watch("s", DONE)
        await indexer.settled()

    assert search.failures == 0
    assert search.waiting == []
    assert search.calls[-1] == ("s",)


async def test_a_database_that_fails_for_long_leaves_no_session_out() -> None:
    """However often each was tried, found in the database or heard of."""
    search = Recorded("due", failures=20 * MAX_ATTEMPTS)
    async with indexing(search) as indexer:
        indexer.watch("s", DONE)
        await indexer.settled()

    assert search.failures == 0
    assert search.waiting == []
    assert "s" in search.calls[-1]


async def test_a_session_that_cannot_be_indexed_keeps_no_other_from_it() -> None:
    """It is tried a few times alone, then left; all others are indexed."""
    search = Recorded("a", "bad", "c", poison="bad")
    async with indexing(search) as indexer:
        await indexer.settled()
        assert search.waiting == ["bad"]
        assert search.calls.count(("bad",)) == MAX_ATTEMPTS
        indexer.watch("d", DONE)
        await indexer.settled()
    assert "d" in search.indexed


async def test_what_does_not_fit_into_memory_is_asked_for_again() -> None:
    """More sessions than are remembered: those beyond are found by asking what is due."""
    names = [f"s{number:05}" for number in range(MAX_WAITING + 3)]
    search = Recorded(*names)
    indexer = Indexer(search, gather=0, pause=0, first_retry=0)
    for name in names:
        indexer.watch(name, DONE)
    search.waiting = names[-3:]
    task = asyncio.create_task(indexer.run())
    async with asyncio.timeout(TIMEOUT):
        await indexer.settled()
    task.cancel()

    assert search.waiting == []
    assert set(names) == set(search.indexed)
