"""Commits on PostgreSQL of which nobody was told what became of them."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg
import pytest
from sqlalchemy import Connection, text

from gateway.storage.postgres import PostgresDatabase, commits, transactions
from gateway.storage.postgres.connections import ConnectionPool, Raw, ServerAddress, raw_of
from tests.cutting import Cutting, cutting
from tests.postgres import OwnServer, database_in, needs_postgres, own_server
from tests.product import Message, StorageError
from tests.storage.test_postgres_log import opened, through
from tests.storage.writing import running

pytestmark = [*needs_postgres, pytest.mark.anyio]

ADD = text("INSERT INTO skill_switches VALUES ('s', true, 'ann', 1)")
SWITCHES = "SELECT count(*) FROM skill_switches"
NUMBER = "SELECT pg_current_xact_id()::text::bigint"
SAYS = Message("assistant", [{"type": "text", "text": "once"}])


@pytest.fixture
def server() -> Generator[OwnServer]:
    with own_server() as server:
        yield server


@contextmanager
def cutting_off(url: str) -> Generator[tuple[Cutting, str]]:
    """A proxy, and the address of the database behind it."""
    server = urlsplit(url)
    with cutting(server.hostname or "", server.port or 0) as proxy:
        yield proxy, through(proxy, url)


def crash(server: OwnServer, raw: Raw) -> None:
    """The server crashes in the middle of that connection's transaction, and another one gets its number."""
    (number,) = raw.execute(NUMBER).fetchone() or (0,)
    server.crash(raw.info.backend_pid)
    given = 0
    with psycopg.connect(server.url, autocommit=True) as other:
        while given < number:
            (given,) = other.execute(NUMBER).fetchone() or (0,)
    assert given == number


async def test_after_a_crash_the_number_of_a_transaction_says_nothing(server: OwnServer) -> None:
    """It is another one's, which was committed: what is lost is not taken for stored."""

    def work(connection: Connection) -> None:
        connection.execute(ADD)
        crash(server, raw_of(connection))

    async with await PostgresDatabase.open(server.url) as database:
        with pytest.raises(StorageError) as raised:
            await database.write(work)
    with psycopg.connect(server.url) as admin:
        assert admin.execute(SWITCHES).fetchone() == (0,)
    assert raised.value.code == "outcome_unknown"


async def test_a_message_that_a_crash_took_along_is_stored_by_the_next_attempt(
    server: OwnServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves no head, and the number of its transaction is another one's."""
    commit, crashes = transactions.commit, 0

    def crashing(raw: Raw) -> None:
        nonlocal crashes
        crashes += 1
        if crashes == 1:
            crash(server, raw)
        commit(raw)

    monkeypatch.setattr(commits, "commit", crashing)
    async with opened(server.url, tmp_path) as storage:
        writer = await running(storage)
        assert await writer.append(message=SAYS, sync=True) is None
        assert [each.message for each in await storage.sessions.messages("s")] == [SAYS]
    assert crashes == 2


async def test_a_transaction_that_is_under_way_for_ever_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose standby does not answer: after a while it is said that nobody knows."""
    monkeypatch.setattr(transactions, "UNKNOWN", 0.3)
    address = ServerAddress(database_in(tmp_path))
    links = ConnectionPool(address, 1)
    with address.connect() as raw:
        begun = transactions.begin(raw)
        with pytest.raises(StorageError) as raised:
            await asyncio.to_thread(transactions.was_committed, links, begun)
        transactions.commit(raw)
        assert await asyncio.to_thread(transactions.was_committed, links, begun)
    links.close()
    assert raised.value.code == "outcome_unknown"


async def test_a_message_alone_behind_events_is_recognised_with_them(tmp_path: Path) -> None:
    """All of one turn in a flush is one change, and so is its answer that was not heard."""
    url = database_in(tmp_path)
    with cutting_off(url) as (proxy, address):
        async with opened(address, tmp_path, direct_url=url) as storage:
            writer = await running(storage)
            assert await writer.append("text", sync=True) is None
            proxy.cut_after(0, answers=True)
            fates = [writer.append("text", sync=True), writer.append(message=SAYS, sync=True)]
            assert await asyncio.gather(*fates) == [None, None]
            assert proxy.cuts == 1
            assert await storage.log.read("s", after=0, limit=100) == writer.sent
            assert len(await storage.sessions.messages("s")) == 1


async def test_no_longer_than_the_lease_is_a_server_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After that the turns may be others'."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    url = database_in(tmp_path)
    with cutting_off(url) as (proxy, address):
        async with opened(address, tmp_path, direct_url=url, lease=2) as storage:
            writer = await running(storage)
            monkeypatch.setattr(commits, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
            proxy.go_away()
            assert isinstance(await writer.append("text"), StorageError)
    assert 1 < now < 2
