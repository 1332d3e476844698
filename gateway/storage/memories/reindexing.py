"""Memories that an earlier version indexed by another rule: functions that are parts of transactions."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, delete, select, update

from gateway.storage.memories import Indexed, MemoryRow
from gateway.storage.memories.conditions import partitions_of
from gateway.storage.memories.memory_database import Words
from gateway.storage.memories.rows import COLUMNS, memory_of
from gateway.storage.memories.schema import memories, memory_reindexing


def reindex(
    connection: Connection, words: Words, limit: int, index: Callable[[MemoryRow], Sequence[Indexed]]
) -> bool:
    """As `MemoryStore.reindex`."""
    c = memories.c
    after = connection.execute(select(memory_reindexing.c.after).with_for_update()).scalar_one_or_none()
    if after is None:
        return False
    found = connection.execute(
        select(c.number, *COLUMNS)
        .where(c.number > after, c.deleted_at.is_(None))
        .order_by(c.number)
        .limit(limit)
        .with_for_update()
    ).all()
    for number, row in [(each[0], memory_of(each[1:])) for each in found]:
        words.put(connection, number, partitions_of(row), index(row))
    if len(found) == limit:
        connection.execute(update(memory_reindexing).values(after=found[-1][0]))
        return True
    connection.execute(delete(memory_reindexing))
    return False
