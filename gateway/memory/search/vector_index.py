"""A vector index in memory, by exhaustive comparison: nothing to build and nothing to maintain."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from gateway.errors import EmbeddingsFailed, StorageError
from gateway.storage.memories import Scope, Vector, Viewer
from gateway.storage.memories.store import MemoryStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

MAX_BYTES = 256 * 1024**2
"""Of all cached vectors: those of 40,000 memories with 1,536 dimensions."""
MAX_INLINE_BYTES = 4 * 1024**2
"""Of the vectors of one viewer that a search waits for: they are read in a few milliseconds."""
PASSAGES = 4
"""Passages of one memory that may stand before another memory, on average."""
MIN_SAMPLE = 20
"""Vectors from which an outlier threshold is estimated: of fewer MAX_NEIGHBOURS_OF_FEW are taken."""
MAX_NEIGHBOURS_OF_FEW = 5

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near a query; its vector is of the content with that digest, or of that passage of it."""

    memory_id: str
    digest: str
    passage: int = 0


@dataclass(frozen=True, slots=True)
class _CachedVectors:
    """The vectors that a viewer may see, in one state of the store."""

    state: int
    owners: dict[int, Sequence[Neighbour]]
    """The memories of the rows of each matrix, by dimensions."""
    matrices: "dict[int, Vectors]"

    @property
    def size(self) -> int:
        return sum(matrix.nbytes for matrix in self.matrices.values())


class VectorIndex:
    """Nearest-neighbour search with a cache for the most recent viewers. When the store has changed, the
    vectors are read again; many of them in the background, while the search uses the old ones: its caller
    checks existence and visibility in the store anyway."""

    def __init__(
        self,
        store: MemoryStore,
        model: str,
        *,
        max_bytes: int = MAX_BYTES,
        max_inline_bytes: int = MAX_INLINE_BYTES,
    ) -> None:
        self._store, self._model = store, model
        self._most, self._max_inline = max_bytes, max_inline_bytes
        self._cache = OrderedDict[Hashable, _CachedVectors]()
        self._reading = asyncio.Lock()
        self._refreshing: dict[Hashable, asyncio.Task[None]] = {}

    @property
    def cached_bytes(self) -> int:
        return sum(cached.size for cached in self._cache.values())

    async def neighbours(self, viewer: Viewer, vector: "Vectors", *, most: int) -> Sequence[Neighbour]:
        """The neighbours of `vector` (of length 1) above the outlier threshold, at most `most`, the nearest
        first, each memory once; possibly none.

        Raises:
            errors.StorageError
            errors.EmbeddingsFailed: the vectors that are stored have other sizes.
        """
        cached = await self._cached(viewer)
        matrix = cached.matrices.get(vector.size)
        if matrix is None:
            if not cached.matrices:
                return ()
            raise EmbeddingsFailed(
                f"The embeddings API gave {vector.size} dimensions, the stored vectors have "
                f"{', '.join(map(str, cached.matrices))}.",
                code="embeddings_invalid",
            )
        owners = cached.owners[vector.size]
        nearest = dict[str, Neighbour]()
        for index in await asyncio.to_thread(outliers, matrix, vector, PASSAGES * most):
            nearest.setdefault(owners[index].memory_id, owners[index])
        return list(nearest.values())[:most]

    async def settled(self) -> None:
        """Waits for the background reads."""
        await asyncio.gather(*self._refreshing.values(), return_exceptions=True)

    async def _cached(self, viewer: Viewer) -> _CachedVectors:
        key = viewer.audiences if isinstance(viewer, Scope) else viewer
        cached = self._cache.get(key)
        state = await self._store.state()
        if cached is None or (cached.state != state and cached.size <= self._max_inline):
            async with self._reading:
                cached = self._cache.get(key)
                current = cached is not None and cached.state == await self._store.state()
                return cached if cached and current else await self._read(viewer, key)
        self._cache.move_to_end(key)
        if cached.state != state and key not in self._refreshing:
            task = asyncio.create_task(
                self._refresh(viewer, key), name="vectors of memories", context=Context()
            )
            self._refreshing[key] = task
            task.add_done_callback(lambda _: self._refreshing.pop(key))
        return cached

    async def _refresh(self, viewer: Viewer, key: Hashable) -> None:
        try:
            async with self._reading:
                await self._read(viewer, key)
        except StorageError as error:
            log.warning("memory_vectors_outdated", error=error.code)
        except Exception:  # a mistake of ours: no caller waits for this task
            log.exception("memory_vectors_outdated")

    async def _read(self, viewer: Viewer, key: Hashable) -> _CachedVectors:
        state = await self._store.state()
        vectors = await self._store.vectors(viewer, self._model)
        cached = self._cache[key] = await asyncio.to_thread(_to_matrices, state, vectors)
        self._cache.move_to_end(key)
        while self._cache and self.cached_bytes > self._most:
            self._cache.popitem(last=False)
        return cached


def outliers(matrix: "Vectors", vector: "Vectors", most: int) -> Sequence[int]:
    """The rows of `matrix` with a higher cosine to `vector` than the expected maximum of unrelated rows, at
    most `most`, the nearest first. All have length 1. Cosines differ from model to model, so the deviation of
    unrelated rows is estimated from the lower half of the cosines; the maximum of n normal values is expected
    at sqrt(2 ln n) deviations."""
    import numpy as np  # noqa: PLC0415 - an extra

    cosines = matrix @ vector
    count = len(cosines)
    if count < MIN_SAMPLE:
        return [int(index) for index in np.argsort(-cosines, kind="stable")[:MAX_NEIGHBOURS_OF_FEW]]
    low, middle = np.percentile(cosines, (15.87, 50))
    least = middle + math.sqrt(2 * math.log(count)) * (middle - low)
    best = np.argpartition(-cosines, min(most, count - 1))[:most]
    ranked = best[np.argsort(-cosines[best], kind="stable")]
    return [int(index) for index in ranked if cosines[index] > least]


def _to_matrices(state: int, vectors: Sequence[Vector]) -> _CachedVectors:
    import numpy as np  # noqa: PLC0415 - an extra

    by_size: dict[int, list[Vector]] = {}
    for vector in vectors:
        by_size.setdefault(len(vector.data) // 4, []).append(vector)
    return _CachedVectors(
        state,
        {
            size: [Neighbour(each.memory_id, each.digest, each.passage) for each in some]
            for size, some in by_size.items()
        },
        {
            size: np.frombuffer(b"".join(each.data for each in some), "<f4").reshape(len(some), size)
            for size, some in by_size.items()
        },
    )
