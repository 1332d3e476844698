"""The event log on PostgreSQL where other replicas and the network are against it."""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Connection

from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.postgres import PostgresDatabase, commits
from gateway.storage.postgres.connections import LIMITS
from gateway.wiring import storage_on_server
from tests.cutting import Cutting, cutting
from tests.loopback import TIMEOUT
from tests.pooler import needs_pooler, pooled
from tests.postgres import database_in, needs_postgres
from tests.product import Message, Storage, StorageError, TurnLost
from tests.storage.writing import Writer, running

pytestmark = [*needs_postgres, pytest.mark.anyio]

LOCK_TIMEOUT = "options=-clock_timeout%3D200ms"
TAKE = "UPDATE heads SET epoch = epoch + 1, replica = 'other' WHERE session_id = 's'"
WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""
FEW = sql.SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT 2 IN ROLE pg_read_all_data, pg_write_all_data")
MANY = sql.SQL("ALTER ROLE {} CONNECTION LIMIT -1")
EVENTS = "SELECT seq, type, body FROM loose_events WHERE session_id = %s ORDER BY seq"
MESSAGES = "SELECT position, content FROM messages WHERE session_id = %s ORDER BY position"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_in(tmp_path)


@pytest.fixture
def proxy(url: str) -> Generator[Cutting]:
    server = urlsplit(url)
    with cutting(server.hostname or "", server.port or 0) as proxy:
        yield proxy


@asynccontextmanager
async def opened(
    url: str, folder: Path, *, direct_url: str | None = None, lease: float = 10
) -> AsyncGenerator[Storage]:
    """The storage of one replica. What is direct does not go through the proxy."""
    async with (
        await PostgresDatabase.open(url, direct_url=direct_url, lease=lease) as database,
        storage_on_server(database, open_blobs(None, folder)) as storage,
    ):
        yield storage


def through(proxy: Cutting, url: str) -> str:
    server = urlsplit(url)
    return server._replace(netloc=f"{server.username}@127.0.0.1:{proxy.port}").geturl()


async def until_waiting(admin: psycopg.Connection, count: int = 1) -> None:
    """Until so many statements wait for a lock."""
    while admin.execute(WAITING).fetchone() != (count,):
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("plain", [True, False], ids=["piece", "message"])
async def test_a_flush_that_waited_for_a_take_over_is_refused(
    url: str, tmp_path: Path, *, plain: bool
) -> None:
    """The former owner's append comes while another takes the turn: it waits for that, sees it, and nothing
    of it is stored. The new owner continues from the head that it read."""
    async with opened(url, tmp_path) as storage:
        writer = await running(storage)
        assert await writer.append("text") is None
        message = None if plain else Message("assistant", [{"type": "text", "text": "late"}])
        with psycopg.connect(url) as other, psycopg.connect(url, autocommit=True) as admin:
            other.execute(TAKE)
            late = writer.append("text", message=message)
            await until_waiting(admin)
            other.commit()
            assert isinstance(await late, TurnLost)

            new = Writer(storage.log, "s", "t", epoch=2, head=1)
            assert await new.append("text", sync=True) is None
            assert [row[:2] for row in admin.execute(EVENTS, ("s",))] == [(1, "text"), (2, "text")]
            assert admin.execute(MESSAGES, ("s",)).fetchall() == []


async def test_a_session_that_is_locked_does_not_hold_up_others(url: str, tmp_path: Path) -> None:
    """A replica that stopped in the middle of a transaction has one session's head; what others append in the
    same flush is stored, and that session's writer is told."""
    async with opened(f"{url}?{LOCK_TIMEOUT}", tmp_path) as storage:
        await a_locked_session_is_left_out(storage, url)


@needs_pooler
async def test_behind_a_pooler_waits_end_too(url: str, tmp_path: Path) -> None:
    """Its connections belong to one transaction at a time, and so do the limits; that of an append, which is
    a transaction without a beginning, is the user's or the database's."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {urlsplit(url).path[1:]} SET lock_timeout = '200ms'".encode())
    with pooled(url, tmp_path) as pooler:
        async with opened(pooler, tmp_path, direct_url=url) as storage:
            await a_locked_session_is_left_out(storage, url)
        async with await PostgresDatabase.open(pooler, direct_url=url) as database:
            for ask in (database.write, database.read):
                assert await ask(limits) == list(LIMITS.values())
        with psycopg.connect(pooler) as next_one:
            assert next_one.execute("SHOW statement_timeout").fetchone() == ("0",)


async def a_locked_session_is_left_out(storage: Storage, url: str) -> None:
    stuck, free = await running(storage), await running(storage, "s2", "t2")
    with psycopg.connect(url) as other:
        other.execute("SELECT FROM heads WHERE session_id = 's' FOR NO KEY UPDATE")
        message = Message("assistant", [{"type": "text", "text": "Hello"}])
        async with asyncio.timeout(TIMEOUT):
            fates = await asyncio.gather(stuck.append("text"), free.append("text", message=message))
        assert [type(fate) for fate in fates] == [StorageError, type(None)]


def limits(connection: Connection) -> list[str]:
    return [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in LIMITS]


Fates = list[asyncio.Future[Exception | None]]


def continued(numbers: random.Random, writer: Writer, said: list[str]) -> Fates:
    """What a turn may append at once: pieces, a message with an event, a message alone. `said` grows."""
    kind = numbers.randrange(3)
    if kind == 0:
        return [writer.append(*["text"] * numbers.randint(1, 40)) for _ in range(numbers.randint(1, 3))]
    said.append(f"{len(said)} 名")
    message = Message("assistant", [{"type": "text", "text": said[-1]}])
    return [writer.append(*["iteration_end"] * (kind - 1), message=message, sync=True)]


@pytest.mark.parametrize(
    ("types", "cuts"), [(["text"], [0, 30]), ([], [0, 70, 140])], ids=["piece", "message"]
)
async def test_what_was_committed_unheard_is_not_stored_again(
    url: str, proxy: Cutting, tmp_path: Path, types: list[str], cuts: list[int]
) -> None:
    """The answer to the commit never comes: the next connection tells that there was one."""
    message = None if types else Message("assistant", [{"type": "text", "text": "once"}])
    async with opened(through(proxy, url), tmp_path, direct_url=url) as storage:
        writer = await running(storage)
        assert await writer.append(*types, message=message, sync=True) is None
        for cut in cuts:
            proxy.cut_after(cut, answers=True)
            assert await writer.append(*types, message=message, sync=True) is None
        assert proxy.cuts == len(cuts)
        assert await storage.log.read("s", after=0, limit=100) == writer.sent
        assert len(await storage.sessions.messages("s")) == (0 if types else 4)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("is_pooled", [False, True], ids=["prepared", "pooled"])
async def test_what_is_cut_is_stored_once(
    url: str, proxy: Cutting, tmp_path: Path, seed: int, *, is_pooled: bool
) -> None:
    """Connections are cut at any byte: in the statement, before the answer, in the middle of it, and while
    there is another connection. Each append is durable when it is told so; nothing is there twice, and
    nothing is lost."""
    numbers = random.Random(seed)
    async with opened(through(proxy, url), tmp_path, direct_url=url if is_pooled else None) as storage:
        writers = [await running(storage, f"s{n}", f"t{n}") for n in range(3)]
        said: list[list[str]] = [[] for _ in writers]
        for _ in range(40):
            answers = numbers.random() < 0.5
            proxy.cut_after(int(2 ** numbers.uniform(0, 8 if answers else 13)) - 1, answers=answers)
            fates = [
                fate
                for writer, texts in zip(writers, said, strict=True)
                for fate in continued(numbers, writer, texts)
            ]
            assert await asyncio.gather(*fates) == [None] * len(fates)
        assert proxy.cuts > 10
        for writer, texts in zip(writers, said, strict=True):
            assert await storage.log.read(writer.session_id, after=0, limit=10_000) == writer.sent
            messages = await storage.sessions.messages(writer.session_id)
            assert [each.position for each in messages] == list(range(1, len(texts) + 1))
            assert [each.message.content[0]["text"] for each in messages] == texts


async def test_a_transaction_that_is_cut_is_done_once(url: str, proxy: Cutting, tmp_path: Path) -> None:
    """Also where its commit was not heard of: done again it would be refused, as its row is there."""
    numbers = random.Random(7)
    async with opened(through(proxy, url), tmp_path, direct_url=url) as storage:
        for number in range(60):
            proxy.cut_after(numbers.randrange(400), answers=numbers.random() < 0.7)
            made = await storage.sessions.create(f"s{number}", "ann", None, 5)
            assert made.id == f"s{number}"
        assert proxy.cuts > 20


async def test_a_server_that_is_away_for_a_moment_is_waited_for(
    url: str, proxy: Cutting, tmp_path: Path
) -> None:
    """What is appended meanwhile is durable once it is back."""
    async with opened(through(proxy, url), tmp_path, direct_url=url) as storage:
        writer = await running(storage)
        proxy.go_away()
        fates = [writer.append("text", sync=True) for _ in range(3)]
        await asyncio.sleep(0.3)
        assert not any(fate.done() for fate in fates)
        proxy.come_back()
        assert await asyncio.gather(*fates) == [None] * 3
        assert await storage.log.read("s", after=0, limit=100) == writer.sent


async def test_a_server_that_stays_away_is_told(
    url: str, proxy: Cutting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads and works at once, appends after a while; the next ones are stored when it is back."""
    monkeypatch.setattr(commits, "COMMIT_TIMEOUT", 0.3)
    async with opened(through(proxy, url), tmp_path, direct_url=url) as storage:
        writer = await running(storage)
        proxy.go_away()
        for asked in (
            storage.sessions.get("s", "ann"),
            storage.sessions.create("s2", "ann", None, 5),
            storage.check(),
        ):
            with pytest.raises(StorageError) as raised:
                await asked
            assert raised.value.retryable
        assert isinstance(await writer.append("text"), StorageError)
        proxy.come_back()
        await storage.check()
        again = Writer(storage.log, "s", "t")
        assert await again.append("text") is None


async def test_a_server_without_connections_left_is_told(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is refused is no reason to lose what the others do."""
    monkeypatch.setattr(commits, "COMMIT_TIMEOUT", 0.3)
    role = sql.Identifier(name := f"few_{secrets.token_hex(8)}")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(FEW.format(role))
        few = urlsplit(url)._replace(netloc=f"{name}@{url.partition('@')[2].partition('/')[0]}").geturl()
        async with opened(few, tmp_path, direct_url=url) as storage:
            writer = await running(storage)
            assert (await storage.sessions.get("s", "ann")).id == "s"
            assert "too many connections" in str(await writer.append("text"))
            assert (await storage.sessions.get("s", "ann")).id == "s"
            admin.execute(MANY.format(role))
            assert await Writer(storage.log, "s", "t").append("text") is None
        admin.execute(sql.SQL("DROP ROLE {}").format(role))
