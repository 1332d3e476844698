"""Settings to concrete parts: the only file that names an adapter."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from gateway.errors import SettingsError
from gateway.history.compression.compressor import Compressor
from gateway.history.read_archive import NAME as READ_ARCHIVE
from gateway.history.read_archive import read_archive
from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.history.tokens import TokenMeter
from gateway.memory.control.controller import Controller
from gateway.memory.corrections.corrections import Corrections
from gateway.memory.documents.library import Documents
from gateway.memory.keeper.keeper import Keeper
from gateway.memory.keeper.learned import Learned
from gateway.memory.memories import Changed, Memories
from gateway.memory.profiles import Profiles
from gateway.memory.recall import Recall
from gateway.memory.room import MemoryRoom, households_of
from gateway.memory.search.embeddings import embeddings_of
from gateway.memory.search.searcher import Searcher
from gateway.memory.tool import NAME as MANAGE_MEMORY
from gateway.memory.tool import manage_memory, manage_nothing
from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.skills.folders import bundled_folder
from gateway.skills.functions import load_functions
from gateway.skills.library import SNAPSHOT_NAME, SkillLibrary
from gateway.skills.skill import BUILT_IN, FunctionSkill, ServerTool
from gateway.storage.approvals import SqlApprovals
from gateway.storage.archives import ArchiveReader, SqlArchives
from gateway.storage.base import Bus, EventLog, Sessions, Turns
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.opening import open_blobs
from gateway.storage.bus import MemoryBus
from gateway.storage.compressions import SqlCompressions
from gateway.storage.copies import Copies
from gateway.storage.decisions import Approvals, SkillSwitches
from gateway.storage.imports import SqlCopies
from gateway.storage.learned import SqlLearnedSessions
from gateway.storage.memories import Whole
from gateway.storage.memory.store import SqlMemories
from gateway.storage.records import Archives, Compressions, LearnedSessions, Search, Summaries
from gateway.storage.sessions import SqlSessions
from gateway.storage.sqlite.database import SqliteDatabase
from gateway.storage.sqlite.event_log import SqliteEventLog
from gateway.storage.sqlite.search import SqliteSearch
from gateway.storage.sqlite.shared import SharedDatabase
from gateway.storage.sqlite.stored_switches import StoredSwitches
from gateway.storage.sqlite.writer import Flushed
from gateway.storage.summaries import SqlSummaries
from gateway.storage.switches import SqlSkillSwitches
from gateway.storage.turns import SqlTurns
from gateway.tools.base import FunctionTool
from gateway.tools.builtin import builtin_tools
from gateway.tools.fetch.tool import http_fetch
from gateway.turn.parts import Parts
from gateway.turn.suggestions import Suggestions

DEMO_KEY = "demo"
TAKEN = frozenset({READ_ARCHIVE, MANAGE_MEMORY})
"""Names of tools that are made here."""

log = structlog.get_logger(__name__)


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
    approvals: Approvals
    switches: SkillSwitches
    learned: LearnedSessions
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
    async with await SqliteDatabase.open(settings.database_path, flushed=flushed) as database:
        yield storage_on(database, open_blobs(settings.blob_url, settings.data_dir))


def storage_on(database: SqliteDatabase, blobs: Blobs | None = None) -> Storage:
    """The record in a database that is open; without `blobs` they are kept beside it."""
    bus, blobs = MemoryBus(), blobs or open_blobs(None, database.path.parent)
    archived = ArchiveReader(blobs)
    search = SqliteSearch(database, archived.messages)
    summaries = SqlSummaries(database)
    return Storage(
        log=SqliteEventLog(database, bus, archived.events),
        sessions=SqlSessions(database, bus, archived.messages, search),
        turns=SqlTurns(database),
        compressions=SqlCompressions(database),
        summaries=summaries,
        archives=SqlArchives(database),
        copies=SqlCopies(database, summaries),
        search=search,
        approvals=SqlApprovals(database),
        switches=SqlSkillSwitches(database),
        learned=SqlLearnedSessions(database),
        blobs=blobs,
        bus=bus,
    )


@asynccontextmanager
async def open_memory(
    settings: Settings, model: Model | None = None, *, told: Callable[[Changed], None] = lambda _: None
) -> AsyncGenerator[MemoryRoom]:
    """The memories of the data folder, which other processes may have open at the same time. `model` is asked
    what rules cannot tell, where settings allow it; `told` hears of each change that is made through here.

    Raises:
        StorageError: the file cannot be used.
        SettingsError: vectors are configured, and what they need is not installed.
    """
    async with await SharedDatabase.open(settings.memory_path) as database:
        store = SqlMemories(database)
        searcher = Searcher(store, embeddings_of(settings))

        def changed(change: Changed) -> None:
            if searcher.embedding is not None:
                searcher.embedding.nudge(Whole(change.row.user_id))
            told(change)

        memories = Memories(store, most=settings.memory_limit, told=changed)
        controller = Controller(settings, model)
        recall = Recall(store, searcher, controller, settings)
        try:
            yield MemoryRoom(
                store=store,
                memories=memories,
                searcher=searcher,
                corrections=Corrections(memories),
                profiles=Profiles(store),
                controller=controller,
                recall=recall,
            )
        finally:
            await recall.close()
            await searcher.close()


def open_keeper(
    settings: Settings,
    room: MemoryRoom,
    model: Model,
    *,
    learned: Callable[[Learned], None] = lambda _: None,
) -> Keeper:
    """What learns from conversations, and takes what tools suggest to remember. `learned` hears of each
    conversation that was read."""
    prompts = PromptFolder(settings.prompts_dir)
    return Keeper(
        room.memories,
        model,
        settings,
        instructions=lambda: prompts.instructions("memory.md"),
        learned=learned,
    )


def open_documents(settings: Settings, room: MemoryRoom) -> Documents:
    """The documented memories of the folder that is set; they are looked at first with `refresh`."""
    return Documents(room.store, settings.documents_dir.expanduser())


def memory_skill(settings: Settings, room: MemoryRoom | None) -> FunctionSkill:
    """The tool with which a model looks after memories; without a room it only tells that it is there."""
    if room is None:
        return FunctionSkill(manage_nothing(), BUILT_IN, MANAGE_MEMORY)
    tool = manage_memory(room.memories, room.searcher, lambda user: households_of(settings, user))
    return FunctionSkill(tool, BUILT_IN, MANAGE_MEMORY)


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


def look_at_skills(
    settings: Settings,
    functions: Sequence[FunctionSkill],
    server_tools: Callable[[], Sequence[ServerTool]],
    window: int,
) -> SkillLibrary:
    """As `open_skills`, for whoever only looks, also while a gateway has the data folder: no snapshot is
    written."""
    unwritten = settings.model_copy(update={"skills_snapshot": False})
    return open_skills(unwritten, StoredSwitches(settings.database_path), functions, server_tools, window)


def open_skills(
    settings: Settings,
    switches: SkillSwitches,
    functions: Sequence[FunctionSkill],
    server_tools: Callable[[], Sequence[ServerTool]],
    window: int,
) -> SkillLibrary:
    """The catalog of what is configured, whose snapshot may take a share of `window` tokens; it is looked at
    first with `refresh`."""
    return SkillLibrary(
        folders={
            "project": settings.skills_dir.expanduser(),
            "user": settings.user_skills_dir.expanduser() if settings.user_skills_dir else None,
            "bundled": bundled_folder() if settings.bundled_skills else None,
        },
        functions=functions,
        server_tools=server_tools,
        switches=switches,
        share_tokens=int(window * settings.skills_share),
        snapshot_path=settings.data_dir / SNAPSHOT_NAME if settings.skills_snapshot else None,
    )


def function_skills(settings: Settings, given: Sequence[FunctionTool] = ()) -> list[FunctionSkill]:
    """The built-in tools, those that are `given`, and those of the modules that settings and installed
    packages name, in this order.

    Raises:
        SettingsError: a module that settings name cannot be used.
    """
    functions, warnings = find_functions(settings, given)
    for warning in warnings:
        log.warning("skill_warning", told=warning)
    return functions


def find_functions(
    settings: Settings, given: Sequence[FunctionTool] = ()
) -> tuple[list[FunctionSkill], list[str]]:
    """`function_skills`, and what could not be used."""
    built_in = [*builtin_tools(), *([http_fetch()] if settings.http_fetch else [])]
    loaded, warnings = load_functions(settings.skill_modules)
    functions = [
        *(FunctionSkill(tool, BUILT_IN, tool.spec.name) for tool in built_in),
        *(FunctionSkill(tool, "app", tool.spec.name) for tool in given),
        *loaded,
    ]
    for skill in functions:
        if (name := skill.tool.spec.name) in TAKEN:
            raise SettingsError(f"{skill.source}: the name {name} is taken. Give the tool another.")
    return functions, warnings


def assemble_parts(
    settings: Settings,
    storage: Storage,
    model: Model,
    skills: SkillLibrary,
    *,
    suggestions: Suggestions,
    memory: MemoryRoom | None = None,
) -> Parts:
    """What turns work with."""
    prompts, meter = PromptFolder(settings.prompts_dir), TokenMeter()
    summariser = SessionSummariser(
        sessions=storage.sessions,
        summaries=storage.summaries,
        model=model,
        settings=settings,
        instructions=lambda: prompts.instructions("summary.md"),
    )
    compressor = Compressor(
        sessions=storage.sessions,
        compressions=storage.compressions,
        blobs=storage.blobs,
        summariser=summariser,
        meter=meter,
        settings=settings,
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
        summariser=summariser,
        compressor=compressor,
        skills=skills,
        read_archive=read_archive(storage.sessions),
        approvals=storage.approvals,
        suggestions=suggestions,
        memory=memory,
        prompts=prompts,
    )
