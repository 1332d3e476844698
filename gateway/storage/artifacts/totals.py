"""The space of each owner's artifacts, updated with every change: functions that are parts of
transactions."""

from sqlalchemy import Connection, bindparam, func, insert, select, update

from gateway.storage.artifacts import MIN_COUNTED, SpaceUsed
from gateway.storage.database import OwnerLock, Prepared
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
_OF_ALL = select(func.coalesce(func.sum(artifact_totals.c.used), 0))
USED_BY_TENANT = Prepared(
    _OF_ALL.where(artifact_totals.c.owner >= bindparam("first"), artifact_totals.c.owner < bindparam("after"))
)
USED_BY_DEFAULT_TENANT = Prepared(_OF_ALL.where(artifact_totals.c.owner.not_like("%/%")))
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
    """The space of the owner's artifacts."""
    row = USED.one(connection, of=owner)
    return SpaceUsed(*row) if row is not None else SpaceUsed(0, 0)


def used_by_tenant(connection: Connection, owner: str) -> int:
    """What the artifacts of all users of the owner's tenant count. The rows are few, one for each user: no
    total of a tenant is kept. PostgreSQL's sum is no integer."""
    if prefix := _tenant_prefix(owner):
        # As texts are in the order of their bytes, all with the prefix are before it with the next one.
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return int(USED_BY_TENANT.value(connection, first=prefix, after=after))
    return int(USED_BY_DEFAULT_TENANT.value(connection))


def room_of(owner: str, tenant_quota: int | None) -> OwnerLock:
    """What a transaction has to itself that adds to the owner's artifacts: whoever shares the room waits."""
    return OwnerLock(owner if tenant_quota is None else _tenant_prefix(owner) or "/")


def _tenant_prefix(owner: str) -> str:
    """What the ids of all users of the owner's tenant begin with; empty: the default one, whose ids have no
    slash."""
    tenant, slash, _ = owner.partition("/")
    return tenant + slash if slash else ""


def _has(connection: Connection, owner: str, path: str) -> bool:
    return SAME.one(connection, owner=owner, path=path) is not None


def _counted(size: int, *, is_new: bool) -> int:
    return max(size, MIN_COUNTED) if is_new else MIN_COUNTED


def _change(connection: Connection, owner: str, more: int, size: int, used: int) -> None:
    values = {"of": owner, "more": more, "more_size": size, "more_used": used}
    if CHANGE.run(connection, **values).rowcount == 0:
        FIRST.run(connection, **values)
