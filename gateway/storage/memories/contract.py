"""The storage contract of memories. Every implementation passes tests/contracts/.

All methods raise `errors.StorageError` when the database cannot do its work, and nothing half-done is left
behind. Several processes may use one store at the same time (the gateway, an MCP server, a command), so
invariants among memories are checked in the transaction that writes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from gateway.storage.memories import (
    Change,
    Evidence,
    Filter,
    Forgotten,
    Indexed,
    Link,
    Match,
    MemoryRow,
    MemoryType,
    MemoryVersion,
    Profile,
    ProfileKind,
    Relation,
    Status,
    Tombstone,
    Vector,
    Viewer,
)


class MemoryRecords(Protocol):
    """The memories: changed as a whole or not at all, read by id and in the order of their changes."""

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
        first and the newest, MAX_VERSIONS together.
        """
        ...

    async def use(self, ids: Sequence[str], at: int) -> None:
        """They were cited: their freshness begins anew. No version is added."""
        ...

    async def get(self, viewer: Viewer, *ids: str) -> Sequence[MemoryRow]:
        """Those of `ids` that are there and seen by the viewer, in the order of `ids`. Deleted ones are not
        there; frozen, replaced and quarantined ones are."""
        ...

    async def list(
        self,
        viewer: Viewer,
        which: Filter | None = None,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
    ) -> Sequence[MemoryRow]:
        """Newest first by (updated_at, id), strictly before that pair."""
        ...

    async def count(self, viewer: Viewer, which: Filter | None = None) -> int:
        """How many there are."""
        ...

    async def census(self) -> Mapping[tuple[MemoryType, Status, bool], int]:
        """How many there are of all users and documents, deleted ones left out: by type, status and whether
        they are in quarantine. It reads all rows."""
        ...


class MemorySearch(Protocol):
    """The memories that matter most, and those that match words."""

    async def weighed(
        self, viewer: Viewer, which: Filter | None = None, *, limit: int, lightest: bool = False
    ) -> Sequence[MemoryRow]:
        """By priority: pinned ones first, then by importance, then those that were used last. With `lightest`
        the other way round."""
        ...

    async def match(
        self, viewer: Viewer, words: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """The best matches of any of `words` (search tokens, never raw text), best first. The viewer's
        audience and `which` are applied before the ranking: what is outside of them hides nothing. Of a
        document and a stored memory with the same skill, type and reference the newer is there, a tie goes
        to the document."""
        ...

    async def completions(self, viewer: Viewer, beginning: str, which: Filter, *, most: int) -> Sequence[str]:
        """At most `most` words of the viewer's memories that begin so, the commonest first, for `match`; none
        of those that are encrypted."""
        ...

    async def reindex(self, limit: int, index: Callable[[MemoryRow], Sequence[Indexed]]) -> bool:
        """Indexes `limit` memories anew that an earlier version has indexed, as `index` says; whether there
        may be more. They are found all the time."""
        ...

    async def containing(
        self, viewer: Viewer, parts: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """Those that have one of `parts` (of Latin words, in lower case) in content or tags, the last
        changed first, with a score of 0. It reads all that the viewer sees: for when `match` finds
        nothing."""
        ...

    async def located(self, viewer: Viewer, passages: Mapping[str, int]) -> Sequence[Match]:
        """Those of these ids that the viewer sees, in their order, each with its passage of that number, with
        a score of 0. A memory that was indexed before there were passages has none."""
        ...


class ProvenanceStore(Protocol):
    """Where memories come from, and what became of them."""

    async def versions(self, viewer: Viewer, memory_id: str) -> Sequence[MemoryVersion]:
        """The oldest first; also of a deleted one. Empty when there is none, or it is not seen."""
        ...

    async def last_turns(self, viewer: Viewer, *ids: str) -> Mapping[str, str]:
        """In which turns those of `ids` were changed last that were changed in one, by id; also deleted
        ones."""
        ...

    async def evidence(self, viewer: Viewer, memory_id: str) -> Sequence[Evidence]:
        """Quotes of the viewer's user for its present content: quotes of a former content do not count, and
        quotes of other members for a household's memory are visible to these alone. The caller has checked
        that the viewer sees the memory."""
        ...

    async def links(self, memory_id: str) -> Sequence[Link]:
        """From it and to it. The caller has checked who may see it."""
        ...

    async def links_among(self, ids: Collection[str], relation: Relation) -> Sequence[Link]:
        """Those of that relation from one of `ids` to another of them. The caller has checked who may see
        them."""
        ...

    async def tombstones(
        self, viewer: Viewer, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Tombstone]:
        """Deleted memories that are there still, the last first by (deleted_at, id), strictly before that
        pair."""
        ...

    async def forgotten(self, viewer: Viewer, *, since: int, limit: int) -> Sequence[Forgotten]:
        """Memories that were deleted (and not erased) or replaced after that time (Unix ms), the last
        first."""
        ...


class Erasures(Protocol):
    """Erasure of memories for good."""

    async def erase(
        self, viewer: Viewer, memory_id: str, *, owners: Collection[str] = (), version: int | None = None
    ) -> bool:
        """Removes it for good, deleted or not: its versions, evidence, links, vectors and words, and their
        bytes where the file is the gateway's own. A server's VACUUM frees them, and its logs and backups have
        them for as long as they are kept. The sessions of `owners` may have its words: each of them is one of
        the `erasures` from then on. False when there is none that the viewer sees. Raises
        errors.MemoryChanged when a `version` is named, and it is at another one."""
        ...

    async def erasures(self, *, limit: int, after: tuple[str, str] = ("", "")) -> Sequence[tuple[str, str]]:
        """Memories that were erased, by id, each with an owner whose sessions may still have its words: in
        this order, strictly after that pair."""
        ...

    async def settle_erasure(self, memory_id: str, owner: str) -> None:
        """The owner's sessions have none of its words any more."""
        ...

    async def remove_deleted(self, before: int, limit: int) -> int:
        """Removes for good what was deleted before that time (Unix ms): the oldest, at most `limit`, and
        nothing that is held. Returns how many there were."""
        ...

    async def forget_session(self, user_id: str, session_id: str) -> int:
        """Erases all memories that are that session's, deleted or not: its id may be used again. Returns how
        many there were."""
        ...


class RememberedPersons(Protocol):
    """What is remembered of a person, wherever they are named: counted, erased, or held. `kept_households`
    are those that have other members, whose memories stay."""

    async def hold(self, user_ids: Collection[str]) -> None:
        """These, and no others, are held: what would remove something of their memories for good raises
        errors.Conflict (legal_hold), and their tombstones and versions stay, however many."""
        ...

    async def counts(self, user_id: str, kept_households: Collection[str]) -> Mapping[str, int]:
        """How many there are of each kind: of theirs, and as `household_memories` of those that stay."""
        ...

    async def erase_person(self, user_id: str, pseudonym: str, kept_households: Collection[str]) -> None:
        """Removes all that is theirs for good, as `erase` does, in many transactions: when it was broken off
        it is called again. In what stays `pseudonym` takes their place, and their quotes go."""
        ...

    async def named(self, user_id: str) -> Mapping[str, int]:
        """How many rows of each table still name them."""
        ...


class VectorStore(Protocol):
    """Vectors of memories."""

    async def vectors(self, viewer: Viewer, model: str) -> Sequence[Vector]:
        """Those of the viewer's recallable memories by that model."""
        ...

    async def missing_vectors(self, viewer: Viewer, model: str, *, limit: int) -> Sequence[MemoryRow]:
        """Recallable memories without a vector by that model for their digest."""
        ...

    async def put_vectors(self, model: str, vectors: Sequence[Vector]) -> None:
        """Replaces those of these memories by that model."""
        ...


class Profiles(Protocol):
    """A few facts about a user or a household."""

    async def profile(self, kind: ProfileKind, id: str) -> Profile | None: ...

    async def put_profile(self, profile: Profile) -> None:
        """Stores version `profile.version`. Raises errors.MemoryChanged unless the stored one is the version
        before it (0: there is none)."""
        ...


class MemoryStore(
    MemoryRecords, MemorySearch, ProvenanceStore, Erasures, RememberedPersons, VectorStore, Profiles, Protocol
):
    """All memories of all users."""

    async def put_documents(self, rows: Sequence[tuple[MemoryRow, Sequence[Indexed]]]) -> None:
        """Makes `rows` all the documents there are; with each row comes what it is found by."""
        ...

    async def documented(self) -> tuple[int, int]:
        """How many of those there are, and the characters of their contents together."""
        ...

    async def state(self) -> int:
        """A number that differs whenever something was written since, by any process: what was read may be
        kept while it stays the same. Cheap."""
        ...
