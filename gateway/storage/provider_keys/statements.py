"""Keys of the model's provider, in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, or_, select

from gateway.encryption.keyring import Keyring
from gateway.errors import EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store
from gateway.storage.provider_keys import TENANT, ProviderKey
from gateway.storage.row_codec import Rows
from gateway.storage.schema import provider_keys

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


def set_(connection: Connection, key: ProviderKey) -> None:
    REMOVE.run(connection, tenant=key.tenant, user_id=key.user_id)
    KEYS.add(connection, key)


def bound_to(tenant: str, user_id: str) -> Sequence[str]:
    """What the secret of a row is bound to."""
    return ("provider_key", tenant, user_id)


class SqlProviderKeys(Store):
    """The `ProviderKeys` protocol."""

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    @property
    def can_store(self) -> bool:
        return self._keyring is not None

    async def set(self, key: ProviderKey) -> None:
        """Raises errors.EncryptionOff."""
        if self._keyring is None:
            raise EncryptionOff()
        sealed = self._keyring.encrypt(key.secret, *bound_to(key.tenant, key.user_id))
        row = replace(key, secret=sealed)
        await self.database.write(
            lambda connection: set_(connection, row), over=OwnerLock(key.user_id or f"{key.tenant}/")
        )

    async def get(self, tenant: str, user_id: str) -> ProviderKey | None:
        return await self._read(ONE, tenant=tenant, user_id=user_id)

    async def serving(self, tenant: str, user_id: str) -> ProviderKey | None:
        return await self._read(SERVING, tenant=tenant, user_id=user_id, nobody=TENANT)

    async def remove(self, tenant: str, user_id: str) -> bool:
        return await self.database.write(
            lambda connection: REMOVE.run(connection, tenant=tenant, user_id=user_id).rowcount == 1
        )

    async def _read(self, statement: Prepared, **values: str) -> ProviderKey | None:
        if self._keyring is None:
            return None
        row = await self.database.read(lambda connection: statement.one(connection, **values), snapshot=False)
        if row is None:
            return None
        key = KEYS.read(row)
        return replace(key, secret=self._keyring.decrypt(key.secret, *bound_to(key.tenant, key.user_id)))
