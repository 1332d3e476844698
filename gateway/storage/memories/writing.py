"""Changes of memories in the tables. All of one change runs in one transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    exists,
    insert,
    literal,
    not_,
    select,
    update,
)

from gateway.errors import DuplicateMemory, MemoryChanged
from gateway.storage.database import Prepared
from gateway.storage.memories import MAX_VERSIONS, Change, Link, MemoryRow, Viewer, audience_of
from gateway.storage.memories.conditions import DOCUMENT, LIVE, partitions_of, seen
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.persons import check_not_held, is_held
from gateway.storage.memories.quota import Kind, check, kinds
from gateway.storage.memories.rows import ADD, CHANGE, remove, snapshot_of, values_of
from gateway.storage.memories.schema import LIVE as IS_LIVE
from gateway.storage.memories.schema import (
    erasures,
    held_users,
    memories,
    memory_evidence,
    memory_links,
    memory_vectors,
    memory_versions,
)

TOMBSTONE_BATCH = 100
"""Tombstones beyond the bound that one transaction erases: each deletion makes one more."""

_NUMBER = bindparam("number")

KNOWN = Prepared(
    select(
        memories.c.number,
        memories.c.user_id,
        memories.c.version,
        memories.c.deleted_at,
        memories.c.status,
        memories.c.quarantined,
    )
    .where(memories.c.id == bindparam("id"))
    .with_for_update()
)
"""A change locks the memory first: members of a household may change the same one."""
SAME_KEY = Prepared(
    select(memories.c.id)
    .join(memory_versions, memory_versions.c.memory == memories.c.number)
    .where(memory_versions.c.key == bindparam("key"), memories.c.user_id == bindparam("user_id"))
)
SAME_CONTENT = Prepared(
    select(memories.c.id).where(
        memories.c.audience == bindparam("audience"),
        memories.c.digest.in_((bindparam("digest"), bindparam("other_digest"))),
        memories.c.id != bindparam("id"),
        IS_LIVE,
    )
)
ADD_VERSION = Prepared(
    insert(memory_versions).values(
        {name: bindparam(name) for name in (column.name for column in memory_versions.c)}
    )
)
THIN_VERSIONS = Prepared(
    delete(memory_versions).where(
        memory_versions.c.memory == _NUMBER,
        memory_versions.c.version > 1,
        memory_versions.c.version <= bindparam("until"),
    )
)
OLD_TOMBSTONES = Prepared(
    select(memories.c.number, memories.c.id)
    .where(memories.c.user_id == bindparam("user_id"), memories.c.deleted_at.is_not(None))
    .order_by(memories.c.deleted_at.desc(), memories.c.number.desc())
    .limit(TOMBSTONE_BATCH)
    .offset(bindparam("most"))
)
ADD_EVIDENCE = Prepared(
    insert(memory_evidence).values(
        {
            name: bindparam(name)
            for name in ("memory", "user_id", "digest", "session_id", "position", "quote", "author")
        }
    )
)
FORGET_VECTORS = Prepared(delete(memory_vectors).where(memory_vectors.c.memory == _NUMBER))
ADD_ERASURE = Prepared(insert(erasures).values(memory_id=bindparam("memory_id"), owner=bindparam("owner")))
SETTLE = Prepared(
    delete(erasures).where(
        erasures.c.memory_id == bindparam("memory_id"), erasures.c.owner == bindparam("owner")
    )
)
USE = Prepared(
    update(memories)
    .where(memories.c.id == bindparam("id"), memories.c.last_used < bindparam("at"))
    .values(last_used=bindparam("at"))
)


def write(connection: Connection, words: Words, changes: Sequence[Change], *, most: int) -> None:
    grown: Counter[tuple[str, Kind]] = Counter()
    # What makes room goes first: a merged memory may have the content of one of its parts.
    for change in sorted(changes, key=_stays):
        row = change.row
        grown.subtract((row.user_id, kind) for kind in _apply(connection, words, change))
        if not change.deletes:
            grown.update((row.user_id, kind) for kind in kinds(row.status, row.quarantined))
    for change in changes:
        for link in change.unlinks:
            connection.execute(delete(memory_links).where(*_is(link)))
        for link in change.links:
            _link(connection, link)
    check(connection, grown, most)
    for user_id in {change.row.user_id for change in changes if change.deletes}:
        if is_held(connection, user_id):
            continue
        remove(connection, words, OLD_TOMBSTONES.all(connection, user_id=user_id, most=most))


def erase(
    connection: Connection,
    words: Words,
    viewer: Viewer,
    memory_id: str,
    *,
    owners: Collection[str],
    version: int | None,
) -> bool:
    """A document is not erased: its file would bring it back."""
    found = connection.execute(
        select(memories.c.number, memories.c.version, memories.c.user_id)
        .where(memories.c.id == memory_id, memories.c.source != DOCUMENT, seen(viewer))
        .with_for_update()
    ).one_or_none()
    if found is None:
        return False
    number, now, owner = found
    check_not_held(connection, owner, viewer.user_id)
    if version is not None and now != version:
        raise MemoryChanged(
            f"{memory_id} is at version {now}, not {version}: read it again.",
            details={"id": memory_id, "version": now},
        )
    remove(connection, words, [(number, memory_id)])
    words.purge(connection)
    for owner in owners:
        SETTLE.run(connection, memory_id=memory_id, owner=owner)  # a copy of it may have been erased before
        ADD_ERASURE.run(connection, memory_id=memory_id, owner=owner)
    return True


def use(connection: Connection, ids: Sequence[str], at: int) -> None:
    """They were cited: their freshness begins anew. No version is added."""
    for memory_id in sorted(ids):  # in one order, so that no two transactions wait for each other
        USE.run(connection, id=memory_id, at=at)


def settle_erasure(connection: Connection, memory_id: str, owner: str) -> None:
    """The owner's sessions have none of its words any more."""
    SETTLE.run(connection, memory_id=memory_id, owner=owner)


def forget_session(connection: Connection, words: Words, user_id: str, session_id: str) -> int:
    check_not_held(connection, user_id)
    audience = audience_of("session", user_id, session_id)
    found = connection.execute(
        select(memories.c.number, memories.c.id).where(memories.c.audience == audience).with_for_update()
    ).all()
    if removed := remove(connection, words, found):
        words.purge(connection)
    return removed


def remove_deleted(connection: Connection, words: Words, before: int, limit: int) -> int:
    held = exists().where(held_users.c.user_id == memories.c.user_id)
    found = connection.execute(
        select(memories.c.number, memories.c.id)
        .where(memories.c.deleted_at < before, not_(held))
        .order_by(memories.c.deleted_at)
        .limit(limit)
        .with_for_update()
    ).all()
    if removed := remove(connection, words, found):
        words.purge(connection)
    return removed


def same_content(connection: Connection, row: MemoryRow, other_digest: str) -> Sequence[Any] | None:
    """The id of another live memory of the audience with the row's digest, or the other one."""
    return SAME_CONTENT.one(
        connection, audience=row.audience, digest=row.digest, other_digest=other_digest, id=row.id
    )


def _stays(change: Change) -> bool:
    return not change.deletes and change.row.status in LIVE


def _apply(connection: Connection, words: Words, change: Change) -> Sequence[Kind]:
    """Returns what it counted as before."""
    row = change.row
    if row.source == DOCUMENT:
        raise ValueError(f"{row.id} is a document: put_documents stores those")
    if change.key is not None:
        same = SAME_KEY.one(connection, user_id=row.user_id, key=change.key)
        if same is not None:
            raise _duplicate(same[0], "key")
    known = KNOWN.one(connection, id=row.id)
    if _stays(change):
        same = same_content(connection, row, change.other_digest or row.digest)
        if same is not None:
            raise _duplicate(same[0], "digest")
    number, before = _store(connection, change, known)
    _append(connection, number, change)
    if change.deletes:
        words.remove(connection, number)
        FORGET_VECTORS.run(connection, number=number)
    else:
        words.put(connection, number, partitions_of(row), change.index)
    return before


def _store(connection: Connection, change: Change, known: Sequence[Any] | None) -> tuple[int, Sequence[Kind]]:
    """Its number, and what it counted as before."""
    row = change.row
    number, user_id, version, deleted_at, *state = known or (None, row.user_id, 0, None)
    is_deleted = deleted_at is not None
    if version != row.version - 1 or user_id != row.user_id or (is_deleted and not change.restores):
        raise _changed(row, version, is_deleted=is_deleted)
    values = values_of(row)
    if number is None:
        ((made,),) = ADD.run(connection, **values).fetchall()
        return made, ()
    CHANGE.run(connection, **values, the_number=number, deleted_at=row.updated_at if change.deletes else None)
    return number, () if is_deleted else kinds(*state)


def _append(connection: Connection, number: int, change: Change) -> None:
    row = change.row
    ADD_VERSION.run(
        connection,
        memory=number,
        version=row.version,
        operation=change.operation,
        actor=change.actor,
        reason=change.reason,
        turn_id=change.turn_id,
        key=change.key,
        at=row.updated_at,
        row=snapshot_of(row),
    )
    if row.version > MAX_VERSIONS and not is_held(connection, row.user_id):
        THIN_VERSIONS.run(connection, number=number, until=row.version - MAX_VERSIONS + 1)
    for each in change.evidence:
        ADD_EVIDENCE.run(
            connection,
            memory=number,
            user_id=change.stated_by,
            digest=row.digest,
            session_id=each.session_id,
            position=each.position,
            quote=each.quote,
            author=each.author,
        )


def _link(connection: Connection, link: Link) -> None:
    """Nothing when it is there already, or when one of its ends has been erased meanwhile."""
    there = select(literal(link.from_id), literal(link.to_id), literal(link.relation)).where(
        exists().where(memories.c.id == link.from_id),
        exists().where(memories.c.id == link.to_id),
        not_(exists().where(*_is(link))),
    )
    connection.execute(insert(memory_links).from_select(["from_id", "to_id", "relation"], there))


def _is(link: Link) -> Sequence[ColumnElement[bool]]:
    columns = memory_links.c
    return (
        columns.from_id == link.from_id,
        columns.to_id == link.to_id,
        columns.relation == link.relation,
    )


def _changed(row: MemoryRow, version: int, *, is_deleted: bool) -> MemoryChanged:
    now = "deleted" if is_deleted else f"at version {version}" if version else "not there"
    return MemoryChanged(
        f"{row.id} is {now}, a change made it version {row.version}: read it again.",
        details={"id": row.id, "version": version},
    )


def _duplicate(memory_id: str, same: str) -> DuplicateMemory:
    message = "The same is remembered already" if same == "digest" else "This request was carried out already"
    return DuplicateMemory(f"{message}: {memory_id}.", details={"id": memory_id, "same": same})
