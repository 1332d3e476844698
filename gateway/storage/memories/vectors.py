"""Embeddings of memories. One counts for as long as the content it was made of."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, exists, insert, not_, select

from gateway.storage.database import Prepared
from gateway.storage.memories import Filter, MemoryRow, Vector, Viewer
from gateway.storage.memories.conditions import asked
from gateway.storage.memories.rows import COLUMNS, memory_of
from gateway.storage.memories.schema import memories, memory_vectors

RECALLABLE = Filter(recallable=True)

_ID, _DIGEST, _MODEL = bindparam("id"), bindparam("digest"), bindparam("model")
CURRENT = Prepared(
    select(memories.c.number)
    .where(memories.c.id == _ID, memories.c.digest == _DIGEST, memories.c.deleted_at.is_(None))
    .with_for_update()
)
FORGET = Prepared(
    delete(memory_vectors).where(
        memory_vectors.c.memory == bindparam("memory"), memory_vectors.c.model == _MODEL
    )
)
STORE = Prepared(
    insert(memory_vectors).values(
        memory=bindparam("memory"),
        model=_MODEL,
        passage=bindparam("passage"),
        digest=_DIGEST,
        data=bindparam("data"),
    )
)


def of(connection: Connection, viewer: Viewer, model: str) -> Sequence[Vector]:
    """Those of the viewer's recallable memories by that model."""
    statement = (
        select(memories.c.id, memory_vectors.c.digest, memory_vectors.c.data, memory_vectors.c.passage)
        .join(memories, _current(model))
        .where(asked(RECALLABLE, viewer))
        .order_by(memories.c.number, memory_vectors.c.passage)
    )
    return [Vector(*row) for row in connection.execute(statement)]


def missing_vectors(connection: Connection, viewer: Viewer, model: str, *, limit: int) -> Sequence[MemoryRow]:
    """Recallable memories without a vector by that model for their digest, the oldest first."""
    there = exists(select(memory_vectors.c.memory).where(_current(model)))
    statement = (
        select(*COLUMNS)
        .where(asked(RECALLABLE, viewer), not_(there))
        .order_by(memories.c.number)
        .limit(limit)
    )
    return [memory_of(row) for row in connection.execute(statement)]


def put(connection: Connection, model: str, vectors: Sequence[Vector]) -> None:
    """Replaces those of these memories by that model, all of a memory at once. One whose memory has changed
    or gone meanwhile is dropped."""
    emptied = set[int]()
    for each in vectors:
        found = CURRENT.one(connection, id=each.memory_id, digest=each.digest)
        if found is None:
            continue
        (number,) = found
        if number not in emptied:
            FORGET.run(connection, memory=number, model=model)
            emptied.add(number)
        STORE.run(
            connection,
            memory=number,
            model=model,
            passage=each.passage,
            digest=each.digest,
            data=each.data,
        )


def _current(model: str) -> ColumnElement[bool]:
    return and_(
        memory_vectors.c.memory == memories.c.number,
        memory_vectors.c.model == model,
        memory_vectors.c.digest == memories.c.digest,
    )
