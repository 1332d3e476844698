"""What runs in one process of all: the leader, elected by service/leader.py."""

from collections.abc import Iterator
from functools import partial

from gateway.history.former_words import WordsRenewal
from gateway.history.indexer import Indexer
from gateway.lifespan.gateway_and_workers import Service
from gateway.lifespan.model_memory_tools import Abilities
from gateway.lifespan.process import Process
from gateway.memory.reindexing import MemoryReindexing
from gateway.service.purge_worker import PurgeWorker
from gateway.service.upkeep import Upkeep
from gateway.supervisor import Work


def leader_tasks(
    process: Process, abilities: Abilities, service: Service, indexer: Indexer
) -> Iterator[tuple[Work, str]]:
    """Each with its name in the log."""
    storage, gateway, counts = process.storage, service.gateway, process.metrics
    upkeep = Upkeep(gateway.deps, service.archiver, gateway.retention.applied)
    yield upkeep.run, "upkeep"
    yield service.eraser.run, "erasure of persons"
    yield service.access_ending.run, "access that has ended"
    yield indexer.look, "sessions to index"
    yield WordsRenewal(storage.former_words).run, "words of an earlier version"
    yield service.learning.look, "sessions to learn from"
    yield PurgeWorker(storage.purges).run, "purge of rows"
    yield service.webhooks.sweep, "old deliveries"
    yield gateway.audit.sweep, "old entries of the audit"
    yield gateway.limits.sweep, "limits"
    yield partial(counts.artifacts.run, storage.artifacts), "count of artifacts"
    yield partial(counts.deliveries.run, storage.webhooks), "count of deliveries"
    yield partial(counts.database.run, storage.sizes), "size of the database"
    if abilities.memory is not None:
        yield MemoryReindexing(abilities.memory.store).run, "memories to index anew"
        yield partial(counts.memories.run, abilities.memory.store), "count of memories"
    if abilities.documents is not None:
        yield abilities.documents.watch, "documents"
