"""The only process that has the database open: it takes over the turns of a former one."""

from collections.abc import Mapping

from sqlalchemy import Connection

from gateway.storage.database import Database, Store, writes
from gateway.storage.replicas import NOTHING, Beat, Lease
from gateway.storage.replicas.statements import (
    ORPHANS_OF_ALL_OTHERS,
    look,
    release,
    release_all,
    take_orphans,
)


class SoleReplica(Store):
    """The `Replicas` protocol for an engine that one process has to itself."""

    every = 5.0
    about = NOTHING

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.lease = Lease()

    release = writes(release)

    async def beat(self, *, slots: int, draining: bool = False, about: Mapping[str, str] = NOTHING) -> Beat:
        """Takes over at most `slots` turns that the process before left, and returns what there is to do.
        Nothing is written when nothing is to be taken."""
        replica = self.database.replica

        def seen(connection: Connection) -> Beat | None:
            found = ORPHANS_OF_ALL_OTHERS.one(connection, replica=replica, slots=1) if slots else None
            return look(connection, replica) if found is None else None

        def taken(connection: Connection) -> Beat:
            found = ORPHANS_OF_ALL_OTHERS.all(connection, replica=replica, slots=slots)
            return look(connection, replica, take_orphans(connection, found, replica))

        return await self.database.read(seen) or await self.database.write(taken)

    async def leave(self) -> None:
        """Releases all turns."""
        replica = self.database.replica
        await self.database.write(lambda connection: release_all(connection, replica))
