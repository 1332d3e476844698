"""Search for memories: lexical always, by vectors if an embeddings API is configured and works."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from time import monotonic, perf_counter

import structlog

from gateway.errors import EmbeddingsFailed
from gateway.events.content import Omission
from gateway.ids import now_ms
from gateway.memory.passages import passages
from gateway.memory.search.embedding_worker import EmbeddingWorker
from gateway.memory.search.embeddings import Embeddings
from gateway.memory.search.query import Hit, MemoryQuery, SearchResult
from gateway.memory.search.ranking import fuse, select
from gateway.memory.search.relevance import QueryTerms, filter_relevant, parts_of, query_terms
from gateway.memory.search.vector_index import VectorIndex
from gateway.storage.exclusive import Exclusive
from gateway.storage.memories import Filter, Match, MemoryRow, Viewer
from gateway.storage.memories.store import MemoryStore

MAX_RANKED = 50
"""Memories of each ranking."""
MAX_FILTERED = 500
"""Neighbours that are fetched when the query filters by type or time."""
MAX_OMISSIONS = 20
"""Omissions of a result that are listed."""
FIRST_COOLDOWN, MAX_COOLDOWN = 5.0, 300.0
"""Seconds without an attempt after a failure: doubled each time, up to the maximum."""

log = structlog.get_logger(__name__)


class Searcher:
    """One per process. `embedding`, if present, embeds memories while its `run` runs; without it only
    memories that have a vector are found by vectors."""

    def __init__(
        self, store: MemoryStore, embeddings: Embeddings | None = None, exclusive: Exclusive | None = None
    ) -> None:
        self._store, self._embeddings = store, embeddings
        self.embedding = EmbeddingWorker(store, embeddings, exclusive) if embeddings else None
        self._index = VectorIndex(store, embeddings.model) if embeddings else None
        self._breaker = CircuitBreaker()

    async def find(self, viewer: Viewer, query: MemoryQuery) -> SearchResult:
        """The memories relevant to the query's text, among those that the viewer sees and the query's filters
        accept. A text without words finds nothing.

        Raises errors.StorageError. A failing embeddings API only makes the result `degraded`.
        """
        began = perf_counter()
        which = Filter(types=query.types, since=query.since, recallable=True)
        question = await asyncio.to_thread(query_terms, query.text)
        lexical, (by_meaning, degraded) = await asyncio.gather(
            self._by_words(viewer, question, query, which), self._by_meaning(viewer, query, which)
        )
        chosen, omissions, tokens = await asyncio.to_thread(_rank, lexical, by_meaning, query)
        return SearchResult(
            chosen,
            omissions[:MAX_OMISSIONS],
            sum(each.reason != "too_long" for each in omissions),
            tokens,
            degraded,
            round((perf_counter() - began) * 1000),
        )

    @property
    def asked(self) -> Mapping[tuple[str, str | None], int]:
        """The requests for vectors, see `Embeddings`."""
        return self._embeddings.asked if self._embeddings else {}

    async def close(self) -> None:
        """Closes the connections to the embeddings API."""
        if self._index:
            await self._index.settled()
        if self._embeddings:
            await self._embeddings.close()

    async def _by_words(
        self, viewer: Viewer, question: QueryTerms, query: MemoryQuery, which: Filter
    ) -> Sequence[Match]:
        if not question.words:
            return ()
        matches = await self._store.match(viewer, question.words, which, limit=MAX_RANKED)
        found = await asyncio.to_thread(filter_relevant, question, matches, plainly=query.plainly)
        if found or query.plainly or not (parts := parts_of(question)):
            return found
        matches = await self._store.containing(viewer, parts, which, limit=MAX_RANKED)
        return await asyncio.to_thread(filter_relevant, question, matches, by_parts=True)

    async def _by_meaning(
        self, viewer: Viewer, query: MemoryQuery, which: Filter
    ) -> tuple[Sequence[Match], bool]:
        """The nearest first, of a long memory its nearest passage; and whether vector search failed. Where
        the text has to be answered plainly the API is not waited for: what is nearest by meaning is always
        there, and may be far."""
        if not (self._embeddings and self._index and self.embedding and query.text.strip()):
            return (), False
        self.embedding.enqueue(viewer)
        if query.plainly:
            return (), False
        if not self._breaker.allow(monotonic()):
            return (), True
        try:
            vector = await self._embeddings.query(query.text)
            most = MAX_FILTERED if which.types or which.since is not None else MAX_RANKED
            neighbours = await self._index.neighbours(viewer, vector, most=most)
        except EmbeddingsFailed as failed:
            self._breaker.record_failure(monotonic())
            log.warning("memory_search_degraded", error=failed.code, message=failed.message)
            return (), True
        self._breaker.record_success()
        near = {each.memory_id: each for each in neighbours}
        numbers = {each.memory_id: each.passage for each in neighbours}
        left = [
            (match, numbers[match.row.id])
            for match in await self._store.located(viewer, numbers)
            if match.row.digest == near[match.row.id].digest and _matches_filter(match.row, which)
        ]
        return await asyncio.to_thread(_located, left[:MAX_RANKED]), False


class CircuitBreaker:
    """Callers do not wait for a service that fails: after a cool-down one attempt is allowed, and the others
    wait for its result. Times are seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._cooldown = 0.0
        self._open_until = 0.0

    def allow(self, now: float) -> bool:
        """Whether an attempt may be made now; `record_failure` or `record_success` must follow it."""
        if now < self._open_until:
            return False
        self._open_until = now + self._cooldown
        return True

    def record_failure(self, now: float) -> None:
        self._cooldown = min(max(FIRST_COOLDOWN, 2 * self._cooldown), MAX_COOLDOWN)
        self._open_until = now + self._cooldown

    def record_success(self) -> None:
        self._cooldown = self._open_until = 0.0


def _matches_filter(row: MemoryRow, which: Filter) -> bool:
    return (
        row.recallable
        and (not which.types or row.type in which.types)
        and (which.since is None or row.updated_at >= which.since)
    )


def _located(matches: Sequence[tuple[Match, int]]) -> Sequence[Match]:
    """Each with its passage of that number, which is not in the index of an older version."""
    return [
        match
        if match.passage or not number
        else replace(match, passage=next(islice(passages(match.row.content), number - 1, None), None))
        for match, number in matches
    ]


def _rank(
    lexical: Sequence[Match], by_meaning: Sequence[Match], query: MemoryQuery
) -> tuple[Sequence[Hit], Sequence[Omission], int]:
    return select(fuse(lexical, by_meaning, query, now_ms()), query)
