"""What storage owes about legal holds, and about the retention that they stop."""

from dataclasses import replace

import pytest

from gateway.storage.audit import AuditEntry, AuditFilter
from gateway.storage.holds import Hold
from gateway.storage.retention import RetentionRule, SessionDays
from tests.product import Conflict, NotFound, Storage
from tests.storage.artifact_rows import artifact
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

ON_USER = Hold("hold_1", "user", OWNER, OWNER, "default", "case 7", "ada", 5)
ON_SESSION = replace(ON_USER, id="hold_2", kind="session", subject_id="s")
LATE = 2**50


async def refused(storage: Storage, session_id: str) -> str:
    with pytest.raises(Conflict) as error:
        await storage.sessions.delete(session_id, OWNER)
    return error.value.code


async def test_holds_are_found_as_they_were_placed_and_lifted_once(storage: Storage) -> None:
    await storage.holds.place(ON_USER)
    await storage.holds.place(replace(ON_USER, id="hold_3", subject_id="t/bob", owner="t/bob", tenant="t"))
    with pytest.raises(Conflict) as twice:
        await storage.holds.place(replace(ON_USER, id="hold_4"))

    assert twice.value.code == "hold_exists"
    assert [each.id for each in await storage.holds.list()] == ["hold_1", "hold_3"]
    assert [each.id for each in await storage.holds.list(tenant="t")] == ["hold_3"]
    assert list(await storage.holds.list(owner=OWNER)) == [ON_USER]
    assert await storage.holds.get("hold_1") == ON_USER
    await storage.holds.lift("hold_1")
    with pytest.raises(NotFound):
        await storage.holds.lift("hold_1")
    with pytest.raises(NotFound):
        await storage.holds.owner_of("nowhere")


async def test_nothing_of_a_held_user_is_removed(storage: Storage) -> None:
    """Neither a session nor an artifact, used or expired, nor what the audit has of them."""
    await add_turn(storage, "s", "t", "hello", "yes")
    row = artifact(1, owner=OWNER)
    await storage.orphans.suspect([row.path], 1)
    await storage.artifacts.add(row, quota=10**9)
    entry = AuditEntry(1, "default", OWNER, None, None, "session.delete", "session", "s", "done", None)
    await storage.audit.add([entry, replace(entry, actor="bob"), replace(entry, actor=None)])
    await storage.holds.place(ON_USER)

    assert await refused(storage, "s") == "legal_hold"
    with pytest.raises(Conflict):
        await storage.artifacts.delete(OWNER, row.ref, 9)
    assert await storage.artifacts.expire(LATE, 9) == 0
    assert await storage.audit.sweep(before=LATE, now=LATE, limit=9) == 2
    with pytest.raises(Conflict):
        await storage.persons.remove("tool_grants", OWNER, 9)
    kept = await storage.audit.list("default", AuditFilter(), before=None, limit=9)
    assert [each.entry for each in kept] == [entry]

    await storage.holds.lift("hold_1")
    await storage.sessions.delete("s", OWNER)
    await storage.artifacts.delete(OWNER, row.ref, 9)


async def test_a_held_session_stays_and_its_neighbour_goes(storage: Storage) -> None:
    for session_id in ("s", "other"):
        await add_turn(storage, session_id, f"t_{session_id}", "hello", "yes")
    await storage.holds.place(ON_SESSION)

    assert await refused(storage, "s") == "legal_hold"
    await storage.sessions.delete("other", OWNER)
    assert await storage.holds.owner_of("s") == OWNER


async def test_idle_sessions_are_listed_with_what_retention_has_to_know(storage: Storage) -> None:
    """In the order of their ids, a page at a time; busy ones are left out."""
    for number in range(3):
        await add_turn(storage, f"s{number}", f"t{number}", "hello", "yes")
    await storage.sessions.change("s1", OWNER, 1, retention=SessionDays(3, 0))
    await storage.holds.place(replace(ON_SESSION, subject_id="s2"))
    with pytest.raises(NotFound):
        await storage.sessions.change("s1", "bob", 1, retention=SessionDays(None, None))

    first = await storage.retention.idle(before=LATE, after="", limit=2)
    second = await storage.retention.idle(before=LATE, after=first[-1].id, limit=2)

    assert [(each.id, each.archive_days, each.delete_days) for each in first] == [
        ("s0", None, None),
        ("s1", 3, 0),
    ]
    assert [(each.id, each.is_held, each.is_archived) for each in second] == [("s2", True, False)]
    assert list(await storage.retention.idle(before=1, after="", limit=2)) == []


async def test_a_session_that_was_used_meanwhile_is_not_deleted(storage: Storage) -> None:
    await add_turn(storage, "s", "t", "hello", "yes")
    (seen,) = await storage.retention.idle(before=LATE, after="", limit=2)
    await add_turn(storage, "s", "t2", "and?", "yes")
    await storage.sessions.change("s", OWNER, 1, retention=SessionDays(None, 7))

    with pytest.raises(Conflict) as error:
        await storage.sessions.delete("s", OWNER, only_if=(seen.updated_at, seen.delete_days))

    assert error.value.code == "session_changed"


async def test_a_tenants_rule_takes_the_place_of_the_former_one(storage: Storage) -> None:
    rule = RetentionRule("default", 30, 0, True, "ada", 5)
    for each in (replace(rule, archive_days=None, fixed=False), rule, replace(rule, tenant="a")):
        await storage.retention.put(each)

    assert list(await storage.retention.rules()) == [replace(rule, tenant="a"), rule]
