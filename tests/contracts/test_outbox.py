"""What storage owes about events that happen beside the turns."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest

from gateway.storage.decisions.approvals import ApprovalRow
from gateway.storage.log import Append, OutboxEntry
from tests.product import Conflict, Done, EventData, NotFound, Storage, StoredEvent, Text, TurnLost, TurnStart
from tests.storage.writing import OWNER, Factory, Writer, accepted, running, writer_of

pytestmark = pytest.mark.anyio

NOTED = Text(text="李雷 drinks tea")
ENDED: Sequence[EventData] = (
    TurnStart(input="hello", model="model", trace_id="0" * 32),
    Done(status="cancelled", iterations=0, duration_ms=0),
)


async def log_of(storage: Storage) -> list[tuple[int, str, str]]:
    """The session's events: seq, type, turn id."""
    events = await storage.log.read("s", after=0, limit=99)
    return [(event.seq, event.type, event.turn_id) for event in events]


async def parked(storage: Storage) -> Writer:
    """The former writer of a turn that waits for a person, after one event."""
    writer = await running(storage)
    assert await writer.append("turn_start") is None
    await storage.approvals.ask([ApprovalRow("s", "t", "toolu_1", OWNER, "send", {}, None, 1, 1000)])
    turn = await storage.turns.get("s", "t", OWNER)
    assert await storage.approvals.park(turn, ["toolu_1"], 1000)
    return writer


def write(writer: Writer, entry: OutboxEntry) -> asyncio.Future[Exception | None]:
    """Has the owner of a turn append an entry, as the emitter does."""
    fate: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    turn_id = entry.turn_in(writer.turn_id)
    events = [
        StoredEvent(seq, name, turn_id, data)
        for seq, (name, data) in enumerate(entry.events, writer.head + 1)
    ]
    writer.log.append(
        Append("s", writer.turn_id, writer.epoch, writer.head, events, fate.set_result, entry=entry)
    )
    writer.head += len(events)
    return fate


async def test_a_note_in_a_session_that_nobody_writes_is_in_the_log_at_once(storage: Storage) -> None:
    """Under the id of its operation. A session that nobody made takes none."""
    await (await running(storage)).close()

    assert await storage.log.note("s", "c_1", NOTED, 77) is None

    assert await log_of(storage) == [(1, "done", "t"), (2, "text", "c_1")]
    assert await storage.log.outbox_of("s") == []
    with pytest.raises(NotFound) as refused:
        await storage.log.note("nowhere", "c_1", NOTED, 77)
    assert refused.value.code == "session_not_found"


async def test_a_note_of_a_user_is_in_no_session_of_another(storage: Storage) -> None:
    """An id that comes to another's session while something is learned from the one before."""
    await (await running(storage)).close()

    with pytest.raises(NotFound, match="There is no session s"):
        await storage.log.note("s", "c_1", NOTED, 77, owner="another")

    assert await storage.log.note("s", "c_2", NOTED, 77, owner=OWNER) is None
    assert await log_of(storage) == [(1, "done", "t"), (2, "text", "c_2")]


async def test_a_note_while_a_turn_waits_for_a_person_is_in_the_log_at_once(storage: Storage) -> None:
    """It belongs to that turn, whose next owner goes on behind it."""
    await parked(storage)

    assert await storage.log.note("s", "c_1", NOTED, 77) is None

    taken = await storage.approvals.wake("t")
    assert taken is not None
    assert taken.head == 2
    assert await writer_of(storage, taken).close() is None
    assert await log_of(storage) == [(1, "turn_start", "t"), (2, "text", "t"), (3, "done", "t")]


async def test_a_note_while_a_turn_is_written_waits_in_the_outbox_for_its_owner(storage: Storage) -> None:
    """Stored at once; the owner's numbers are not touched; it leaves the outbox with the owner's append."""
    writer = await running(storage)
    await writer.append("turn_start")

    entry = await storage.log.note("s", "c_1", NOTED, 77)

    assert entry is not None
    assert await storage.log.outbox_of("s") == [entry]
    assert not await storage.log.deliver("s", 78)
    assert await writer.append("text") is None
    assert await write(writer, entry) is None
    assert await storage.log.outbox_of("s") == []
    assert await log_of(storage) == [(1, "turn_start", "t"), (2, "text", "t"), (3, "text", "t")]


async def test_what_a_refused_append_was_to_deliver_stays_in_the_outbox(storage: Storage) -> None:
    """The former owner of a turn takes nothing out."""
    writer = await running(storage)
    entry = await storage.log.note("s", "c_1", NOTED, 77)
    assert entry is not None
    await storage.turns.take_over("t", recovered=True)

    assert isinstance(await write(writer, entry), TurnLost)
    assert await storage.log.outbox_of("s") == [entry]


async def test_what_is_left_in_the_outbox_is_delivered_after_the_turn(storage: Storage) -> None:
    """In its order, and shown to whoever follows."""
    writer = await running(storage)
    for operation in ("c_1", "c_2"):
        await storage.log.note("s", operation, NOTED, 77)
    await writer.close()
    seen: list[StoredEvent] = []
    storage.bus.watch(lambda _, events: seen.extend(events))

    assert await storage.log.deliver("s", 78)
    assert await storage.log.deliver("s", 79)

    assert await log_of(storage) == [(1, "done", "t"), (2, "text", "c_1"), (3, "text", "c_2")]
    assert [event.seq for event in seen] == [2, 3]
    assert [event.ts for event in seen] == [78, 78]


async def test_the_outbox_outlives_the_process(
    factory: Factory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    async with factory(folder) as first:
        await running(first)
        entry = await first.log.note("s", "c_1", NOTED, 77)
    async with factory(folder) as second:
        assert await second.log.outbox_of("s") == [entry]


async def test_notes_and_turns_of_one_moment_leave_no_gap(storage: Storage) -> None:
    """Whoever comes first, the other continues from there or waits in the outbox."""
    await (await running(storage)).close()
    first, now, second = await asyncio.gather(
        storage.log.note("s", "c_1", NOTED, 1),
        accepted(storage, turn_id="t2"),
        storage.log.note("s", "c_2", NOTED, 2),
    )
    in_log = [first, second].count(None)
    assert now.head == 1 + in_log
    assert await writer_of(storage, now).append("turn_start") is None
    assert [seq for seq, _, _ in await log_of(storage)] == list(range(1, 3 + in_log))
    assert len(await storage.log.outbox_of("s")) == 2 - in_log


async def test_a_turn_that_waits_is_ended_by_its_cancel(storage: Storage) -> None:
    """Behind one that runs, its events wait in the outbox; it is done, waits no more, and gives up its place
    in the queue. They are all of its events when that turn's owner writes them."""
    writer = await running(storage)
    await writer.append("turn_start")
    waiting = (await accepted(storage, turn_id="t2", on_conflict="queue")).turn

    entry = await storage.log.close_waiting(waiting, ENDED, 50)

    assert entry is not None
    closed = await storage.turns.get("s", "t2", OWNER)
    assert (closed.status, closed.outcome, closed.cancel_requested) == ("done", "cancelled", True)
    assert (closed.first_seq, closed.last_seq, await storage.turns.count_waiting()) == (0, 0, 0)
    assert await write(writer, entry) is None
    assert await writer.close() is None
    assert await log_of(storage) == [
        (1, "turn_start", "t"),
        (2, "turn_start", "t2"),
        (3, "done", "t2"),
        (4, "done", "t"),
    ]
    closed = await storage.turns.get("s", "t2", OWNER)
    assert (closed.first_seq, closed.last_seq) == (2, 3)
    assert await storage.turns.claim_next("s") is None
    assert await storage.sessions.messages("s") == []


async def test_a_turn_behind_one_that_waits_for_a_person_ends_at_once(storage: Storage) -> None:
    """Nobody writes the session then, so its events are in the log with its end."""
    await parked(storage)
    waiting = (await accepted(storage, turn_id="t2", on_conflict="queue")).turn

    assert await storage.log.close_waiting(waiting, ENDED, 50) is None

    assert await log_of(storage) == [(1, "turn_start", "t"), (2, "turn_start", "t2"), (3, "done", "t2")]
    closed = await storage.turns.get("s", "t2", OWNER)
    assert (closed.first_seq, closed.last_seq) == (2, 3)


async def test_turns_that_wait_though_they_shall_stop_are_found(storage: Storage) -> None:
    """Neither the one that runs, whatever is asked of it, nor one that nobody cancelled."""
    await running(storage)
    waiting = [(await accepted(storage, turn_id=each, on_conflict="queue")).turn for each in ("t2", "t3")]
    await storage.turns.request_cancel("t")
    assert await storage.turns.cancelled_waiting() == []

    await storage.turns.request_cancel("t3")

    assert await storage.turns.cancelled_waiting() == [replace(waiting[1], cancel_requested=True)]


async def test_only_a_turn_that_waits_is_ended_so(storage: Storage) -> None:
    """Neither one that was claimed meanwhile nor one that is over; nothing of it remains then."""
    writer = await running(storage)
    waiting = (await accepted(storage, turn_id="t2", on_conflict="queue")).turn
    await writer.close()
    claimed = await storage.turns.claim_next("s")
    assert claimed is not None

    for _ in range(2):
        with pytest.raises(Conflict) as refused:
            await storage.log.close_waiting(replace(waiting, status="accepted"), ENDED, 50)
        assert refused.value.code == "turn_not_waiting"
        await writer_of(storage, claimed).close()
    assert await storage.log.outbox_of("s") == []


async def test_a_turn_changes_its_owner_and_the_former_one_is_refused(storage: Storage) -> None:
    """A loss is counted; to take a turn over that is over, parked or unknown does nothing."""
    writer = await running(storage)

    lost = await storage.turns.take_over("t", recovered=True)
    again = await storage.turns.take_over("t", recovered=False)

    assert lost is not None
    assert again is not None
    assert (lost.turn.recoveries, again.turn.recoveries) == (1, 1)
    assert writer.epoch < lost.turn.epoch < again.turn.epoch
    assert [(turn.turn_id, turn.epoch) for turn in await storage.turns.owned()] == [("t", again.turn.epoch)]
    assert isinstance(await writer.append("text"), TurnLost)
    assert isinstance(await writer_of(storage, lost).append("text"), TurnLost)
    assert await writer_of(storage, again).close() is None
    assert await storage.turns.take_over("t", recovered=True) is None
    assert await storage.turns.take_over("nobody", recovered=True) is None
    assert await storage.turns.owned() == []


async def test_a_parked_turn_has_no_owner_to_take_over_from(storage: Storage) -> None:
    await parked(storage)

    assert await storage.turns.owned() == []
    assert await storage.turns.take_over("t", recovered=True) is None


async def test_numbers_that_were_shown_and_are_lost_are_not_used_by_what_happens_beside(
    storage: Storage,
) -> None:
    """A server that failed over has not heard of them: what comes next is behind them."""
    writer = await running(storage)
    await writer.append("turn_start")
    await writer.close()
    made_at = (await storage.sessions.get("s", OWNER)).created_at
    with storage.bus.subscribe("s", made_at=made_at) as reader:
        storage.bus.publish("s", [StoredEvent(seq, "text", "t", b"{}") for seq in (3, 4, 5)])
        assert len(reader.since(2) or ()) == 3

    await storage.log.note("s", "c_1", NOTED, 77)

    stored = await storage.log.read("s", after=0, limit=9)
    assert [event.seq for event in stored] == [1, 2, 6, 7]
    told = orjson.loads(stored[2].body)["data"]
    assert (told["code"], told["first"], told["last"]) == ("events_lost", 3, 5)
