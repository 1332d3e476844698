"""Settings to concrete parts: the only file that names an adapter."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.storage.base import Bus, EventLog, Sessions, Turns
from gateway.storage.bus import MemoryBus
from gateway.storage.sessions import SqlSessions
from gateway.storage.sqlite.database import SqliteDatabase
from gateway.storage.sqlite.event_log import SqliteEventLog
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
    bus: Bus


@asynccontextmanager
async def open_storage(settings: Settings) -> AsyncGenerator[Storage]:
    """The storage of the data folder, brought to the newest schema and locked for this process.

    Raises:
        StorageError: the folder is locked by another process, or the database cannot be used.
    """
    bus = MemoryBus()
    async with await SqliteDatabase.open(settings.database_path) as database:
        yield Storage(SqliteEventLog(database, bus), SqlSessions(database, bus), SqlTurns(database), bus)


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
    return Parts(
        settings=settings,
        log=storage.log,
        sessions=storage.sessions,
        turns=storage.turns,
        bus=storage.bus,
        model=model,
        tools=tools,
        prompts=PromptFolder(settings.prompts_dir),
    )
