"""What lives as long as the process: opened before the first request, closed after the last turn."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog
from starlette.applications import Starlette

from gateway.artifacts.artifact_summary import ArtifactSummariser
from gateway.auth import tenant_of
from gateway.auth.authentication import Authentication
from gateway.auth.stored_keys import StoredKeys
from gateway.gauges import measure_background, measure_documents, measure_gateway
from gateway.history.indexer import Indexer
from gateway.http.timer_wheel import Wheel
from gateway.ids import new_replica_id, now_ms
from gateway.memory.documents.library import Documents
from gateway.memory.learning.extractor import Extractor
from gateway.memory.services import MemoryServices
from gateway.messages import Usage
from gateway.model.base import Model
from gateway.model.calls import ModelCalls
from gateway.model.endpoint_profile import left_out
from gateway.model.prices import cost_of
from gateway.model.prices import window as window_in_force
from gateway.schedules.schedule_editor import ScheduleEditor
from gateway.service.archiver import Archiver
from gateway.service.artifacts import UserArtifacts
from gateway.service.audit import AuditRecorder, UserAudit
from gateway.service.being_erased import BeingErased
from gateway.service.dependencies import Dependencies
from gateway.service.documents import DocumentedMemories
from gateway.service.gateway import Gateway
from gateway.service.holds import UserHolds
from gateway.service.keys import ApiKeys
from gateway.service.leader import Leader
from gateway.service.learning_worker import LearningWorker
from gateway.service.limits import UserLimits
from gateway.service.memory import UserMemories
from gateway.service.person_erasure import Erasing, PersonEraser
from gateway.service.personal_data import PersonalData
from gateway.service.projects import UserProjects
from gateway.service.provider_keys import StoredCredentials, UserProviderKeys
from gateway.service.purge_worker import PurgeWorker
from gateway.service.retention import RetentionSweep, TenantRetention
from gateway.service.schedule_results import ScheduleResults
from gateway.service.schedules import ScheduleWorker, UserSchedules
from gateway.service.secrets import SecretRotation
from gateway.service.session_events import SessionEvents
from gateway.service.titles import Titles
from gateway.service.upkeep import Upkeep
from gateway.service.webhook_worker import WebhookWorker
from gateway.service.webhooks import UserWebhooks
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.skills.skill import FunctionSkill
from gateway.storage.audit import AuditEntry
from gateway.storage.blobs.addresses import is_bucket
from gateway.storage.retention import RetainedSession
from gateway.supervisor import Supervisor, Work
from gateway.telemetry.lines.logs import configure_logging
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.setup import Telemetry, open_telemetry
from gateway.tools.arguments import prepare_checks
from gateway.tools.mcp.configured_servers import McpServers
from gateway.turn.in_flight import InFlight
from gateway.turn.observer import CompositeObserver
from gateway.turn.ownership import Ownership
from gateway.turn.suggestions import Suggestions
from gateway.wiring import (
    MemoryRotation,
    Storage,
    artifact_skill,
    assemble,
    memory_needed,
    memory_skill,
    open_artifact_store,
    open_documents,
    open_extractor,
    open_memory,
    open_model,
    open_skills,
    open_storage,
    open_webhook_posts,
    schedule_skills,
    try_bucket,
)
from gateway.wiring.authentication import open_page_sign_in

START_TIMEOUT = 30.0
"""Seconds that the start waits at most for MCP servers that are not ready before their `connect_timeout`; who
comes later is connected while the gateway serves."""

log = structlog.get_logger(__name__)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Puts what requests need into `app.state`: deps, gateway, telemetry, supervisor, indexer, leader,
    audit, request_rates (None: no limits are set), begin_shutdown, and for /readyz the `checks` by name
    and `newer_schema`."""
    settings: Settings = app.state.settings
    configure_logging(settings.log_level, settings.log_format)
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(settings)
        stack.push_async_callback(telemetry.shutdown)
        supervisor = app.state.supervisor = Supervisor()
        measure_background(telemetry.metrics, supervisor)
        storage = await stack.enter_async_context(
            open_storage(settings, flushed=telemetry.metrics.log.flushed)
        )
        storage.bus.watch(telemetry.observe)
        model = await _open_model(app, storage, stack)
        calls = ModelCalls(model, settings, telemetry.model_called)
        schedules = ScheduleEditor(storage.schedules, storage.sessions, settings)
        memory = await _open_memory(app, storage, calls, telemetry, stack)
        artifact_store = open_artifact_store(settings, storage, on_event=telemetry.artifact_event)
        skills, servers = await _open_skills(
            app,
            memory.services,
            [artifact_skill(artifact_store), *schedule_skills(settings, schedules)],
            storage,
            stack,
        )
        documents = memory.services and open_documents(settings, memory.services, skills, storage.exclusive)
        suggestions, limits = Suggestions(memory.extractor), _limits(app, storage, telemetry.metrics)
        deps = assemble(
            settings,
            storage,
            model,
            skills,
            suggestions=suggestions,
            id_key=await storage.installation.secret("session ids"),
            calls=calls,
            memory=memory.services,
            artifact_store=artifact_store,
            limits=limits.holds,
        )
        learning = LearningWorker(deps, memory.extractor, storage.learned)
        events = SessionEvents(storage.log)
        titles, keys = Titles(deps, calls, events), _keys(app, settings, storage, stack)
        in_flight = InFlight(
            deps,
            CompositeObserver(telemetry, learning, titles),
            traces_recorded=telemetry.tracing is not None,
        )
        ownership = Ownership(deps, in_flight)
        archiver = Archiver(deps, telemetry.archived, learning.session_ended)
        webhooks, user_webhooks = _webhooks(settings, storage, telemetry)
        gateway = Gateway(
            deps,
            in_flight,
            ownership,
            archiver,
            memory=UserMemories(deps, memory.extractor, events),
            documents=DocumentedMemories(documents),
            artifacts=UserArtifacts(
                deps,
                storage.artifacts,
                ArtifactSummariser(artifact_store, storage.artifacts, calls, settings),
            ),
            schedules=UserSchedules(schedules, events),
            webhooks=user_webhooks,
            audit=await _open_audit(app, storage, stack),
            keys=keys,
            projects=UserProjects(deps),
            holds=UserHolds(deps),
            retention=TenantRetention(deps, RetentionSweep(deps, archiver, _expired(app))),
            limits=limits,
            provider_keys=UserProviderKeys(
                storage.provider_keys, keys, settings, has_model=app.state.demo or settings.has_model
            ),
            secrets=SecretRotation(storage.secrets, MemoryRotation(settings), storage.blobs),
        )
        app.state.deps, app.state.gateway, app.state.telemetry, app.state.wheel = (
            deps,
            gateway,
            telemetry,
            Wheel(min(settings.heartbeat, settings.send_timeout)),
        )
        app.state.newer_schema, app.state.checks = (
            storage.newer_schema,
            {"storage": storage.check, "timeline": ownership.check},
        )
        measure_gateway(telemetry, storage, gateway, skills, servers)
        stack.enter_context(telemetry.metrics.loop)
        app.state.begin_shutdown = begin_shutdown = _shutdown_of(gateway, settings)
        storage.bus.watch(learning.watch)
        for work, name in (
            (skills.watch, "skills"),
            (suggestions.run, "memory suggestions"),
            (lambda: learning.run(events), "learning"),
            (learning.mark_begun, "sessions with turns"),
            (titles.run, "titles"),
            *(
                [(partial(try_bucket, settings, storage, new_replica_id()), "blob store")]
                if is_bucket(settings.blob_url)
                else []
            ),
        ):
            await stack.enter_async_context(supervisor.running(work, name))
        await _look_at_skills(skills, servers, settings)
        if documents is not None:
            await _look_at_documents(app, documents, telemetry)
        await gateway.recover()
        app.state.indexer = indexer = Indexer(storage.search)
        storage.bus.watch(indexer.watch)
        app.state.leader = leader = Leader(
            storage.exclusive,
            supervisor,
            (
                (Upkeep(deps, archiver, gateway.retention.applied).run, "upkeep"),
                ((await _open_personal_data(app, deps, gateway, storage)).run, "erasure of persons"),
                (indexer.look, "sessions to index"),
                (learning.look, "sessions to learn from"),
                (PurgeWorker(storage.purges).run, "purge of rows"),
                (webhooks.sweep, "old deliveries"),
                (gateway.audit.sweep, "old entries of the audit"),
                *([(limits.sweep, "limits")] if limits.are_set else []),
                *_counts(telemetry, storage, memory),
                *([(documents.watch, "documents")] if documents else []),
            ),
        )
        for work, name in (
            (ownership.run, "ownership of turns"),
            (
                _schedules(app, gateway, in_flight, storage, events).run,
                "schedules",
            ),
            (
                ScheduleResults(storage.result_deliveries, gateway.schedules.destinations).run,
                "results of schedules",
            ),
            # Not before: a turn that a deadline wakes has an owner.
            (gateway.approvals.watch_deadlines, "deadlines of approvals"),
            (indexer.run, "search index"),
            (leader.run, "leader"),
            (webhooks.run, "webhooks"),
            (app.state.being_erased.run, "who is being erased"),
        ):
            await stack.enter_async_context(supervisor.running(work, name))
        # Beside whatever comes: who serves need not wait for it, only a call that comes at once.
        stack.callback(asyncio.create_task(_prepare(model)).cancel)
        try:
            yield
        finally:
            await begin_shutdown()
            await suggestions.close()
            await learning.close()


def _expired(app: Starlette) -> Callable[[RetainedSession], None]:
    """Has the audit tell of sessions whose retention is over."""

    def deleted(session: RetainedSession) -> None:
        recorder: AuditRecorder = app.state.audit
        tenant, by = tenant_of(session.owner), "gateway:retention"
        recorder.note(
            AuditEntry(
                now_ms(), tenant, by, None, None, "retention.delete", "session", session.id, "done", None
            )
        )

    return deleted


async def _open_personal_data(
    app: Starlette, deps: Dependencies, gateway: Gateway, storage: Storage
) -> PersonEraser:
    """Refuses from the start whom a former process began to erase. Raises errors.StorageError."""
    app.state.being_erased = being_erased = BeingErased(storage.person_erasures)
    await being_erased.look()
    metrics: MetricsRegistry = app.state.telemetry.metrics
    metrics.observe(table.SESSIONS_EXPIRED, lambda: gateway.retention.applied.expired)
    metrics.observe(table.ERASURES_OPEN, lambda: len(being_erased.users))
    app.state.personal_data = PersonalData(
        deps,
        gateway,
        persons=storage.persons,
        erasures=storage.person_erasures,
        audit=storage.audit,
        being_erased=being_erased,
    )
    parts = Erasing(
        deps,
        gateway,
        persons=storage.persons,
        erasures=storage.person_erasures,
        projects=storage.projects,
        purges=storage.purges,
        audit=storage.audit,
        recorder=app.state.audit,
        artifact_store=deps.artifact_store,
        scrub=storage.scrub,
    )
    return PersonEraser(parts, being_erased)


def _schedules(
    app: Starlette,
    gateway: Gateway,
    in_flight: InFlight,
    storage: Storage,
    events: SessionEvents,
) -> ScheduleWorker:
    authentication: Authentication = app.state.authentication
    metrics: MetricsRegistry = app.state.telemetry.metrics
    worker = ScheduleWorker(
        app.state.deps,
        in_flight,
        storage.schedule_runs,
        events,
        metrics.schedules,
        limits=gateway.limits,
        has_key=authentication.knows,
    )
    metrics.observe(table.SCHEDULE_OVERDUE, lambda: worker.overdue)
    metrics.observe(table.SCHEDULES_HELD_UP, lambda: worker.held_up)
    return worker


def _limits(app: Starlette, storage: Storage, metrics: MetricsRegistry) -> UserLimits:
    limits = UserLimits(app.state.settings, storage.limits, metrics.limits.refused)
    metrics.observe(table.LIMITS_FAILING, lambda: int(limits.requests.is_down))
    app.state.request_rates = limits.requests if limits.are_set else None
    return limits


def _webhooks(
    settings: Settings, storage: Storage, telemetry: Telemetry
) -> tuple[WebhookWorker, UserWebhooks]:
    posts = open_webhook_posts(settings)
    worker = WebhookWorker(storage.deliveries, storage.turns, posts, settings, telemetry.webhook_tried)
    storage.bus.watch(worker.watch)
    return worker, UserWebhooks(storage.webhooks, storage.result_deliveries, posts, settings, worker.look)


def _keys(app: Starlette, settings: Settings, storage: Storage, stack: AsyncExitStack) -> ApiKeys:
    if (provider := app.state.identity_provider) is not None:
        stack.push_async_callback(provider.close)
    app.state.page_sign_in = page = open_page_sign_in(settings, provider, storage.sign_ins)
    if page is not None:
        app.state.authentication.add(page.signed_in)
        storage.signals.on("revoked", page.signed_in.forget)
    stored = StoredKeys(storage.keys)
    authentication: Authentication = app.state.authentication
    authentication.add(stored)
    storage.signals.on("revoked", stored.forget)
    return ApiKeys(storage.keys, settings)


async def _prepare(model: Model) -> None:
    await model.prepare()
    await asyncio.to_thread(prepare_checks)


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """What there is of the memory; nothing where it is switched off."""

    services: MemoryServices | None = None
    extractor: Extractor | None = None


async def _open_model(app: Starlette, storage: Storage, stack: AsyncExitStack) -> Model:
    settings: Settings = app.state.settings
    demo_url: str | None = None
    if app.state.demo:
        from gateway.demo.server import serve_demo  # noqa: PLC0415 - as in app.py

        demo_url = await stack.enter_async_context(serve_demo())
    if (warning := left_out(settings)) is not None:
        log.warning("setting_left_out", says=warning)
    takes_keys = settings.takes_provider_keys
    credentials = StoredCredentials(storage.provider_keys, settings) if takes_keys else None
    model = open_model(settings, demo_url, credentials=credentials)
    stack.push_async_callback(model.close)
    # Loads the prices.
    await asyncio.to_thread(cost_of, settings.model, Usage(input_tokens=1, output_tokens=1))
    return model


async def _open_audit(app: Starlette, storage: Storage, stack: AsyncExitStack) -> UserAudit:
    supervisor: Supervisor = app.state.supervisor
    app.state.audit = recorder = AuditRecorder(storage.audit)
    stack.push_async_callback(recorder.close)
    await stack.enter_async_context(supervisor.running(recorder.run, "audit"))
    return UserAudit(storage.audit, app.state.settings)


async def _open_memory(
    app: Starlette, storage: Storage, calls: ModelCalls, telemetry: Telemetry, stack: AsyncExitStack
) -> OpenMemory:
    """Raises errors.StorageError: it cannot be used. What remembers nothing must not pass for what does."""
    settings: Settings = app.state.settings
    if not settings.memory:
        return OpenMemory()
    supervisor: Supervisor = app.state.supervisor
    with memory_needed(settings):
        opening = open_memory(
            settings,
            calls,
            exclusive=storage.exclusive,
            pools=telemetry.metrics.pools,
            on_change=telemetry.memory_changed,
        )
        services = await stack.enter_async_context(opening)
    if (embedding := services.searcher.embedding) is not None:
        telemetry.metrics.observe(table.EMBEDDINGS, lambda: services.searcher.asked)
        await stack.enter_async_context(supervisor.running(embedding.run, "vectors of memories"))
    return OpenMemory(services, open_extractor(settings, services, calls, on_report=telemetry.learned))


async def _look_at_documents(app: Starlette, documents: Documents, telemetry: Telemetry) -> None:
    """After the skills, whose references are documents too. Raises errors.StorageError as `_open_memory`."""
    with memory_needed(app.state.settings):
        await documents.refresh()
    measure_documents(telemetry.metrics, documents)


def _counts(telemetry: Telemetry, storage: Storage, memory: OpenMemory) -> Iterator[tuple[Work, str]]:
    counts = telemetry.metrics
    yield partial(counts.artifacts.run, storage.artifacts), "count of artifacts"
    yield partial(counts.deliveries.run, storage.deliveries), "count of deliveries"
    if memory.services is not None:
        yield partial(counts.memories.run, memory.services.store), "count of memories"


def _shutdown_of(gateway: Gateway, settings: Settings) -> Callable[[], asyncio.Task[None]]:
    """What begins the shutdown, once, and returns its task."""
    draining: list[asyncio.Task[None]] = []

    def begin_shutdown() -> asyncio.Task[None]:
        if not draining:
            log.info("draining", grace=settings.shutdown_grace)
            draining.append(asyncio.create_task(gateway.drain(settings.shutdown_grace)))
        return draining[0]

    return begin_shutdown


async def _open_skills(
    app: Starlette,
    memory: MemoryServices | None,
    own: Sequence[FunctionSkill],
    storage: Storage,
    stack: AsyncExitStack,
) -> tuple[SkillLibrary, McpServers]:
    """The catalog, still to be looked at, and the MCP servers, which are being connected."""
    settings: Settings = app.state.settings
    supervisor: Supervisor = app.state.supervisor

    def changed() -> None:
        skills.changed()

    servers = McpServers(settings.mcp_servers, changed=changed, supervisor=supervisor)
    window = await window_in_force(settings, settings.model)
    functions = [*own, *app.state.functions]
    if memory is not None:
        functions = [memory_skill(settings, memory), *functions]
    skills = open_skills(settings, storage.switches, functions, lambda: servers.tools, window)
    await stack.enter_async_context(supervisor.running(servers.run, "MCP servers"))
    return skills, servers


async def _look_at_skills(skills: SkillLibrary, servers: McpServers, settings: Settings) -> None:
    await _wait_for(servers, settings)
    await skills.refresh()


async def _wait_for(servers: McpServers, settings: Settings) -> None:
    """The first turns shall find the tools of MCP servers, and so shall calls that somebody approved before a
    restart, which are made as soon as the gateway serves."""
    limits = [server.connect_timeout for server in settings.mcp_servers.values()]
    if not limits:
        return
    patience = min(START_TIMEOUT, max(limits))
    log.info("mcp_servers_awaited", servers=sorted(settings.mcp_servers), longest=patience)
    try:
        await asyncio.wait_for(servers.tried(), patience)
    except TimeoutError:
        late = [state.name for state in servers.states if state.status == "connecting"]
        log.warning("mcp_servers_not_ready", servers=late, waited=patience)
