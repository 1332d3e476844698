"""The database of the sessions, of the engine that the settings name, and its tables."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from gateway.encryption.keyring import Keyring
from gateway.errors import SettingsError, StorageError
from gateway.ids import new_replica_id, now_ms
from gateway.pace import until_next
from gateway.settings import Settings
from gateway.storage.api_keys import Keys
from gateway.storage.archives.compressions import Compressions
from gateway.storage.archives.reader import ArchiveReader
from gateway.storage.archives.store import Archives
from gateway.storage.archives.summaries import Summaries
from gateway.storage.artifacts.store import Artifacts
from gateway.storage.audit import AuditLog
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.addresses import (
    NOT_SHARED,
    blob_folder,
    is_bucket,
    is_writable,
    open_blobs,
    try_blobs,
)
from gateway.storage.branches.store import Branches
from gateway.storage.database import ConnectionPools
from gateway.storage.decisions import SkillSwitches
from gateway.storage.decisions.approvals import Approvals
from gateway.storage.decisions.client_calls import ClientCalls
from gateway.storage.decisions.switches import SqlSkillSwitches
from gateway.storage.ended_access import EndedAccess
from gateway.storage.exclusive import Exclusive, LocalExclusive
from gateway.storage.holds import Holds
from gateway.storage.installation import Installation
from gateway.storage.limit_rules import AddedRules
from gateway.storage.limits.store import Limits
from gateway.storage.log.bus import Bus
from gateway.storage.log.event_log import EventDatabase, EventLog
from gateway.storage.log.group_commit import Flushed
from gateway.storage.mcp_servers import AddedMcpServers
from gateway.storage.mcp_sign_ins import McpSignIns
from gateway.storage.orphans import Orphans
from gateway.storage.persons import PersonErasures, Persons
from gateway.storage.projects import Projects
from gateway.storage.prompt_versions import PromptVersions
from gateway.storage.provider_keys import ProviderKeys
from gateway.storage.replica_signals import Signals
from gateway.storage.replicas import Replicas
from gateway.storage.replicas.single_process import SoleReplica
from gateway.storage.retention import Retention
from gateway.storage.saved_prompts import SavedPrompts
from gateway.storage.schedules.store import Schedules
from gateway.storage.secrets import Secrets
from gateway.storage.sessions.copying import Copies
from gateway.storage.sessions.former_words import FormerWords, RenewableWords
from gateway.storage.sessions.learning_progress import LearnedSessions
from gateway.storage.sessions.purges import Purges
from gateway.storage.sessions.search import Search
from gateway.storage.sessions.store import Sessions
from gateway.storage.shared_links import SharedLinks
from gateway.storage.sign_ins import SignIns
from gateway.storage.sqlite.session_search import Fts5TurnWords
from gateway.storage.sqlite.sqlite_database import SqliteDatabase
from gateway.storage.sqlite_files.file_watch import FileWatch
from gateway.storage.turns.store import Turns
from gateway.storage.users import Users
from gateway.storage.webhooks.encrypted import EncryptedWebhooks
from gateway.storage.webhooks.store import Webhooks
from gateway.wiring.database_server import driver_needed
from gateway.wiring.encryption import blobs_of, open_keyring

if TYPE_CHECKING:
    from gateway.storage.postgres import PostgresDatabase


BUCKET_TIMEOUT = 30.0
"""Seconds for a small blob to be written, read and removed: more than twice what a lost connection takes."""
FOLDER_PAUSE = 10.0
"""Seconds between two looks at a folder of blobs."""
UNUSABLE = "Large results of tools are cut, files are refused, and nothing is archived until it can be used."

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Storage:
    """The record and its tables, behind their protocols."""

    log: EventLog
    sessions: Sessions
    turns: Turns
    branches: Branches
    replicas: Replicas
    compressions: Compressions
    summaries: Summaries
    archives: Archives
    purges: Purges
    copies: Copies
    search: Search
    former_words: FormerWords
    approvals: Approvals
    client_calls: ClientCalls
    switches: SkillSwitches
    learned: LearnedSessions
    schedules: Schedules
    webhooks: Webhooks
    audit: AuditLog
    keys: Keys
    ended_access: EndedAccess
    projects: Projects
    saved_prompts: SavedPrompts
    prompt_versions: PromptVersions
    provider_keys: ProviderKeys
    secrets: Secrets
    shared_links: SharedLinks
    sign_ins: SignIns
    mcp_servers: AddedMcpServers
    mcp_sign_ins: McpSignIns
    installation: Installation
    holds: Holds
    retention: Retention
    users: Users
    persons: Persons
    person_erasures: PersonErasures
    limits: Limits
    limit_rules: AddedRules
    artifacts: Artifacts
    orphans: Orphans
    exclusive: Exclusive
    blobs: Blobs
    bus: Bus
    signals: Signals
    check: Callable[[], Awaitable[None]]
    """Raises errors.StorageError when it cannot do its work now."""
    sizes: Callable[[], Awaitable[Mapping[str, int]]]
    """What the database takes on disk, in bytes, by part: database, wal, memory; or of a server, database."""
    scrub: Callable[[], Awaitable[None]]
    """Frees the bytes of what was removed, where that is the gateway's own file; on a server its VACUUM does.
    Raises errors.StorageError."""
    measured_by: Callable[[ConnectionPools], None]
    """Adds the database's pools of connections to those that are measured."""
    newer_schema: Callable[[], Mapping[str, str]]
    """In what the schema is newer than this version: revisions by what they hold."""
    watch: FileWatch | None = None
    """Over the database's file, where it is one."""
    notification_time: Callable[[], float | None] = lambda: 0
    """Seconds that this process's last notification to itself took through the database: 0 where it has the
    database alone, None where none arrives."""


@asynccontextmanager
async def open_storage(settings: Settings, *, flushed: Flushed | None = None) -> AsyncGenerator[Storage]:
    """The storage of the data folder, brought to the newest schema and locked for this process, or that of a
    PostgreSQL database, which other processes use too. `flushed` is called after each transaction, there
    after each of events.

    Raises:
        StorageError: the folder is locked by another process, or the database cannot be used; one on a server
            is older than this version (code database_outdated) or newer (database_too_new).
        SettingsError: `blob_url` is no address of a blob store, or one of a folder that other processes may
            not have, or psycopg is not installed; a key to decrypt with is missing, or is none.
    """
    if settings.is_shared:
        async with _server(settings, flushed) as storage:
            yield storage
        return
    keyring = open_keyring(settings)
    async with await SqliteDatabase.open(
        settings.database_path,
        flushed=flushed,
        durability=settings.durability,
        copy_first=settings.copy_before_migration,
    ) as database:
        storage = storage_on(database, blobs_of(settings, keyring), keyring)
        await storage.secrets.begin(now_ms())
        yield storage


def storage_on(
    database: SqliteDatabase, blobs: Blobs | None = None, keyring: Keyring | None = None
) -> Storage:
    """The record in a file that is open; without `blobs` they are kept beside it."""
    storage = _storage_on(
        database,
        blobs or open_blobs(None, database.path.parent),
        keyring,
        bus=Bus(),
        index=Fts5TurnWords(),
        replicas=SoleReplica(database),
        exclusive=LocalExclusive(),
        check=database.check,
        sizes=database.sizes,
    )
    return replace(storage, watch=database.watch, orphans=Orphans(database, database.path.resolve().parent))


async def try_bucket(settings: Settings, storage: Storage, name: str) -> None:
    """Logs that a bucket cannot be used: turns are taken without it. Raises errors.StorageError then, and
    TimeoutError; called again with the same `name` it removes what it left."""
    try:
        async with asyncio.timeout(BUCKET_TIMEOUT):
            await try_blobs(storage.blobs, name)
    except (StorageError, TimeoutError) as error:
        why = str(error) or f"No answer within {BUCKET_TIMEOUT:g} seconds."
        log.error("blob_store_unusable", store=settings.blob_url, error=why, says=UNUSABLE)
        raise


async def watch_blob_folder(settings: Settings) -> None:
    """Logs that the folder of blobs cannot be written, as on a mount that is read-only: turns are taken
    without it. Raises errors.StorageError (blobs_not_writable) then, else it never returns."""
    folder = blob_folder(settings.blob_url, settings.data_dir)
    while True:
        if not await asyncio.to_thread(is_writable, folder):
            error = StorageError("The folder of blobs cannot be written.", code="blobs_not_writable")
            log.error("blob_store_unusable", store=str(folder), error=error.message, says=UNUSABLE)
            raise error
        await asyncio.sleep(until_next(FOLDER_PAUSE))


@asynccontextmanager
async def _server(settings: Settings, flushed: Flushed | None) -> AsyncGenerator[Storage]:
    with driver_needed():
        from gateway.storage.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
    assert settings.database_url is not None  # it is shared
    if not (settings.blobs_shared or is_bucket(settings.blob_url)):
        raise SettingsError(NOT_SHARED)
    keyring = open_keyring(settings)
    async with await PostgresDatabase.open(
        settings.database_url,
        direct_url=settings.database_direct_url,
        connections=settings.database_connections,
        replica=new_replica_id(f"{settings.replica or socket.gethostname()}-{os.getpid()}"),
        lease=settings.lease,
        flushed=flushed,
    ) as database:
        blobs = blobs_of(settings, keyring)
        async with storage_on_server(database, blobs, keyring, lease=settings.lease) as storage:
            await storage.secrets.begin(now_ms())
            yield storage


@asynccontextmanager
async def storage_on_server(
    database: "PostgresDatabase", blobs: Blobs, keyring: Keyring | None = None, *, lease: float = 10
) -> AsyncGenerator[Storage]:
    """The record in a database on a server. This process is one of its replicas for as long as the context is
    open, and is notified of the others' commits. Raises errors.StorageError."""
    from gateway.storage.postgres.exclusive import PostgresExclusive  # noqa: PLC0415 - an extra
    from gateway.storage.postgres.listener import Listener  # noqa: PLC0415
    from gateway.storage.postgres.replicas import PostgresReplicas  # noqa: PLC0415
    from gateway.storage.postgres.session_search import VectorTurnWords  # noqa: PLC0415

    replicas = PostgresReplicas(database, database.direct, lease)
    await replicas.join()
    exclusive = PostgresExclusive(database.direct)
    storage = _storage_on(
        database,
        blobs,
        keyring,
        bus=Bus(is_alone=False),
        index=VectorTurnWords(),
        replicas=replicas,
        exclusive=exclusive,
        check=database.check,
        sizes=database.sizes,
    )
    try:
        async with exclusive, Listener(database, storage.bus, database.direct) as listener:

            async def check() -> None:
                await listener.check()
                await database.check()

            yield replace(storage, check=check, notification_time=lambda: listener.latency)
    finally:
        await replicas.liveness.close()


def _storage_on(
    database: EventDatabase,
    blobs: Blobs,
    keyring: Keyring | None,
    *,
    bus: Bus,
    index: RenewableWords,
    replicas: Replicas,
    exclusive: Exclusive,
    check: Callable[[], Awaitable[None]],
    sizes: Callable[[], Awaitable[Mapping[str, int]]],
) -> Storage:
    archived = ArchiveReader(blobs)
    database.signals.on("gone", bus.forget)
    search = Search(database, archived.messages, index)
    purges = Purges(database, index)
    return Storage(
        log=EventLog(database, bus, archived.events),
        sessions=Sessions(database, archived.messages, search, purges),
        turns=Turns(database),
        branches=Branches(database),
        replicas=replicas,
        compressions=Compressions(database),
        summaries=Summaries(database),
        archives=Archives(database, purges),
        purges=purges,
        copies=Copies(database),
        search=search,
        former_words=FormerWords(database, search.messages, index),
        approvals=Approvals(database),
        client_calls=ClientCalls(database),
        switches=SqlSkillSwitches(database),
        learned=LearnedSessions(database),
        schedules=Schedules(database),
        webhooks=EncryptedWebhooks(database, keyring),
        audit=AuditLog(database),
        keys=Keys(database),
        ended_access=EndedAccess(database),
        projects=Projects(database),
        saved_prompts=SavedPrompts(database),
        prompt_versions=PromptVersions(database),
        provider_keys=ProviderKeys(database, keyring),
        secrets=Secrets(database, keyring),
        shared_links=SharedLinks(database),
        sign_ins=SignIns(database),
        mcp_servers=AddedMcpServers(database, keyring),
        mcp_sign_ins=McpSignIns(database, keyring, exclusive),
        installation=Installation(database),
        holds=Holds(database),
        retention=Retention(database),
        users=Users(database),
        persons=Persons(database),
        person_erasures=PersonErasures(database),
        limits=Limits(database),
        limit_rules=AddedRules(database),
        artifacts=Artifacts(database),
        orphans=Orphans(database),
        exclusive=exclusive,
        blobs=blobs,
        bus=bus,
        signals=database.signals,
        check=check,
        sizes=sizes,
        scrub=database.scrub,
        measured_by=database.measured_by,
        newer_schema=lambda: database.newer_schema,
    )
