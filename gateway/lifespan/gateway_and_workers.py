"""The operations of the gateway, and the workers beside it."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from gateway.artifacts.artifact_summary import ArtifactSummariser
from gateway.auth import tenant_of
from gateway.auth.authentication import Authentication
from gateway.auth.stored_keys import StoredKeys
from gateway.gauges import measure_files, measure_gateway
from gateway.http.timer_wheel import Wheel
from gateway.ids import now_ms
from gateway.lifespan.database_files import database_files
from gateway.lifespan.model_memory_tools import Abilities
from gateway.lifespan.process import Process
from gateway.service.added_limits import OperatorLimits
from gateway.service.added_mcp_servers import UserMcpServers
from gateway.service.api_keys import ApiKeys
from gateway.service.approvals import TurnApprovals
from gateway.service.archiver import Archiver
from gateway.service.artifacts import UserArtifacts
from gateway.service.audit import AuditRecorder, UserAudit
from gateway.service.client_tools import ClientResults
from gateway.service.compressions_and_summaries import SessionHistory
from gateway.service.costly_places import CostlyPlaces
from gateway.service.dependencies import Dependencies
from gateway.service.documents import DocumentedMemories
from gateway.service.ended_access import GATEWAY, AccessEnding
from gateway.service.foreign_chats import ForeignChats
from gateway.service.gateway import Gateway
from gateway.service.key_rotation import SecretRotation
from gateway.service.learning_worker import LearningWorker
from gateway.service.legal_holds import UserHolds
from gateway.service.limits import UserLimits
from gateway.service.mcp_prompts import McpPrompts
from gateway.service.mcp_servers import McpServerSignIns
from gateway.service.memory import UserMemories
from gateway.service.memory_learning_import import LearningAndImport
from gateway.service.open_access import OpenAccess
from gateway.service.operator_changes import Look, OperatorChanges
from gateway.service.person_erasure import Erasing, PersonEraser
from gateway.service.personal_data import PersonalData
from gateway.service.projects import UserProjects
from gateway.service.prompt_versions import PromptEdits
from gateway.service.prompts import Prompts
from gateway.service.provider_keys import UserProviderKeys
from gateway.service.retention import RetentionSweep, TenantRetention
from gateway.service.saved_prompts import UserSavedPrompts
from gateway.service.schedules import UserSchedules
from gateway.service.sent_prompts import SentPrompts
from gateway.service.session_events import SessionEvents
from gateway.service.session_records import SessionRecords
from gateway.service.session_replays import SessionReplays
from gateway.service.sessions import UserSessions
from gateway.service.shared_links import UserLinks
from gateway.service.skills import SkillsOffered
from gateway.service.standing_access import StandingAccess
from gateway.service.streams import SessionStreams
from gateway.service.title_worker import TitleWorker
from gateway.service.turns import UserTurns
from gateway.service.usage import UserUsage
from gateway.service.user_profiles import UserProfiles
from gateway.service.users_being_erased import BeingErased
from gateway.service.webhook_worker import WebhookWorker
from gateway.service.webhooks import UserWebhooks
from gateway.settings import digests
from gateway.storage.audit import AuditEntry
from gateway.storage.retention import RetainedSession
from gateway.telemetry.metrics import instrument_table as table
from gateway.turn.in_flight import InFlight
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.turn.observer import CompositeObserver
from gateway.turn.replica_heartbeat import ReplicaHeartbeat
from gateway.wiring import MemoryRotation, assemble, open_webhook_posts
from gateway.wiring.authentication import kept_keys, open_page_sign_in


@dataclass(frozen=True, slots=True)
class Service:
    """The operations, and the workers."""

    gateway: Gateway
    events: SessionEvents
    archiver: Archiver
    memory_writes: MemoryWriteQueue
    learning: LearningWorker
    titles: TitleWorker
    webhooks: WebhookWorker
    eraser: PersonEraser
    access_ending: AccessEnding
    open_access: OpenAccess


async def open_service(process: Process, abilities: Abilities) -> Service:
    """Nothing of it runs yet, but the audit. Raises errors.StorageError."""
    state, storage, telemetry = process.app.state, process.storage, process.telemetry
    memory_writes, limits = MemoryWriteQueue(abilities.extractor), abilities.limits
    standing = StandingAccess(storage.ended_access, storage.projects, process.settings)
    deps = await _assembled(process, abilities, memory_writes, limits, standing)
    audit, open_access = await _open_audit(process), _open_access(process, standing)
    events = SessionEvents(storage.log)
    learning = LearningWorker(deps, abilities.extractor, storage.learned)
    titles = TitleWorker(deps, abilities.calls, events)
    in_flight = InFlight(
        deps, CompositeObserver(telemetry, learning, titles), traces_recorded=telemetry.tracing is not None
    )
    archiver = Archiver(deps, telemetry.archived, learning.session_ended)
    webhooks, user_webhooks = _webhooks(process)
    abilities.schedules.destinations["webhook"] = user_webhooks.destination
    approvals = TurnApprovals(deps, in_flight)
    turns = UserTurns(deps, in_flight, approvals, limits)
    access_ending = AccessEnding(storage.ended_access, standing, turns.stop, events, state.audit)
    keys = _keys(process, access_ending)
    mcp_sign_ins = McpServerSignIns(abilities.servers, storage.mcp_sign_ins, keys, standing)
    added_mcp_servers = UserMcpServers(
        abilities.servers, storage.mcp_servers, mcp_sign_ins, keys, process.settings
    )
    added_limits = OperatorLimits(limits, storage.limit_rules)
    prompt_edits = PromptEdits(deps.prompts, storage.prompt_versions, keys)
    await _follow_operator(process, added_mcp_servers.look, added_limits.look, prompt_edits.look)
    retention = TenantRetention(deps, RetentionSweep(deps, archiver, _note_expired(process)))
    sessions = UserSessions(deps, in_flight, limits, retention, turns.stop)
    records = SessionRecords(deps, in_flight, archiver, sessions)
    replays = SessionReplays(deps, in_flight, sessions, open_access)
    state.being_erased = being_erased = BeingErased(storage.person_erasures, storage.signals)
    link_key = await storage.installation.secret("passes for links")
    links = UserLinks(deps, storage.shared_links, replays, keys, being_erased=being_erased, key=link_key)
    gateway = Gateway(
        deps=deps,
        in_flight=in_flight,
        heartbeat=ReplicaHeartbeat(deps, in_flight, await _told_settings(process)),
        sessions=sessions,
        turns=turns,
        streams=SessionStreams(deps, in_flight, sessions, turns, open_access),
        history=SessionHistory(deps, in_flight),
        prompts=Prompts(deps),
        prompt_edits=prompt_edits,
        sent_prompts=SentPrompts(deps),
        replays=replays,
        records=records,
        foreign_chats=ForeignChats(deps, in_flight, records.files),
        approvals=approvals,
        client_results=ClientResults(deps, in_flight),
        skills=SkillsOffered(deps),
        artifacts=_artifacts(process, abilities, deps),
        memory=UserMemories(deps, events),
        learning_and_import=LearningAndImport(deps, abilities.extractor, events),
        profiles=UserProfiles(deps),
        documents=DocumentedMemories(abilities.documents),
        schedules=UserSchedules(abilities.schedules, events),
        webhooks=user_webhooks,
        projects=UserProjects(deps, turns.stop),
        saved_prompts=UserSavedPrompts(storage.saved_prompts, process.settings.models),
        keys=keys,
        links=links,
        provider_keys=UserProviderKeys(
            storage.provider_keys,
            keys,
            process.settings,
            has_model=state.demo or process.settings.has_model,
        ),
        mcp_servers=mcp_sign_ins,
        added_mcp_servers=added_mcp_servers,
        mcp_prompts=McpPrompts(abilities.servers),
        limits=limits,
        added_limits=added_limits,
        usage=UserUsage(storage.turns, storage.limits, storage.users, process.settings),
        audit=audit,
        access_ending=access_ending,
        holds=UserHolds(deps),
        retention=retention,
        secrets=SecretRotation(storage.secrets, MemoryRotation(process.settings), storage.blobs),
        places=CostlyPlaces(),
    )
    _publish(process, abilities, gateway)
    eraser = await _open_personal_data(process, gateway)
    return Service(
        gateway,
        events,
        archiver,
        memory_writes,
        learning,
        titles,
        webhooks,
        eraser,
        access_ending,
        open_access,
    )


async def _assembled(
    process: Process,
    abilities: Abilities,
    memory_writes: MemoryWriteQueue,
    limits: UserLimits,
    standing: StandingAccess,
) -> Dependencies:
    return assemble(
        process.settings,
        process.storage,
        abilities.model,
        abilities.skills,
        memory_writes=memory_writes,
        id_key=await process.storage.installation.secret("session ids"),
        calls=abilities.calls,
        memory=abilities.memory,
        artifact_store=abilities.artifact_store,
        limits=limits,
        why_ended=standing.why_ended,
    )


async def _told_settings(process: Process) -> Mapping[str, str] | None:
    """The digests of settings that the replicas of one database tell each other."""
    if not process.settings.is_shared:
        return None
    key = await process.storage.installation.secret("digests of settings")
    return await asyncio.to_thread(digests, process.settings, key)


def _artifacts(process: Process, abilities: Abilities, deps: Dependencies) -> UserArtifacts:
    rows = process.storage.artifacts
    summariser = ArtifactSummariser(abilities.artifact_store, rows, abilities.calls, process.settings)
    return UserArtifacts(deps, rows, summariser)


def _publish(process: Process, abilities: Abilities, gateway: Gateway) -> None:
    """For requests and for a scrape."""
    state, storage, settings = process.app.state, process.storage, process.settings
    state.deps, state.gateway = gateway.deps, gateway
    state.wheel = Wheel(min(settings.heartbeat, settings.send_timeout))
    state.newer_schema, state.sizes, state.started_at = storage.newer_schema, storage.sizes, now_ms()
    state.checks = {"storage": storage.check, "timeline": gateway.heartbeat.check}
    if abilities.memory is not None and abilities.memory.watch is not None:
        state.checks["memory"] = abilities.memory.watch.check
    measure_files(process.metrics, database_files(storage, abilities.memory))
    measure_gateway(process.telemetry, storage, gateway, abilities.skills, abilities.servers)
    process.stack.enter_context(process.metrics.loop)


def _note_expired(process: Process) -> Callable[[RetainedSession], None]:
    """Has the audit tell of sessions whose retention is over."""

    def deleted(session: RetainedSession) -> None:
        recorder: AuditRecorder = process.app.state.audit
        tenant, by = tenant_of(session.owner), "gateway:retention"
        recorder.note(
            AuditEntry(
                now_ms(), tenant, by, None, None, "retention.delete", "session", session.id, "done", None
            )
        )

    return deleted


async def _open_personal_data(process: Process, gateway: Gateway) -> PersonEraser:
    """Refuses from the start whom a former process began to erase. Raises errors.StorageError."""
    state, storage, metrics, deps = process.app.state, process.storage, process.metrics, gateway.deps
    being_erased: BeingErased = state.being_erased
    await being_erased.look()
    metrics.observe(table.SESSIONS_EXPIRED, lambda: gateway.retention.applied.expired)
    metrics.observe(table.ERASURES_OPEN, lambda: len(being_erased.users))
    state.personal_data = PersonalData(
        deps,
        gateway,
        persons=storage.persons,
        erasures=storage.person_erasures,
        audit=storage.audit,
        recorder=state.audit,
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
        recorder=state.audit,
        artifact_store=deps.artifact_store,
        scrub=storage.scrub,
    )
    return PersonEraser(parts, being_erased)


def _webhooks(process: Process) -> tuple[WebhookWorker, UserWebhooks]:
    settings, storage = process.settings, process.storage
    posts = open_webhook_posts(settings)
    worker = WebhookWorker(storage.webhooks, storage.turns, posts, settings, process.telemetry.webhook_tried)
    storage.bus.watch(worker.watch)
    return worker, UserWebhooks(storage.webhooks, storage.schedules, posts, settings, worker.look)


def _open_access(process: Process, standing: StandingAccess) -> OpenAccess:
    state = process.app.state
    recorder: AuditRecorder = state.audit

    def noted(kind: str, id_: str, tenant: str, times: int) -> None:
        recorder.note(
            AuditEntry(now_ms(), tenant, GATEWAY, None, None, "access.end", kind, id_, "done", None, times)
        )

    def being_erased() -> Collection[str]:
        erased: BeingErased = state.being_erased
        return erased.users

    state.open_access = opened = OpenAccess(standing, process.storage.signals, noted, being_erased)
    return opened


async def _follow_operator(process: Process, *looks: Look) -> None:
    changes = OperatorChanges(process.storage.signals)
    for look in looks:
        await changes.follow(look)
    await process.run(changes.run, "operator's changes")


def _keys(process: Process, ending: AccessEnding) -> ApiKeys:
    state, storage = process.app.state, process.storage
    authentication: Authentication = state.authentication
    if (provider := state.identity_provider) is not None:
        process.stack.push_async_callback(provider.close)
    state.page_sign_in = page = open_page_sign_in(process.settings, provider, storage.sign_ins)
    if page.flow is not None:
        authentication.add(page.signed_in)
    storage.signals.on("revoked", page.signed_in.forget)
    stored = StoredKeys(storage.keys)
    authentication.add(stored)
    for way in kept_keys(page, stored, process.settings):
        authentication.add(way)
    storage.signals.on("revoked", stored.forget)
    return ApiKeys(storage.keys, process.settings, ending)


async def _open_audit(process: Process) -> UserAudit:
    process.app.state.audit = recorder = AuditRecorder(process.storage.audit)
    process.stack.push_async_callback(recorder.close)
    await process.run(recorder.run, "audit")
    return UserAudit(process.storage.audit, recorder, process.settings)
