"""A turn that runs on real storage, with a model that a test scripts, as its steps get it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway.turn.context import TurnContext
from gateway.turn.emitter import Emitter
from gateway.turn.memory_write_queue import MemoryWriteQueue
from gateway.turn.progress import TurnProgress
from gateway.turn.start_and_end import TurnBounds
from gateway.wiring import assemble, function_skills, open_skills
from tests.history.scripted import Scripted, ScriptedModel
from tests.product import (
    FunctionTool,
    NewTurn,
    SqliteDatabase,
    StoredEvent,
    ToolSpec,
    load_settings,
    open_memory,
    storage_on,
)
from tests.storage.writing import OWNER

LIMITS = TurnBounds(4, None, 60)


@asynccontextmanager
async def turn_at_work(
    folder: Path,
    *script: Scripted,
    tools: Sequence[FunctionTool] = (),
    client_tools: Sequence[ToolSpec] = (),
    text: str = "hello",
    **given: Any,
) -> AsyncGenerator[TurnContext]:
    """The first turn of the session `s`, accepted; nothing of it is emitted yet."""
    settings = load_settings(**({"data_dir": folder, "model": "model", "memory": False} | given))
    model = ScriptedModel(*script)
    async with (
        await SqliteDatabase.open(settings.database_path) as database,
        open_memory(settings) as memory,
    ):
        storage = storage_on(database)
        skills = open_skills(settings, storage.switches, function_skills(settings, tools), tuple, 200_000)
        await skills.refresh()
        deps = assemble(
            settings,
            storage,
            model,
            skills,
            memory_writes=MemoryWriteQueue(),
            id_key=b"key",
            memory=memory if settings.memory else None,
        )
        new = NewTurn("t", "s", OWNER, text, "model", None, "reject", create_session=True, at=1)
        now = await storage.turns.accept(new, max_queued=0)
        emitter = Emitter(storage.log, now.turn, now.head, TurnProgress())
        yield TurnContext(deps, emitter, LIMITS, client_tools=client_tools)


async def stored(turn: TurnContext) -> list[dict[str, Any]]:
    """The events of the turn, as the log has them."""
    await turn.emitter.flush()
    events: list[StoredEvent] = await turn.deps.log.read("s", after=0, limit=10_000)
    return [event.load() for event in events]
