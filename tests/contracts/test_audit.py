"""What storage owes about the audit."""

from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import Connection, text

from gateway.storage.audit import AuditEntry, AuditFilter
from gateway.storage.database import Store
from tests.product import Storage, StorageError

pytestmark = pytest.mark.anyio

DONE = AuditEntry(100, "default", "ann", "k1", "10.0.0.1", "session.delete", "session", "s", "done", "r_1")
ANY = AuditFilter()


async def listed(storage: Storage, wanted: AuditFilter = ANY, tenant: str = "default") -> list[AuditEntry]:
    found = await storage.audit.list(tenant, wanted, before=None, limit=99)
    return [each.entry for each in found]


async def run(storage: Storage, statement: str) -> None:
    """As somebody at the database does, beside the product's statements."""

    def work(connection: Connection) -> Any:
        return connection.execute(text(statement))

    await cast("Store", storage.audit).database.write(work)


async def test_entries_come_back_as_they_were_added_the_newest_first_page_by_page(storage: Storage) -> None:
    """Each tenant has its own; a page goes on below the number that the one before ended with."""
    entries = [replace(DONE, at=at) for at in range(5)]
    nobody = AuditEntry(9, "default", None, None, None, "access", None, None, "refused:x", None, times=7)
    await storage.audit.add([*entries, replace(DONE, tenant="acme", actor="acme/ann"), nobody])

    first = await storage.audit.list("default", ANY, before=None, limit=2)
    second = await storage.audit.list("default", ANY, before=first[-1].number, limit=99)

    assert [each.entry for each in (*first, *second)] == [nobody, *reversed(entries)]
    assert [entry.actor for entry in await listed(storage, tenant="acme")] == ["acme/ann"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (AuditFilter(actor="bob"), [2]),
        (AuditFilter(action="session.delete"), [1]),
        (AuditFilter(action="session"), [2, 1]),
        (AuditFilter(since=2), [3, 2]),
        (AuditFilter(until=2), [1]),
        (AuditFilter(actor="ann", since=2, until=4), [3]),
    ],
)
async def test_entries_are_found_by_actor_action_and_time(
    storage: Storage, wanted: AuditFilter, expected: list[int]
) -> None:
    """A subject alone finds all of its actions, and none of another that begins alike."""
    await storage.audit.add(
        [
            replace(DONE, at=1),
            replace(DONE, at=2, actor="bob", action="session.create"),
            replace(DONE, at=3, action="sessions.create"),
        ]
    )

    assert [entry.at for entry in await listed(storage, wanted)] == expected


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit",
        "UPDATE audit SET result = 'failed'",
        "UPDATE audit SET actor = 'bob'",
        "UPDATE audit SET at = 1, actor = 'erased:1'",
        "UPDATE audit SET address = '10.0.0.2'",
        "UPDATE audit SET actor = NULL",
    ],
)
async def test_the_database_itself_refuses_to_change_what_was_recorded(
    storage: Storage, statement: str
) -> None:
    """Whoever sends the statement: a trigger stands before the rows."""
    await storage.audit.add([DONE])

    with pytest.raises(Exception, match=r"rows of the audit|database"):
        await run(storage, statement)

    assert await listed(storage) == [DONE]


async def test_entries_that_are_too_old_are_removed_a_few_at_a_time(storage: Storage) -> None:
    """By the one path for it: the time is written down first. The rest cannot be removed."""
    await storage.audit.add([replace(DONE, at=at) for at in (1, 2, 3, 50, 51)])

    removed = [await storage.audit.sweep(before=50, now=60, limit=2) for _ in range(3)]
    with pytest.raises(Exception, match=r"rows of the audit|database"):
        await run(storage, "DELETE FROM audit")

    assert removed == [2, 1, 0]
    assert [entry.at for entry in await listed(storage)] == [51, 50]


async def test_a_pseudonym_takes_the_place_of_a_person_wherever_they_are_named(storage: Storage) -> None:
    """As the actor, whose address and key go too, and as the one to whom something was done; others stay."""
    of_bob = replace(DONE, actor="bob", action="person.export", subject_kind="person", subject_id="ann")
    other = replace(DONE, actor="bob", subject_id="ann")
    await storage.audit.add([DONE, of_bob, other])
    about = await storage.audit.about("ann", before=None, limit=9)

    changed = await storage.audit.pseudonymise("ann", "erased:1")

    assert [each.entry for each in about] == [of_bob, DONE]
    assert changed == 2
    assert await listed(storage) == [
        other,
        replace(of_bob, subject_id="erased:1"),
        replace(DONE, actor="erased:1", key_id=None, address=None),
    ]
    assert await storage.audit.about("ann", before=None, limit=9) == []


async def test_all_of_what_is_added_at_once_is_there_or_nothing(storage: Storage) -> None:
    """An entry that cannot be stored takes the others of its call with it."""
    with pytest.raises((StorageError, Exception)):
        await storage.audit.add([DONE, replace(DONE, action=cast("str", None))])

    assert await listed(storage) == []
