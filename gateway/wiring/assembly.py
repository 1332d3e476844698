"""What turns work with."""

from collections.abc import Callable

import structlog

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.attached_files import Attachments
from gateway.artifacts.store_events import ArtifactEvent
from gateway.artifacts.tool_arguments import References
from gateway.errors import SettingsError
from gateway.history.compression.compressor import Compressor
from gateway.history.read_archive import read_archive
from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.history.tokens import TokenMeter
from gateway.memory.services import MemoryServices
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Model
from gateway.model.credentials import Credentials
from gateway.model.endpoint_address import model_is_open
from gateway.model.side_calls import ModelCalls
from gateway.prompt.components import PromptFolder
from gateway.service.dependencies import Dependencies
from gateway.service.session_ids import SessionIds
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.storage.limits import TurnBudget
from gateway.tools.fetch.webhook_posts import WebhookPosts
from gateway.turn.dependencies import WhyEnded, nothing_known
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.wiring.storage import Storage

DEMO_KEY = "demo"

log = structlog.get_logger(__name__)


def _log_adapted(warning: str) -> None:
    log.warning("model_endpoint_adapted", says=warning)


def open_model(
    settings: Settings,
    demo_url: str | None = None,
    *,
    credentials: Credentials | None = None,
    adapted: Callable[[str], None] = _log_adapted,
    picks: bool = False,
) -> Model:
    """The configured endpoint, or the demo model at `demo_url`. `credentials` are those of users who have
    their own. `adapted` is given a sentence whenever the
    endpoint turned out to want to be asked in another way than it is by default. Where the settings name no
    model, they get the one that the endpoint lists; of several one is taken with `picks`."""
    key, budget = settings.anthropic_api_key, settings.thinking_budget
    if budget is not None and budget >= settings.max_tokens:
        raise SettingsError(
            f"GATEWAY_THINKING_BUDGET ({budget}) must be below GATEWAY_MAX_TOKENS ({settings.max_tokens}): "
            "the tokens of thinking are part of an answer's."
        )
    return AnthropicModel(
        api_key=DEMO_KEY if demo_url or key is None else key.get_secret_value(),
        base_url=demo_url or settings.anthropic_base_url,
        connect_timeout=settings.connect_timeout,
        first_byte_timeout=settings.first_byte_timeout
        if demo_url or "first_byte_timeout" in settings.model_fields_set
        else None,
        progress_timeout=settings.progress_timeout,
        api_version=settings.model_api_version,
        key_header=settings.model_auth,
        proxy=None if demo_url else settings.model_proxy,
        max_answer_size=settings.max_answer_size,
        max_tool_calls=settings.max_tool_calls,
        credentials=credentials,
        adapted=adapted,
        slots=settings.model_slots,
        loading_timeout=settings.model_loading_timeout,
        models=lambda: settings.models,
        open_default=settings.model if not demo_url and model_is_open(settings) else None,
        found=settings.take_model,
        picks=picks,
    )


def open_artifact_store(
    settings: Settings, storage: Storage, *, on_event: Callable[[ArtifactEvent], None] = lambda _: None
) -> ArtifactStore:
    """Where large results and attachments are kept; `on_event` is called with its events."""
    return ArtifactStore(storage.artifacts, storage.orphans, storage.blobs, settings, on_event=on_event)


def open_webhook_posts(settings: Settings) -> WebhookPosts:
    """How webhooks are posted to. Raises SettingsError: a host is none."""
    try:
        return WebhookPosts(settings.webhook_hosts, settings.webhook_timeout)
    except ValueError as error:
        raise SettingsError(f"GATEWAY_WEBHOOK_HOSTS: {error}.") from None


def assemble(
    settings: Settings,
    storage: Storage,
    model: Model,
    skills: SkillLibrary,
    *,
    memory_writes: MemoryWriteQueue,
    id_key: bytes,
    calls: ModelCalls | None = None,
    artifact_store: ArtifactStore | None = None,
    memory: MemoryServices | None = None,
    limits: TurnBudget | None = None,
    why_ended: WhyEnded = nothing_known,
) -> Dependencies:
    """What turns work with. `calls` ask the `model` beside their answers; from `id_key`, a secret of the
    installation, ids of sessions follow."""
    prompts, meter = PromptFolder(settings.prompts_dir), TokenMeter()
    artifact_store = artifact_store or open_artifact_store(settings, storage)
    summariser = SessionSummariser(
        sessions=storage.sessions,
        summaries=storage.summaries,
        calls=calls or ModelCalls(model, settings),
        settings=settings,
        instructions=lambda: prompts.instructions("summary.md"),
        exclusive=storage.exclusive,
        used=storage.artifacts.used,
    )
    compressor = Compressor(
        sessions=storage.sessions,
        compressions=storage.compressions,
        orphans=storage.orphans,
        blobs=storage.blobs,
        summariser=summariser,
        meter=meter,
        settings=settings,
        exclusive=storage.exclusive,
        facts=model.facts,
    )
    return Dependencies(
        settings=settings,
        log=storage.log,
        sessions=storage.sessions,
        turns=storage.turns,
        branches=storage.branches,
        replicas=storage.replicas,
        bus=storage.bus,
        signals=storage.signals,
        blobs=storage.blobs,
        compressions=storage.compressions,
        summaries=storage.summaries,
        archives=storage.archives,
        copies=storage.copies,
        search=storage.search,
        model=model,
        meter=meter,
        summariser=summariser,
        compressor=compressor,
        skills=skills,
        read_archive=read_archive(storage.sessions),
        approvals=storage.approvals,
        client_calls=storage.client_calls,
        memory_writes=memory_writes,
        memory=memory,
        artifacts=storage.artifacts,
        orphans=storage.orphans,
        exclusive=storage.exclusive,
        session_ids=SessionIds(storage.projects, id_key),
        projects=storage.projects,
        holds=storage.holds,
        retention=storage.retention,
        artifact_store=artifact_store,
        references=References(artifact_store, most_bytes=settings.artifact_max_size),
        attachments=Attachments(artifact_store, settings),
        limits=limits,
        why_ended=why_ended,
        prompts=prompts,
    )
