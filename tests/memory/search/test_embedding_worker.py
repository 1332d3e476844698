"""The background work that gives memories their vectors."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gateway.errors import EmbeddingsFailed
from gateway.memory.changes import Attribution
from gateway.memory.documents.document import document_of
from gateway.memory.memories import Memories
from gateway.memory.passages import passages
from gateway.memory.search.embedding_worker import EmbeddingWorker, next_batch
from gateway.memory.search.embeddings import BATCH, BATCH_CHARACTERS, Embeddings
from gateway.memory.search.vector_index import (
    MAX_NEIGHBOURS_OF_FEW,
    MIN_SAMPLE,
    Neighbour,
    VectorIndex,
    outliers,
)
from gateway.memory.validation import indexed
from gateway.storage.memories import Vector, Viewer
from gateway.storage.memories.store import MemoryStore
from gateway.storage.postgres.exclusive import PostgresExclusive
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.loopback import TIMEOUT
from tests.memory.search.embedding import embedding
from tests.memory.search.saving import ANN, made, put, save
from tests.memory.search.vector_server import DIMENSIONS, VectorServer
from tests.postgres import database_in, on_postgres
from tests.product import ServerAddress
from tests.storage.remembering import postgres_memories

pytestmark = pytest.mark.anyio


@pytest.fixture
async def embeddings(server: VectorServer) -> AsyncGenerator[Embeddings]:
    embeddings = Embeddings(server.url, "m", timeout=TIMEOUT)
    yield embeddings
    await embeddings.close()


async def missing_vectors(store: MemoryStore) -> int:
    return len(await store.missing_vectors(ANN, "m", limit=1000))


async def test_each_memory_is_embedded_once(
    store: MemoryStore, server: VectorServer, embeddings: Embeddings
) -> None:
    """In batches; and when there is nothing new, nothing is asked."""
    await put(store, *(made(f"记忆 number {number}") for number in range(150)))
    async with embedding(EmbeddingWorker(store, embeddings, pause=0)) as work:
        work.enqueue(ANN)
        await work.settled()
        work.enqueue(ANN)
        await work.settled()

    assert await missing_vectors(store) == 0
    assert [len(body["input"]) for body in server.asked] == [BATCH, BATCH, 150 - 2 * BATCH]
    assert len(set(server.texts)) == len(server.texts) == 150


@on_postgres
async def test_two_replicas_pay_for_each_memory_once(
    tmp_path: Path, server: VectorServer, embeddings: Embeddings
) -> None:
    """Each has the database itself, and both hear of the memories at once."""
    direct = ServerAddress(database_in(tmp_path))
    async with (
        postgres_memories(tmp_path) as one,
        postgres_memories(tmp_path) as two,
        PostgresExclusive(direct) as first,
        PostgresExclusive(direct) as second,
        embedding(EmbeddingWorker(one, embeddings, first, pause=0)) as here,
        embedding(EmbeddingWorker(two, embeddings, second, pause=0)) as there,
    ):
        await put(one, *(made(f"记忆 number {number}") for number in range(150)))
        here.enqueue(ANN)
        there.enqueue(ANN)
        await asyncio.gather(here.settled(), there.settled())
        assert await one.missing_vectors(ANN, "m", limit=1000) == []

    assert len(set(server.texts)) == len(server.texts) == 150


async def test_what_was_changed_is_embedded_again(
    store: MemoryStore, server: VectorServer, embeddings: Embeddings
) -> None:
    memory_id = await save(store, "养了一只猫")
    async with embedding(EmbeddingWorker(store, embeddings, pause=0)) as work:
        work.enqueue(ANN)
        await work.settled()
        await Memories(store, most=10).edit(
            ANN, memory_id, {"content": "养了两只狗"}, Attribution("ann", "so")
        )
        work.enqueue(ANN)
        await work.settled()

    assert server.texts == ["养了一只猫", "养了两只狗"]
    assert len(await store.vectors(ANN, "m")) == 1


async def test_a_failure_is_tried_again(
    store: MemoryStore, server: VectorServer, embeddings: Embeddings
) -> None:
    """As often as need be, and only the log says so."""
    await save(store, "养了一只猫")
    server.failures = 3
    async with embedding(EmbeddingWorker(store, embeddings, first_retry=0)) as work:
        work.enqueue(ANN)
        await work.settled()

    assert await missing_vectors(store) == 0
    assert len(server.asked) == 4


async def test_one_that_is_refused_does_not_keep_others_back(
    store: MemoryStore, server: VectorServer, embeddings: Embeddings
) -> None:
    """It is not tried again either, and is still found by words."""
    server.poison = "bad"
    await put(store, *(made(f"{'bad' if number == 3 else 'good'} memory {number}") for number in range(9)))
    async with embedding(EmbeddingWorker(store, embeddings, pause=0)) as work:
        work.enqueue(ANN)
        await work.settled()
        assert await missing_vectors(store) == 1
        asked = len(server.asked)
        await save(store, "another good one")
        work.enqueue(ANN)
        await work.settled()

    assert await missing_vectors(store) == 1
    assert len(server.asked) == asked + 1


async def test_a_memory_of_many_passages_is_embedded_in_several_requests(
    store: MemoryStore, server: VectorServer, embeddings: Embeddings
) -> None:
    """And stored at once, so that it is never found by some of them only."""
    content = "\n\n".join(f"Page {number}. " + "They walk on. " * 60 for number in range(150))
    row = document_of({"type": "reference", "skill": "novel", "content": content}, 1).as_row
    await store.put_documents([(row, indexed(row))])
    async with embedding(EmbeddingWorker(store, embeddings, pause=0)) as work:
        work.enqueue(ANN)
        await work.settled()

    vectors = await store.vectors(ANN, "m")
    assert [each.passage for each in vectors] == [each.number for each in passages(content)]
    assert [len(body["input"]) for body in server.asked] == [BATCH, BATCH, len(vectors) - 2 * BATCH]


def test_a_batch_is_bounded_in_characters() -> None:
    """And is never empty."""
    rows = [made("很长的记忆" * 1000) for _ in range(40)]

    assert 1 < len(next_batch(rows)) <= BATCH_CHARACTERS / 5000
    assert len(next_batch(rows[:1])) == 1
    assert len(next_batch([made(str(number)) for number in range(500)])) == BATCH


class Counted(MemoryStore):
    """A store that counts how often all vectors are read."""

    readings = 0

    async def vectors(self, viewer: Viewer, model: str) -> Sequence[Vector]:
        self.readings += 1
        return await super().vectors(viewer, model)


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.array(numbers, dtype="<f4")
    return (vector / np.linalg.norm(vector)).astype("<f4")


@pytest.mark.parametrize("at_once", [0, 1000])
async def test_vectors_are_read_once_while_nothing_is_written(
    memory_database: SqliteMemoryDatabase, at_once: int
) -> None:
    """And again after any writing: few at the next search, many beside it."""
    store, one, other = Counted(memory_database), made("one"), made("other")
    await put(store, one, other)
    await store.put_vectors("m", [Vector(one.id, one.digest, unit(1, 0).tobytes())])
    vicinity = VectorIndex(store, "m", max_inline_bytes=at_once)

    assert await vicinity.neighbours(ANN, unit(1, 0), most=50) == [Neighbour(one.id, one.digest)]
    assert await vicinity.neighbours(ANN, unit(0, 1), most=50) == [Neighbour(one.id, one.digest)]
    assert store.readings == 1
    await store.put_vectors("m", [Vector(other.id, other.digest, unit(0, 1).tobytes())])
    after = await asyncio.gather(*(vicinity.neighbours(ANN, unit(0, 1), most=50) for _ in range(5)))
    assert [len(near) for near in after] == [2 if at_once else 1] * 5
    await vicinity.settled()
    assert [near.memory_id for near in await vicinity.neighbours(ANN, unit(0, 1), most=50)] == [
        other.id,
        one.id,
    ]
    assert store.readings == 2


async def test_many_who_search_first_read_once(memory_database: SqliteMemoryDatabase) -> None:
    store = Counted(memory_database)
    vicinity = VectorIndex(store, "m")
    await asyncio.gather(*(vicinity.neighbours(ANN, unit(1, 0), most=50) for _ in range(8)))

    assert store.readings == 1


async def test_what_is_kept_of_vectors_is_bounded(memory_database: SqliteMemoryDatabase) -> None:
    """The viewer who has not searched for longest is read anew."""
    store, row = Counted(memory_database), made("one")
    await put(store, row)
    await store.put_vectors("m", [Vector(row.id, row.digest, unit(1, 0, 0).tobytes())])
    vicinity = VectorIndex(store, "m", max_bytes=30)
    viewers = [ANN._replace(session_id=f"s{number}") for number in range(4)]
    for viewer in viewers:
        assert len(await vicinity.neighbours(viewer, unit(1, 0, 0), most=50)) == 1

    assert vicinity.cached_bytes == 24
    await vicinity.neighbours(viewers[-1], unit(1, 0, 0), most=50)
    assert store.readings == 4
    await vicinity.neighbours(viewers[0], unit(1, 0, 0), most=50)
    assert store.readings == 5


async def test_vectors_of_another_size_are_a_failure_with_a_name(store: MemoryStore) -> None:
    row = made("one")
    await put(store, row)
    vicinity = VectorIndex(store, "m")
    assert await vicinity.neighbours(ANN, unit(1, 0), most=50) == ()
    await store.put_vectors("m", [Vector(row.id, row.digest, unit(1, 0, 0).tobytes())])
    with pytest.raises(EmbeddingsFailed, match="gave 2 dimensions, the stored vectors have 3"):
        await vicinity.neighbours(ANN, unit(1, 0), most=50)


@pytest.mark.parametrize("count", [MIN_SAMPLE, 200, 10_000])
def test_only_what_stands_out_is_near(count: int) -> None:
    """Among strangers that scatter by chance few are taken for near, and the one that is comes first."""
    rng = np.random.default_rng(count)
    matrix = rng.normal(size=(count, DIMENSIONS)).astype("<f4")
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    strays = [len(outliers(matrix, unit(*rng.normal(size=DIMENSIONS)), 50)) for _ in range(50)]
    wanted = matrix[7] + unit(*rng.normal(size=DIMENSIONS)) / 2

    assert sum(strays) < 50
    assert outliers(matrix, wanted / np.linalg.norm(wanted), 50)[0] == 7


def test_a_crowd_that_means_the_same_is_bounded_and_a_few_are_all_near() -> None:
    crowd = np.array([unit(1, number / 10_000, 0) for number in range(100)] + [unit(0, 0, 1)] * 150)

    assert len(outliers(crowd, unit(1, 0, 0), 30)) == 30
    assert list(outliers(crowd[: MAX_NEIGHBOURS_OF_FEW - 2], unit(1, 0, 0), 30)) == [0, 1, 2]
