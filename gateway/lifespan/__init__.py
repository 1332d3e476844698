"""What lives as long as the process: opened before the first request, closed after the last turn.

process              telemetry, background tasks, the databases
model_memory_tools   what turns use: the model, the memory, skills and MCP servers, documents
gateway_and_workers  the operations of the gateway, and the workers beside it
background_tasks     what runs meanwhile, in each process
leader_tasks         and in one of them
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import Context

import structlog
from starlette.applications import Starlette

from gateway.lifespan.background_tasks import run_from_the_start, run_once_recovered
from gateway.lifespan.gateway_and_workers import open_service
from gateway.lifespan.model_memory_tools import open_abilities
from gateway.lifespan.process import open_process
from gateway.service.gateway import Gateway

log = structlog.get_logger(__name__)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Puts what requests need into `app.state`: deps, gateway, telemetry, supervisor, indexer, leader,
    audit, request_rates (None: no limits are set), wheel, page_sign_in, personal_data, being_erased,
    begin_shutdown, and for /readyz the `checks` by name and `newer_schema`; for who
    looks after it `sizes` of the database and `started_at` (Unix milliseconds)."""
    async with AsyncExitStack() as stack:
        process = await open_process(app, stack)
        abilities = await open_abilities(process)
        service = await open_service(process, abilities)
        app.state.begin_shutdown = begin_shutdown = _shutdown_of(
            service.gateway, process.settings.shutdown_grace
        )
        await run_from_the_start(process, abilities, service)
        await abilities.look_around(process)
        await service.gateway.recover()
        await run_once_recovered(process, abilities, service)
        try:
            yield
        finally:
            await begin_shutdown()
            await service.memory_writes.close()
            await service.learning.close()


def _shutdown_of(gateway: Gateway, grace: float) -> Callable[[], asyncio.Task[None]]:
    """What begins the shutdown, once, and returns its task."""
    draining: list[asyncio.Task[None]] = []

    def begin() -> None:
        log.info("draining", grace=grace)
        draining.append(asyncio.create_task(gateway.drain(grace)))

    def begin_shutdown() -> asyncio.Task[None]:
        if not draining:
            # A signal interrupts whatever request is at work: its ids are none of the process's.
            Context().run(begin)
        return draining[0]

    return begin_shutdown
