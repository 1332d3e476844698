"""What one process commits, the readers of another get: at once when told, soon when nobody tells."""

import asyncio
import logging
import select
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import psycopg
import pytest
from sqlalchemy import Connection

from gateway.storage.database import send
from gateway.storage.log.bus import Bus
from gateway.storage.postgres import PostgresDatabase
from gateway.storage.postgres import listener as following
from gateway.storage.postgres.connections import Raw, ServerAddress
from gateway.storage.postgres.listener import Listener
from gateway.storage.postgres.notify_channels import MAX_SESSIONS, Ear, Notifier, payloads
from gateway.storage.replica_signals import Signal
from tests.cutting import cutting
from tests.loopback import TIMEOUT
from tests.pooler import needs_pooler, pooled
from tests.postgres import database_in, needs_postgres
from tests.product import StorageError, StoredEvent
from tests.waiting import until

pytestmark = [*needs_postgres, pytest.mark.anyio]

NEW_SESSION = "INSERT INTO sessions (id, owner, created_at, updated_at) VALUES (%s, 'ann', 1, 1)"
NEW_HEAD = "INSERT INTO heads (session_id, head, position, epoch) VALUES (%s, 0, 0, 0)"
ADD = "INSERT INTO loose_events VALUES (%s, %s, 't', 'text', %s)"
MOVE = "UPDATE heads SET head = %s WHERE session_id = %s"
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE 'LISTEN%' AND datname = current_database()
"""


@dataclass(slots=True)
class Replica:
    """A process, as far as its log and its readers go."""

    database: PostgresDatabase
    bus: Bus
    listener: Listener
    heads: dict[str, int] = field(default_factory=dict[str, int])

    async def begin(self, session_id: str) -> None:
        def work(connection: Connection) -> None:
            connection.exec_driver_sql(NEW_SESSION, (session_id,))
            connection.exec_driver_sql(NEW_HEAD, (session_id,))

        await self.database.write(work)

    async def append(self, session_id: str, count: int = 1, *, silent: bool = False) -> list[StoredEvent]:
        """As the event log does; `silent`: the process ends before it can tell anybody."""
        first = self.heads.get(session_id, 0) + 1
        head = self.heads[session_id] = first + count - 1
        events = [StoredEvent(seq, "text", "t", b"%d" % seq) for seq in range(first, head + 1)]

        def work(connection: Connection) -> None:
            for event in events:
                connection.exec_driver_sql(ADD, (session_id, event.seq, event.body))
            connection.exec_driver_sql(MOVE, (head, session_id))

        publish = None if silent else lambda: self.bus.publish(session_id, events)
        await self.database.write(work, committed=publish)
        return events


@dataclass(slots=True)
class Reader:
    """What a follower does, without its client."""

    replica: Replica
    session_id: str
    seen: list[StoredEvent] = field(default_factory=list[StoredEvent])
    gone: bool = False
    waits: asyncio.Event = field(default_factory=asyncio.Event)
    """It has seen the end of the log once."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        woken = asyncio.Event()
        with self.replica.bus.subscribe(self.session_id, lambda _: woken.set()) as place:
            while not place.gone:
                woken.clear()
                cursor = self.seen[-1].seq if self.seen else 0
                found = place.since(cursor)
                if found is None:
                    found = await self._log(cursor)
                    self.seen += found
                elif found:
                    self.seen += found
                else:
                    self.waits.set()
                    await woken.wait()
                self._moved.set()
            self.gone = True
            self._moved.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(TIMEOUT):
            while len(self.seen) < count and not self.gone:
                self._moved.clear()
                await self._moved.wait()

    async def _log(self, after: int) -> list[StoredEvent]:
        def work(connection: Connection) -> Sequence[StoredEvent]:
            return following.newer(connection, {self.session_id: after}).get(self.session_id, [])

        return list(await self.replica.database.read(work, snapshot=False))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody looks for what nobody told of, and only of what others follow is told, unless a test wants it.
    Warnings are seen."""
    monkeypatch.setattr(following, "POLL", 3600)
    monkeypatch.setattr(following, "UNSURE", 0)
    caplog.set_level(logging.WARNING, "gateway.storage")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of which sessions others are told."""
    found: list[str] = []
    tell = Notifier.publish_head

    def recorded(notifier: Notifier, session_id: str, head: int) -> None:
        found.append(session_id)
        tell(notifier, session_id, head)

    monkeypatch.setattr(Notifier, "publish_head", recorded)
    return found


@asynccontextmanager
async def replicas(
    folder: Path, count: int = 2, *, first: int = 0, url: str | None = None, direct: str | None = None
) -> AsyncGenerator[list[Replica]]:
    url = url or database_in(folder)
    async with AsyncExitStack() as stack:
        found: list[Replica] = []
        for number in range(first, first + count):
            opened = await PostgresDatabase.open(url, direct_url=direct, replica=f"r{number}")
            database = await stack.enter_async_context(opened)
            bus = Bus(is_alone=False)
            database.signals.on("gone", bus.forget)
            listener = await stack.enter_async_context(Listener(database, bus, ServerAddress(direct or url)))
            found.append(Replica(database, bus, listener))
        yield found


@asynccontextmanager
async def reading(replica: Replica, session_id: str = "s") -> AsyncGenerator[Reader]:
    reader = Reader(replica, session_id)
    task = asyncio.create_task(reader.run())
    try:
        async with asyncio.timeout(TIMEOUT):
            await reader.waits.wait()
        yield reader
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_reader_elsewhere_gets_every_event_as_it_was_committed(tmp_path: Path) -> None:
    """In order, once, also many at a time, and while another process writes the session on."""
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            sent = [*await a.append("s"), *await a.append("s", following.PAGE + 3), *await a.append("s", 2)]
            b.heads = dict(a.heads)
            sent += await b.append("s")
            a.heads = dict(b.heads)
            sent += await a.append("s")
            await reader.until(len(sent))
    assert reader.seen == sent


async def test_a_reader_behind_an_older_head_gets_what_was_written_elsewhere(tmp_path: Path) -> None:
    """This process wrote the session before, so it remembers a head that is none any more."""
    async with replicas(tmp_path) as (a, b):
        await b.begin("s")
        sent = await b.append("s", 3)
        a.heads = dict(b.heads)
        sent += await a.append("s", 5)
        async with reading(b) as reader:
            await reader.until(8)
    assert reader.seen == sent


@pytest.mark.parametrize("silent", [True, False])
async def test_what_nobody_told_of_is_found(
    tmp_path: Path, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may end between its commit and the notification, or not have heard of the reader."""
    monkeypatch.setattr(following, "POLL", 0.01)
    monkeypatch.setattr(following, "SOON", 3600)
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            sent = await a.append("s", 2, silent=silent)
            await reader.until(2)
    assert reader.seen == sent


async def test_a_connection_that_is_cut_is_made_again_and_nothing_is_missed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle of a stream; what was told in between is looked for."""
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        sent: list[StoredEvent] = []
        async with reading(b) as reader:
            for _ in range(3):
                sent += await a.append("s")
                await reader.until(len(sent))
                with psycopg.connect(b.database.server.url) as another:
                    another.execute(CUT)
                sent += await a.append("s", 4)
                await reader.until(len(sent))
        assert reader.seen == sent
    assert "was lost" in caplog.text


async def test_what_was_sent_while_it_did_not_listen_counts_as_not_heard(tmp_path: Path) -> None:
    """Not by another connection either; what is sent from then on does."""

    async def heard(replica: Replica, since: float) -> bool:
        """As of a moment at which it hears what it sends itself."""
        sent_at = asyncio.get_running_loop().time()
        async with asyncio.timeout(TIMEOUT):
            while not replica.database.signals.has_received_since(sent_at):
                await replica.database.write(lambda connection: send(connection, Signal("unread", "s/t")))
        return replica.database.signals.has_received_since(since)

    async with replicas(tmp_path, 1) as (a,):
        before = asyncio.get_running_loop().time()
        assert not a.database.signals.has_received_since(before)
        assert await heard(a, before)
        with psycopg.connect(a.database.server.url) as another:
            another.execute(CUT)
        async with asyncio.timeout(TIMEOUT):
            while a.database.signals.has_received_since(before):
                await asyncio.sleep(0.01)
        async with asyncio.timeout(TIMEOUT):
            while not a.listener.is_listening:
                await asyncio.sleep(0.01)
        assert not await heard(a, before)


async def test_a_connection_that_is_lost_with_the_answer_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that hears by it does not take it for one that is there."""
    url, lost, made = database_in(tmp_path), list[int](), Ear.__init__

    def unlucky(ear: Ear, raw: Raw, *told: Any) -> None:
        if len(lost) < 2:
            lost.append(raw.info.backend_pid)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 60000)", (lost[-1],))
            select.select([raw], [], [], TIMEOUT)
            raw.pgconn.consume_input()  # its last words, as if they had come with the answer
        made(ear, raw, *told)

    async with replicas(tmp_path, url=url) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            async with asyncio.timeout(TIMEOUT):
                while not a.listener.followed_elsewhere:
                    await asyncio.sleep(0.01)
            monkeypatch.setattr(Ear, "__init__", unlucky)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(CUT)
            async with asyncio.timeout(TIMEOUT):
                while len(lost) < 2 or not (a.listener.is_listening and b.listener.is_listening):
                    await asyncio.sleep(0.01)
            sent = await a.append("s", 2)
            await reader.until(2)
    assert reader.seen == sent


@needs_pooler
async def test_behind_a_pooler_the_server_itself_is_listened_to(tmp_path: Path) -> None:
    """All else goes through the pooler, which hands on its connections after each transaction."""
    url = database_in(tmp_path)
    with pooled(url, tmp_path) as pooler:
        async with replicas(tmp_path, url=pooler, direct=url) as (a, b):
            await a.begin("s")
            async with reading(b) as reader:
                sent = [*await a.append("s", 3), *await a.append("s")]
                await reader.until(4)
    assert reader.seen == sent


@needs_pooler
async def test_a_pooler_that_takes_the_servers_place_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It accepts to listen and nothing would ever come: who listens is refused, says why, and hears again
    when the server itself is back. Readers get what is written all the same."""
    monkeypatch.setattr(following, "POLL", 0.01)
    monkeypatch.setattr(following, "PAUSE", 0.01)
    url = database_in(tmp_path)
    port = urlsplit(url).port or 0
    with pooled(url, tmp_path) as pooler, cutting("127.0.0.1", port) as way:
        direct = urlsplit(url)._replace(netloc=f"{urlsplit(url).username}@127.0.0.1:{way.port}").geturl()
        async with replicas(tmp_path, url=url, direct=direct) as (a, b):
            await b.listener.check()
            way.lead_to(urlsplit(pooler).port or 0)
            await until(lambda: _refused(b.listener), TIMEOUT)
            await a.begin("s")
            async with reading(b) as reader:
                sent = await a.append("s", 2)
                await reader.until(2)
            way.lead_to(port)
            await until(lambda: _listens(b.listener), TIMEOUT)
    assert reader.seen == sent


async def _refused(listener: Listener) -> bool:
    try:
        await listener.check()
    except StorageError as error:
        return error.code == "database_pooled" and "GATEWAY_DATABASE_DIRECT_URL" in error.message
    return False


async def _listens(listener: Listener) -> bool:
    return listener.is_listening and not await _refused(listener)


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_deletion_ends_the_readers_elsewhere(
    tmp_path: Path, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its signal; and by a look, when that was lost."""
    if not is_told:
        monkeypatch.setattr(following, "POLL", 0.01)

    def delete(connection: Connection) -> None:
        connection.exec_driver_sql("DELETE FROM sessions")
        if is_told:
            send(connection, Signal("gone", "s"))

    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            await a.database.write(delete)
            await reader.until(1)
            assert reader.gone


async def test_another_session_of_the_same_id_is_not_shown_to_the_readers_of_the_first(
    tmp_path: Path,
) -> None:
    """Also where nobody heard of the deletion."""

    def another(connection: Connection) -> None:
        connection.exec_driver_sql("DELETE FROM sessions")
        connection.exec_driver_sql(
            "INSERT INTO sessions (id, owner, created_at, updated_at) VALUES ('s', 'li', 2, 2)"
        )

    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            sent = await a.append("s")
            await reader.until(1)
            await b.listener.look()
            await a.database.write(another)
            await a.append("s", silent=True)
            await b.listener.look()
            await reader.until(2)
            assert reader.gone
    assert reader.seen == sent


async def test_a_signal_is_heard_by_those_it_is_for(tmp_path: Path) -> None:
    """Once by each, also by the process that sent it; by nobody when the transaction is undone."""
    heard: list[tuple[str, str]] = []

    def sends(*signals: Signal, error: Exception | None = None) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            for signal in signals:
                send(connection, signal)
            if error is not None:
                raise error

        return work

    async with replicas(tmp_path, 3) as found:
        for number, replica in enumerate(found):
            replica.database.signals.on("cancel", lambda turn, n=number: heard.append((f"r{n}", turn)))
        database = found[0].database
        with pytest.raises(LookupError):
            await database.write(sends(Signal("cancel", "t0"), error=LookupError("no")))
        await database.write(sends(Signal("cancel", "t1", "r1"), Signal("cancel", "t2", "r0")))
        assert ("r0", "t2") in heard  # here before the caller goes on
        await database.write(sends(Signal("cancel", "t3")))
        async with asyncio.timeout(TIMEOUT):
            while len(heard) < 5:
                await asyncio.sleep(0.01)
    assert sorted(heard) == [("r0", "t2"), ("r0", "t3"), ("r1", "t1"), ("r1", "t3"), ("r2", "t3")]


async def test_what_nobody_follows_elsewhere_is_not_told(tmp_path: Path, told: list[str]) -> None:
    """Nor what is followed by another reader, where it is written."""
    async with replicas(tmp_path) as (a, b):
        for session_id in "stu":
            await a.begin(session_id)
        a.bus.expect("t", 0)
        async with reading(b, "s") as reader, reading(a, "t"):
            await a.append("t")
            await a.append("u")
            sent = await a.append("s", 3)
            await reader.until(3)
    assert reader.seen == sent
    assert set(told) == {"s"}


async def test_what_was_written_before_the_writer_heard_of_a_reader_is_told_then(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader has seen the end of the log already."""
    monkeypatch.setattr(following, "SOON", 0.3)
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            sent = await a.append("s", 3)
            await reader.until(3)
    assert reader.seen == sent
    assert told == ["s"]


async def test_a_writer_that_takes_a_session_over_knows_who_follows_it(tmp_path: Path) -> None:
    """It heard of it with all others, when the reader came."""
    async with replicas(tmp_path, 3) as (a, b, c):
        await a.begin("s")
        async with reading(b) as reader:
            sent = await a.append("s", 2)
            await reader.until(2)
            c.heads = dict(a.heads)
            sent += await c.append("s", 2)
            await reader.until(4)
    assert reader.seen == sent


async def test_a_reader_stays_when_others_may_write_its_session_again(tmp_path: Path) -> None:
    """Until then it was written in its own process, and nobody was told of the reader."""
    async with replicas(tmp_path) as (a, b):
        await b.begin("s")
        b.bus.expect("s", 0)
        async with reading(b) as reader:
            sent = await b.append("s", 2)
            b.bus.release("s")
            a.heads = dict(b.heads)
            sent += await a.append("s")
            await reader.until(3)
    assert reader.seen == sent


async def test_one_that_comes_later_hears_what_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said again and again."""

    async def look(_: Listener) -> None:
        """Nothing is looked for."""

    monkeypatch.setattr(Listener, "look", look)
    monkeypatch.setattr(following, "POLL", 0.01)
    monkeypatch.setattr(following, "PING", 1)  # within which it has to hear itself
    async with replicas(tmp_path, 1) as (b,):
        await b.begin("s")
        async with reading(b) as reader, replicas(tmp_path, 1, first=1) as (a,):
            sent = await a.append("s", 2)
            await reader.until(2)
    assert reader.seen == sent


async def test_until_others_have_said_what_they_follow_all_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process that has just begun to listen, or does so again."""
    monkeypatch.setattr(following, "UNSURE", 3600)
    monkeypatch.setattr(following, "SOON", 3600)
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        async with reading(b) as reader:
            sent = await a.append("s", 2)
            await reader.until(2)
    assert reader.seen == sent


async def test_readers_that_left_or_died_are_forgotten(
    tmp_path: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is told of their sessions then, nor are these kept in mind."""
    monkeypatch.setattr(following, "POLL", 0.01)
    monkeypatch.setattr(following, "PING", 1)  # within which it has to hear itself, or else it tells of all
    monkeypatch.setattr(following, "FOLLOWED", 1.5)
    async with replicas(tmp_path) as (a, b):
        for session_id in "st":
            await a.begin(session_id)
        async with reading(b, "s") as reader:
            async with reading(b, "t") as leaving:
                await a.append("t")
                await leaving.until(1)
            async with asyncio.timeout(TIMEOUT):
                while a.listener.followed_elsewhere != {"s"}:
                    await asyncio.sleep(0.01)
            told.clear()
            await a.append("t")
            await a.append("s")
            await reader.until(1)
    assert "t" not in told


async def test_what_another_program_sends_is_not_obeyed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does it end the listening."""
    async with replicas(tmp_path) as (a, b):
        await a.begin("s")
        with psycopg.connect(a.database.server.url, autocommit=True) as another:
            for payload in (
                "",
                "{",
                "7",
                "[]",
                '["r9"]',
                '["r9", 7]',
                '["r9", {"s": "x"}, []]',
                '["r9", {}, 7]',
                '["r9", [1], 2]',
            ):
                another.execute("SELECT pg_notify('gateway_log', %s)", (payload,))
                another.execute("SELECT pg_notify('gateway_signals', %s)", (payload,))
        async with reading(b) as reader:
            sent = await a.append("s", 2)
            await reader.until(2)
    assert reader.seen == sent
    assert "not understood" in caplog.text


def test_many_sessions_fit_into_notifications() -> None:
    """Whatever their names and heads; none at all still says who is there."""
    heads = {f"{number:0>64}": 2**63 - 1 for number in range(3 * MAX_SESSIONS + 1)}
    for found in (payloads("r" * 64, heads, heads), payloads("r" * 64, {}, heads), payloads("r" * 64, heads)):
        parts = [orjson.loads(each) for each in found]
        assert len(parts) == 4
    assert max(map(len, payloads("r" * 64, heads, heads))) < 8000
    assert list(payloads("r", {})) == ['["r",{},[]]']
