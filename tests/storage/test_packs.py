"""Events that were packed are the events that were appended."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events.envelope import StoredEvent, encode, encode_scope
from gateway.storage import purges
from gateway.storage.packs import MAX_EVENTS, MAX_SIZE, SCOPE, EventRow, events_of, packs_of
from gateway.storage.sqlite import event_rows
from gateway.storage.sqlite.event_rows import ADD_PACKS
from gateway.wiring import Storage
from tests.storage.archiving import archive, converse
from tests.storage.writing import OWNER, Writer, accepted, running, sqlite_storage, writer_of

turn = st.sampled_from(["t1", "t2"])
kind = st.sampled_from(["turn_start", "text", "tool_call", "done"])
odd_body = st.sampled_from([b"", b"\n", SCOPE, b'{"a":"\n"}', b"a\nb"])
appended = st.tuples(st.sampled_from(["a", "b"]), turn, kind, st.one_of(st.none(), odd_body))


def rows_of(told: list[tuple[str, str, str, bytes | None]]) -> list[EventRow]:
    """Rows of two sessions; None is a body as the emitter writes it."""
    heads = {"a": 0, "b": 0}
    rows: list[EventRow] = []
    for session, turn_id, name, body in told:
        seq = heads[session] = heads[session] + 1
        real = encode(seq, name, 7, encode_scope(session, turn_id), b'{"text":"%b"}' % (b"x" * seq), 1)
        rows.append((session, seq, turn_id, name, real if body is None else body))
    return rows


@given(st.lists(appended, max_size=30))
def test_what_is_packed_comes_back_byte_for_byte(told: list[tuple[str, str, str, bytes | None]]) -> None:
    """Whatever sessions, turns and types follow each other, and whatever is in the bodies."""
    rows = rows_of(told)
    packs = list(packs_of(rows))
    for session in ("a", "b"):
        events = [event for pack in packs if pack.session_id == session for event in events_of(pack)]
        assert events == [
            StoredEvent(seq, name, turn_id, body)
            for name_of, seq, turn_id, name, body in rows
            if name_of == session
        ]


def test_the_ids_that_all_events_say_are_kept_once() -> None:
    """In a long answer of short pieces an event takes little more than its text."""
    rows = rows_of([("a", "t1", "text", None)] * 100)
    (pack,) = packs_of(rows)
    scope = encode_scope("a", "t1")
    assert len(pack.lines) == sum(len(body) - len(scope) + 2 for *_, body in rows) - 1
    assert pack.types == "text*100"


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
            broken.setattr(event_rows, "ADD_PACKS", Broken())
            assert await writer.append("text") is not None
        del writer.sent[6:]
        assert await storage.log.read("s", after=0, limit=100) == writer.sent
        again = Writer(storage.log, "s", writer.turn_id, writer.epoch, 6, writer.sent)
        for _ in range(8):
            assert await again.append("text") is None
        assert await storage.log.read("s", after=0, limit=100) == again.sent
        assert ADD_PACKS is event_rows.ADD_PACKS


class Broken:
    """A statement that cannot be executed."""

    def run(self, *_: object) -> int:
        raise MemoryError


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
        assert not await storage.orphans.is_needed(row.events_path)
        assert await storage.log.read("s", after=0, limit=10) == []
