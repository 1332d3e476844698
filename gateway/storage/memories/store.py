"""The memories of all users, in a database that several processes use."""

from collections.abc import Callable, Collection, Mapping, Sequence

from gateway.storage.database import OwnerLock, Store, reads, writes
from gateway.storage.memories import (
    Change,
    Filter,
    Indexed,
    Match,
    MemoryRow,
    Viewer,
    documents,
    persons,
    profiles,
    reading,
    reindexing,
    writing,
)
from gateway.storage.memories import vectors as embedded
from gateway.storage.memories.conditions import DOCUMENT
from gateway.storage.memories.memory_database import MemoryDatabase

ERASED = 50
"""Memories of a person that one transaction removes."""


class SqlMemories(Store):
    """The `MemoryStore` protocol."""

    get = reads(reading.get, snapshot=False)
    list = reads(reading.newest)
    weighed = reads(reading.weighed)
    containing = reads(reading.containing)
    count = reads(reading.count, snapshot=False)
    documented = reads(reading.documented, snapshot=False)
    census = reads(reading.census, snapshot=False)
    use = writes(writing.use)
    versions = reads(reading.versions, snapshot=False)
    last_turns = reads(reading.last_turns, snapshot=False)
    evidence = reads(reading.evidence, snapshot=False)
    links = reads(reading.links, snapshot=False)
    links_among = reads(reading.links_among, snapshot=False)
    tombstones = reads(reading.tombstones, snapshot=False)
    forgotten = reads(reading.forgotten, snapshot=False)
    erasures = reads(reading.pending_erasures, snapshot=False)
    settle_erasure = writes(writing.settle_erasure)
    vectors = reads(embedded.of, snapshot=False)
    missing_vectors = reads(embedded.missing_vectors, snapshot=False)
    put_vectors = writes(embedded.put)
    profile = reads(profiles.get, snapshot=False)
    counts = reads(persons.counts)
    named = reads(persons.named)
    put_profile = writes(profiles.put, over=lambda profile: OwnerLock(profile.id))

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self._words, self._scrub, self._state = database.words, database.scrub, database.state

    async def write(self, changes: Sequence[Change], *, most: int) -> None:
        """Makes all changes or none. Raises errors.MemoryChanged, DuplicateMemory and MemoryFull. Each memory
        is in `changes` once at most."""
        owners = {change.row.user_id for change in changes}
        await self.database.write(
            lambda connection: writing.write(connection, self._words, changes, most=most),
            over=OwnerLock(owners.pop(), tuple(owners)) if owners else None,
        )

    async def match(
        self, viewer: Viewer, words: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """The viewer's memories that match any of `words` best, best first."""
        return await self.database.read(
            lambda connection: reading.match(connection, self._words, viewer, words, which, limit=limit)
        )

    async def completions(self, viewer: Viewer, beginning: str, which: Filter, *, most: int) -> Sequence[str]:
        """Words of the viewer's memories that begin so."""
        return await self.database.read(
            lambda connection: reading.completions(
                connection, self._words, viewer, beginning, which, most=most
            ),
            snapshot=False,
        )

    async def reindex(self, limit: int, index: Callable[[MemoryRow], Sequence[Indexed]]) -> bool:
        """Indexes some memories anew that an earlier version has indexed; whether there may be more."""
        return await self.database.write(
            lambda connection: reindexing.reindex(
                connection, self._words, limit, lambda row: index(self._opened(row))
            )
        )

    def _opened(self, row: MemoryRow) -> MemoryRow:
        """The row with its words, which are here as they are stored."""
        return row

    async def located(self, viewer: Viewer, passages: Mapping[str, int]) -> Sequence[Match]:
        """Those memories of `passages` that the viewer sees, each with its passage of that number."""
        return await self.database.read(
            lambda connection: reading.located(connection, self._words, viewer, passages)
        )

    async def erase(
        self, viewer: Viewer, memory_id: str, *, owners: Collection[str] = (), version: int | None = None
    ) -> bool:
        """Removes the memory and what the engine keeps of it beside the tables; False when the viewer sees
        none. Raises errors.MemoryChanged."""
        erased = await self.database.write(
            lambda connection: writing.erase(
                connection, self._words, viewer, memory_id, owners=owners, version=version
            )
        )
        if erased:
            await self._scrub()
        return erased

    async def forget_session(self, user_id: str, session_id: str) -> int:
        """Erases all memories of that session and returns how many there were."""
        erased = await self.database.write(
            lambda connection: writing.forget_session(connection, self._words, user_id, session_id)
        )
        if erased:
            await self._scrub()
        return erased

    async def remove_deleted(self, before: int, limit: int) -> int:
        """Removes what was deleted before that time and returns how many there were."""
        removed = await self.database.write(
            lambda connection: writing.remove_deleted(connection, self._words, before, limit)
        )
        if removed:
            await self._scrub()
        return removed

    async def hold(self, user_ids: Collection[str]) -> None:
        """These users, and no others, are held."""
        await self.database.write(lambda connection: persons.hold(connection, user_ids))

    async def erase_person(self, user_id: str, pseudonym: str, kept_households: Collection[str]) -> None:
        """Removes all that is theirs, a few memories in a transaction. Raises errors.Conflict
        (legal_hold)."""
        while await self.database.write(
            lambda connection: persons.erase_some(connection, self._words, user_id, kept_households, ERASED)
        ):
            pass
        while await self.database.write(
            lambda connection: persons.forget_person(connection, self._words, user_id, pseudonym)
        ):
            pass
        await self._scrub()

    async def put_documents(self, rows: Sequence[tuple[MemoryRow, Sequence[Indexed]]]) -> None:
        """Replaces all documents by `rows`. Raises errors.DuplicateMemory (`same`: id) when one has the id of
        a stored memory."""
        await self.database.write(
            lambda connection: documents.put(connection, self._words, rows), over=OwnerLock(DOCUMENT)
        )

    async def state(self) -> int:
        """The database's `state`."""
        return await self._state()
