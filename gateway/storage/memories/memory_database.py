"""The words of memories in an engine's full-text index, and its database."""

from collections.abc import Sequence
from typing import Protocol, Self

from sqlalchemy import Connection, Subquery

from gateway.storage.database import Database
from gateway.storage.memories import Indexed, Passage
from gateway.storage.memories.terms import Terms


class Words(Protocol):
    """A full text index over the memories, by their number. Each memory is in one partition or several."""

    def spelled(self, terms: Terms) -> Self:
        """The same index, with its terms in that spelling."""
        ...

    def put(
        self, connection: Connection, number: int, partitions: Sequence[str], index: Sequence[Indexed]
    ) -> None:
        """The memory, or each of its passages, is found in each of `partitions` by its tokens, and nowhere
        else any more."""
        ...

    def remove(self, connection: Connection, number: int) -> None:
        """It is not found any more."""
        ...

    def purge(self, connection: Connection) -> None:
        """Begins to free the bytes of what was removed; `scrub`, after the transaction, ends it."""
        ...

    def found(
        self, connection: Connection, partitions: Sequence[str], words: Sequence[str]
    ) -> Sequence[Subquery]:
        """The memories in `partitions` that have any of `words`: columns number, score (BM25, higher is
        better) and entry, that of the index which matches best. Where all of `words` would take too long,
        first those with the rarer ones; the next is for when none of these will do. Nothing when there are
        none."""
        ...

    def completions(
        self, connection: Connection, partitions: Sequence[str], beginning: str, most: int
    ) -> list[str]:
        """At most `most` words of memories in `partitions` that begin so, the commonest first; none of those
        that are encrypted."""
        ...

    def passages(self, connection: Connection, entries: Sequence[int]) -> Sequence[Passage | None]:
        """Of which passage each of these entries is; None: of a whole memory, or of none."""
        ...


class MemoryDatabase(Database, Protocol):
    """A database that several processes use at once."""

    @property
    def words(self) -> Words: ...

    async def state(self) -> int:
        """A number that is another one after each write of any process. It may stay the same after a work
        that returned False: that has written nothing."""
        ...

    async def scrub(self) -> None:
        """Leaves no byte of what was removed in the index of words, nor in anything else that the engine
        keeps beside the tables."""
        ...
