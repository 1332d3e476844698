"""API keys that are made while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, or_, select, true, update

from gateway.errors import Conflict
from gateway.storage.database import OwnerLock, Prepared, Store, query, transaction
from gateway.storage.row_codec import TEXTS, Rows
from gateway.storage.schema import api_keys


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of `user_id`, of which the `digest` alone is stored: SHA-256 in hex of its secret, whose 256
    random bits nobody can guess, so that a slow hash would add nothing. Times are Unix milliseconds; it holds
    until it is revoked or expires. `used_at` is true to about a minute."""

    id: str
    tenant: str
    user_id: str
    name: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    digest: str
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None

    def holds(self, now: int) -> bool:
        """Whether it does at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


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


class Keys(Store):
    """The keys of users. `storage.ended_access` revokes them, with what rests on them."""

    async def add(self, key: ApiKey, *, most: int) -> None:
        """Adds a key. Raises errors.Conflict (too_many_keys): its user has `most` that are not revoked."""

        def work(connection: Connection) -> None:
            if COUNT.value(connection, user_id=key.user_id) >= most:
                raise Conflict(f"There are {most} keys of this user: revoke one first.", code="too_many_keys")
            KEYS.add(connection, key)

        await self.database.write(work, over=OwnerLock(key.user_id))

    @query
    def find(self, connection: Connection, key_id: str) -> ApiKey | None:
        """The key of that id, whosever it is."""
        row = ONE.one(connection, key_id=key_id)
        return None if row is None else KEYS.read(row)

    @query
    def list(
        self, connection: Connection, *, user_id: str | None = None, tenant: str | None = None
    ) -> Sequence[ApiKey]:
        """Those of a user, or of all users of a tenant, or of all: the oldest first."""
        chosen = true()
        if user_id is not None:
            chosen = _k.user_id == user_id
        elif tenant is not None:
            chosen = _k.tenant == tenant
        found = select(*KEYS.columns).where(chosen).order_by(_k.created_at, _k.id)
        return [KEYS.read(row) for row in connection.execute(found)]

    @transaction
    def used(self, connection: Connection, key_id: str, now: int) -> None:
        """Notes that it was used."""
        USED.run(connection, key_id=key_id, now=now)

    @query
    def has_live(self, connection: Connection, user_id: str, now: int) -> bool:
        """Whether a key of that user holds."""
        return LIVE.one(connection, user_id=user_id, now=now) is not None
