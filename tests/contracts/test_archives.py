"""What every storage engine owes about archives and about events that belong to no turn: a claim per sentence
of `Archives` and of `EventLog.note`."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import TurnInProgress
from gateway.events.session_changes import Compression
from gateway.storage.archives import ArchiveRow
from tests.product import Conflict, NotFound, Storage, StoredEvent
from tests.storage.archiving import all_events, append, archive, converse, event, everything
from tests.storage.writing import OWNER, Factory, accepted

pytestmark = pytest.mark.anyio

STARTED = Compression(phase="started", trigger="manual")


def row_of(storage_head: int, messages: int) -> ArchiveRow:
    """What a first archive of everything would say; its blobs are nobody's concern here."""
    return ArchiveRow(
        session_id="s",
        number=1,
        from_seq=1,
        to_seq=storage_head,
        events_path="sessions/s/archive/events-1.jsonl.gz",
        events_sha256="e" * 64,
        events_index=[(1, 0), (3, 77)],
        from_position=1,
        to_position=messages,
        messages_path="sessions/s/archive/messages-1.jsonl.gz",
        messages_sha256="f" * 64,
        messages_index=[(1, 0)],
        created_at=7,
    )


async def add_row(storage: Storage, row: ArchiveRow) -> None:
    """As whoever archives does: its blobs are candidates before."""
    await storage.orphans.suspect([row.events_path, row.messages_path], 1)
    await storage.archives.add(row)


# Adding


async def test_an_archive_is_listed_as_it_was_added(factory: Factory, tmp_path: Path) -> None:
    """In order, with its indexes, also after the storage was opened again."""
    async with factory(tmp_path) as first:
        assert await first.archives.list("s") == []
        await converse(first, "t1")
        await add_row(first, row_of(3, 2))
        await converse(first, "t2", ["more"] * 4)
        second = replace(
            row_of(9, 4),
            number=2,
            from_seq=4,
            from_position=3,
            events_index=[(4, 0)],
            messages_index=[(3, 0)],
        )
        await add_row(first, second)

    async with factory(tmp_path) as again:
        assert await again.archives.list("s") == [row_of(3, 2), second]


async def test_what_was_archived_is_answered_as_before(storage: Storage) -> None:
    """Events and messages, of several archives and of the tables, are those that were there."""
    before = await everything(storage)
    for number in range(3):
        await converse(storage, f"t{number}", ["a", "b"] * number)
        before = await everything(storage)
        moved = await archive(storage)
        assert moved is not None
        assert await everything(storage) == before
    await converse(storage, "last")
    now, messages = await everything(storage)

    assert [found.seq for found in now] == list(range(1, len(now) + 1))
    assert now[: len(before[0])] == before[0]
    assert [stored.position for stored in messages] == list(range(1, 9))
    assert list(messages[:6]) == list(before[1])


@pytest.mark.parametrize(
    "other",
    [
        {"number": 2},
        {"from_seq": 2},
        {"to_seq": 2},
        {"to_seq": 4},
        {"from_position": 2},
        {"to_position": 1},
        {"to_position": 3},
    ],
)
async def test_a_range_that_the_tables_do_not_hold_is_a_conflict(
    storage: Storage, other: dict[str, int]
) -> None:
    """Too little, too much, or out of order: nothing is freed."""
    await converse(storage, "t1")
    before = await everything(storage)

    with pytest.raises(Conflict) as refused:
        await add_row(storage, replace(row_of(3, 2), **other))

    assert refused.value.code == "archive_conflict"
    assert await storage.archives.list("s") == []
    assert await everything(storage) == before


async def test_the_same_archive_is_added_once(storage: Storage) -> None:
    """The second is a conflict."""
    await converse(storage, "t1")
    await add_row(storage, row_of(3, 2))

    with pytest.raises(Conflict):
        await add_row(storage, row_of(3, 2))


async def test_nothing_is_freed_while_a_turn_runs_or_waits(storage: Storage) -> None:
    """The refusal names the turn and the session's head."""
    await converse(storage, "t1")
    await accepted(storage, turn_id="t2")
    with pytest.raises(TurnInProgress) as refused:
        await add_row(storage, row_of(3, 2))
    assert refused.value.details == {"turn_id": "t2", "seq": 3}

    await append(storage, "t2", [event("s", "t2", 4, "turn_start")])
    await accepted(storage, turn_id="t3", on_conflict="queue")
    with pytest.raises(TurnInProgress):
        await add_row(storage, row_of(4, 2))
    assert len(await all_events(storage)) == 4


async def test_a_session_that_is_gone_has_no_archives(storage: Storage) -> None:
    """Nothing can be added to it, and what it had went with it: one of the same id begins anew."""
    await converse(storage, "t1")
    await archive(storage)
    await storage.sessions.delete("s", OWNER)

    assert await storage.archives.list("s") == []
    assert await all_events(storage) == []
    with pytest.raises(NotFound) as refused:
        await add_row(storage, row_of(3, 2))
    assert refused.value.code == "session_not_found"
    await converse(storage, "t2")
    found, messages = await everything(storage)
    assert [each.seq for each in found] == [1, 2, 3]
    assert [each.position for each in messages] == [1, 2]


async def test_who_moves_a_session_is_alone(storage: Storage) -> None:
    """A second one hears so at once, before anything is written for it."""
    await converse(storage, "t1")
    first, second = await asyncio.gather(archive(storage), archive(storage), return_exceptions=True)

    assert isinstance(first, ArchiveRow)
    assert isinstance(second, Conflict)
    assert second.code == "archive_conflict"
    assert await storage.archives.list("s") == [first]
    assert await storage.orphans.candidates(2**62, 9) == []


# Events that belong to no turn


async def test_a_note_is_an_event_of_the_session(storage: Storage) -> None:
    """It is durable, has the next seq and the operation's id, and a turn goes on behind it."""
    await converse(storage, "t1")
    before = await all_events(storage)

    assert await storage.log.note("s", "c_1", STARTED, 77) is None
    await converse(storage, "t2")
    found = await all_events(storage)

    assert found[:3] == before
    assert found[3][:3] == (4, "compression", "c_1")
    assert found[3].load() == {
        "v": 1,
        "seq": 4,
        "type": "compression",
        "ts": 77,
        "session_id": "s",
        "turn_id": "c_1",
        "data": {"phase": "started", "trigger": "manual"},
    }
    assert [each.seq for each in found] == [1, 2, 3, 4, 5, 6, 7]
    turn = await storage.turns.get("s", "t2", OWNER)
    assert (turn.first_seq, turn.last_seq) == (5, 7)
    assert (await storage.sessions.get("s", OWNER)).head == 7


async def test_a_note_is_published_when_it_is_durable(storage: Storage) -> None:
    """Followers get it like any event."""
    await converse(storage, "t1")
    seen: list[StoredEvent] = []
    storage.bus.watch(lambda _, events: seen.extend(events))
    with storage.bus.subscribe("s") as live:
        await storage.log.note("s", "c_1", STARTED, 77)

        assert live.since(3) == seen == (await all_events(storage))[3:]


async def test_a_note_can_follow_what_was_archived(storage: Storage) -> None:
    """And is archived in its turn, though nothing was said."""
    await converse(storage, "t1")
    await archive(storage)
    await storage.log.note("s", "c_1", STARTED, 77)
    before = await everything(storage)
    moved = await archive(storage)

    assert moved is not None
    assert (moved.from_seq, moved.to_seq, moved.from_position, moved.to_position) == (4, 4, 3, 2)
    assert await everything(storage) == before
    assert await storage.blobs.read(moved.messages_path) == b""
