"""The space of each owner's artifacts, updated with every change: functions that are parts of
transactions."""

from sqlalchemy import Connection, bindparam, func, insert, select, update

from gateway.storage.artifacts import MIN_COUNTED, SpaceUsed, Stock
from gateway.storage.database import Prepared
from gateway.storage.schema import artifact_totals, artifacts, doubtful_blobs

_OWNER = artifact_totals.c.owner == bindparam("of")
_SIZE, _USED = bindparam("more_size"), bindparam("more_used")

SAME = Prepared(
    select(artifacts.c.ref)
    .where(artifacts.c.owner == bindparam("owner"), artifacts.c.path == bindparam("path"))
    .limit(1)
)
CHANGE = Prepared(
    update(artifact_totals)
    .where(_OWNER)
    .values(
        artifacts=artifact_totals.c.artifacts + bindparam("more"),
        size=artifact_totals.c.size + _SIZE,
        used=artifact_totals.c.used + _USED,
    )
)
FIRST = Prepared(
    insert(artifact_totals).values(owner=bindparam("of"), artifacts=bindparam("more"), size=_SIZE, used=_USED)
)
USED = Prepared(select(artifact_totals.c.used, artifact_totals.c.artifacts).where(_OWNER))
STOCK = Prepared(
    select(
        func.coalesce(func.sum(artifact_totals.c.artifacts), 0),
        func.coalesce(func.sum(artifact_totals.c.size), 0),
        select(func.count()).select_from(doubtful_blobs).scalar_subquery(),
    )
)


def counted(connection: Connection, owner: str, path: str, size: int) -> int:
    """The bytes that one more artifact with this blob would count: content that its owner has already counts
    MIN_COUNTED."""
    return _counted(size, is_new=not _has(connection, owner, path))


def count_in(connection: Connection, owner: str, path: str, size: int) -> None:
    """Before an artifact is added."""
    is_new = not _has(connection, owner, path)
    _change(connection, owner, 1, size if is_new else 0, _counted(size, is_new=is_new))


def count_out(connection: Connection, owner: str, path: str, size: int) -> None:
    """After an artifact was removed."""
    was_last = not _has(connection, owner, path)
    _change(connection, owner, -1, -size if was_last else 0, -_counted(size, is_new=was_last))


def space_used(connection: Connection, owner: str) -> SpaceUsed:
    row = USED.one(connection, of=owner)
    return SpaceUsed(*row) if row is not None else SpaceUsed(0, 0)


def stock(connection: Connection) -> Stock:
    row = STOCK.one(connection)
    assert row is not None
    return Stock(*row)


def _has(connection: Connection, owner: str, path: str) -> bool:
    return SAME.one(connection, owner=owner, path=path) is not None


def _counted(size: int, *, is_new: bool) -> int:
    return max(size, MIN_COUNTED) if is_new else MIN_COUNTED


def _change(connection: Connection, owner: str, more: int, size: int, used: int) -> None:
    values = {"of": owner, "more": more, "more_size": size, "more_used": used}
    if CHANGE.run(connection, **values).rowcount == 0:
        FIRST.run(connection, **values)
