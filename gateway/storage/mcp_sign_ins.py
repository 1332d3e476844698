"""The gateway's own sign-ins to MCP servers."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from sqlalchemy import Connection, bindparam, delete, insert, select

from gateway.encryption.keyring import Keyring
from gateway.errors import EncryptionOff
from gateway.storage.database import Database, OwnerLock, Prepared, Store, transaction
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


class McpSignIns(Store):
    """Texts, each under a key, encrypted and bound to it. Reading one raises errors.DecryptionFailed: it is
    not what was written, or its encryption key is missing."""

    def __init__(self, database: Database, keyring: Keyring | None, exclusive: Exclusive) -> None:
        super().__init__(database)
        self._keyring = keyring
        self._exclusive = exclusive

    @property
    def can_store(self) -> bool:
        """Whether there is a key to encrypt with; without one nothing can be put, and nothing is found."""
        return self._keyring is not None

    async def put(self, key: str, secret: str, expires_at: int | None = None) -> None:
        """Stores it in place of the one there was; `expires_at` in Unix milliseconds. Raises
        errors.EncryptionOff."""
        if self._keyring is None:
            raise EncryptionOff()
        text = self._keyring.encrypt(secret, *bound_to(key))

        def work(connection: Connection) -> None:
            REMOVE.run(connection, key=key)
            ADD.run(connection, key=key, text=text, until=expires_at)

        await self.database.write(work, over=OwnerLock(f"mcp {key}"))

    async def get(self, key: str) -> str | None:
        """The text of that key, also after its time; None: there is none."""
        row = await self.database.read(lambda connection: ONE.one(connection, key=key), snapshot=False)
        return self._opened(key, None if row is None else str(row[0]))

    async def take(self, key: str, now: int) -> str | None:
        """Removes it, and returns it if its time is not over: of several that ask, to one. Also removes all
        whose time is over."""

        def work(connection: Connection) -> str | None:
            row = ONE.one(connection, key=key)
            if row is None or REMOVE.run(connection, key=key).rowcount != 1:
                return None
            REMOVE_OLD.run(connection, now=now)
            return None if row[1] is not None and row[1] < now else str(row[0])

        return self._opened(key, await self.database.write(work, over=OwnerLock(f"mcp {key}")))

    @transaction
    def remove(self, connection: Connection, key: str) -> bool:
        """Removes it; whether there was one."""
        return REMOVE.run(connection, key=key).rowcount == 1

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        """One task of all processes at a time."""
        return self._exclusive.hold(key)

    def _opened(self, key: str, text: str | None) -> str | None:
        if text is None or self._keyring is None:
            return None
        return self._keyring.decrypt(text, *bound_to(key))
