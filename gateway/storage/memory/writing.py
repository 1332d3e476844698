"""What a change does to the tables. All of this runs inside of one transaction."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, literal, not_, select, update

from gateway.errors import DuplicateMemory, MemoryChanged, MemoryFull
from gateway.storage.database import Prepared
from gateway.storage.memories import Change, Link, MemoryRow, Viewer
from gateway.storage.memory.conditions import DOCUMENT, LIVE, seen, shelf_of
from gateway.storage.memory.engine import Words
from gateway.storage.memory.rows import ADD, CHANGE, snapshot_of, values_of
from gateway.storage.memory_schema import LIVE as IS_LIVE
from gateway.storage.memory_schema import (
    memories,
    memory_evidence,
    memory_links,
    memory_vectors,
    memory_versions,
)

_NUMBER = bindparam("number")

KNOWN = Prepared(
    select(
        memories.c.number,
        memories.c.user_id,
        memories.c.version,
        memories.c.deleted_at,
        memories.c.status,
    ).where(memories.c.id == bindparam("id"))
)
SAME_KEY = Prepared(
    select(memories.c.id).where(
        memories.c.user_id == bindparam("user_id"), memories.c.key == bindparam("key")
    )
)
SAME_CONTENT = Prepared(
    select(memories.c.id).where(
        memories.c.audience == bindparam("audience"),
        memories.c.digest == bindparam("digest"),
        memories.c.id != bindparam("id"),
        IS_LIVE,
    )
)
COUNT = Prepared(
    select(func.count()).select_from(memories).where(memories.c.user_id == bindparam("user_id"), IS_LIVE)
)
ADD_VERSION = Prepared(
    insert(memory_versions).values(
        {name: bindparam(name) for name in (column.name for column in memory_versions.c)}
    )
)
ADD_EVIDENCE = Prepared(
    insert(memory_evidence).values(
        {name: bindparam(name) for name in ("memory", "session_id", "position", "quote")}
    )
)
FORGET_VECTORS = Prepared(delete(memory_vectors).where(memory_vectors.c.memory == _NUMBER))
REMOVE = Prepared(delete(memories).where(memories.c.number == _NUMBER))
POINT_NOWHERE = Prepared(
    update(memories).where(memories.c.superseded_by == bindparam("id")).values(superseded_by=None)
)


def write(connection: Connection, words: Words, changes: Sequence[Change], most: int) -> None:
    """See `MemoryStore.write`."""
    grown: Counter[str] = Counter()
    # What makes room goes first: of several memories that become one, the one may say what one of them said.
    for change in sorted(changes, key=_stays):
        grown[change.row.user_id] += _apply(connection, words, change)
    for change in changes:
        for link in change.links:
            _link(connection, link)
    for user_id, more in grown.items():
        if more > 0:
            count = _count(connection, user_id)
            if count > most:
                raise MemoryFull(
                    f"The memory is full: {count - more} of {most} are kept.",
                    details={"count": count - more, "limit": most},
                )


def erase(connection: Connection, words: Words, viewer: Viewer, memory_id: str) -> bool:
    """See `MemoryStore.erase`. A document is not erased: its file would bring it back."""
    found = connection.scalar(
        select(memories.c.number).where(
            memories.c.id == memory_id, memories.c.source != DOCUMENT, seen(viewer)
        )
    )
    if found is None:
        return False
    remove(connection, words, found, memory_id)
    words.purge(connection)
    return True


def remove(connection: Connection, words: Words, number: int, memory_id: str) -> None:
    """Takes the memory and all that hangs on it out of the tables."""
    words.remove(connection, number)
    REMOVE.run(connection, number=number)
    POINT_NOWHERE.run(connection, id=memory_id)


def _stays(change: Change) -> bool:
    return not change.deletes and change.row.status in LIVE


def _apply(connection: Connection, words: Words, change: Change) -> int:
    """Returns by how many the live memories have become more: 1, 0 or -1."""
    row = change.row
    if row.source == DOCUMENT:
        raise ValueError(f"{row.id} is a document: put_documents stores those")
    if change.key is not None:
        same = SAME_KEY.one(connection, user_id=row.user_id, key=change.key)
        if same is not None:
            raise _duplicate(same[0], "key")
    known = KNOWN.one(connection, id=row.id)
    if _stays(change):
        same = SAME_CONTENT.one(connection, audience=row.audience, digest=row.digest, id=row.id)
        if same is not None:
            raise _duplicate(same[0], "digest")
    number, was_live = _store(connection, change, known)
    _append(connection, number, change)
    if change.deletes:
        words.remove(connection, number)
        FORGET_VECTORS.run(connection, number=number)
    else:
        words.put(connection, number, shelf_of(row), change.tokens)
    return _stays(change) - was_live


def _store(connection: Connection, change: Change, known: Sequence[Any] | None) -> tuple[int, bool]:
    """Its number, and whether it was live before."""
    row = change.row
    number, user_id, version, deleted_at, status = known or (None, row.user_id, 0, None, None)
    if version != row.version - 1 or deleted_at is not None or user_id != row.user_id:
        raise _changed(row, version, is_deleted=deleted_at is not None)
    values = values_of(row)
    if number is None:
        ((made,),) = ADD.run(connection, **values, key=change.key).fetchall()
        return made, False
    CHANGE.run(connection, **values, the_number=number, deleted_at=row.updated_at if change.deletes else None)
    return number, status in LIVE


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
        at=row.updated_at,
        row=snapshot_of(row),
    )
    for each in change.evidence:
        ADD_EVIDENCE.run(
            connection,
            memory=number,
            session_id=each.session_id,
            position=each.position,
            quote=each.quote,
        )


def _link(connection: Connection, link: Link) -> None:
    """Nothing when it is there already, or when one of its ends has been erased meanwhile."""
    there = select(literal(link.from_id), literal(link.to_id), literal(link.relation)).where(
        exists().where(memories.c.id == link.from_id),
        exists().where(memories.c.id == link.to_id),
        not_(
            exists().where(
                memory_links.c.from_id == link.from_id,
                memory_links.c.to_id == link.to_id,
                memory_links.c.relation == link.relation,
            )
        ),
    )
    connection.execute(insert(memory_links).from_select(["from_id", "to_id", "relation"], there))


def _count(connection: Connection, user_id: str) -> int:
    found = COUNT.one(connection, user_id=user_id)
    assert found is not None
    return found[0]


def _changed(row: MemoryRow, version: int, *, is_deleted: bool) -> MemoryChanged:
    now = "deleted" if is_deleted else f"at version {version}" if version else "not there"
    return MemoryChanged(
        f"{row.id} is {now}, a change made it version {row.version}: read it again.",
        details={"id": row.id, "version": version},
    )


def _duplicate(memory_id: str, same: str) -> DuplicateMemory:
    said = "The same is remembered already" if same == "digest" else "This request was carried out already"
    return DuplicateMemory(f"{said}: {memory_id}.", details={"id": memory_id, "same": same})
