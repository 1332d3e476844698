"""How much there is in the stores, looked at again and again. Never by whose it is."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Literal, Protocol

import structlog

from gateway.errors import StorageError
from gateway.storage.artifacts import Stock
from gateway.storage.memories import MemoryType, Status
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.counters import Labels
from gateway.telemetry.metrics.exposition import Exposition

INTERVAL = 15.0
"""Seconds between two looks, about as often as anybody asks."""
REST = 50
"""Times as long as a count took the store is left alone after it: counting has at most 2 % of a reader."""
Census = Mapping[tuple[MemoryType, Status, bool], int]

log = structlog.get_logger(__name__)


class CountedMemories(Protocol):
    """A store of memories, as far as it can be counted; see `storage.memories.MemoryStore`."""

    async def state(self) -> int: ...

    async def census(self) -> Census:
        """How many there are of all users, by type, status and whether they are in quarantine."""
        ...


class CountedArtifacts(Protocol):
    """A store of artifacts, as far as it can be counted; see `storage.artifacts.Artifacts`."""

    async def stock(self) -> Stock: ...


class CountedDeliveries(Protocol):
    """Deliveries, as far as they can be counted; see `storage.webhooks.store.Webhooks`."""

    async def counts(self) -> tuple[int, int]: ...


class StoredMemories:
    """How many memories there are, as of the last look of `run`."""

    def __init__(self, exposition: Exposition) -> None:
        self._census: Census = {}
        self._counted: int | None = None
        exposition.counters.observe(table.MEMORIES, lambda: self._census)

    async def run(self, store: CountedMemories) -> None:
        """Counts again and again, where something has changed, until it is cancelled."""
        try:
            await _count_for_ever(lambda: self._count(store), "memories_not_counted")
        finally:  # another process counts from now on
            self._census, self._counted = {}, None

    async def _count(self, store: CountedMemories) -> None:
        state = await store.state()
        if state != self._counted:
            self._census, self._counted = await store.census(), state


class StoredArtifacts:
    """How much there is, as of the last look of `run`; nothing before the first."""

    def __init__(self, exposition: Exposition) -> None:
        self._stock: Stock | None = None
        observe = exposition.counters.observe
        observe(table.ARTIFACTS, lambda: self._of_stock("artifacts"))
        observe(table.ARTIFACTS_STORED, lambda: self._of_stock("size"))
        observe(table.BLOBS_DOUBTFUL, lambda: self._of_stock("orphan_candidates"))

    async def run(self, store: CountedArtifacts) -> None:
        """Counts again and again until it is cancelled."""
        try:
            await _count_for_ever(lambda: self._count(store), "artifacts_not_counted")
        finally:  # as above
            self._stock = None

    async def _count(self, store: CountedArtifacts) -> None:
        self._stock = await store.stock()

    def _of_stock(self, field: Literal["artifacts", "size", "orphan_candidates"]) -> Mapping[Labels, int]:
        return {} if self._stock is None else {(): getattr(self._stock, field)}


class StoredDeliveries:
    """How many deliveries to webhooks are pending and dead, as of the last look of `run`."""

    def __init__(self, exposition: Exposition) -> None:
        self._counts: Mapping[Labels, int] = {}
        exposition.counters.observe(table.WEBHOOK_DELIVERIES, lambda: self._counts)

    async def run(self, store: CountedDeliveries) -> None:
        """Counts again and again until it is cancelled."""
        try:
            await _count_for_ever(lambda: self._count(store), "deliveries_not_counted")
        finally:  # as above
            self._counts = {}

    async def _count(self, store: CountedDeliveries) -> None:
        pending, dead = await store.counts()
        self._counts = {("pending",): pending, ("dead",): dead}


class StoredDatabase:
    """What the database takes, by its parts, as of the last look of `run`."""

    def __init__(self, exposition: Exposition) -> None:
        self._sizes: Mapping[Labels, int] = {}
        exposition.counters.observe(table.DATABASE_SIZE, lambda: self._sizes)

    async def run(self, sizes: Callable[[], Awaitable[Mapping[str, int]]]) -> None:
        """Measures again and again until it is cancelled. `sizes` are bytes by part."""
        try:
            await _count_for_ever(lambda: self._measure(sizes), "database_not_measured")
        finally:  # as above
            self._sizes = {}

    async def _measure(self, sizes: Callable[[], Awaitable[Mapping[str, int]]]) -> None:
        self._sizes = {(part,): size for part, size in (await sizes()).items()}


async def _count_for_ever(count: Callable[[], Awaitable[None]], failed: str) -> None:
    while True:
        began = monotonic()
        try:
            await count()
        except StorageError as error:
            log.warning(failed, code=error.code)
        await asyncio.sleep(max(INTERVAL, REST * (monotonic() - began)))
