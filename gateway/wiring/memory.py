"""The memory services, the extractor and the documents of a configuration."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

from gateway.errors import StorageError
from gateway.memory.changes import Changed
from gateway.memory.documents.document_sync import Documents
from gateway.memory.extraction.extractor import Extractor
from gateway.memory.extraction.report import LearningReport
from gateway.memory.memories import Memories
from gateway.memory.profiles import ScopedProfiles
from gateway.memory.recall import Recall
from gateway.memory.retrieval_gate.gate import RetrievalGate
from gateway.memory.search.embeddings import embeddings_of
from gateway.memory.search.searcher import Searcher
from gateway.memory.services import MemoryServices
from gateway.model.side_calls import ModelCalls
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.storage.database import ConnectionPools
from gateway.storage.exclusive import Exclusive
from gateway.storage.memories import AllScopes
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from gateway.wiring.memory_database import memories_in, open_memory_database

DAMAGED = (
    "If the file {} is damaged, move it away with its -wal, -shm and .identity files, and put a backup in "
    "its place or begin with an empty memory. "
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
        SettingsError: vectors or PostgreSQL are configured, and what they need is not installed; or a key
            that memories may be encrypted with is missing.
    """
    async with open_memory_database(settings) as database:
        if pools is not None:
            database.measured_by(pools)
        store = await memories_in(database, settings)
        searcher = Searcher(store, embeddings_of(settings), exclusive)

        def changed(change: Changed) -> None:
            if searcher.embedding is not None:
                searcher.embedding.enqueue(AllScopes(change.row.user_id))
            on_change(change)

        memories = Memories(store, most=settings.memory_limit, on_change=changed)
        retrieval_gate = RetrievalGate(settings, calls)
        recall = Recall(store, searcher, retrieval_gate, settings)
        try:
            yield MemoryServices(
                store=store,
                memories=memories,
                searcher=searcher,
                profiles=ScopedProfiles(store),
                retrieval_gate=retrieval_gate,
                recall=recall,
                watch=database.watch if isinstance(database, SqliteMemoryDatabase) else None,
            )
        finally:
            await recall.close()
            await searcher.close()


@contextmanager
def memory_needed(settings: Settings) -> Generator[None]:
    """Adds to a StorageError raised within what can be done where the memory cannot be used."""
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
    """The documents of the folder that is set, and of the operators' written skills that are on;
    they are looked at first with `refresh`. Bundled skills have forms to fill in, which are not worth
    recalling."""
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
