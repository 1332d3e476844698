"""What the gateways of one database have in common."""

import secrets

from sqlalchemy import Connection, bindparam, insert, select

from gateway.storage.database import OwnerLock, Prepared, Store
from gateway.storage.schema import installation_secrets

SIZE = 32
_s = installation_secrets.c
FIND = Prepared(select(_s.secret).where(_s.name == bindparam("key")))
ADD = Prepared(insert(installation_secrets).values(name=bindparam("key"), secret=bindparam("bits")))


class Installation(Store):
    """One database, and all processes that work on it."""

    async def secret(self, name: str) -> bytes:
        """256 random bits, the same for each process and after each restart: made when they are first asked
        for. One that is there is read without waiting for those who write."""

        def make(connection: Connection) -> bytes:
            if (found := _find(connection, name)) is not None:  # another process was faster
                return found
            ADD.run(connection, key=name, bits=(made := secrets.token_bytes(SIZE)))
            return made

        found = await self.database.read(lambda connection: _find(connection, name), snapshot=False)
        return found or await self.database.write(make, over=OwnerLock(f"installation {name}"))


def _find(connection: Connection, name: str) -> bytes | None:
    row = FIND.one(connection, key=name)
    return None if row is None else bytes(row[0])
