"""The background work of a searcher, for the length of a test."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.memory.search.embedding_worker import EmbeddingWorker
from gateway.memory.search.searcher import Searcher
from tests.loopback import TIMEOUT


@asynccontextmanager
async def embedding(searcher: Searcher | EmbeddingWorker) -> AsyncGenerator[EmbeddingWorker]:
    found = searcher.embedding if isinstance(searcher, Searcher) else searcher
    assert found is not None
    task = asyncio.create_task(found.run())
    try:
        async with asyncio.timeout(TIMEOUT):
            yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
