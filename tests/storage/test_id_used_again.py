"""A session is deleted on one replica, and one is made under its id, while another replica still has
something of it on its way: nothing of the old one gets into the new one."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection

from gateway.events.memory_skill_artifact import Memory
from gateway.storage.log.group_commit import Flush
from gateway.storage.postgres import listener
from gateway.storage.postgres.commits import PostgresCommits
from tests.loopback import TIMEOUT
from tests.postgres import database_in, needs_postgres
from tests.product import Storage, StoredEvent
from tests.storage.test_postgres_log import opened
from tests.storage.test_unheard_commits import cutting_off
from tests.storage.writing import OWNER, accepted, running, writer_of

pytestmark = [*needs_postgres, pytest.mark.anyio]


class Held:
    """A thread that waits behind its work until it is let go."""

    def __init__(self) -> None:
        self._came, self._goes_on = threading.Event(), threading.Event()

    def wait(self) -> None:
        self._came.set()
        assert self._goes_on.wait(TIMEOUT)

    async def came(self) -> None:
        assert await asyncio.to_thread(self._came.wait, TIMEOUT)

    def let_go(self) -> None:
        self._goes_on.set()


async def made_anew(storage: Storage) -> None:
    """The session goes, and one of its id begins with one short turn."""
    await storage.sessions.delete("s", OWNER)
    writer = writer_of(storage, await accepted(storage, "s", "new", at=6))
    assert await writer.append("text") is None
    assert await writer.close() is None


async def checked(storage: Storage) -> None:
    """What that replica adds to the session follows what it has, and nothing else is there."""
    data = Memory(op="remembered", memory_id="m_1", kind="fact", reason="she said so")
    assert await storage.log.note("s", "c_1", data, 1) is None
    now = await accepted(storage, "s", "newer")
    assert now.head == 3
    storage.bus.expect("s", now.head, now.made_at)
    assert storage.bus.shown("s", now.made_at) == 3
    writer = writer_of(storage, now)
    assert await writer.append("text") is None
    stored = await storage.log.read("s", after=0, limit=100)
    assert [(each.seq, each.turn_id) for each in stored] == [(1, "new"), (2, "new"), (3, "c_1"), (4, "newer")]


def hearing(storage: Storage) -> asyncio.Event:
    """Set when that replica heard that a session is gone."""
    heard = asyncio.Event()
    storage.signals.on("gone", lambda _: heard.set())
    return heard


async def test_events_that_were_committed_and_not_yet_shown_are_shown_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their replica was slow: it hears of its own commit after it heard that the session is gone."""
    held, commit = Held(), PostgresCommits.commit

    def slow(commits: PostgresCommits, flush: Flush) -> None:
        commit(commits, flush)
        if any(part.batch.turn_id == "old" and part.batch.closing for part in flush.appends):
            held.wait()

    monkeypatch.setattr(PostgresCommits, "commit", slow)
    url = database_in(tmp_path)
    async with opened(url, tmp_path) as one, opened(url, tmp_path) as two:
        heard = hearing(one)
        writer = await running(one, "s", "old")
        assert await writer.append(*["text"] * 5) is None
        closed = writer.close()
        await held.came()
        await made_anew(two)
        await heard.wait()
        made_at = (await one.sessions.get("s", OWNER)).created_at
        with one.bus.subscribe("s", made_at=made_at) as live:
            held.let_go()
            assert await closed is None
            assert not live.since(0)
        await checked(one)


async def test_a_session_of_which_was_not_heard_that_it_is_gone_is_not_taken_for_the_new_one(
    tmp_path: Path,
) -> None:
    """The connection of that replica was cut: it still knows how far readers had seen the former."""
    url = database_in(tmp_path)
    with cutting_off(url) as (proxy, address):
        async with opened(url, tmp_path, direct_url=address) as one, opened(url, tmp_path) as two:
            now = await accepted(one, "s", "old")
            one.bus.expect("s", now.head, now.made_at)
            writer = writer_of(one, now)
            assert await writer.append(*["text"] * 5) is None
            assert await writer.close() is None
            one.bus.release("s")
            proxy.go_away()
            await made_anew(two)
            proxy.come_back()
            await checked(one)


async def test_what_was_read_for_readers_of_the_former_is_not_heard_by_those_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was on its way from the database when the session went."""
    held, newer = Held(), listener.newer

    def slow(connection: Connection, after: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
        found = newer(connection, after)
        if found:
            held.wait()
        return found

    url = database_in(tmp_path)
    async with opened(url, tmp_path) as one, opened(url, tmp_path) as two:
        heard = hearing(one)
        writer = await running(two, "s", "old")
        assert await writer.append("text", "text") is None
        with one.bus.subscribe("s", made_at=1) as old:
            while old.since(2) is None:
                pass
            monkeypatch.setattr(listener, "newer", slow)
            assert await writer.append("text", "text") is None
            await held.came()
            assert await writer.close() is None
            await made_anew(two)
            await heard.wait()
            with one.bus.subscribe("s", made_at=2) as new:
                while new.since(2) is None:
                    pass
                held.let_go()
                await writer_of(two, await accepted(two, "s", "newer")).append("text")
                async with asyncio.timeout(TIMEOUT):
                    while not (found := new.since(2)):
                        await asyncio.sleep(0.01)
                assert [(each.seq, each.turn_id) for each in found] == [(3, "newer")]


async def test_rows_that_an_older_version_left_are_not_found_in_the_new_one(tmp_path: Path) -> None:
    """It deleted a session while the tables of its branches and of what clients bring were new, and did not
    know them."""
    rows = {
        "branches": "(session_id, branch, created_at, ranges, generation_from) VALUES ('s', 0, 1, '[]', 0)",
        "active_ranges": "(session_id, after_position, to_position) VALUES ('s', 0, 9)",
        "instructions": "(session_id, digest, text) VALUES ('s', 'd', 'a secret')",
        "client_tools": "(session_id, digest, specs) VALUES ('s', 'd', '[]')",
        "client_calls": "(session_id, turn_id, tool_call_id, owner, number, name, requested_at, expires_at)"
        " VALUES ('s', 't', 'c', 'ann', 1, 'look', 1, 2)",
    }

    def left() -> list[str]:
        return [name for name in rows if admin.execute(f"SELECT 1 FROM {name}".encode()).fetchone()]

    url = database_in(tmp_path)
    async with opened(url, tmp_path) as storage:
        with psycopg.connect(url, autocommit=True) as admin:
            for table, row in rows.items():
                admin.execute(f"INSERT INTO {table} {row}".encode())
            await storage.sessions.create("another", OWNER, None, 1)
            assert left() == [*rows]
            await storage.sessions.create("s", OWNER, None, 1)
            assert left() == []
