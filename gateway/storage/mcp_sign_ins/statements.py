"""Sign-ins to MCP servers, in SQL."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from sqlalchemy import Connection, bindparam, delete, insert, select

from gateway.encryption.keyring import Keyring
from gateway.errors import EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store
from gateway.storage.exclusive import Exclusive
from gateway.storage.schema import mcp_sign_ins

_m = mcp_sign_ins.c
_PLACE = _m.id == bindparam("key")
ONE = Prepared(select(_m.secret, _m.expires_at).where(_PLACE))
REMOVE = Prepared(delete(mcp_sign_ins).where(_PLACE))
REMOVE_OLD = Prepared(delete(mcp_sign_ins).where(_m.expires_at < bindparam("now")))
ADD = Prepared(
    insert(mcp_sign_ins).values(id=bindparam("key"), secret=bindparam("text"), expires_at=bindparam("until"))
)


def bound_to(key: str) -> Sequence[str]:
    """What the secret of a row is bound to."""
    return ("mcp_sign_in", key)


def put(connection: Connection, key: str, text: str, expires_at: int | None) -> None:
    REMOVE.run(connection, key=key)
    ADD.run(connection, key=key, text=text, until=expires_at)


def take(connection: Connection, key: str, now: int) -> str | None:
    row = ONE.one(connection, key=key)
    if row is None or REMOVE.run(connection, key=key).rowcount != 1:
        return None
    REMOVE_OLD.run(connection, now=now)
    return None if row[1] is not None and row[1] < now else str(row[0])


class SqlMcpSignIns(Store):
    """The `McpSignIns` protocol."""

    def __init__(self, database: Database, keyring: Keyring | None, exclusive: Exclusive) -> None:
        super().__init__(database)
        self._keyring = keyring
        self._exclusive = exclusive

    @property
    def can_store(self) -> bool:
        return self._keyring is not None

    async def put(self, key: str, secret: str, expires_at: int | None = None) -> None:
        """Raises errors.EncryptionOff."""
        if self._keyring is None:
            raise EncryptionOff()
        text = self._keyring.encrypt(secret, *bound_to(key))
        await self.database.write(
            lambda connection: put(connection, key, text, expires_at), over=OwnerLock(f"mcp {key}")
        )

    async def get(self, key: str) -> str | None:
        row = await self.database.read(lambda connection: ONE.one(connection, key=key), snapshot=False)
        return self._opened(key, None if row is None else str(row[0]))

    async def take(self, key: str, now: int) -> str | None:
        text = await self.database.write(
            lambda connection: take(connection, key, now), over=OwnerLock(f"mcp {key}")
        )
        return self._opened(key, text)

    async def remove(self, key: str) -> bool:
        return await self.database.write(lambda connection: REMOVE.run(connection, key=key).rowcount == 1)

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._exclusive.hold(key)

    def _opened(self, key: str, text: str | None) -> str | None:
        if text is None or self._keyring is None:
            return None
        return self._keyring.decrypt(text, *bound_to(key))
