"""Settings to concrete parts: the only file that names an adapter."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.history.compression.compressor import Compressor
from gateway.history.read_archive import read_archive
from gateway.history.tokens import TokenMeter
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.storage.archives import ArchiveReader, SqlArchives
from gateway.storage.base import Bus, EventLog, Sessions, Turns
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.opening import open_blobs
from gateway.storage.bus import MemoryBus
from gateway.storage.compressions import SqlCompressions
from gateway.storage.copies import Copies
from gateway.storage.imports import SqlCopies
from gateway.storage.records import Archives, Compressions, Search, Summaries
from gateway.storage.sessions import SqlSessions
from gateway.storage.sqlite.database import SqliteDatabase
from gateway.storage.sqlite.event_log import SqliteEventLog
from gateway.storage.sqlite.search import SqliteSearch
from gateway.storage.sqlite.writer import Flushed
from gateway.storage.summaries import SqlSummaries
from gateway.storage.turns import SqlTurns
from gateway.tools.registry import Tools
from gateway.turn.parts import Parts

DEMO_KEY = "demo"


@dataclass(frozen=True, slots=True)
class Storage:
    """The record and its tables, behind their protocols."""

    log: EventLog
    sessions: Sessions
    turns: Turns
    compressions: Compressions
    summaries: Summaries
    archives: Archives
    copies: Copies
    search: Search
    blobs: Blobs
    bus: Bus


@asynccontextmanager
async def open_storage(settings: Settings, *, flushed: Flushed | None = None) -> AsyncGenerator[Storage]:
    """The storage of the data folder, brought to the newest schema and locked for this process. `flushed` is
    told of each transaction.

    Raises:
        StorageError: the folder is locked by another process, or the database cannot be used.
        SettingsError: `blob_url` is no address of a blob store.
    """
    bus = MemoryBus()
    async with await SqliteDatabase.open(settings.database_path, flushed=flushed) as database:
        blobs = open_blobs(settings.blob_url, settings.data_dir)
        archived = ArchiveReader(blobs)
        search = SqliteSearch(database, archived.messages)
        summaries = SqlSummaries(database)
        yield Storage(
            log=SqliteEventLog(database, bus, archived.events),
            sessions=SqlSessions(database, bus, archived.messages, search),
            turns=SqlTurns(database),
            compressions=SqlCompressions(database),
            summaries=summaries,
            archives=SqlArchives(database),
            copies=SqlCopies(database, summaries),
            search=search,
            blobs=blobs,
            bus=bus,
        )


def open_model(settings: Settings, demo_url: str | None = None) -> Model:
    """The configured endpoint, or the demo model at `demo_url`."""
    key = settings.anthropic_api_key
    return AnthropicModel(
        api_key=DEMO_KEY if demo_url or key is None else key.get_secret_value(),
        base_url=demo_url or settings.anthropic_base_url,
        connect_timeout=settings.connect_timeout,
        first_byte_timeout=settings.first_byte_timeout,
        progress_timeout=settings.progress_timeout,
    )


def assemble_parts(settings: Settings, storage: Storage, model: Model, tools: Tools) -> Parts:
    """What turns work with."""
    prompts, meter = PromptFolder(settings.prompts_dir), TokenMeter()
    compressor = Compressor(
        sessions=storage.sessions,
        compressions=storage.compressions,
        summaries=storage.summaries,
        blobs=storage.blobs,
        model=model,
        meter=meter,
        settings=settings,
        instructions=lambda: prompts.instructions("summary.md"),
    )
    return Parts(
        settings=settings,
        log=storage.log,
        sessions=storage.sessions,
        turns=storage.turns,
        bus=storage.bus,
        blobs=storage.blobs,
        compressions=storage.compressions,
        summaries=storage.summaries,
        archives=storage.archives,
        copies=storage.copies,
        model=model,
        meter=meter,
        compressor=compressor,
        tools=tools,
        archive_tools=tools.plus(read_archive(storage.sessions)),
        prompts=prompts,
    )
