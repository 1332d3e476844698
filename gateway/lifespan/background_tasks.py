"""What runs while the process lives, in each process. leader_tasks.py has what runs in one of them."""

import asyncio
from functools import partial

from gateway.auth.authentication import Authentication
from gateway.history.indexer import Indexer
from gateway.ids import new_replica_id
from gateway.lifespan.database_files import database_files, watch_files
from gateway.lifespan.gateway_and_workers import Service
from gateway.lifespan.leader_tasks import leader_tasks
from gateway.lifespan.model_memory_tools import Abilities
from gateway.lifespan.process import Process
from gateway.model.base import Model
from gateway.service.leader import Leader
from gateway.service.schedule_results import ScheduleResults
from gateway.service.schedules import ScheduleWorker
from gateway.storage.blobs.addresses import is_bucket
from gateway.storage.schedules import KEY_REVOKED, ScheduleRow
from gateway.telemetry.metrics import instrument_table as table
from gateway.tools.arguments import prepare_checks
from gateway.wiring import try_bucket, watch_blob_folder


async def run_from_the_start(process: Process, abilities: Abilities, service: Service) -> None:
    """What turns of a former process need already, which go on when these are recovered."""
    settings, storage, learning = process.settings, process.storage, service.learning
    storage.bus.watch(learning.watch)
    if watches := database_files(storage, abilities.memory):
        await process.run(partial(watch_files, watches), "database files")
    await process.run(abilities.skills.watch, "skills")
    await process.run(service.memory_writes.run, "memory suggestions")
    await process.run(lambda: learning.run(service.events), "learning")
    await process.run(learning.mark_begun, "sessions with turns")
    await process.run(service.titles.run, "titles")
    if is_bucket(settings.blob_url):
        await process.run(partial(try_bucket, settings, storage, new_replica_id()), "blob store")
    else:
        await process.run(partial(watch_blob_folder, settings), "blob store")


async def run_once_recovered(process: Process, abilities: Abilities, service: Service) -> None:
    """All the rest: no turn is without an owner any more."""
    state, storage, gateway = process.app.state, process.storage, service.gateway
    state.indexer = indexer = Indexer(storage.search)
    storage.bus.watch(indexer.watch)
    work = tuple(leader_tasks(process, abilities, service, indexer))
    state.leader = leader = Leader(storage.exclusive, process.supervisor, work)
    results = ScheduleResults(storage.schedules, gateway.schedules.destinations)
    await process.run(gateway.heartbeat.run, "ownership of turns")
    await process.run(service.open_access.run, "what access is open")
    await process.run(_schedules(process, service, results).run, "schedules")
    await process.run(results.run, "results of schedules")
    # Not before: a turn that a deadline wakes has an owner.
    await process.run(gateway.approvals.watch_deadlines, "deadlines of approvals")
    await process.run(indexer.run, "search index")
    await process.run(leader.run, "leader")
    await process.run(service.webhooks.run, "webhooks")
    await process.run(state.being_erased.run, "who is being erased")
    # Beside whatever comes: who serves need not wait for it, only a call that comes at once.
    process.stack.callback(asyncio.create_task(_prepare(abilities.model)).cancel)


def _schedules(process: Process, service: Service, results: ScheduleResults) -> ScheduleWorker:
    gateway, metrics = service.gateway, process.metrics
    authentication: Authentication = process.app.state.authentication

    async def refusal(row: ScheduleRow) -> str | None:
        if not await authentication.knows(row.owner):
            return "owner_gone"
        return None if await service.access_ending.standing.has_key(row.key_id) else KEY_REVOKED

    worker = ScheduleWorker(
        gateway.deps,
        gateway.in_flight,
        process.storage.schedules,
        service.events,
        metrics.schedules,
        limits=gateway.limits,
        refusal=refusal,
        undelivered=results.wake,
    )
    metrics.observe(table.SCHEDULE_OVERDUE, lambda: worker.overdue)
    metrics.observe(table.SCHEDULES_HELD_UP, lambda: worker.held_up)
    return worker


async def _prepare(model: Model) -> None:
    await model.prepare()
    await asyncio.to_thread(prepare_checks)
