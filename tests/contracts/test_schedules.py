"""What storage owes about schedules: each due time has one run, whoever asks for it, and however often."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from gateway.storage.database import Prepared
from gateway.storage.schedules import KEPT_RUNS, Awaited, Planned, ScheduleRow, ScheduleRun
from gateway.storage.schedules.store import AWAITED, DUE, HELD_UP, OVER, UNDELIVERED, Schedules
from gateway.storage.turns import NewTurn
from gateway.storage.webhooks import Webhook
from tests.product import Conflict, NotFound, QueueFull, Storage
from tests.storage.plans import plan_of
from tests.storage.saying import finish
from tests.storage.writing import OWNER, accepted, writer_of

pytestmark = pytest.mark.anyio

START = (0, "")
LATER = Planned(200, "active")


def schedule(schedule_id: str = "sch_1", *, due_at: int | None = 100, owner: str = OWNER) -> ScheduleRow:
    return ScheduleRow(
        schedule_id, owner, "早报", "news", "s", 100, 60, None, "UTC", "once", "active", 50, due_at
    )


def turn_of(row: ScheduleRow, session_id: str = "s") -> NewTurn:
    key = f"{row.id}-{row.due_at}"
    return NewTurn(f"t_{key}", session_id, row.owner, row.message, "m", key, "queue", True, 110)


async def due(storage: Storage, now: int = 150) -> list[str]:
    return [row.id for row in await storage.schedules.due(now, START, 99)]


async def test_schedules_are_their_owners(storage: Storage) -> None:
    """Nobody else reads, changes or removes one, and each has as many as they may."""
    rows = [replace(schedule(f"sch_{n}"), created_at=n) for n in (1, 2)]
    for row in rows:
        await storage.schedules.add(row, most=2)
    with pytest.raises(Conflict):
        await storage.schedules.add(schedule("sch_3"), most=2)
    await storage.schedules.add(schedule("sch_b", owner="bob"), most=1)

    assert await storage.schedules.list(OWNER, 9) == rows[::-1]
    assert await storage.schedules.get("sch_1", OWNER) == rows[0]
    for attempt in (storage.schedules.get("sch_1", "bob"), storage.schedules.remove("sch_1", "bob")):
        with pytest.raises(NotFound):
            await attempt
    await storage.schedules.remove("sch_1", OWNER)
    assert await storage.schedules.list(OWNER, 9) == rows[1:]


async def test_those_that_are_due_come_in_order_and_page_by_page(storage: Storage) -> None:
    """Not those of later, nor those without a time."""
    for name, at in (("b", 100), ("a", 100), ("c", 90), ("late", 151), ("never", None)):
        await storage.schedules.add(schedule(name, due_at=at), most=9)

    assert await due(storage) == ["c", "a", "b"]
    (first,) = await storage.schedules.due(150, START, 1)
    assert [row.id for row in await storage.schedules.due(150, (90, first.id), 1)] == ["a"]
    assert [row.id for row in await storage.schedules.due(150, (100, "a"), 9)] == ["b"]


async def test_a_due_time_has_one_run_however_many_begin_it(storage: Storage) -> None:
    row = schedule()
    await storage.schedules.add(row, most=9)
    attempts = [
        storage.schedules.begin(row, LATER, replace(turn_of(row), id=f"t{n}"), max_queued=9) for n in range(5)
    ]

    begun = [each for each in await asyncio.gather(*attempts) if each is not None]

    assert len(begun) == 1
    turn = begun[0].turn
    assert (turn.status, turn.session_id) == ("running", "s")
    assert await storage.schedules.runs(row.id, 9) == [ScheduleRun(row.id, 100, "started", 110, "s", turn.id)]
    assert (await storage.schedules.get(row.id, OWNER)).due_at == 200
    assert await storage.turns.count_waiting() == 0


async def test_a_run_that_is_refused_leaves_the_schedule_as_it_was(storage: Storage) -> None:
    """The time and the turn are of one transaction."""
    row = schedule()
    await storage.schedules.add(row, most=9)
    await accepted(storage, "s", "t")

    with pytest.raises(QueueFull):
        await storage.schedules.begin(row, LATER, turn_of(row), max_queued=0)
    with pytest.raises(NotFound):
        await storage.schedules.begin(
            row, LATER, replace(turn_of(row, "gone"), create_session=False), max_queued=9
        )

    assert await storage.schedules.get(row.id, OWNER) == row
    assert await due(storage) == [row.id]
    assert await storage.schedules.runs(row.id, 9) == []


async def test_a_schedule_is_not_due_while_its_run_is_under_way(storage: Storage) -> None:
    """Nor while that waits for another turn, nor before its end is noted, which happens once."""
    row = schedule()
    await storage.schedules.add(row, most=9)
    begun = await storage.schedules.begin(row, Planned(120, "active"), turn_of(row), max_queued=9)
    assert begun is not None
    assert await due(storage) == []
    assert await storage.schedules.settle(9) == []
    assert [await storage.schedules.held_up(before) for before in (119, 120)] == [0, 1]

    await finish(writer_of(storage, begun))

    assert await due(storage) == []
    ended = ScheduleRun(row.id, 100, "completed", 110, "s", begun.turn.id)
    settled = await asyncio.gather(*(storage.schedules.settle(9) for _ in range(3)))
    assert sorted(map(list, settled), key=len) == [[], [], [ended]]
    assert await storage.schedules.runs(row.id, 9) == [ended]
    assert await due(storage) == [row.id]


async def test_a_run_whose_session_is_gone_is_over(storage: Storage) -> None:
    row = schedule()
    await storage.schedules.add(row, most=9)
    begun = await storage.schedules.begin(row, LATER, turn_of(row), max_queued=9)
    assert begun is not None
    await finish(writer_of(storage, begun))
    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass

    (run,) = await storage.schedules.settle(9)

    assert run.status == "deleted"


async def test_what_was_changed_meanwhile_is_not_begun(storage: Storage) -> None:
    """Paused, moved or removed: a time that it has no more neither begins a run nor is missed."""
    row = schedule()
    await storage.schedules.add(row, most=9)
    assert await storage.schedules.change(row, Planned(None, "paused", "session_not_found"))
    paused = await storage.schedules.get(row.id, OWNER)
    assert (paused.status, paused.due_at, paused.reason) == ("paused", None, "session_not_found")

    assert not await storage.schedules.change(row, LATER)
    assert await storage.schedules.begin(row, LATER, turn_of(row), max_queued=9) is None
    assert not await storage.schedules.skip_run(row, LATER, ScheduleRun(row.id, 100, "missed", 110))
    await storage.schedules.remove(row.id, OWNER)
    assert not await storage.schedules.change(paused, LATER)
    assert await storage.schedules.begin(row, LATER, turn_of(row), max_queued=9) is None


async def test_a_due_time_that_comes_again_has_no_second_turn(storage: Storage) -> None:
    """A clock that was set back: the turn is the one that there was, also where its run is forgotten."""
    row = schedule()
    await storage.schedules.add(row, most=9)
    first = await storage.schedules.begin(row, LATER, turn_of(row), max_queued=9)
    moved = await storage.schedules.get(row.id, OWNER)
    assert await storage.schedules.change(moved, Planned(100, "active"))

    other = replace(turn_of(row), id="t_other")

    assert await storage.schedules.begin(row, LATER, other, max_queued=9) is None

    assert first is not None
    (run,) = await storage.schedules.runs(row.id, 9)
    assert run.turn_id == first.turn.id
    assert await storage.turns.count_waiting() == 0
    await storage.schedules.remove(row.id, OWNER)
    await storage.schedules.add(row, most=9)
    again = await storage.schedules.begin(row, LATER, other, max_queued=9)
    assert again is not None
    assert again.repeated
    assert again.turn.id == first.turn.id


@pytest.mark.parametrize("before", ["ran elsewhere", "missed"])
async def test_a_due_time_that_comes_again_is_noted_once(storage: Storage, before: str) -> None:
    """Whatever became of it, and whatever would now: the schedule goes on with its next time."""
    row = replace(schedule(), session=None)
    await storage.schedules.add(row, most=9)
    missed = ScheduleRun(row.id, 100, "missed", 110, code="late")
    if before == "missed":
        assert await storage.schedules.skip_run(row, LATER, missed)
    else:
        assert await storage.schedules.begin(row, LATER, turn_of(row), max_queued=9) is not None
    noted = await storage.schedules.runs(row.id, 9)

    for again in ("begun", "missed"):
        assert await storage.schedules.change(replace(row, due_at=200), Planned(100, "active"))
        if again == "missed":
            assert not await storage.schedules.skip_run(row, LATER, replace(missed, at=300))
        else:
            other = replace(turn_of(row, "s_other"), id="t_other")
            assert await storage.schedules.begin(row, LATER, other, max_queued=9) is None

        assert (await storage.schedules.get(row.id, OWNER)).due_at == 200
        assert await storage.schedules.runs(row.id, 9) == noted


async def test_the_newest_runs_are_kept(storage: Storage) -> None:
    row = schedule(due_at=1)
    await storage.schedules.add(row, most=9)
    for at in range(1, KEPT_RUNS + 4):
        run = ScheduleRun(row.id, at, "missed", at + 5, code="late")
        assert await storage.schedules.skip_run(replace(row, due_at=at), Planned(at + 1, "active"), run)

    kept = await storage.schedules.runs(row.id, KEPT_RUNS * 2)

    assert [run.due_at for run in kept] == list(range(KEPT_RUNS + 3, 3, -1))
    assert kept[0].code == "late"


async def test_a_result_that_is_wanted_elsewhere_is_claimed_once_for_each_try(storage: Storage) -> None:
    """Of a turn that is over and of a time that was missed; it waits until the next try, or is done with."""
    row, plain = replace(schedule(), destination="webhook:wh_1"), schedule("sch_2", due_at=90)
    for each in (plain, row):
        await storage.schedules.add(each, most=9)
        begun = await storage.schedules.begin(each, LATER, turn_of(each), max_queued=9)
        assert begun is not None
        assert await storage.schedules.undelivered(10**15, 9) == []
        await finish(writer_of(storage, begun))
        assert len(await storage.schedules.settle(9)) == 1
    moved = replace(row, due_at=200)
    assert await storage.schedules.skip_run(
        moved, Planned(300, "active"), ScheduleRun(row.id, 200, "missed", 500, code="late")
    )

    found = await storage.schedules.undelivered(1, 9)
    assert sorted((each.run.due_at, each.run.status) for each in found) == [
        (100, "completed"),
        (200, "missed"),
    ]
    assert {each.schedule.destination for each in found} == {"webhook:wh_1"}
    for each in found:
        claims = await asyncio.gather(*(storage.schedules.claim_delivery(each, 1000) for _ in range(3)))
        assert sorted(claims) == [False, False, True]
    assert await storage.schedules.undelivered(999, 9) == []

    again = await storage.schedules.undelivered(1000, 9)
    assert [each.tries for each in again] == [1, 1]
    assert await storage.schedules.claim_delivery(again[0], None)
    assert await storage.schedules.undelivered(1000, 9) == again[1:]
    await storage.schedules.remove(row.id, OWNER)
    assert await storage.schedules.undelivered(1000, 9) == []
    assert not await storage.schedules.claim_delivery(again[1], None)


async def test_a_result_is_enqueued_for_a_webhook_once(storage: Storage) -> None:
    """Several that ask for it, and one that was killed before it noted that it had: one delivery, with one
    id. Where the webhook is off it is dead, with the reason, and can be replayed."""
    hook = Webhook("wh_on", OWNER, "https://a.example/", (), "whsec_c2VjcmV0", 1)
    for webhook in (hook, replace(hook, id="wh_off", disabled_at=7)):
        await storage.webhooks.add(webhook, most=9)
    for name in ("wh_on", "wh_off", "wh_gone"):
        row = replace(schedule(f"sch_{name}"), destination=f"webhook:{name}")
        await storage.schedules.add(row, most=9)
        assert await storage.schedules.skip_run(row, LATER, ScheduleRun(row.id, 100, "missed", 110))
    for found in await storage.schedules.undelivered(110, 9):
        assert await storage.schedules.claim_delivery(found, 500)
        name = found.run.schedule_id.removeprefix("sch_")
        place = (found.schedule, found.run, name, "k")
        enqueued = [storage.schedules.enqueue_result(*place) for _ in range(3)]
        assert all(await asyncio.gather(*enqueued)) == (name != "wh_gone")

    assert await storage.schedules.undelivered(10**15, 9) == []
    (waits,) = await storage.webhooks.deliveries("wh_on", state=None, before=None, limit=9)
    assert (waits.state, waits.error) == ("pending", None)
    assert waits.detail is not None
    assert waits.detail["key"] == "k"
    (dead,) = await storage.webhooks.deliveries("wh_off", state=None, before=None, limit=9)
    assert (dead.state, dead.error, dead.ended_at) == ("dead", "Its webhook was off.", dead.at)
    assert await storage.webhooks.replay("wh_off", None, 900) == 1


async def test_one_read_says_what_there_is_to_do(storage: Storage) -> None:
    """Nothing; a schedule that is due; none while its run is under way; that run when its turn is over; its
    result when that is wanted elsewhere."""
    row = replace(schedule(), destination="webhook:wh_1")
    await storage.schedules.add(row, most=9)
    found = [await storage.schedules.awaited(99), await storage.schedules.awaited(100)]
    new = turn_of(row)
    begun = await storage.schedules.begin(row, Planned(None, "ended"), new, max_queued=9)
    assert begun is not None
    found.append(await storage.schedules.awaited(200))
    await finish(writer_of(storage, begun))
    found.append(await storage.schedules.awaited(200))
    await storage.schedules.settle(9)
    found.append(await storage.schedules.awaited(200))
    assert found == [
        Awaited(over=False, due=False, undelivered=False),
        Awaited(over=False, due=True, undelivered=False),
        Awaited(over=False, due=False, undelivered=False),
        Awaited(over=True, due=False, undelivered=False),
        Awaited(over=False, due=False, undelivered=True),
    ]


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (DUE, "schedules_due"),
        (OVER, "schedule_runs_started"),
        (HELD_UP, "schedule_runs_started"),
        (UNDELIVERED, "schedule_runs_wanted"),
        (AWAITED, "schedules_due"),
        (AWAITED, "schedule_runs_started"),
        (AWAITED, "schedule_runs_wanted"),
    ],
    ids=["due", "over", "held up", "undelivered", "awaited: due", "awaited: over", "awaited: undelivered"],
)
async def test_a_tick_reads_by_indexes(storage: Storage, statement: Prepared, index: str) -> None:
    """However many there are: schedules of later, and runs that are over, are not looked at."""
    store = storage.schedules
    assert isinstance(store, Schedules)

    def filled(connection: Connection) -> None:
        for table, values in (
            (
                "schedules (id, owner, name, message, timezone, late, status, created_at, due_at)",
                "'s' || n, 'o', 'n', 'm', 'UTC', 'once', 'active', 1, n",
            ),
            ("schedule_runs (schedule_id, due_at, status, at)", "'s' || n, n, 'completed', 1"),
        ):
            connection.exec_driver_sql(
                f"INSERT INTO {table} WITH RECURSIVE c(n) AS "
                f"(SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT {values} FROM c"
            )
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE schedules")
            connection.exec_driver_sql("ANALYZE schedule_runs")

    await store.database.write(filled)
    values = {"now": 10, "before": 10, "after": 0, "after_id": "", "limit": 100}
    found = await store.database.read(lambda connection: plan_of(connection, statement, values))

    assert index in found, found
    assert "Seq Scan on schedule" not in found, found
    assert "SCAN schedules" not in found.replace("USING INDEX", ""), found
