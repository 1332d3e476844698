"""Events that were packed are the events that were appended."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.storage.log.packs import MAX_EVENTS, MAX_SIZE, SCOPE, EventRow, Pack, events_of, packs_of
from gateway.storage.migrations import Chain, upgrade
from gateway.storage.sessions import purges
from gateway.storage.sqlite import SqliteDatabase, event_rows
from gateway.storage.sqlite.event_rows import PACK_ROWS
from tests.product import NotFound, Storage, StoredEvent, Text, encode, encode_scope, storage_on
from tests.storage.archiving import archive, converse
from tests.storage.writing import OWNER, Writer, accepted, running, sqlite_storage, writer_of

turn = st.sampled_from(["t1", "t2"])
kind = st.sampled_from(["turn_start", "text", "tool_call", "done"])
odd_body = st.sampled_from([b"", b"\n", SCOPE, b'{"a":"\n"}', b"a\nb"])
appended = st.tuples(st.sampled_from(["a", "b"]), turn, kind, st.one_of(st.none(), odd_body))


def rows_of(appends: list[tuple[str, str, str, bytes | None]]) -> list[EventRow]:
    """Rows of two sessions; None is a body as the emitter writes it."""
    heads = {"a": 0, "b": 0}
    rows: list[EventRow] = []
    for session, turn_id, name, body in appends:
        seq = heads[session] = heads[session] + 1
        scope, call = encode_scope(session, turn_id), "100%d" if seq % 5 == 0 else None
        data = b'{"content":"50%% of %d"}' % seq if seq % 3 == 0 else b'{"text":"%b"}' % (b"%" * seq)
        real = encode(seq, name, 7 + 10_000 // seq, scope, data, seq // 9 + 1, call)
        rows.append((session, seq, turn_id, name, real if body is None else body))
    return rows


@given(st.lists(appended, max_size=30))
def test_what_is_packed_comes_back_byte_for_byte(appends: list[tuple[str, str, str, bytes | None]]) -> None:
    """Whatever sessions, turns and types follow each other, and whatever is in the bodies."""
    rows = rows_of(appends)
    packs = list(packs_of(rows))
    for session in ("a", "b"):
        events = [event for pack in packs if pack.session_id == session for event in events_of(pack)]
        assert events == [
            StoredEvent(seq, name, turn_id, body)
            for name_of, seq, turn_id, name, body in rows
            if name_of == session
        ]


def test_what_all_events_say_is_kept_once() -> None:
    """In a long answer of short pieces an event takes little more than its text."""
    scope = encode_scope("a", "t1")
    bodies = [
        encode(seq, "text", 1_795_000_000_000 + 50 * seq, scope, b'{"text":"tea"}') for seq in range(1, 101)
    ]
    (pack,) = packs_of(("a", seq, "t1", "text", body) for seq, body in enumerate(bodies, 1))
    assert len(pack.lines) < 100 * (len("tea") + 5)
    assert pack.types == "text*100"


def test_packs_of_before_are_read(tmp_path: Path) -> None:
    """Several bodies as they were, but for their ids; nothing of them is rewritten by the migration."""
    scope, types = encode_scope("s", "t1"), ["turn_start", "text", "text", "done"]
    bodies = [encode(seq, name, 7, scope, b'{"text":"tea"}') for seq, name in enumerate(types, 1)]
    lines = b"\n".join(bodies).replace(scope, SCOPE)
    path = tmp_path / "gateway.db"
    upgrade(path, Chain("versions", "0008"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO event_packs VALUES ('s', 4, 1, 't1', 'turn_start text*2 done', ?)", (lines,)
        )
    upgrade(path)
    with closing(sqlite3.connect(path)) as connection:
        (pack,) = (Pack(*row) for row in connection.execute("SELECT * FROM event_packs"))
    events = [StoredEvent(*each) for each in zip(range(1, 5), types, ["t1"] * 4, bodies, strict=True)]
    assert pack.lines == lines
    assert events_of(pack) == events
    assert events_of(pack, 1, 3) == events[1:3]


def test_a_pack_is_bounded_in_events_and_in_bytes() -> None:
    """One event alone may be larger."""
    many = list(packs_of(rows_of([("a", "t1", "text", None)] * (MAX_EVENTS + 1))))
    assert [pack.last_seq - pack.first_seq + 1 for pack in many] == [MAX_EVENTS, 1]
    large = list(packs_of([("a", seq, "t1", "text", b"x" * (MAX_SIZE - 1)) for seq in (1, 2)]))
    assert [(pack.first_seq, pack.last_seq) for pack in large] == [(1, 1), (2, 2)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are packed in every few flushes."""
    monkeypatch.setattr(event_rows, "LOOSE_EVENTS", 7)


async def conversation(storage: Storage) -> dict[str, list[StoredEvent]]:
    """Three sessions at once, each with turns of many events."""
    writers = {name: await running(storage, name, f"{name}1") for name in ("a", "b", "c")}
    sent: dict[str, list[StoredEvent]] = {name: [] for name in writers}
    for number in (2, 3):
        for piece in range(12):
            for name, writer in writers.items():
                await writer.append("text", body=b'{"piece":%d}' % piece)
                if piece == 5:
                    await writer.append("tool_call", "tool_result", body=b'{"name":"x"}')
                assert name
        for name, writer in writers.items():
            await writer.close()
            sent[name] += writer.sent
            writers[name] = writer_of(storage, await accepted(storage, name, f"{name}{number}"))
    return sent


@pytest.mark.anyio
@pytest.mark.usefixtures("few")
async def test_every_part_of_a_session_is_read_from_packs_and_loose_events_alike(tmp_path: Path) -> None:
    """From any cursor, up to any, with any limit, and of some types only."""
    async with sqlite_storage(tmp_path) as storage:
        sent = await conversation(storage)
        for name, events in sent.items():
            for after in range(0, len(events) + 1, 3):
                for wanted in (
                    Wanted(after, until=len(events) - 4),
                    Wanted(after, limit=5),
                    Wanted(after, types=["tool_call", "done"]),
                ):
                    assert await read(storage, name, wanted) == wanted.of(events)


class Wanted(NamedTuple):
    """What of a session is read."""

    after: int
    until: int | None = None
    limit: int | None = None
    types: Sequence[str] = ()

    def of(self, events: list[StoredEvent]) -> list[StoredEvent]:
        last = self.until or len(events)
        types = self.types or {event.type for event in events}
        return [event for event in events if self.after < event.seq <= last and event.type in types][
            : self.limit
        ]


async def read(storage: Storage, name: str, wanted: Wanted) -> list[StoredEvent]:
    """All pages, or with a limit the first one."""
    after, until, limit, types = wanted
    found: list[StoredEvent] = []
    while page := await storage.log.read(name, after=after, until=until, limit=limit or 100, types=types):
        found += page
        after = page[-1].seq
        if limit is not None:
            break
    return found


@pytest.mark.anyio
@pytest.mark.usefixtures("few")
async def test_what_was_packed_in_a_flush_that_fails_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events of the flush are refused, those before are neither lost nor doubled, and the next packs
    them."""
    async with sqlite_storage(tmp_path) as storage:
        writer = await running(storage)
        for _ in range(6):
            assert await writer.append("text") is None
        with monkeypatch.context() as broken:
            broken.setattr(event_rows, "PACK_ROWS", Broken())
            assert await writer.append("text") is not None
        del writer.sent[6:]
        assert await storage.log.read("s", after=0, limit=100) == writer.sent
        again = Writer(storage.log, "s", writer.turn_id, writer.epoch, 6, writer.sent)
        for _ in range(8):
            assert await again.append("text") is None
        assert await storage.log.read("s", after=0, limit=100) == again.sent
        assert PACK_ROWS is event_rows.PACK_ROWS


class Broken:
    """A statement that finds the disk full."""

    def run(self, *_: object) -> int:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error


@pytest.mark.anyio
@pytest.mark.usefixtures("few")
async def test_events_that_cannot_be_packed_fail_no_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each gets a row of its own, it is logged once, and what comes later is packed again."""

    def fail(_: object) -> NoReturn:
        raise ValueError("a row that nobody thought of")

    async with sqlite_storage(tmp_path) as storage:
        writer = await running(storage)
        with monkeypatch.context() as broken:
            broken.setattr(event_rows, "packs_of", fail)
            for _ in range(10):
                assert await writer.append("text") is None
        for _ in range(10):
            assert await writer.append("text") is None
        assert await storage.log.read("s", after=0, limit=100) == writer.sent
    assert [record.message for record in caplog.records] == [
        "events could not be packed: each gets a row of its own"
    ]
    with closing(sqlite3.connect(tmp_path / "gateway.db")) as connection:
        packs = connection.execute("SELECT first_seq, last_seq FROM event_packs ORDER BY last_seq").fetchall()
    assert packs[:7] == [(seq, seq) for seq in range(1, 8)]
    assert packs[-1][1] == 14


@pytest.mark.anyio
async def test_nothing_names_the_blobs_of_a_deleted_session_however_many_loose_events_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are removed right after the deletion, when the last of its events may still be there."""
    monkeypatch.setattr(purges, "SLICE_TIME", 0.0)
    async with sqlite_storage(tmp_path) as storage:
        await converse(storage, "t1")
        row = await archive(storage)
        assert row is not None
        now = await accepted(storage, "s", "t2")
        writer = writer_of(storage, now)
        await writer.append(*["text"] * (event_rows.LOOSE_EVENTS - 100))
        await writer.close()
        await storage.sessions.delete("s", OWNER)
        assert await storage.orphans.condemn(row.events_path, 1)
        assert await storage.log.read("s", after=0, limit=10) == []


@pytest.mark.anyio
async def test_a_deleted_session_takes_no_note_while_its_rows_are_removed(tmp_path: Path) -> None:
    """Also when its narrow row is still there."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await (await running(storage)).close()
        await database.write(
            lambda connection: connection.exec_driver_sql("DELETE FROM sessions WHERE id = 's'").close()
        )
        with pytest.raises(NotFound):
            await storage.log.note("s", "c_1", Text(text="too late"), 7)
