"""Secrets of an installation, in SQL."""

import secrets

from sqlalchemy import Connection, bindparam, insert, select

from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.schema import installation_secrets

SIZE = 32
_s = installation_secrets.c
FIND = Prepared(select(_s.secret).where(_s.name == bindparam("key")))
ADD = Prepared(insert(installation_secrets).values(name=bindparam("key"), secret=bindparam("bits")))


def find(connection: Connection, name: str) -> bytes | None:
    row = FIND.one(connection, key=name)
    return None if row is None else bytes(row[0])


def make(connection: Connection, name: str) -> bytes:
    """That of another process where it was faster."""
    if (found := find(connection, name)) is not None:
        return found
    ADD.run(connection, key=name, bits=(made := secrets.token_bytes(SIZE)))
    return made


class SqlInstallation(Store):
    """The `Installation` protocol."""

    _find = reads(find, snapshot=False)
    _make = writes(make, over=lambda name: OwnerLock(f"installation {name}"))

    async def secret(self, name: str) -> bytes:
        """One that is there is read without waiting for those who write."""
        return await self._find(name) or await self._make(name)
