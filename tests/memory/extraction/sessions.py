"""Sessions in real storage that an extractor learns from beside their turns."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.ids import new_turn_id
from gateway.memory.extraction.extractor import Extractor
from gateway.memory.services import MemoryServices
from gateway.service.dependencies import Dependencies
from gateway.service.learning_worker import LearningWorker
from gateway.service.session_events import SessionEvents
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.learning_progress import LearnedSessions
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.wiring import assemble, open_skills
from tests.history.scripted import ScriptedModel, says, user
from tests.memory.extraction.conversing import NOTHING
from tests.product import (
    Closing,
    Filter,
    ModelCalls,
    Scope,
    Storage,
    StoredEvent,
    load_settings,
    open_memory,
    open_storage,
)
from tests.storage.saying import add_version, tell, version
from tests.storage.writing import OWNER, accepted, writer_of


@dataclass(slots=True)
class Sessions:
    """Where users say things, and what is learned from it. `work` runs beside."""

    storage: Storage
    services: MemoryServices
    deps: Dependencies
    model: ScriptedModel
    extractor: Extractor
    learned: LearnedSessions
    learning: LearningWorker
    work: asyncio.Task[None]
    turns: list[str] = field(default_factory=list[str])

    async def say(
        self,
        text: str,
        session_id: str = "s",
        *,
        end: bool = True,
        crash: bool = False,
        parent: str | None = None,
        owner: str = OWNER,
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        """One turn with an answer. It goes on running without `end`, until what is returned is called; with
        `crash` its end goes unnoticed."""
        turn_id = new_turn_id()
        self.turns.append(turn_id)
        now = await accepted(self.storage, session_id, turn_id, parent=parent, owner=owner)
        self.learning.take_up(now.turn)
        writer = writer_of(self.storage, now)
        await tell(writer, "turn_start", user(text))
        await tell(writer, "iteration_end", says("好的"))
        if crash:
            self.work.cancel()

        async def finish() -> None:
            await tell(writer, "done", closing=Closing("completed", 1, None, None, 9))

        if end:
            await finish()
        return finish

    async def end(self, session_id: str = "s") -> SessionRow:
        """Nobody uses the session any more."""
        session = await self.storage.sessions.get(session_id, OWNER)
        self.learning.session_ended(session)
        return session

    async def remembered(self) -> list[str]:
        rows = await self.services.store.list(Scope(OWNER), Filter(), limit=100)
        return [row.content for row in sorted(rows, key=lambda row: row.created_at)]

    async def memory_events(self, session_id: str = "s") -> list[dict[str, Any]]:
        """The memory events in the session's log."""
        found = await self.storage.log.read(session_id, after=0, limit=1000, types=["memory"])
        return [event.load() for event in found]

    def next_memory_event(self) -> asyncio.Future[None]:
        """Is done when the next memory event stands in a log."""
        found: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def watch(session_id: str, events: Sequence[StoredEvent]) -> None:
            if not found.done() and any(event.type == "memory" for event in events):
                found.set_result(None)

        self.storage.bus.watch(watch)
        return found

    async def compress(self, session_id: str = "s") -> None:
        """The session's history is summarised, all but its end."""
        last = (await self.storage.sessions.messages(session_id))[-1].position
        await add_version(self.storage, version(1, 1, last - 2, session_id=session_id, trigger="manual"))


@asynccontextmanager
async def sessions(
    folder: Path, *script: Any, first_retry: float = 0.001, **settings: Any
) -> AsyncGenerator[Sessions]:
    given = load_settings(**({"data_dir": folder, "memory_learning": "turns"} | settings))
    model = ScriptedModel(*(script or (NOTHING,)))
    async with open_storage(given) as storage, open_memory(given) as services:
        extractor = Extractor(
            services.memories, ModelCalls(model, given), given, instructions=lambda: "Find."
        )
        skills = open_skills(given, storage.switches, (), tuple, 200_000)
        deps = assemble(
            given,
            storage,
            model,
            skills,
            memory_writes=MemoryWriteQueue(extractor),
            memory=services,
            id_key=bytes(32),
        )
        learned = storage.learned
        learning = LearningWorker(deps, extractor if given.memory else None, learned, first_retry=first_retry)
        storage.bus.watch(learning.watch)
        looking = asyncio.create_task(learning.look())
        work = asyncio.create_task(learning.run(SessionEvents(storage.log)))
        marking = asyncio.create_task(learning.mark_begun())
        try:
            yield Sessions(storage, services, deps, model, extractor, learned, learning, work)
        finally:
            work.cancel()
            marking.cancel()
            looking.cancel()
            await asyncio.wait([work, marking, looking])
