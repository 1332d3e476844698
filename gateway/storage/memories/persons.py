"""The memories of a person who is erased, or held: functions that are parts of transactions.

What is a household's belongs to its other members too: it stays, without the person's name and quotes.
"""

from collections.abc import Collection, Mapping
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from gateway.errors import Conflict
from gateway.storage.database import Prepared
from gateway.storage.memories.conditions import DOCUMENT
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import remove
from gateway.storage.memories.schema import (
    erasures,
    held_users,
    memories,
    memory_evidence,
    memory_versions,
    profiles,
)

SHARED = "household"
RENAMED = 100
"""Versions that one transaction renames."""

IS_HELD = Prepared(select(held_users.c.user_id).where(held_users.c.user_id == bindparam("user_id")))


def is_held(connection: Connection, user_id: str) -> bool:
    """Whether there is a legal hold on the user."""
    return IS_HELD.one(connection, user_id=user_id) is not None


def check_not_held(connection: Connection, *user_ids: str) -> None:
    """Raises errors.Conflict (legal_hold)."""
    if any(is_held(connection, each) for each in user_ids):
        raise Conflict(
            "This is under a legal hold: nothing of it is deleted or overwritten until an admin lifts "
            "the hold.",
            code="legal_hold",
        )


def hold(connection: Connection, user_ids: Collection[str]) -> None:
    found = set(connection.execute(select(held_users.c.user_id)).scalars())
    for user_id in sorted(found - set(user_ids)):
        connection.execute(delete(held_users).where(held_users.c.user_id == user_id))
    for user_id in sorted(set(user_ids) - found):
        connection.execute(insert(held_users).values(user_id=user_id))


def counts(connection: Connection, user_id: str, kept_households: Collection[str]) -> Mapping[str, int]:
    """How many there are of each kind: of theirs, and as `household_memories` of those that stay."""
    c = memories.c
    mine, shared = _own(user_id, kept_households), _kept(user_id, kept_households)
    of_mine = memory_versions.c.memory.in_(select(c.number).where(mine))
    profile = and_(profiles.c.kind == "user", profiles.c.id == user_id)
    found = {
        "memories": _count(connection, and_(mine, c.deleted_at.is_(None))),
        "deleted_memories": _count(connection, and_(mine, c.deleted_at.is_not(None))),
        "memory_versions": _count(connection, of_mine),
        "memory_evidence": _count(connection, memory_evidence.c.user_id == user_id),
        "profiles": _count(connection, profile),
        "household_memories": _count(connection, shared),
    }
    return {name: count for name, count in found.items() if count}


def erase_some(
    connection: Connection, words: Words, user_id: str, kept_households: Collection[str], limit: int
) -> int:
    """Removes at most `limit` of their memories for good; how many that were."""
    check_not_held(connection, user_id)
    c = memories.c
    found = connection.execute(
        select(c.number, c.id).where(_own(user_id, kept_households)).order_by(c.number).limit(limit)
    ).all()
    return remove(connection, words, found)


def forget_person(connection: Connection, words: Words, user_id: str, pseudonym: str) -> int:
    """When their own memories are gone: removes their quotes and their profile, and puts the pseudonym in
    their place where they said or did something to what stays. Returns how many versions are left to be
    renamed, at most RENAMED at a time."""
    check_not_held(connection, user_id)
    words.purge(connection)
    connection.execute(delete(memory_evidence).where(memory_evidence.c.user_id == user_id))
    connection.execute(delete(profiles).where(profiles.c.kind == "user", profiles.c.id == user_id))
    connection.execute(update(profiles).where(profiles.c.actor == user_id).values(actor=pseudonym))
    connection.execute(delete(erasures).where(erasures.c.owner == user_id))
    connection.execute(update(memories).where(memories.c.user_id == user_id).values(user_id=pseudonym))
    return _rename_versions(connection, user_id, pseudonym)


def named(connection: Connection, user_id: str) -> Mapping[str, int]:
    """How many rows of each table still name them."""
    columns = (
        memories.c.user_id,
        memory_versions.c.actor,
        memory_evidence.c.user_id,
        profiles.c.actor,
        erasures.c.owner,
    )
    found = {f"{each.table.name}.{each.name}": _count(connection, each == user_id) for each in columns}
    found["profiles.id"] = _count(connection, and_(profiles.c.kind == "user", profiles.c.id == user_id))
    return {name: count for name, count in found.items() if count}


def _rename_versions(connection: Connection, user_id: str, pseudonym: str) -> int:
    v = memory_versions.c
    quoted = orjson.dumps(user_id).decode()
    of_theirs = or_(v.actor == user_id, v.row.contains(f'"user_id":{quoted}', autoescape=True))
    found = connection.execute(
        select(v.memory, v.version, v.actor, v.row).where(of_theirs).limit(RENAMED)
    ).all()
    for memory, version, actor, row in found:
        stored: dict[str, Any] = orjson.loads(row)
        if stored["user_id"] == user_id:
            stored["user_id"] = pseudonym
        changed = {
            "actor": pseudonym if actor == user_id else actor,
            "row": orjson.dumps(stored).decode(),
        }
        of_row = and_(v.memory == memory, v.version == version)
        connection.execute(update(memory_versions).where(of_row).values(changed))
    return len(found)


def _own(user_id: str, kept_households: Collection[str]) -> ColumnElement[bool]:
    return and_(_said(user_id), not_(_is_kept(kept_households)))


def _kept(user_id: str, kept_households: Collection[str]) -> ColumnElement[bool]:
    return and_(_said(user_id), _is_kept(kept_households))


def _said(user_id: str) -> ColumnElement[bool]:
    return and_(memories.c.user_id == user_id, memories.c.source != DOCUMENT)


def _is_kept(kept_households: Collection[str]) -> ColumnElement[bool]:
    return and_(memories.c.owner_type == SHARED, memories.c.owner_id.in_(sorted(kept_households)))


def _count(connection: Connection, condition: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).where(condition)).scalar_one()
