"""The background worker that embeds memories, once a search has asked for them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from gateway.backlog import Backlog
from gateway.errors import EmbeddingsFailed, GatewayError
from gateway.memory.passages import passages
from gateway.memory.search.embeddings import BATCH, BATCH_CHARACTERS, TEXT_CHARACTERS, Embeddings
from gateway.memory.secret_detection import masked_row
from gateway.storage.exclusive import Exclusive, LocalExclusive
from gateway.storage.memories import MemoryRow, Vector, Viewer
from gateway.storage.memories.store import MemoryStore

MAX_WAITING = 1000
"""Queued viewers; one that does not fit is queued again by its next search."""
PAUSE = 1.0
"""Seconds between two queries for missing vectors: in a large memory each takes some time."""
MAX_REFUSED = 1000
"""Refused contents that are not tried again before the next start."""
FIRST_RETRY, LAST_RETRY = 1.0, 300.0
"""Seconds after a failure until the next attempt: doubled each time, up to the last."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Embedded:
    """An embedded text of a memory: its content (number 0), or a passage of a long one, under the names of
    the sections it is in."""

    row: MemoryRow
    numbers: Sequence[int]
    texts: Sequence[str]

    @classmethod
    def of(cls, row: MemoryRow) -> "Embedded":
        content, names = masked_row(row).content, [row.reference] if row.reference else []
        if not (parts := passages(content)):
            return cls(row, [0], [content])
        texts = ["\n".join((*names, *part.headings, content[part.begin : part.end])) for part in parts]
        return cls(row, [part.number for part in parts], texts)


class EmbeddingWorker:
    """One per process, and a lock lets one process at a time embed. Works while `run` runs."""

    def __init__(
        self,
        store: MemoryStore,
        embeddings: Embeddings,
        exclusive: Exclusive | None = None,
        *,
        pause: float = PAUSE,
        first_retry: float = FIRST_RETRY,
    ) -> None:
        self._store, self._embeddings = store, embeddings
        self._exclusive = exclusive or LocalExclusive()
        self._pause = pause
        self._backlog = Backlog[Viewer, None](
            limit=MAX_WAITING, first_retry=first_retry, last_retry=LAST_RETRY
        )
        self._complete: dict[Viewer, int] = {}  # the store's state in which no vector was missing
        self._refused: dict[str, None] = {}  # digests

    def enqueue(self, viewer: Viewer) -> None:
        """Queues the viewer: some of its memories may have no vector. Never raises and never waits."""
        self._backlog.add(viewer, None)

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            await self._backlog.ready()
            (viewer,) = self._backlog.take()
            try:
                await self._complete_for(viewer)
            except Exception as error:  # noqa: BLE001 - memories are still found by words
                code = error.code if isinstance(error, GatewayError) else type(error).__name__
                self._backlog.add(viewer, None)
                log.warning("embedding_failed", error=code, retry_in=self._backlog.pause())
            else:
                self._backlog.go_on()
                self._backlog.rest(self._pause)

    async def settled(self) -> None:
        """Returns when the queue is empty."""
        await self._backlog.settled()

    async def _complete_for(self, viewer: Viewer) -> None:
        while (state := await self._store.state()) != self._complete.get(viewer):
            if await self._missing(viewer):
                # Nothing is paid for twice: what another process has embedded meanwhile is there then.
                async with self._exclusive.hold("vectors"):
                    if rows := await self._missing(viewer):
                        await self._embed(await asyncio.to_thread(next_batch, rows))
                continue
            if len(self._complete) >= MAX_WAITING:
                self._complete.clear()
            self._complete[viewer] = state

    async def _missing(self, viewer: Viewer) -> Sequence[MemoryRow]:
        limit = BATCH + len(self._refused)
        rows = await self._store.missing_vectors(viewer, self._embeddings.model, limit=limit)
        return [row for row in rows if row.digest not in self._refused]

    async def _embed(self, batch: Sequence[Embedded]) -> None:
        texts = [text for each in batch for text in each.texts]
        try:
            made = [await self._embeddings.documents(some) for some in requests(texts)]
        except EmbeddingsFailed as failed:
            if failed.code != "embeddings_refused" or len(self._refused) >= MAX_REFUSED:
                raise
            if len(batch) == 1:
                self._refused[batch[0].row.digest] = None
                log.warning("embedding_refused", memory_id=batch[0].row.id)
                return
            for each in batch:  # one refused text must not block the others
                await self._embed([each])
            return
        vectors = [vector for some in made for vector in some]
        numbers = [(each.row, number) for each in batch for number in each.numbers]
        found = [
            Vector(row.id, row.digest, vector.tobytes(), number)
            for (row, number), vector in zip(numbers, vectors, strict=True)
        ]
        await self._store.put_vectors(self._embeddings.model, found)


def next_batch(rows: Sequence[MemoryRow]) -> Sequence[Embedded]:
    """The first rows that fit one request: at least one, which may need several."""
    batch: list[Embedded] = []
    for row in rows:
        batch.append(Embedded.of(row))
        if len(batch) > 1 and len(requests([text for each in batch for text in each.texts])) > 1:
            return batch[:-1]
    return batch


def requests(texts: Sequence[str]) -> list[list[str]]:
    """The texts, as many in each request as fit."""
    found: list[list[str]] = []
    characters = 0
    for text in texts:
        characters += min(len(text), TEXT_CHARACTERS)
        if not found or len(found[-1]) == BATCH or characters > BATCH_CHARACTERS:
            found.append([])
            characters = min(len(text), TEXT_CHARACTERS)
        found[-1].append(text)
    return found
