"""The vectors of memories, held in memory and compared one by one: no index to keep, and none to wait for."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from gateway.errors import EmbeddingsFailed, StorageError
from gateway.storage.memories import Scope, Vector, Viewer
from gateway.storage.memories.contract import MemoryStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

MAX_BYTES = 256 * 1024**2
"""Of all vectors that are kept: those of 40,000 memories with 1,536 dimensions."""
AT_ONCE_BYTES = 4 * 1024**2
"""Of the vectors of one viewer: so many are read in a few milliseconds."""
FEW = 20
"""Among fewer memories nothing can stand out: the nearest FEW_NEAR are taken."""
FEW_NEAR = 5

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near to what is looked for: its vector is of the content with that digest."""

    memory_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The vectors of one size that a viewer may see, as the store had them in one state."""

    state: int
    owners: dict[int, Sequence[Near]]
    """Whose vectors they are, in their order, by dimensions."""
    matrices: "dict[int, Vectors]"

    @property
    def size(self) -> int:
        return sum(matrix.nbytes for matrix in self.matrices.values())


class Vicinity:
    """The memories near to a vector. What was read is kept for the viewers of last. When the store has
    changed since, it is read anew, and if it is much, beside the search, which does not wait: whether what
    was found is still there, and for whom, its caller asks the store anyway."""

    def __init__(
        self,
        store: MemoryStore,
        model: str,
        *,
        most_bytes: int = MAX_BYTES,
        at_once_bytes: int = AT_ONCE_BYTES,
    ) -> None:
        self._store, self._model = store, model
        self._most, self._at_once = most_bytes, at_once_bytes
        self._shelves = OrderedDict[Hashable, _Shelf]()
        self._reading = asyncio.Lock()
        self._renewing: dict[Hashable, asyncio.Task[None]] = {}

    @property
    def kept_bytes(self) -> int:
        return sum(shelf.size for shelf in self._shelves.values())

    async def near(self, viewer: Viewer, vector: "Vectors", *, most: int) -> Sequence[Near]:
        """The memories that stand out by their nearness to `vector`, of length 1, the nearest first and at
        most so many: none when none does.

        Raises:
            errors.StorageError
            errors.EmbeddingsFailed: the vectors that are stored have other sizes.
        """
        shelf = await self._shelf(viewer)
        matrix = shelf.matrices.get(vector.size)
        if matrix is None:
            if not shelf.matrices:
                return ()
            raise EmbeddingsFailed(
                f"The embeddings API gave {vector.size} dimensions, the stored vectors have "
                f"{', '.join(map(str, shelf.matrices))}.",
                code="embeddings_invalid",
            )
        owners = shelf.owners[vector.size]
        return [owners[index] for index in await asyncio.to_thread(standing_out, matrix, vector, most)]

    async def settled(self) -> None:
        """Waits until what is being read anew has been."""
        await asyncio.gather(*self._renewing.values(), return_exceptions=True)

    async def _shelf(self, viewer: Viewer) -> _Shelf:
        seen_by = viewer.audiences if isinstance(viewer, Scope) else viewer
        shelf = self._shelves.get(seen_by)
        state = await self._store.state()
        if shelf is None or (shelf.state != state and shelf.size <= self._at_once):
            async with self._reading:
                shelf = self._shelves.get(seen_by)
                current = shelf is not None and shelf.state == await self._store.state()
                return shelf if shelf and current else await self._read(viewer, seen_by)
        self._shelves.move_to_end(seen_by)
        if shelf.state != state and seen_by not in self._renewing:
            task = asyncio.create_task(self._renew(viewer, seen_by), name="vectors of memories")
            self._renewing[seen_by] = task
            task.add_done_callback(lambda _: self._renewing.pop(seen_by))
        return shelf

    async def _renew(self, viewer: Viewer, seen_by: Hashable) -> None:
        try:
            async with self._reading:
                await self._read(viewer, seen_by)
        except StorageError as error:
            log.warning("memory_vectors_outdated", error=error.code)
        except Exception:  # a mistake of ours: nobody waits for this task
            log.exception("memory_vectors_outdated")

    async def _read(self, viewer: Viewer, seen_by: Hashable) -> _Shelf:
        state = await self._store.state()
        vectors = await self._store.vectors(viewer, self._model)
        shelf = self._shelves[seen_by] = await asyncio.to_thread(_shelved, state, vectors)
        self._shelves.move_to_end(seen_by)
        while self._shelves and self.kept_bytes > self._most:
            self._shelves.popitem(last=False)
        return shelf


def standing_out(matrix: "Vectors", vector: "Vectors", most: int) -> Sequence[int]:
    """The rows of `matrix` that are nearer to `vector` than chance makes the nearest of so many, at most
    `most`, the nearest first. All have length 1. What cosine is near differs from model to model, so the
    lower half of the cosines, which is of strangers, says how far strangers scatter; the largest of n normal
    values is expected at sqrt(2 ln n) of their deviation."""
    import numpy as np  # noqa: PLC0415 - an extra

    cosines = matrix @ vector
    count = len(cosines)
    if count < FEW:
        return [int(index) for index in np.argsort(-cosines, kind="stable")[:FEW_NEAR]]
    low, middle = np.percentile(cosines, (15.87, 50))
    least = middle + math.sqrt(2 * math.log(count)) * (middle - low)
    best = np.argpartition(-cosines, min(most, count - 1))[:most]
    ranked = best[np.argsort(-cosines[best], kind="stable")]
    return [int(index) for index in ranked if cosines[index] > least]


def _shelved(state: int, vectors: Sequence[Vector]) -> _Shelf:
    import numpy as np  # noqa: PLC0415 - an extra

    by_size: dict[int, list[Vector]] = {}
    for vector in vectors:
        by_size.setdefault(len(vector.data) // 4, []).append(vector)
    return _Shelf(
        state,
        {size: [Near(each.memory_id, each.digest) for each in some] for size, some in by_size.items()},
        {
            size: np.frombuffer(b"".join(each.data for each in some), "<f4").reshape(len(some), size)
            for size, some in by_size.items()
        },
    )
