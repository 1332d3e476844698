"""Documented memories: the table mirrors the files."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, select

from gateway.errors import DuplicateMemory
from gateway.storage.database import Prepared
from gateway.storage.memories import Indexed, MemoryRow
from gateway.storage.memories.conditions import DOCUMENT, partitions_of
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import ADD, CHANGE, COLUMNS, memory_of, remove, values_of
from gateway.storage.memories.schema import memories

STORED = Prepared(select(memories.c.number, *COLUMNS).where(memories.c.source == DOCUMENT))
TAKEN = Prepared(select(memories.c.number).where(memories.c.id == bindparam("id")))


def put(connection: Connection, words: Words, rows: Sequence[tuple[MemoryRow, Sequence[Indexed]]]) -> bool:
    """Whether anything was written."""
    stored = {row.id: (number, row) for number, row in _stored(connection)}
    gone = stored.keys() - {row.id for row, _ in rows}
    changed = bool(remove(connection, words, [(stored[each][0], each) for each in gone]))
    for row, index in rows:
        if row.source != DOCUMENT:
            raise ValueError(f"{row.id} is no document")
        number, before = stored.get(row.id, (None, row))
        updated = replace(row, last_used=before.last_used)
        if number is None:
            number = _add(connection, updated)
        elif updated != before:
            CHANGE.run(connection, **values_of(updated), the_number=number, deleted_at=None)
        else:
            continue
        words.put(connection, number, partitions_of(updated), index)
        changed = True
    return changed


def _stored(connection: Connection) -> list[tuple[int, MemoryRow]]:
    return [(number, memory_of(row)) for number, *row in STORED.run(connection).fetchall()]


def _add(connection: Connection, row: MemoryRow) -> int:
    if TAKEN.one(connection, id=row.id) is not None:
        raise DuplicateMemory(
            f"A document has the id of a memory, {row.id}: give it another.",
            details={"id": row.id, "same": "id"},
        )
    ((number,),) = ADD.run(connection, **values_of(row)).fetchall()
    return number
