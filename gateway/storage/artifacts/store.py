"""The artifacts of all users, in SQL."""

from collections.abc import Collection

from gateway.storage.artifacts import ArtifactRow, removal, statements, totals, uses
from gateway.storage.database import Store, reads, writes

BATCH = 50
"""Artifacts whose time is over that go in one transaction: some 5 ms, for which every commit waits."""


class SqlArtifacts(Store):
    """The `Artifacts` protocol."""

    get = reads(statements.get, snapshot=False)
    find = reads(statements.find, snapshot=False)
    path_of = reads(statements.path_of, snapshot=False)
    those = reads(statements.those)
    used = reads(statements.used)
    used_in = reads(uses.used_in)
    summarise = writes(statements.summarise)
    delete = writes(statements.delete)
    space_used = reads(totals.space_used, snapshot=False)
    stock = reads(totals.stock, snapshot=False)

    async def add(
        self,
        row: ArtifactRow,
        *,
        quota: int,
        tenant_quota: int | None = None,
        instead_of: str | None = None,
    ) -> None:
        await self.database.write(
            lambda connection: statements.add(
                connection, row, quota=quota, tenant_quota=tenant_quota, instead_of=instead_of
            ),
            over=totals.room_of(row.owner, tenant_quota),
        )

    async def use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        """Notes that the session refers to these artifacts of the owner; those that are gone are left out."""
        if refs:
            await self.database.write(lambda connection: uses.use(connection, owner, session_id, refs))

    async def expire(self, now: int, limit: int) -> int:
        """Removes unused artifacts whose time is over, of at most `limit`, and returns how many. A reader
        chooses: most rounds find nothing, and no transaction waits."""
        due = await self.database.read(
            lambda connection: removal.DUE.all(connection, now=now, limit=limit), snapshot=False
        )
        removed = 0
        for at in range(0, len(due), BATCH):
            some = due[at : at + BATCH]
            removed += await self.database.write(
                lambda connection, some=some: removal.expire(connection, some, now)
            )
        return removed
