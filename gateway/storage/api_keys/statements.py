"""API keys, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, or_, select, true, update

from gateway.errors import Conflict
from gateway.storage.api_keys import ApiKey
from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.row_codec import TEXTS, Rows
from gateway.storage.schema import api_keys

_k = api_keys.c
KEYS = Rows(ApiKey, api_keys, roles=TEXTS, scopes=TEXTS)

_ID = _k.id == bindparam("key_id")
_USER = _k.user_id == bindparam("user_id")
COUNT = Prepared(select(func.count()).select_from(api_keys).where(_USER, _k.revoked_at.is_(None)))
ONE = Prepared(select(*KEYS.columns).where(_ID))
USED = Prepared(update(api_keys).where(_ID).values(used_at=bindparam("now")))
LIVE = Prepared(
    select(_k.id)
    .where(_USER, _k.revoked_at.is_(None), or_(_k.expires_at.is_(None), _k.expires_at > bindparam("now")))
    .limit(1)
)


def add(connection: Connection, key: ApiKey, most: int) -> None:
    if COUNT.value(connection, user_id=key.user_id) >= most:
        raise Conflict(f"There are {most} keys of this user: revoke one first.", code="too_many_keys")
    KEYS.add(connection, key)


def find(connection: Connection, key_id: str) -> ApiKey | None:
    row = ONE.one(connection, key_id=key_id)
    return None if row is None else KEYS.read(row)


def list_(
    connection: Connection, *, user_id: str | None = None, tenant: str | None = None
) -> Sequence[ApiKey]:
    chosen = true()
    if user_id is not None:
        chosen = _k.user_id == user_id
    elif tenant is not None:
        chosen = _k.tenant == tenant
    found = select(*KEYS.columns).where(chosen).order_by(_k.created_at, _k.id)
    return [KEYS.read(row) for row in connection.execute(found)]


def used(connection: Connection, key_id: str, now: int) -> None:
    USED.run(connection, key_id=key_id, now=now)


def has_live(connection: Connection, user_id: str, now: int) -> bool:
    return LIVE.one(connection, user_id=user_id, now=now) is not None


class SqlKeys(Store):
    """The `Keys` protocol."""

    find = reads(find, snapshot=False)
    list = reads(list_, snapshot=False)
    used = writes(used)
    has_live = reads(has_live, snapshot=False)
    add = writes(add, over=lambda key, most: OwnerLock(key.user_id))
