"""The memory services, the extractor and the documents of a configuration."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from gateway.errors import StorageError
from gateway.memory.changes import Changed
from gateway.memory.control.controller import Controller
from gateway.memory.documents.library import Documents
from gateway.memory.learning.extractor import Extractor
from gateway.memory.learning.report import LearningReport
from gateway.memory.memories import Memories
from gateway.memory.profiles import ScopedProfiles
from gateway.memory.recall import Recall
from gateway.memory.search.embeddings import embeddings_of
from gateway.memory.search.searcher import Searcher
from gateway.memory.services import MemoryServices, households_of
from gateway.memory.tool import NAME as MANAGE_MEMORY
from gateway.memory.tool import manage_memory, manage_nothing
from gateway.model.calls import ModelCalls
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.skills.skill import BUILT_IN, FunctionSkill
from gateway.storage.database import ConnectionPools
from gateway.storage.exclusive import Exclusive
from gateway.storage.memories import AllScopes
from gateway.storage.memories.memory_database import MemoryDatabase
from gateway.storage.memories.store import SqlMemories
from gateway.storage.sqlite.shared import SharedDatabase
from gateway.tools.policy import is_trusted
from gateway.wiring.database_server import driver_needed

CONNECTIONS = 4
"""To a PostgreSQL server for the memories, made as they are needed."""

DAMAGED = (
    "If the file {} is damaged, move it away with its -wal and -shm files, and put a backup in its place or "
    "begin with an empty memory. "
)


@asynccontextmanager
async def open_memory(
    settings: Settings,
    calls: ModelCalls | None = None,
    *,
    exclusive: Exclusive | None = None,
    pools: ConnectionPools | None = None,
    on_change: Callable[[Changed], None] = lambda _: None,
) -> AsyncGenerator[MemoryServices]:
    """The memories of the data folder, or of the PostgreSQL database that has the sessions too: either may be
    open in other processes at the same time. With `calls` a model is asked where rules do not decide, if
    settings allow it; `exclusive` keeps several gateways from embedding the same; `on_change` is
    called with each change that is made through here. Its connections are added to `pools`.

    Raises:
        StorageError: the file, or the database, cannot be used.
        SettingsError: vectors or PostgreSQL are configured, and what they need is not installed.
    """
    async with _database(settings) as database:
        if pools is not None:
            database.measured_by(pools)
        store = SqlMemories(database)
        searcher = Searcher(store, embeddings_of(settings), exclusive)

        def changed(change: Changed) -> None:
            if searcher.embedding is not None:
                searcher.embedding.nudge(AllScopes(change.row.user_id))
            on_change(change)

        memories = Memories(store, most=settings.memory_limit, on_change=changed)
        controller = Controller(settings, calls)
        recall = Recall(store, searcher, controller, settings)
        try:
            yield MemoryServices(
                store=store,
                memories=memories,
                searcher=searcher,
                profiles=ScopedProfiles(store),
                controller=controller,
                recall=recall,
            )
        finally:
            await recall.close()
            await searcher.close()


@asynccontextmanager
async def _database(settings: Settings) -> AsyncGenerator[MemoryDatabase]:
    if settings.is_shared:
        with driver_needed():
            from gateway.storage.postgres.memory_dialect import PostgresMemoryDatabase  # noqa: PLC0415 - an extra
        assert settings.database_url is not None  # it is shared
        async with await PostgresMemoryDatabase.open(
            settings.database_url,
            direct_url=settings.database_direct_url,
            connections=CONNECTIONS,
        ) as database:
            yield database
        return
    async with await SharedDatabase.open(settings.memory_path) as database:
        yield database


@contextmanager
def memory_needed(settings: Settings) -> Generator[None]:
    """Says what can be done where the memory cannot be used: a StorageError within is raised with that."""
    try:
        yield
    except StorageError as error:
        advice = "" if settings.is_shared else DAMAGED.format(settings.memory_path)
        raise StorageError(
            f"{error} The memory cannot be used. {advice}GATEWAY_MEMORY=false starts without one.",
            code=error.code,
            retryable=False,
        ) from error


def open_extractor(
    settings: Settings,
    services: MemoryServices,
    calls: ModelCalls,
    *,
    on_report: Callable[[LearningReport], None] = lambda _: None,
) -> Extractor:
    """The extractor, with the instructions in the prompts' memory.md. `on_report` gets a report of each
    conversation that was read."""
    prompts = PromptFolder(settings.prompts_dir)
    return Extractor(
        services.memories,
        calls,
        settings,
        instructions=lambda: prompts.instructions("memory.md"),
        on_report=on_report,
    )


def open_documents(
    settings: Settings, services: MemoryServices, skills: SkillLibrary, exclusive: Exclusive
) -> Documents:
    """The documented memories of the folder that is set, and of the operators' written skills that are on;
    they are looked at first with `refresh`. Bundled skills have forms to fill in, which nobody wants
    recalled."""
    return Documents(
        services.store,
        settings.documents_dir.expanduser(),
        skills=lambda: {
            name: skill.folder for name, skill in skills.catalog.written.items() if skill.tier != "bundled"
        },
        most_of_skill=settings.documents_per_skill,
        deprecated_ttl=settings.deprecated_documents_ttl,
        exclusive=exclusive,
    )


def memory_skill(settings: Settings, services: MemoryServices | None) -> FunctionSkill:
    """The tool with which a model looks after memories; without services it can only be listed."""
    if services is None:
        return FunctionSkill(manage_nothing(), BUILT_IN, MANAGE_MEMORY)
    tool = manage_memory(
        services.memories,
        services.searcher,
        lambda user: households_of(settings, user),
        trusts=partial(is_trusted, settings.trusted_tools),
    )
    return FunctionSkill(tool, BUILT_IN, MANAGE_MEMORY)
