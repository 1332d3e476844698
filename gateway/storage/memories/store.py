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


class MemoryStore(Store):
    """All memories of all users.

    All methods raise errors.StorageError when the database cannot do its work, and nothing half-done is left
    behind. Several processes may use one store at the same time (the gateway, an MCP server, a command), so
    invariants among memories are checked in the transaction that writes.
    """

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
        """All changes in one transaction or none.

        Raises:
            errors.MemoryChanged: a memory is not at the version that a change expects, or is deleted and the
                change does not restore it; `details` has id and version.
            errors.DuplicateMemory: a live memory (active or suppressed) of the same audience has the same
                digest, or the key was used for one of this user before; `details` has its id, and as `same`
                digest or key.
            errors.MemoryFull: a change makes more of a user's memories than there may be: `most` live ones
                outside of quarantine, MAX_QUARANTINED in quarantine that are not replaced, ROWS_PER_LIVE *
                `most` of all that are not deleted. `details` has of (live, quarantined, all), count, limit.

        Of a user's tombstones the newest `most` stay, older ones are erased; of one memory's versions the
        first and the newest, MAX_VERSIONS together. Each memory is in `changes` once at most.
        """
        owners = {change.row.user_id for change in changes}
        await self.database.write(
            lambda connection: writing.write(connection, self._words, changes, most=most),
            over=OwnerLock(owners.pop(), tuple(owners)) if owners else None,
        )

    async def match(
        self, viewer: Viewer, words: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """The best matches of any of `words` (search tokens, never raw text), best first. The viewer's
        audience and `which` are applied before the ranking: what is outside of them hides nothing. Of a
        document and a stored memory with the same skill, type and reference the newer is there, a tie goes
        to the document."""
        return await self.database.read(
            lambda connection: reading.match(connection, self._words, viewer, words, which, limit=limit)
        )

    async def completions(self, viewer: Viewer, beginning: str, which: Filter, *, most: int) -> Sequence[str]:
        """At most `most` words of the viewer's memories that begin so, the commonest first, for `match`; none
        of those that are encrypted."""
        return await self.database.read(
            lambda connection: reading.completions(
                connection, self._words, viewer, beginning, which, most=most
            ),
            snapshot=False,
        )

    async def reindex(self, limit: int, index: Callable[[MemoryRow], Sequence[Indexed]]) -> bool:
        """Indexes `limit` memories anew that an earlier version has indexed, as `index` says; whether there
        may be more. They are found all the time."""
        return await self.database.write(
            lambda connection: reindexing.reindex(
                connection, self._words, limit, lambda row: index(self._opened(row))
            )
        )

    def _opened(self, row: MemoryRow) -> MemoryRow:
        """The row with its words, which are here as they are stored."""
        return row

    async def located(self, viewer: Viewer, passages: Mapping[str, int]) -> Sequence[Match]:
        """Those of these ids that the viewer sees, in their order, each with its passage of that number, with
        a score of 0. A memory that was indexed before there were passages has none."""
        return await self.database.read(
            lambda connection: reading.located(connection, self._words, viewer, passages)
        )

    async def erase(
        self, viewer: Viewer, memory_id: str, *, owners: Collection[str] = (), version: int | None = None
    ) -> bool:
        """Removes it for good, deleted or not: its versions, evidence, links, vectors and words, and their
        bytes where the file is the gateway's own. A server's VACUUM frees them, and its logs and backups have
        them for as long as they are kept. The sessions of `owners` may have its words: each of them is one of
        the `erasures` from then on. False when there is none that the viewer sees. Raises
        errors.MemoryChanged when a `version` is named, and it is at another one."""
        erased = await self.database.write(
            lambda connection: writing.erase(
                connection, self._words, viewer, memory_id, owners=owners, version=version
            )
        )
        if erased:
            await self._scrub()
        return erased

    async def forget_session(self, user_id: str, session_id: str) -> int:
        """Erases all memories that are that session's, deleted or not: its id may be used again. Returns how
        many there were."""
        erased = await self.database.write(
            lambda connection: writing.forget_session(connection, self._words, user_id, session_id)
        )
        if erased:
            await self._scrub()
        return erased

    async def remove_deleted(self, before: int, limit: int) -> int:
        """Removes for good what was deleted before that time (Unix ms): the oldest, at most `limit`, and
        nothing that is held. Returns how many there were."""
        removed = await self.database.write(
            lambda connection: writing.remove_deleted(connection, self._words, before, limit)
        )
        if removed:
            await self._scrub()
        return removed

    async def hold(self, user_ids: Collection[str]) -> None:
        """These, and no others, are held: what would remove something of their memories for good raises
        errors.Conflict (legal_hold), and their tombstones and versions stay, however many."""
        await self.database.write(lambda connection: persons.hold(connection, user_ids))

    async def erase_person(self, user_id: str, pseudonym: str, kept_households: Collection[str]) -> None:
        """Removes all that is theirs for good, as `erase` does, in many transactions: when it was broken off
        it is called again. In what stays `pseudonym` takes their place, and their quotes go."""
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
        """Makes `rows` all the documents there are; with each row comes what it is found by. Raises
        errors.DuplicateMemory (`same`: id) when one has the id of a stored memory."""
        await self.database.write(
            lambda connection: documents.put(connection, self._words, rows), over=OwnerLock(DOCUMENT)
        )

    async def state(self) -> int:
        """A number that differs whenever something was written since, by any process: what was read may be
        kept while it stays the same. Cheap."""
        return await self._state()
