"""Memories as rows of their table, and back."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Text, bindparam, delete, insert, select, update

from gateway.storage.database import Prepared
from gateway.storage.memories import MemoryRow, as_json
from gateway.storage.memories.engine_expressions import numbers_in
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.schema import memories, metadata

FIELDS = tuple(MemoryRow.__dataclass_fields__)
COLUMNS = tuple(memories.c[name] for name in FIELDS)
"""What `memory_of` takes, in this order."""

_LISTS = ("tags", "decisions", "refs", "tools")
_LISTS_AT = [FIELDS.index(name) for name in _LISTS]
_FLAGS_AT = [FIELDS.index(name) for name in ("pinned", "quarantined")]
_METADATA_AT = FIELDS.index("metadata")
_WRITTEN = [column.name for column in memories.c if column.name not in {"number", "deleted_at"}]

ADD = Prepared(
    insert(memories).values({name: bindparam(name) for name in _WRITTEN}).returning(memories.c.number)
)
NUMBERED = Prepared(
    select(memories.c.number, *COLUMNS).where(
        memories.c.number.in_(numbers_in(bindparam("numbers", type_=Text)))
    )
)
CHANGE = Prepared(
    update(memories)
    .where(memories.c.number == bindparam("the_number"))
    .values({name: bindparam(name) for name in (*_WRITTEN, "deleted_at")})
)

# The memory first: a change of it locks it first, too. What hangs on one has its number or its id.
REMOVE = (
    Prepared(delete(memories).where(memories.c.number == bindparam("number"))),
    *(
        Prepared(delete(table).where(key.parent == bindparam(key.column.name)))
        for table in metadata.sorted_tables
        for key in table.foreign_keys
    ),
    Prepared(update(memories).where(memories.c.superseded_by == bindparam("id")).values(superseded_by=None)),
)


def remove(connection: Connection, words: Words, found: Sequence[Sequence[Any]]) -> int:
    """Takes memories, of which the number and the id are given, and all that hangs on them out of the tables.
    Returns how many. SQLite may give their numbers to others."""
    for number, memory_id in found:
        words.remove(connection, number)
        for each in REMOVE:
            each.run(connection, number=number, id=memory_id)
    return len(found)


def values_of(row: MemoryRow) -> dict[str, Any]:
    """Its columns."""
    values = as_json(row)
    values |= {name: orjson.dumps(values[name]).decode() for name in _LISTS}
    values["metadata"] = orjson.dumps(row.metadata).decode() if row.metadata else None
    return values | {"audience": row.audience, "subject": subject_of(row)}


def memory_of(stored: Sequence[Any]) -> MemoryRow:
    """A row of COLUMNS."""
    values = list(stored)
    for at in _LISTS_AT:
        values[at] = () if values[at] == "[]" else tuple(orjson.loads(values[at]))
    for at in _FLAGS_AT:
        values[at] = bool(values[at])
    values[_METADATA_AT] = orjson.loads(values[_METADATA_AT]) if values[_METADATA_AT] else None
    return MemoryRow(*values)


def numbered(connection: Connection, numbers: Sequence[int]) -> list[MemoryRow]:
    """The memories with these numbers, which are there, in their order."""
    rows = NUMBERED.run(connection, numbers=orjson.dumps(numbers).decode()).fetchall()
    found = {number: memory_of(row) for number, *row in rows}
    return [found[number] for number in numbers]


def snapshot_of(row: MemoryRow) -> str:
    """The whole memory, as its version keeps it."""
    return orjson.dumps(as_json(row)).decode()


def memory_from(snapshot: str) -> MemoryRow:
    """What `snapshot_of` made."""
    values = orjson.loads(snapshot)
    return MemoryRow(**values | {name: tuple(values.get(name, ())) for name in _LISTS})


def subject_of(row: MemoryRow) -> str | None:
    """What a document and a stored memory may both be about, so that only the newer one counts."""
    if row.skill is None and row.reference is None:
        return None
    return orjson.dumps([row.type, row.skill, row.reference]).decode()
