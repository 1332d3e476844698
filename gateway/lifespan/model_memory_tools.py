"""What turns use: the model, the memory, artifacts, skills and MCP servers, documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.gauges import measure_documents
from gateway.lifespan.process import Process
from gateway.memory.documents.document_sync import Documents
from gateway.memory.extraction.extractor import Extractor
from gateway.memory.services import MemoryServices
from gateway.messages import Usage
from gateway.model.base import Model
from gateway.model.endpoint_profile import left_out
from gateway.model.model_limits import window as window_in_force
from gateway.model.prices import cost_of
from gateway.model.side_calls import ModelCalls
from gateway.schedules.schedule_editor import ScheduleEditor
from gateway.service.added_mcp_servers import parsed
from gateway.service.limits import UserLimits
from gateway.service.provider_keys import StoredCredentials
from gateway.service.side_spending import SideSpending
from gateway.skills.library import SkillLibrary
from gateway.skills.skill import FunctionSkill
from gateway.telemetry.metrics import instrument_table as table
from gateway.tools.mcp.configured_servers import McpServers
from gateway.wiring import (
    artifact_skill,
    memory_needed,
    memory_skill,
    open_artifact_store,
    open_documents,
    open_extractor,
    open_memory,
    open_model,
    open_skills,
    schedule_skills,
)

START_TIMEOUT = 30.0
"""Seconds that the start waits at most for MCP servers that are not ready before their `connect_timeout`; who
comes later is connected while the gateway serves."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Abilities:
    """Without memory (it is switched off) there are neither an extractor nor documents."""

    model: Model
    calls: ModelCalls
    limits: UserLimits
    schedules: ScheduleEditor
    memory: MemoryServices | None
    extractor: Extractor | None
    artifact_store: ArtifactStore
    skills: SkillLibrary
    servers: McpServers
    documents: Documents | None

    async def look_around(self, process: Process) -> None:
        """Waits for MCP servers, reads skills, and then documents, as references of skills are documents too.
        Raises errors.StorageError as `_open_memory`."""
        await _wait_for(self.servers)
        await self.skills.refresh()
        if self.documents is not None:
            with memory_needed(process.settings):
                await self.documents.refresh()
            measure_documents(process.metrics, self.documents)


async def open_abilities(process: Process) -> Abilities:
    """The skills are still to be looked at, and MCP servers are being connected: see `look_around`."""
    settings, storage, telemetry = process.settings, process.storage, process.telemetry
    model = await _open_model(process)
    limits = _limits(process)
    spending = SideSpending(limits, storage.limits, is_closed_when_down=settings.limits_when_down == "closed")
    calls = ModelCalls(model, settings, telemetry.model_called, spending)
    schedules = ScheduleEditor(storage.schedules, storage.sessions, settings)
    memory, extractor = await _open_memory(process, calls)
    artifact_store = open_artifact_store(settings, storage, on_event=telemetry.artifact_event)
    own = [artifact_skill(artifact_store), *schedule_skills(settings, schedules)]
    skills, servers = await _open_skills(process, memory, own)
    documents = memory and open_documents(settings, memory, skills, storage.exclusive)
    return Abilities(
        model, calls, limits, schedules, memory, extractor, artifact_store, skills, servers, documents
    )


def _limits(process: Process) -> UserLimits:
    metrics = process.metrics
    limits = UserLimits(process.settings, process.storage.limits, metrics.limits.refused)
    metrics.observe(table.LIMITS_FAILING, lambda: int(limits.requests.is_down))
    process.app.state.request_rates = limits.requests if limits.requests.are_counted else None
    return limits


async def _open_model(process: Process) -> Model:
    settings, state = process.settings, process.app.state
    demo_url: str | None = None
    if state.demo:
        from gateway.demo.server import serve_demo  # noqa: PLC0415 - as in app.py

        demo_url = await process.stack.enter_async_context(serve_demo())
    if (warning := left_out(settings)) is not None:
        log.warning("setting_left_out", says=warning)
    takes_keys = settings.takes_provider_keys
    credentials = StoredCredentials(process.storage.provider_keys, settings) if takes_keys else None
    model = open_model(settings, demo_url, credentials=credentials, picks=state.picks_model)
    process.stack.push_async_callback(model.close)
    process.metrics.queue.measure(model.queue)
    state.endpoint = model.facts
    await process.run(model.watch, "model's endpoint")
    # Loads the prices.
    await asyncio.to_thread(cost_of, settings.model, Usage(input_tokens=1, output_tokens=1))
    return model


async def _open_memory(process: Process, calls: ModelCalls) -> tuple[MemoryServices | None, Extractor | None]:
    """Raises errors.StorageError: it cannot be used. What remembers nothing must not pass for what does."""
    settings, telemetry = process.settings, process.telemetry
    if not settings.memory:
        return None, None
    with memory_needed(settings):
        opening = open_memory(
            settings,
            calls,
            exclusive=process.storage.exclusive,
            pools=telemetry.metrics.pools,
            on_change=telemetry.memory_changed,
        )
        services = await process.stack.enter_async_context(opening)
    if (embedding := services.searcher.embedding) is not None:
        telemetry.metrics.observe(table.EMBEDDINGS, lambda: services.searcher.asked)
        await process.run(embedding.run, "vectors of memories")
    return services, open_extractor(settings, services, calls, on_report=telemetry.learned)


async def _open_skills(
    process: Process, memory: MemoryServices | None, own: Sequence[FunctionSkill]
) -> tuple[SkillLibrary, McpServers]:
    settings = process.settings

    def changed() -> None:
        skills.changed()

    servers = McpServers(
        settings.mcp_servers,
        changed=changed,
        supervisor=process.supervisor,
        store=process.storage.mcp_sign_ins,
    )
    window = await window_in_force(settings, settings.model)
    functions = [*own, *process.app.state.functions]
    if memory is not None:
        functions = [memory_skill(settings, memory), *functions]
    skills = open_skills(settings, process.storage.switches, functions, lambda: servers.tools, window)
    servers.take_others()
    servers.become(parsed(await process.storage.mcp_servers.list(), settings.mcp_hosts))
    await process.run(servers.run, "MCP servers")
    return skills, servers


async def _wait_for(servers: McpServers) -> None:
    """The first turns shall find the tools of MCP servers, and so shall calls that somebody approved before a
    restart, which are made as soon as the gateway serves."""
    limits = [server.connect_timeout for server in servers.settings]
    if not limits:
        return
    patience = min(START_TIMEOUT, max(limits))
    log.info("mcp_servers_awaited", servers=[state.name for state in servers.states], longest=patience)
    try:
        await asyncio.wait_for(servers.tried(), patience)
    except TimeoutError:
        late = [state.name for state in servers.states if state.status == "connecting"]
        log.warning("mcp_servers_not_ready", servers=late, waited=patience)
