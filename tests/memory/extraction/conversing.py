"""An extractor with a real store, and a model that offers what a test scripts."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from gateway.events.tool_calls import MemoryWriteSuggestion
from gateway.memory.changes import Attribution, Changed
from gateway.memory.extraction.extractor import Extractor
from gateway.memory.extraction.report import LearningReport
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from gateway.turn.memory_write_queue import WriteSource
from tests.history.scripted import Scripted, ScriptedModel, stored
from tests.product import Filter, MemoryRow, Message, ModelCalls, Scope, load_settings

ANN = Scope("ann", session_id="s")
BY_ANN = Attribution("ann", "by hand")
SOURCE = WriteSource("ann", "s", "t_1", "toolu_1", "book")


NOTHING = '{"memories": []}'


def offers(*candidates: dict[str, Any]) -> str:
    return orjson.dumps({"memories": candidates}).decode()


def offer(quote: str, content: str | None = None, *, message: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "type": "preference",
        "content": content or quote,
        "quote": quote,
        "message": message,
        "importance": 4,
        "confidence": 0.9,
        **fields,
    }


@dataclass(slots=True)
class Learner:
    """What an extractor learns, and what it publishes."""

    memories: Memories
    model: ScriptedModel
    extractor: Extractor
    read: list[LearningReport]
    published: list[tuple[str, Changed]] = field(default_factory=list[tuple[str, Changed]])

    async def learn(
        self,
        *messages: Message,
        scope: Scope = ANN,
        answer: Scripted = NOTHING,
        session_id: str = "s",
        **options: Any,
    ) -> Sequence[Changed]:
        """Learns from these messages; `answer` is that of the model."""
        self.model.script[:] = [answer]
        given: dict[str, Any] = {"model": "claude-sonnet-4-5", **options}
        return await self.extractor.learn(scope, stored(*messages), session_id=session_id, **given)

    async def suggest(self, *writes: MemoryWriteSuggestion, source: WriteSource = SOURCE) -> None:
        await self.extractor.suggest(writes, source)

    async def save(self, content: str, scope: Scope = ANN, **fields: Any) -> MemoryRow:
        return (await self.memories.save(scope, NewMemory(content, **fields), BY_ANN)).row

    async def all(self, scope: Scope = ANN, **which: Any) -> list[MemoryRow]:
        """What the scope sees, oldest first."""
        rows = await self.memories.store.list(scope, Filter(**which), limit=100)
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    async def recallable(self, scope: Scope = ANN) -> list[str]:
        return [row.content for row in await self.all(scope, recallable=True)]

    async def publish(self, session_id: str, owner: str, changed: Sequence[Changed]) -> None:
        self.published += [(session_id, each) for each in changed]


@asynccontextmanager
async def open_learner(folder: Path, **settings: Any) -> AsyncGenerator[Learner]:
    async with await SqliteMemoryDatabase.open(folder / "memory.db") as database:
        store = MemoryStore(database)
        read: list[LearningReport] = []
        memories, model = Memories(store, most=settings.pop("most", 1000)), ScriptedModel(offers())
        given = load_settings(**settings)
        extractor = Extractor(
            memories,
            ModelCalls(model, given),
            given,
            instructions=lambda: "Find what is worth remembering.",
            on_report=read.append,
        )
        learner = Learner(memories, model, extractor, read)
        extractor.publish_changes = learner.publish
        yield learner
