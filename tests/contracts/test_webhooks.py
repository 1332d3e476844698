"""What storage owes about webhooks and what they are told."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import Connection

from gateway.storage.artifacts import MIN_COUNTED
from gateway.storage.database import Prepared
from gateway.storage.decisions.approvals import ApprovalRow
from gateway.storage.projects import Invitation, Project
from gateway.storage.schedules import Planned, ScheduleRow, ScheduleRun
from gateway.storage.sessions import BESIDE
from gateway.storage.webhooks import Delivery, Failure, Webhook
from gateway.storage.webhooks.enqueue import enqueue
from gateway.storage.webhooks.store import (
    DUE,
    EARLIER_PENDING,
    LOOKED_AT,
    NEXT_IS_DUE,
    READY,
    Webhooks,
)
from gateway.storage.webhooks.sweeping import ENDED
from tests.product import Conflict, Done, NotFound, Storage
from tests.storage.artifact_rows import add, artifact
from tests.storage.plans import plan_of
from tests.storage.writing import OWNER, accepted, running, writer_of

pytestmark = pytest.mark.anyio

HOOK = Webhook(
    "wh_a", OWNER, "https://a.example/", ("turn.finished", "approval.waiting"), "whsec_c2VjcmV0", 1
)


async def ended(storage: Storage, turn_id: str, session_id: str = "s") -> None:
    """A turn that began and is over."""
    assert await (await running(storage, session_id, turn_id)).close(at=50) is None


async def claimed(storage: Storage, now: int = 100, *, until: int = 200) -> list[Delivery]:
    return list(await storage.webhooks.claim("wh_a", now, until=until, limit=99))


async def of_webhook(storage: Storage, webhook_id: str = "wh_a") -> list[Delivery]:
    return list(await storage.webhooks.deliveries(webhook_id, state=None, before=None, limit=99))


async def test_the_end_of_a_turn_tells_the_webhooks_of_its_owner_that_want_to_know(storage: Storage) -> None:
    """In the transaction that ends it; others' webhooks, and such as are off or want other events, are told
    nothing."""
    webhooks = (
        HOOK,
        replace(HOOK, id="wh_b", owner="bob"),
        replace(HOOK, id="wh_c", disabled_at=7),
        replace(HOOK, id="wh_d", events=("approval.waiting",)),
    )
    for webhook in webhooks:
        await storage.webhooks.add(webhook, most=9)

    await ended(storage, "t")

    (told,) = await of_webhook(storage)
    assert told == Delivery(told.number, "wh_a", "s", "t", "turn.finished", 50, None, "pending", 0, 50)
    for other in ("wh_b", "wh_c", "wh_d"):
        assert await of_webhook(storage, other) == []


@pytest.mark.parametrize("removed", [False, True])
async def test_of_a_members_turn_whose_the_session_is_is_told_and_nobody_else(
    storage: Storage, removed: bool
) -> None:
    """Neither the member who sent it, who may lose the session while it runs, nor who else is of the
    project."""
    owners = {"wh_a": OWNER, "wh_b": "bob", "wh_c": "cleo"}
    for webhook_id, owner in owners.items():
        await storage.webhooks.add(replace(HOOK, id=webhook_id, owner=owner), most=9)
    project = Project("p", "default", "Apollo", OWNER, 5)
    await storage.projects.add(project, most=9)
    for user_id in ("bob", "cleo"):
        await storage.projects.put_member(Invitation("p", user_id, "editor", OWNER, 7), most=9, most_open=9)
        await storage.projects.accept("p", user_id, 8)
    await storage.sessions.create("s", OWNER, None, 5)
    await storage.sessions.change("s", OWNER, 6, project_id="p", shared="write")
    for owner in ("bob", OWNER):
        now = await accepted(storage, turn_id=f"of {owner}", owner=owner, create=False)
        if removed and owner == "bob":
            await storage.projects.remove_member("p", "bob", by=OWNER)
        assert await writer_of(storage, now).close(at=50) is None

    told = await of_webhook(storage)
    assert sorted(str(each.turn_id) for each in told) == sorted(["of bob", f"of {OWNER}"])
    assert await of_webhook(storage, "wh_b") == await of_webhook(storage, "wh_c") == []
    for each in told:  # what is told can be read by who is told
        assert (await storage.turns.get(each.session_id, str(each.turn_id), OWNER)).outcome == "completed"


async def test_nothing_is_told_of_a_session_that_is_beside_others(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=9)
    await storage.sessions.create("s", OWNER, None, 5, role_id=BESIDE)
    assert await writer_of(storage, await accepted(storage, create=False)).close() is None
    assert await of_webhook(storage) == []


async def test_a_delivery_of_which_nothing_can_be_made_is_dead_and_holds_up_nothing(storage: Storage) -> None:
    """What comes behind it in its session is due at once, and the webhook has not failed."""
    await storage.webhooks.add(HOOK, most=9)
    for turn_id in ("t1", "t2"):
        await ended(storage, turn_id)
    (first,) = await claimed(storage)

    assert await storage.webhooks.give_up(first, "Its turn is gone.", 110)

    (second,) = await claimed(storage, 110)
    assert second.turn_id == "t2"
    assert await storage.webhooks.get("wh_a", OWNER) == HOOK
    dead = (await of_webhook(storage))[-1]
    assert (dead.state, dead.error, dead.ended_at, dead.status) == ("dead", "Its turn is gone.", 110, None)
    assert not await storage.webhooks.give_up(first, "again", 120)


async def test_an_end_that_is_refused_tells_nothing(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=9)
    writer = await running(storage)
    await storage.turns.take_over("t", recovered=True)

    assert await writer.close() is not None

    assert await of_webhook(storage) == []


async def test_a_turn_that_is_cancelled_while_it_waits_tells_of_its_end(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=9)
    await running(storage)
    waiting = (await accepted(storage, turn_id="t2", on_conflict="queue")).turn

    await storage.log.close_waiting(waiting, [Done(status="cancelled", iterations=0, duration_ms=0)], 50)

    (told,) = await of_webhook(storage)
    assert (told.turn_id, told.type, told.at) == ("t2", "turn.finished", 50)


async def test_a_call_that_waits_for_a_person_is_told_once(storage: Storage) -> None:
    """Also when it is asked about again after a crash."""
    await storage.webhooks.add(HOOK, most=9)
    await running(storage)
    row = ApprovalRow("s", "t", "toolu_1", OWNER, "send", {"to": "李雷"}, "It has effects.", 60, 1000)
    await storage.approvals.ask([row])
    await storage.approvals.ask([row])

    (told,) = await of_webhook(storage)

    assert (told.session_id, told.turn_id, told.type, told.at) == ("s", "t", "approval.waiting", 60)
    assert told.detail == {
        "tool_call_id": "toolu_1",
        "name": "send",
        "reason": "It has effects.",
        "expires_at": 1000,
    }


async def test_a_quota_that_is_nearly_used_up_is_told_once(storage: Storage) -> None:
    """By what passes four fifths of it, and not by what comes then."""
    await storage.webhooks.add(replace(HOOK, events=("limit.near",)), most=9)
    quota = 10 * MIN_COUNTED
    for number, parts in enumerate((7, 1, 1), 1):
        row = artifact(number, f"content {number}", size=parts * MIN_COUNTED, created_at=number)
        await add(storage, row, quota=quota)

    (told,) = await of_webhook(storage)

    assert (told.type, told.at, told.session_id) == ("limit.near", 2, None)
    assert told.detail == {"limit": "artifact_quota", "used": 8 * MIN_COUNTED, "most": quota}


async def test_a_schedule_that_did_not_run_is_told(storage: Storage) -> None:
    """In the transaction that notes it."""
    await storage.webhooks.add(replace(HOOK, events=("schedule.failed",)), most=9)
    row = ScheduleRow(
        "sch_1", OWNER, "早报", "news", "s", 100, 60, None, "UTC", "once", "active", 50, due_at=100
    )
    await storage.schedules.add(row, most=9)
    run = ScheduleRun("sch_1", 100, "missed", 500, code="late")
    assert await storage.schedules.skip_run(row, Planned(200, "active"), run)
    assert not await storage.schedules.skip_run(row, Planned(300, "active"), run)

    (told,) = await of_webhook(storage)

    assert told.detail == {
        "schedule_id": "sch_1",
        "name": "早报",
        "due_at": 100,
        "status": "missed",
        "code": "late",
    }


async def test_what_is_claimed_is_nobody_elses_until_its_time_is_over(storage: Storage) -> None:
    """Also when several claim at once; what the former owner of a claim writes counts no more then."""
    await storage.webhooks.add(HOOK, most=9)
    for session_id in ("s1", "s2", "s3"):
        await ended(storage, f"t_{session_id}", session_id)

    several = await asyncio.gather(*(claimed(storage) for _ in range(4)))
    found = {each.number: each for some in several for each in some}

    assert [len(found), sum(map(len, several))] == [3, 3]
    assert await claimed(storage, 199) == []
    again = await claimed(storage, 200, until=300)
    assert [each.attempts for each in again] == [2, 2, 2]
    former = found[again[0].number]
    assert not await storage.webhooks.delivered(former, 200, 201)
    assert await storage.webhooks.delivered(again[0], 204, 202)
    assert not await storage.webhooks.delivered(again[0], 204, 203)
    (arrived,) = await storage.webhooks.deliveries("wh_a", state="delivered", before=None, limit=9)
    assert (arrived.status, arrived.ended_at, arrived.error) == (204, 202, None)


async def test_a_late_end_changes_nothing_of_the_claim_that_followed(storage: Storage) -> None:
    """Neither makes it due again, nor counts for or against the webhook, nor switches that off."""
    await storage.webhooks.add(HOOK, most=9)
    await ended(storage, "t")
    (late,) = await claimed(storage)
    (again,) = await claimed(storage, 200, until=300)
    gone = Failure(410, "gone", due_at=None, rests_until=900, is_gone=True)

    assert not await storage.webhooks.delivered(late, 200, 210)
    assert not await storage.webhooks.failed(late, gone, HOOK, 210)

    assert await claimed(storage, 299, until=400) == []
    assert await of_webhook(storage) == [again]
    assert await storage.webhooks.get("wh_a", OWNER) == HOOK
    assert await storage.webhooks.failed(again, Failure(500, "no", due_at=300, rests_until=300), HOOK, 220)
    assert not await storage.webhooks.delivered(late, 200, 230)
    resting = replace(HOOK, failures=1, rests_until=300)
    assert await storage.webhooks.get("wh_a", OWNER) == resting


async def test_what_one_session_tells_is_told_in_its_order(storage: Storage) -> None:
    """The next one is due when nothing before it is pending; another session does not wait for that."""
    await storage.webhooks.add(HOOK, most=9)
    for turn_id in ("t1", "t2"):
        await ended(storage, turn_id)
    await ended(storage, "t3", "other")

    first, other = await claimed(storage)
    assert (first.turn_id, other.turn_id) == ("t1", "t3")
    assert await storage.webhooks.failed(first, Failure(500, "It answered 500.", due_at=400), HOOK, 110)
    assert await storage.webhooks.delivered(other, 200, 110)
    assert await claimed(storage, 300) == []

    (again,) = await claimed(storage, 400, until=500)
    assert (again.turn_id, again.attempts, again.error) == ("t1", 2, "It answered 500.")
    assert await storage.webhooks.delivered(again, 200, 410)
    (second,) = await claimed(storage, 411, until=500)
    assert second.turn_id == "t2"


async def test_what_waits_in_a_session_keeps_no_other_waiting(storage: Storage) -> None:
    """However much that is; and it is due as soon as what it waits for has ended."""
    await storage.webhooks.add(HOOK, most=9)
    store = storage.webhooks
    assert isinstance(store, Webhooks)
    for session_id, count in (("s", LOOKED_AT + 9), ("other", 1)):
        for at in range(count):
            place = {"session_id": session_id, "turn_id": f"t{at}"}
            given = partial(enqueue, owner=OWNER, event="x", at=at, detail={"at": at}, webhook_id="wh_a")
            await store.database.write(partial(given, **place))
    (first,) = await storage.webhooks.claim("wh_a", 1000, until=9000, limit=1)

    (other,) = await claimed(storage, 1000, until=9000)

    assert (first.session_id, other.session_id) == ("s", "other")
    assert await claimed(storage, 1001, until=9000) == []
    assert await storage.webhooks.delivered(first, 200, 1002)
    (second,) = await claimed(storage, 1002, until=9000)
    assert second.detail == {"at": 1}
    assert await storage.webhooks.failed(second, Failure(500, "no", due_at=None), HOOK, 1003)
    (third,) = await claimed(storage, 1003, until=9000)
    assert third.detail == {"at": 2}


async def test_a_delivery_that_died_holds_up_nothing_and_can_be_replayed(storage: Storage) -> None:
    """By its number, or with all that are dead. What was delivered is replayed by its number alone."""
    await storage.webhooks.add(HOOK, most=9)
    for turn_id in ("t1", "t2"):
        await ended(storage, turn_id)
    (first,) = await claimed(storage)
    assert await storage.webhooks.failed(first, Failure(None, "No answer.", due_at=None), HOOK, 110)
    (second,) = await claimed(storage, 110)
    assert await storage.webhooks.delivered(second, 200, 120)
    assert await storage.webhooks.counts() == (0, 1)

    assert await storage.webhooks.replay("wh_a", None, 300) == 1

    assert await storage.webhooks.counts() == (1, 0)
    (again,) = await claimed(storage, 300, until=400)
    assert (again.number, again.attempts, again.ended_at) == (first.number, 1, None)
    assert await storage.webhooks.replay("wh_a", again.number, 310) == 0
    assert await storage.webhooks.replay("wh_b", second.number, 310) == 0
    assert await storage.webhooks.replay("wh_a", second.number, 310) == 1


async def test_a_webhook_that_fails_rests_and_works_again(storage: Storage) -> None:
    """Nothing of it is ready meanwhile."""
    await storage.webhooks.add(HOOK, most=9)
    await ended(storage, "t")
    assert await storage.webhooks.ready(100, "", 9) == [HOOK]
    assert await storage.webhooks.ready(49, "", 9) == []
    assert await storage.webhooks.ready(100, "wh_a", 9) == []
    (first,) = await claimed(storage)
    await storage.webhooks.failed(first, Failure(500, "no", due_at=150, rests_until=300), HOOK, 110)

    assert await storage.webhooks.ready(299, "", 9) == []

    resting = replace(HOOK, failures=1, rests_until=300)
    assert await storage.webhooks.ready(300, "", 9) == [resting]
    (again,) = await claimed(storage, 300, until=400)
    await storage.webhooks.delivered(again, 200, 310)
    assert await storage.webhooks.get("wh_a", OWNER) == HOOK


async def test_a_webhook_whose_address_is_gone_is_told_nothing_more(storage: Storage) -> None:
    """What was pending for it is dead, until somebody switches it on and replays that."""
    await storage.webhooks.add(HOOK, most=9)
    for turn_id in ("t1", "t2"):
        await ended(storage, turn_id)
    (first,) = await claimed(storage)

    await storage.webhooks.failed(first, Failure(410, "gone", due_at=None, is_gone=True), HOOK, 110)
    await ended(storage, "t3")

    assert (await storage.webhooks.get("wh_a", OWNER)).disabled_at == 110
    assert [(each.turn_id, each.state) for each in await of_webhook(storage)] == [
        ("t2", "dead"),
        ("t1", "dead"),
    ]
    switched = await storage.webhooks.switch("wh_a", OWNER, disabled_at=None)
    assert (switched.disabled_at, switched.failures) == (None, 0)
    assert await storage.webhooks.replay("wh_a", None, 200) == 2


async def test_a_try_that_is_given_up_is_due_again_at_once(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=9)
    await ended(storage, "t")
    (first,) = await claimed(storage)

    await storage.webhooks.release(first, 120)

    (again,) = await claimed(storage, 120)
    assert again.attempts == 2


async def test_what_is_of_a_session_goes_with_it(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=9)
    await ended(storage, "t")
    await storage.sessions.delete("s", OWNER)
    assert await of_webhook(storage) == []


async def test_old_deliveries_are_removed_and_given_up(storage: Storage) -> None:
    """Those of a webhook that is gone, too."""
    await storage.webhooks.add(HOOK, most=9)
    for session_id in ("s1", "s2", "s3"):
        await ended(storage, f"t_{session_id}", session_id)
    first, second, third = await claimed(storage)
    await storage.webhooks.delivered(first, 200, 110)
    await storage.webhooks.delivered(second, 200, 120)

    swept = await storage.webhooks.sweep(ended_before=120, pending_before=51, now=130, limit=9)

    assert swept == 2
    states = [(each.number, each.state, each.ended_at) for each in await of_webhook(storage)]
    assert states == [(third.number, "dead", 130), (second.number, "delivered", 120)]
    await storage.webhooks.remove("wh_a", OWNER)
    assert await storage.webhooks.sweep(ended_before=0, pending_before=0, now=130, limit=1) == 1
    assert await storage.webhooks.sweep(ended_before=0, pending_before=0, now=130, limit=9) == 1
    assert await of_webhook(storage) == []


async def test_webhooks_are_their_owners_and_not_too_many(storage: Storage) -> None:
    await storage.webhooks.add(HOOK, most=1)
    with pytest.raises(Conflict, match="1 webhooks already") as refused:
        await storage.webhooks.add(replace(HOOK, id="wh_b"), most=1)
    assert refused.value.code == "too_many_webhooks"
    await storage.webhooks.add(replace(HOOK, id="wh_c", owner="bob"), most=1)
    assert await storage.webhooks.list(OWNER) == [HOOK]
    for refuses in (
        storage.webhooks.get("wh_a", "bob"),
        storage.webhooks.remove("wh_a", "bob"),
        storage.webhooks.switch("wh_a", "bob", disabled_at=1),
    ):
        with pytest.raises(NotFound) as missing:
            await refuses
        assert missing.value.code == "webhook_not_found"


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (READY, "webhook_deliveries_due"),
        (DUE, "webhook_deliveries_due"),
        (EARLIER_PENDING, "webhook_deliveries_by_session"),
        (NEXT_IS_DUE, "webhook_deliveries_by_session"),
        (ENDED, "webhook_deliveries_ended"),
    ],
    ids=["ready", "due", "former", "next", "ended"],
)
async def test_deliveries_are_found_by_indexes(storage: Storage, statement: Prepared, index: str) -> None:
    """However many have ended, wait for later or are other webhooks'."""
    store = storage.webhooks
    assert isinstance(store, Webhooks)

    def filled(connection: Connection) -> None:
        for state, ended_at in (("pending", "NULL"), ("delivered", "n")):
            connection.exec_driver_sql(
                "INSERT INTO webhook_deliveries "
                "(webhook_id, session_id, type, at, state, attempts, due_at, ended_at) "
                "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) "
                f"SELECT 'wh_' || n / 100, 's' || n / 10, 'x', n, '{state}', 1, n, {ended_at} FROM c"
            )
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ANALYZE webhook_deliveries")

    await store.database.write(filled)
    values = {
        "now": 10,
        "after": "",
        "limit": 100,
        "webhook_id": "wh_1",
        "session_id": "s11",
        "of": 150,
        "before": 10,
    }
    found = await store.database.read(lambda connection: plan_of(connection, statement, values))

    assert index in found, found
    assert "Seq Scan on webhook_deliveries" not in found, found
    assert "SCAN webhook_deliveries" not in found.replace("USING INDEX", ""), found
