"""Keys of the model's provider that users and tenants bring along."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, bindparam, delete, or_, select

from gateway.encryption.keyring import Keyring
from gateway.errors import EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store, transaction
from gateway.storage.row_codec import Rows
from gateway.storage.schema import provider_keys

TENANT = ""
"""In the place of a user: the key is the tenant's."""


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """The key of a user, or (TENANT) of all users of a tenant who have none. `ending` is what may be shown of
    it. `set_at` is in Unix milliseconds."""

    tenant: str
    user_id: str
    secret: str = field(repr=False)
    ending: str
    set_at: int
    set_by: str


_p = provider_keys.c
KEYS = Rows(ProviderKey, provider_keys)

_PLACE = (_p.tenant == bindparam("tenant"), _p.user_id == bindparam("user_id"))
ONE = Prepared(select(*KEYS.columns).where(*_PLACE))
SERVING = Prepared(
    select(*KEYS.columns)
    .where(
        _p.tenant == bindparam("tenant"),
        or_(_p.user_id == bindparam("user_id"), _p.user_id == bindparam("nobody")),
    )
    .order_by(_p.user_id.desc())
    .limit(1)
)
REMOVE = Prepared(delete(provider_keys).where(*_PLACE))


def bound_to(tenant: str, user_id: str) -> Sequence[str]:
    """What the secret of a row is bound to."""
    return ("provider_key", tenant, user_id)


class ProviderKeys(Store):
    """Keys are encrypted, bound to whose they are. What reads one raises errors.DecryptionFailed: the row is
    not what was written, or its encryption key is missing."""

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    @property
    def can_store(self) -> bool:
        """Whether there is a key to encrypt with; without one nothing can be set, and nothing is found."""
        return self._keyring is not None

    async def set(self, key: ProviderKey) -> None:
        """Adds it, or puts it in the place of the one that there is. Raises errors.EncryptionOff."""
        if self._keyring is None:
            raise EncryptionOff()
        sealed = self._keyring.encrypt(key.secret, *bound_to(key.tenant, key.user_id))
        row = replace(key, secret=sealed)

        def work(connection: Connection) -> None:
            REMOVE.run(connection, tenant=row.tenant, user_id=row.user_id)
            KEYS.add(connection, row)

        await self.database.write(work, over=OwnerLock(key.user_id or f"{key.tenant}/"))

    async def get(self, tenant: str, user_id: str) -> ProviderKey | None:
        """The key of that user, or of the tenant (TENANT)."""
        return await self._read(ONE, tenant=tenant, user_id=user_id)

    async def serving(self, tenant: str, user_id: str) -> ProviderKey | None:
        """The user's own, else their tenant's."""
        return await self._read(SERVING, tenant=tenant, user_id=user_id, nobody=TENANT)

    @transaction
    def remove(self, connection: Connection, tenant: str, user_id: str) -> bool:
        """Removes it; whether there was one."""
        return REMOVE.run(connection, tenant=tenant, user_id=user_id).rowcount == 1

    async def _read(self, statement: Prepared, **values: str) -> ProviderKey | None:
        if self._keyring is None:
            return None
        row = await self.database.read(lambda connection: statement.one(connection, **values), snapshot=False)
        if row is None:
            return None
        key = KEYS.read(row)
        return replace(key, secret=self._keyring.decrypt(key.secret, *bound_to(key.tenant, key.user_id)))
