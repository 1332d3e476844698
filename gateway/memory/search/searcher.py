"""Finds memories: by words always, by meaning where an embeddings API is configured and works."""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic, perf_counter

import structlog

from gateway.errors import EmbeddingsFailed
from gateway.events.content import Omission
from gateway.ids import now_ms
from gateway.memory.search.circuit import Circuit
from gateway.memory.search.embedding import Embedding
from gateway.memory.search.embeddings import Embeddings
from gateway.memory.search.found import Found, Hit, Query
from gateway.memory.search.fusion import fuse, select
from gateway.memory.search.vectors import Vicinity
from gateway.memory.search.words import pertinent, sought
from gateway.storage.memories import Filter, MemoryRow, Viewer
from gateway.storage.memories.contract import MemoryStore

__all__ = ["Found", "Hit", "Query", "Searcher"]

DEPTH = 50
"""Memories that each ranking is asked for."""
FILTERED = 500
"""Of the nearest memories, so many are asked for their type and time, where a query does."""
OMISSIONS = 20
"""Memories that were left out and are told of by name."""

log = structlog.get_logger(__name__)


class Searcher:
    """One per process. `embedding`, where there is one, gives memories their vectors while its `run` runs;
    without that, those are searched by meaning that have one."""

    def __init__(self, store: MemoryStore, embeddings: Embeddings | None = None) -> None:
        self._store, self._embeddings = store, embeddings
        self.embedding = Embedding(store, embeddings) if embeddings else None
        self._vicinity = Vicinity(store, embeddings.model) if embeddings else None
        self._circuit = Circuit()

    async def find(self, viewer: Viewer, query: Query) -> Found:
        """The memories that have to do with the query's text, of those that the viewer sees and the query's
        filters let through. Any text is good: one that has no words finds nothing.

        Raises errors.StorageError. An embeddings API that fails makes the result `degraded`, no more.
        """
        began = perf_counter()
        which = Filter(types=query.types, since=query.since, recallable=True)
        lexical, (by_meaning, degraded) = await asyncio.gather(
            self._by_words(viewer, query.text, which), self._by_meaning(viewer, query.text, which)
        )
        chosen, omissions, tokens = await asyncio.to_thread(_chosen, lexical, by_meaning, query)
        return Found(
            chosen,
            omissions[:OMISSIONS],
            len(omissions),
            tokens,
            degraded,
            round((perf_counter() - began) * 1000),
        )

    @property
    def asked(self) -> Mapping[tuple[str, str | None], int]:
        """How often vectors were asked for, see `Embeddings`."""
        return self._embeddings.asked if self._embeddings else {}

    async def close(self) -> None:
        """Closes the connections to the embeddings API."""
        if self._vicinity:
            await self._vicinity.settled()
        if self._embeddings:
            await self._embeddings.close()

    async def _by_words(self, viewer: Viewer, text: str, which: Filter) -> Sequence[MemoryRow]:
        question = await asyncio.to_thread(sought, text)
        if not question.words:
            return ()
        matches = await self._store.match(viewer, question.words, which, limit=DEPTH)
        return await asyncio.to_thread(pertinent, question, [match.row for match in matches])

    async def _by_meaning(self, viewer: Viewer, text: str, which: Filter) -> tuple[Sequence[MemoryRow], bool]:
        """The nearest first, and whether this is less than it should be."""
        if not (self._embeddings and self._vicinity and self.embedding and text.strip()):
            return (), False
        self.embedding.nudge(viewer)
        if not self._circuit.admits(monotonic()):
            return (), True
        try:
            vector = await self._embeddings.query(text)
            near = await self._vicinity.near(viewer, vector, most=FILTERED if _asks(which) else DEPTH)
        except EmbeddingsFailed as failed:
            self._circuit.failed(monotonic())
            log.warning("memory_search_degraded", error=failed.code, message=failed.message)
            return (), True
        self._circuit.worked()
        digests = {each.memory_id: each.digest for each in near}
        rows = await self._store.get(viewer, *digests)
        left = [row for row in rows if row.digest == digests[row.id] and _passes(row, which)]
        return left[:DEPTH], False


def _asks(which: Filter) -> bool:
    return bool(which.types) or which.since is not None


def _passes(row: MemoryRow, which: Filter) -> bool:
    return (
        row.recallable
        and (not which.types or row.type in which.types)
        and (which.since is None or row.updated_at >= which.since)
    )


def _chosen(
    lexical: Sequence[MemoryRow], by_meaning: Sequence[MemoryRow], query: Query
) -> tuple[Sequence[Hit], Sequence[Omission], int]:
    return select(
        fuse(
            lexical,
            by_meaning,
            now_ms(),
            likely_types=query.likely_types,
            likely_since=query.likely_since,
        ),
        limit=query.limit,
        budget_tokens=query.budget_tokens,
        mode=query.mode,
        known=query.known,
    )
