"""What every storage engine owes its callers: a claim per sentence of gateway/storage/__init__.py."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import TurnInProgress
from gateway.events.lifecycle import TurnWarning
from gateway.storage.log import Append, Closing
from gateway.storage.turns import NewTurn, OwnedTurn, TurnRow
from tests.product import (
    Conflict,
    Message,
    NotFound,
    QueueFull,
    Storage,
    StoredEvent,
    TurnLost,
    Usage,
    text_block,
)
from tests.storage.saying import snapshot
from tests.storage.writing import OWNER, Factory, accepted, running, taken_anew, writer_of

pytestmark = pytest.mark.anyio


async def seqs(storage: Storage, session_id: str = "s", after: int = 0) -> list[int]:
    return [event.seq for event in await storage.log.read(session_id, after=after, limit=1000)]


# The log


async def test_what_was_appended_is_read_back_in_order(storage: Storage) -> None:
    """Events come back as they were appended: the same seq, type, turn and bytes."""
    writer = await running(storage)
    await writer.append("turn_start", "text", body=b'{"text":"\xe4\xbd\xa0\\n, \xf0\x9f\x8c\x8a"}')
    await writer.append("text", body=b'{"text":"more"}')

    assert await storage.log.read("s", after=0, limit=10) == writer.sent


async def test_a_read_has_bounds_on_both_sides_and_a_limit(storage: Storage) -> None:
    """`after` is excluded, `until` included, and no more than `limit` events come."""
    writer = await running(storage)
    await writer.append(*["text"] * 9)

    assert await seqs(storage, after=7) == [8, 9]
    assert [event.seq for event in await storage.log.read("s", after=2, limit=3)] == [3, 4, 5]
    assert [event.seq for event in await storage.log.read("s", after=2, limit=9, until=4)] == [3, 4]
    assert await storage.log.read("s", after=9, limit=9) == []
    assert await storage.log.read("nowhere", after=0, limit=9) == []


async def test_a_read_may_choose_types(storage: Storage) -> None:
    """With `types`, only events of these come, and the limit counts only them."""
    writer = await running(storage)
    await writer.append("turn_start", "text", "text", "tool_call", "text")

    found = await storage.log.read("s", after=0, limit=3, types=["text", "turn_start"])

    assert [(event.seq, event.type) for event in found] == [(1, "turn_start"), (2, "text"), (3, "text")]


async def test_appends_are_stored_in_the_order_of_the_calls(storage: Storage) -> None:
    """Appends queued one after the other without waiting all become durable, in order."""
    writer = await running(storage)

    fates = await asyncio.gather(*(writer.append("text", sync=number % 7 == 0) for number in range(50)))

    assert fates == [None] * 50
    assert await seqs(storage) == list(range(1, 51))


async def test_settled_means_durable(factory: Factory, tmp_path: Path) -> None:
    """What was settled without an error is there when the storage is opened again."""
    async with factory(tmp_path) as first:
        writer = await running(first)
        assert await writer.append("turn_start", "text") is None

    async with factory(tmp_path) as second:
        assert await second.log.read("s", after=0, limit=10) == writer.sent
        assert (await second.sessions.get("s", OWNER)).head == 2


async def test_an_append_by_an_older_epoch_is_refused(storage: Storage) -> None:
    """After a take-over the former owner's append is lost, the new owner's is not."""
    old = await running(storage)
    await old.append("turn_start")
    [taken] = await taken_anew(storage)
    new = writer_of(storage, taken)

    assert isinstance(await old.append("text"), TurnLost)
    assert await new.append("text") is None
    assert await seqs(storage) == [1, 2]


async def test_an_append_from_another_head_is_refused(storage: Storage) -> None:
    """Events that do not continue from the session's head are refused and leave no trace."""
    writer = await running(storage)
    await writer.append("turn_start")
    writer.head = 5
    fates = await asyncio.gather(writer.append("text"), writer.append("text"))

    assert [type(fate) for fate in fates] == [TurnLost, TurnLost]
    assert await seqs(storage) == [1]


async def test_an_append_to_a_turn_that_is_not_running_is_refused(storage: Storage) -> None:
    """Neither a waiting turn nor one that is over nor an unknown one takes events."""
    writer = await running(storage)
    waiting = writer_of(storage, await accepted(storage, turn_id="t2", on_conflict="queue"))
    unknown = writer_of(storage, await accepted(storage, session_id="s2", turn_id="t3"))
    unknown.turn_id = "nobody"

    assert isinstance(await waiting.append("text"), TurnLost)
    assert isinstance(await unknown.append("text"), TurnLost)
    assert await writer.close() is None
    assert isinstance(await writer.append("text"), TurnLost)
    assert await seqs(storage) == [1]


async def test_a_refusal_touches_no_other_append(storage: Storage) -> None:
    """Appends queued in the same moment as a refused one are stored, whosever they are."""
    old = await running(storage, "s1", "t1")
    other = await running(storage, "s2", "t2")
    taken = {now.turn.session_id: now for now in await taken_anew(storage)}
    new, other = writer_of(storage, taken["s1"]), writer_of(storage, taken["s2"])

    fates = await asyncio.gather(
        other.append("text"), old.append("text"), new.append("text"), old.append("text"), other.append("text")
    )

    assert [type(fate) for fate in fates] == [type(None), TurnLost, type(None), TurnLost, type(None)]
    assert await storage.log.read("s1", after=0, limit=9) == new.sent
    assert await storage.log.read("s2", after=0, limit=9) == other.sent


async def test_nothing_follows_the_end_of_a_turn_even_in_the_same_moment(storage: Storage) -> None:
    """Events queued behind the closing append of their turn are refused."""
    writer = await running(storage)
    fates = await asyncio.gather(writer.append("text"), writer.close(), writer.append("text"))

    assert [type(fate) for fate in fates] == [type(None), type(None), TurnLost]
    assert await seqs(storage) == [1, 2]


def _ignore(_: Exception | None) -> None:
    """Somebody who does not ask for the fate of an append."""


async def test_events_that_are_numbered_wrongly_are_not_accepted(storage: Storage) -> None:
    """An append whose events do not continue from its own head is the caller's mistake."""
    await running(storage)
    skipping = Append("s", "t", 1, 0, [StoredEvent(2, "text", "t", b"{}")], _ignore)

    with pytest.raises(ValueError, match="should be 1"):
        storage.log.append(skipping)


# What becomes true together with events


async def test_a_message_joins_the_history_with_its_events(storage: Storage) -> None:
    """Messages come back in order, with position, turn, every block untouched, and the usage."""
    thinking = {"type": "thinking", "thinking": "哼\n", "signature": "c2ln==", "new": {"x": [1, None, 1.5]}}
    message = Message("assistant", [thinking, text_block('two "quoted" \\ lines\n, [1]')])
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_input_tokens=3)
    writer = await running(storage)
    await asyncio.gather(
        writer.append("turn_start", message=Message("user", [text_block("hello")])),
        writer.append("iteration_end", message=message, usage=usage),
    )

    history = await storage.sessions.messages("s")

    assert [(stored.position, stored.turn_id, stored.usage) for stored in history] == [
        (1, "t", None),
        (2, "t", usage),
    ]
    assert [stored.message for stored in history] == [Message("user", [text_block("hello")]), message]
    assert await storage.sessions.messages("nowhere") == []


async def test_a_refused_append_leaves_no_message(storage: Storage) -> None:
    """The message of an append stands or falls with its events."""
    writer = await running(storage)
    writer.epoch = 7
    await writer.append("turn_start", message=Message("user", [text_block("hello")]))

    assert await storage.sessions.messages("s") == []


async def test_closing_ends_the_turn_with_its_last_event(storage: Storage) -> None:
    """A closed turn is done, has its outcome, and its events lie within its bounds."""
    writer = await running(storage)
    await writer.append("turn_start", "text")
    open_ = await storage.turns.get("s", "t", OWNER)
    usage = Usage(input_tokens=1, output_tokens=2)
    await writer.append("error", "done", outcome=Closing("failed", 2, usage, 0.25, 99))
    closed = await storage.turns.get("s", "t", OWNER)

    assert (open_.status, open_.outcome, open_.first_seq, open_.last_seq) == ("running", None, 1, 2)
    assert (closed.status, closed.outcome, closed.first_seq, closed.last_seq) == ("done", "failed", 1, 4)
    assert await storage.turns.open_turn("s") is None
    assert (await storage.sessions.get("s", OWNER)).updated_at == 99


async def test_the_bounds_of_a_turn_without_events_are_zero(storage: Storage) -> None:
    """`first_seq` and `last_seq` are 0 until the first event, also in a session that has older ones."""
    await (await running(storage)).close()
    await accepted(storage, turn_id="t2")
    await accepted(storage, turn_id="t3", on_conflict="queue")

    for turn_id in ("t2", "t3"):
        turn = await storage.turns.get("s", turn_id, OWNER)
        assert (turn.first_seq, turn.last_seq) == (0, 0)
    assert (await storage.turns.get("s", "t", OWNER)).last_seq == 1


# Publication


async def test_events_are_published_when_durable_and_before_their_append_is_settled(storage: Storage) -> None:
    """An observer sees all durable events, in order, and each before its writer was told of success."""
    observed: list[tuple[str, int]] = []
    storage.bus.watch(lambda _, events: observed.extend(("published", event.seq) for event in events))
    writer = await running(storage)
    fates = [writer.append("text") for _ in range(3)]
    for seq, fate in enumerate(fates, 1):
        fate.add_done_callback(lambda _, seq=seq: observed.append(("settled", seq)))
    await asyncio.gather(*fates)

    assert [seq for what, seq in observed if what == "published"] == [1, 2, 3]
    assert all(observed.index(("published", seq)) < observed.index(("settled", seq)) for seq in (1, 2, 3))


async def test_refused_events_are_never_published(storage: Storage) -> None:
    """What is not durable reaches nobody."""
    seen: list[StoredEvent] = []
    storage.bus.watch(lambda _, events: seen.extend(events))
    writer = await running(storage)
    writer.epoch = 2
    await writer.append("text")

    assert seen == []


# Sessions


async def test_a_session_is_made_once(storage: Storage) -> None:
    """A taken id is a conflict for everybody, its owner included."""
    made = await storage.sessions.create("s", OWNER, "mine", 5, project_id="garden", role_id="design")

    assert (made.title, made.created_at, made.updated_at, made.head) == ("mine", 5, 5, 0)
    assert (made.project_id, made.role_id) == ("garden", "design")
    assert await storage.sessions.get("s", OWNER) == made
    for owner in (OWNER, "bob"):
        with pytest.raises(Conflict):
            await storage.sessions.create("s", owner, None, 6)


async def test_a_session_stays_in_its_project_and_role(storage: Storage) -> None:
    """A turn that names others is refused and leaves nothing; the same ones, or none, are fine."""
    await storage.sessions.create("s", OWNER, None, 1, project_id="garden", role_id="design")
    await storage.sessions.create("nowhere", OWNER, None, 1)

    async def ask(session_id: str, turn_id: str, project_id: str | None, role_id: str | None) -> TurnRow:
        new = NewTurn(turn_id, session_id, OWNER, "hi", "model", None, "queue", create_session=True, at=2)
        placed = replace(new, project_id=project_id, role_id=role_id)
        return (await storage.turns.accept(placed, max_queued=9)).turn

    for session_id, project_id, role_id, carried in (
        ("s", "kitchen", None, "in the project garden"),
        ("s", "garden", "cook", "in the role design"),
        ("nowhere", None, "cook", "in no role"),
    ):
        with pytest.raises(Conflict, match=f"Session {session_id} is {carried}, and stays there"):
            await ask(session_id, "refused", project_id, role_id)
    for turn_id, project_id, role_id in (("t1", "garden", "design"), ("t2", None, None)):
        turn = await ask("s", turn_id, project_id, role_id)
        assert (turn.project_id, turn.role_id) == ("garden", "design")
    assert await storage.turns.count_waiting() == 1


async def test_what_belongs_to_somebody_else_is_not_there(storage: Storage) -> None:
    """Another owner's session and turn are as absent as ones that never were."""
    await running(storage)
    for attempt in (
        storage.sessions.get("s", "bob"),
        storage.sessions.get("x", OWNER),
        storage.sessions.change("s", "bob", 1, title="stolen"),
        storage.sessions.delete("s", "bob"),
        storage.sessions.outline("s", "bob"),
        accepted(storage, turn_id="t2", owner="bob", create=False),
        accepted(storage, "x", turn_id="t3", create=False),
    ):
        with pytest.raises(NotFound) as refused:
            await attempt
        assert refused.value.code == "session_not_found"
    for attempt in (
        storage.turns.get("s", "t", "bob"),
        storage.turns.get("x", "t", OWNER),
        storage.turns.get("s", "x", OWNER),
    ):
        with pytest.raises(NotFound) as refused:
            await attempt
        assert refused.value.code == "turn_not_found"
    assert await storage.sessions.list("bob", limit=9) == []
    with pytest.raises(Conflict):
        await accepted(storage, turn_id="t2", owner="bob", create=True)


async def test_sessions_are_listed_newest_first_page_by_page(storage: Storage) -> None:
    """Pages follow (updated_at, id) downwards and meet without gap or repetition, also among equal times."""
    for number in range(7):
        await storage.sessions.create(f"s{number}", OWNER, None, at=number // 3)
    pages: list[str] = []
    before: tuple[int, str] | None = None
    while page := await storage.sessions.list(OWNER, limit=2, before=before):
        pages += [row.id for row in page]
        before = (page[-1].updated_at, page[-1].id)

    assert pages == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


async def test_a_session_can_be_renamed(storage: Storage) -> None:
    """The new title is returned and kept."""
    await storage.sessions.create("s", OWNER, None, 1)

    assert (await storage.sessions.change("s", OWNER, 1, title="new")).title == "new"
    assert (await storage.sessions.get("s", OWNER)).title == "new"


async def test_a_session_is_deleted_with_all_that_belongs_to_it(storage: Storage) -> None:
    """Nothing of it is left, not even for those who follow it, and the id may be used by somebody else."""
    writer = await running(storage)
    await writer.append("turn_start", message=Message("user", [text_block("secret")]))
    await writer.close()
    with storage.bus.subscribe("s") as old:
        assert old.since(0)
        await storage.sessions.delete("s", OWNER)

        await storage.sessions.create("s", "bob", None, 1)
        with storage.bus.subscribe("s") as new:
            assert not new.since(0)
        assert await seqs(storage) == []
        assert await storage.sessions.messages("s") == []
        assert await storage.turns.open_turn("s") is None
        with pytest.raises(NotFound):
            await storage.turns.get("s", "t", "bob")
        assert await storage.log.read("s", after=0, limit=1) == []
        assert (await accepted(storage, turn_id="t", owner="bob")).head == 0


async def test_a_session_is_not_deleted_while_a_turn_is_running_or_waiting(storage: Storage) -> None:
    """Deleting needs an idle session, and says which turn is in the way."""
    writer = await running(storage)
    await accepted(storage, turn_id="t2", on_conflict="queue")

    with pytest.raises(TurnInProgress):
        await storage.sessions.delete("s", OWNER)
    await writer.close()
    with pytest.raises(TurnInProgress) as refused:
        await storage.sessions.delete("s", OWNER)

    assert refused.value.details == {"turn_id": "t2", "seq": 1}


async def test_a_snapshot_is_of_one_moment(storage: Storage) -> None:
    """However often it is taken while a turn writes, the head, the turn's bounds and the history agree."""
    writer = await running(storage)

    async def write() -> None:
        for _ in range(30):
            await writer.append("text", message=Message("assistant", [text_block("x")]))

    task = asyncio.create_task(write())
    while not task.done():
        outline, history = await snapshot(storage)
        assert outline.open_turn is not None
        assert outline.session.head == outline.open_turn.last_seq == len(history.messages)
    await task


# Turns


async def test_a_turn_in_an_idle_session_runs_at_once(storage: Storage) -> None:
    """It is stored as running, in a session made for it that takes its title from the message."""
    now = await accepted(storage, text="\n  " + "好" * 100 + "\nsecond line", at=7)
    session = await storage.sessions.get("s", OWNER)

    assert (now.turn.status, now.turn.epoch, now.head, now.repeated, now.interrupts) == (
        "running",
        1,
        0,
        False,
        None,
    )
    assert await storage.turns.get("s", "t", OWNER) == now.turn == await storage.turns.open_turn("s")
    assert (session.title, session.created_at, session.updated_at) == ("好" * 80, 7, 7)


async def test_a_title_is_never_replaced(storage: Storage) -> None:
    """Only a session without a title takes one from a message."""
    await storage.sessions.create("s", OWNER, "given", 1)
    await accepted(storage, at=8)
    session = await storage.sessions.get("s", OWNER)

    assert (session.title, session.updated_at) == ("given", 8)


async def test_a_second_turn_is_rejected_while_one_runs(storage: Storage) -> None:
    """The refusal names the running turn and how far the session is."""
    await (await running(storage)).append("turn_start")

    with pytest.raises(TurnInProgress) as refused:
        await accepted(storage, turn_id="t2")

    assert refused.value.details == {"turn_id": "t", "seq": 1}
    with pytest.raises(NotFound):
        await storage.turns.get("s", "t2", OWNER)


async def test_waiting_turns_run_in_the_order_of_their_arrival(storage: Storage) -> None:
    """claim_next hands out one turn at a time, the longest-waiting first, and none while one runs."""
    writer = await running(storage)
    for name in ("t2", "t3"):
        now = await accepted(storage, turn_id=name, on_conflict="queue", at=1)
        assert (now.turn.status, now.turn.epoch, now.interrupts) == ("accepted", 0, None)
    assert await storage.turns.claim_next("s") is None
    assert await storage.turns.count_waiting() == 2

    order: list[str] = []
    await writer.close()
    while now := await storage.turns.claim_next("s"):
        assert await storage.turns.claim_next("s") is None
        assert (now.turn.status, now.turn.epoch, now.head) == ("running", len(order) + 2, len(order) + 1)
        order.append(now.turn.id)
        await writer_of(storage, now).close()
    assert order == ["t2", "t3"]
    assert await storage.turns.count_waiting() == 0
    assert await storage.turns.claim_next("nowhere") is None


async def test_whoever_queues_goes_behind_those_who_wait(storage: Storage) -> None:
    """Also in the moment after a turn ended and before the next was claimed."""
    writer = await running(storage)
    await accepted(storage, turn_id="t2", on_conflict="queue")
    await writer.close()

    assert (await accepted(storage, turn_id="t3", on_conflict="queue")).turn.status == "accepted"
    claimed = await storage.turns.claim_next("s")
    assert claimed is not None
    assert claimed.turn.id == "t2"


async def test_a_turn_that_interrupts_goes_first(storage: Storage) -> None:
    """It waits, names the turn that has to make way and asks it to stop, and overtakes those who queue."""
    writer = await running(storage)
    await accepted(storage, turn_id="t2", on_conflict="queue")
    now = await accepted(storage, turn_id="t3", on_conflict="interrupt")

    assert (now.turn.status, now.interrupts) == ("accepted", "t")
    assert (await storage.turns.get("s", "t", OWNER)).cancel_requested
    await writer.close()
    claimed = await storage.turns.claim_next("s")
    assert claimed is not None
    assert claimed.turn.id == "t3"


async def test_no_more_than_max_queued_turns_wait(storage: Storage) -> None:
    """One more is refused; so is any when none may wait."""
    await running(storage)
    await accepted(storage, turn_id="t2", on_conflict="queue", max_queued=1)

    for on_conflict in ("queue", "interrupt"):
        with pytest.raises(QueueFull):
            await accepted(storage, turn_id="t3", on_conflict=on_conflict, max_queued=1)
    with pytest.raises(TurnInProgress):
        await accepted(storage, turn_id="t3", max_queued=1)


async def test_the_same_client_message_id_is_the_same_turn(storage: Storage) -> None:
    """A repetition returns the first turn, however it stands; with another message it is a conflict."""
    writer = writer_of(storage, await accepted(storage, client_message_id="m1"))
    await writer.append("turn_start")
    again = await accepted(storage, turn_id="t2", client_message_id="m1")
    await writer.close()
    late = await accepted(storage, turn_id="t3", client_message_id="m1")

    assert (again.repeated, again.turn.id, again.turn.status, again.head) == (True, "t", "running", 1)
    assert (late.repeated, late.turn.id, late.turn.status, late.head) == (True, "t", "done", 2)
    with pytest.raises(Conflict):
        await accepted(storage, turn_id="t4", client_message_id="m1", text="something else")
    assert not (await accepted(storage, "s2", turn_id="t5", client_message_id="m1")).repeated


async def test_simultaneous_accepts_agree_on_one_running_turn(storage: Storage) -> None:
    """Of many turns posted at once to a new session one runs and the others are refused."""
    answers = await asyncio.gather(
        *(accepted(storage, turn_id=f"t{number}") for number in range(9)), return_exceptions=True
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Accepted"] + ["TurnInProgress"] * 8


async def test_a_cancel_is_recorded_and_a_waiting_turn_is_still_handed_out(storage: Storage) -> None:
    """Running and waiting turns keep the wish to stop; a turn that is over does not change."""
    writer = await running(storage)
    await accepted(storage, turn_id="t2", on_conflict="queue")
    for turn_id in ("t", "t", "t2", "unknown"):
        await storage.turns.request_cancel(turn_id)

    assert (await storage.turns.get("s", "t", OWNER)).cancel_requested
    await writer.close()
    claimed = await storage.turns.claim_next("s")
    assert claimed is not None
    assert (claimed.turn.id, claimed.turn.cancel_requested) == ("t2", True)
    await writer_of(storage, claimed).close()
    done = await accepted(storage, turn_id="t3")
    await writer_of(storage, done).close()
    await storage.turns.request_cancel("t3")
    assert not (await storage.turns.get("s", "t3", OWNER)).cancel_requested


async def test_a_new_process_takes_over_what_was_left(factory: Factory, tmp_path: Path) -> None:
    """Every running turn comes back with its epoch raised, the session's head and the loss of its owner
    counted; sessions in which turns only wait are named, and the claim says which is first."""
    async with factory(tmp_path) as first:
        await (await running(first, "s1", "t1")).append("turn_start", "text")
        await accepted(first, "s1", "t2", on_conflict="queue")
        closed = await running(first, "s2", "t3")
        await accepted(first, "s2", "t4", on_conflict="queue")
        await accepted(first, "s2", "t5", on_conflict="interrupt")
        await closed.close()
        await (await running(first, "s3", "t6")).close()

    async with factory(tmp_path) as second:
        assert not (await second.replicas.beat(slots=0)).taken
        beat = await second.replicas.beat(slots=9)
        assert [(now.turn.id, now.turn.recoveries) for now in beat.taken] == [("t1", 1)]
        assert (beat.waiting, beat.queued) == (["s2"], 3)
        assert [turn.turn_id for turn in beat.owned] == ["t1"]
        claimed = await second.turns.claim_next("s2")
        assert claimed is not None
        taken = {now.turn.id: now for now in (*beat.taken, claimed)}
        assert (taken["t1"].head, taken["t1"].turn.first_seq, taken["t1"].turn.last_seq) == (2, 1, 2)
        assert taken["t1"].turn.epoch == 2
        assert (taken["t5"].head, taken["t5"].turn.status) == (1, "running")
        for now in taken.values():
            assert await writer_of(second, now).close() is None


async def test_what_was_released_is_taken_over_without_counting_a_loss(
    factory: Factory, tmp_path: Path
) -> None:
    """One by one or all at once. A turn that is parked, or has a newer owner, is not released."""
    async with factory(tmp_path) as first:
        one, two = await running(first, "s1", "t1"), await running(first, "s2", "t2")
        await one.append("turn_start")
        await first.replicas.release(OwnedTurn("s1", "t1", one.epoch + 1))
        assert len((await first.replicas.beat(slots=9)).owned) == 2
        await first.replicas.release(OwnedTurn("s1", "t1", one.epoch))
        assert [turn.turn_id for turn in (await first.replicas.beat(slots=0)).owned] == ["t2"]
        assert await two.append("turn_start") is None
        await first.replicas.leave()

    async with factory(tmp_path) as second:
        taken = (await second.replicas.beat(slots=9)).taken
        assert {now.turn.id: (now.turn.recoveries, now.head) for now in taken} == {"t1": (0, 1), "t2": (0, 1)}


async def test_a_beat_says_which_turns_shall_stop_and_where_the_outbox_waits(storage: Storage) -> None:
    """Whoever asked for it, and whoever left it there: what nobody was told of is found all the same."""
    writer = await running(storage)
    await storage.turns.request_cancel("t")
    await storage.log.note("s", "c_1", TurnWarning(code="beside", message="A note."), 7)

    beat = await storage.replicas.beat(slots=9)
    await writer.close()
    after = await storage.replicas.beat(slots=9)

    assert (beat.cancelled, beat.undelivered) == (["t"], [])
    assert (after.cancelled, after.undelivered, after.owned) == ([], ["s"], [])


async def test_a_turn_is_its_owners_until_it_has_another(storage: Storage) -> None:
    """Asked by the number of the owner, also after the end."""
    writer = await running(storage)
    owned = OwnedTurn("s", "t", writer.epoch)
    assert await storage.turns.is_owned(owned)
    (now,) = await taken_anew(storage)
    assert not await storage.turns.is_owned(owned)
    assert await storage.turns.is_owned(owned._replace(epoch=now.turn.epoch))
