"""A session in real SQLite that can be compressed, and whatever may go wrong while it is."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.errors import BlobMissing
from gateway.events.session_changes import Compression
from gateway.history.archive import read_version
from gateway.history.compression.compressor import Compressor
from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.history.tokens import TokenMeter
from gateway.storage.archives import CompressionRow
from tests.history.scripted import ScriptedModel, says, user, words
from tests.product import Conflict, Message, ModelCalls, Settings, Storage, Usage, load_settings
from tests.storage.writing import OWNER, running, sqlite_storage

MODEL = "claude-sonnet-4-5"
TEXT = words(300)


@dataclass(slots=True)
class Notified:
    """What was said of compressions."""

    events: list[Compression] = field(default_factory=list[Compression])

    async def __call__(self, event: Compression) -> None:
        self.events.append(event)

    @property
    def phases(self) -> list[str]:
        return [event.phase for event in self.events]


@dataclass(slots=True)
class Session:
    """One session, its storage, and a compressor with a scripted model."""

    storage: Storage
    model: ScriptedModel
    id: str = "s"
    notified: Notified = field(default_factory=Notified)
    turns: int = 0

    async def add(self, *messages: Message, usage: Usage | None = None, end: bool = True) -> None:
        """One turn with these messages, the last with `usage`; it goes on running without `end`."""
        self.turns += 1
        writer = await running(self.storage, self.id, f"t{self.turns}")
        fates = [
            writer.append("text", message=message, usage=usage if message is messages[-1] else None)
            for message in messages
        ]
        if end:
            fates.append(writer.close())
        assert await asyncio.gather(*fates) == [None] * len(fates)

    def compressor(self, parts: Storage | None = None, **settings: Any) -> Compressor:
        """A compressor on these parts; failing ones can be given instead."""
        parts = parts or self.storage
        return Compressor(
            sessions=parts.sessions,
            compressions=parts.compressions,
            orphans=parts.orphans,
            blobs=parts.blobs,
            summariser=self.summariser(parts, **settings),
            meter=TokenMeter(),
            settings=_settings(**settings),
            exclusive=parts.exclusive,
        )

    def summariser(self, parts: Storage | None = None, **settings: Any) -> SessionSummariser:
        """The summariser of such a compressor."""
        parts = parts or self.storage
        return SessionSummariser(
            sessions=parts.sessions,
            summaries=parts.summaries,
            calls=ModelCalls(self.model, _settings(**settings)),
            settings=_settings(**settings),
            instructions=lambda: "Summarise.",
            exclusive=parts.exclusive,
        )

    async def compress(self, parts: Storage | None = None, **settings: Any) -> CompressionRow:
        return await self.compressor(parts, **settings).compress(
            self.id, model=MODEL, trigger="manual", notify=self.notified
        )

    async def state(self) -> tuple[Any, ...]:
        """Everything that a compression may change."""
        history = await self.storage.sessions.history(self.id)
        versions = await self.storage.compressions.list(self.id)
        return history.compression, list(history.messages), history.generation_from, versions

    async def has_archive(self, version: int) -> bool:
        """Whether a blob of that version lies there, in force or not."""
        paths = [row.archive_path for row in await self.storage.compressions.list(self.id)]
        paths += await self.storage.orphans.candidates(2**62, 99)
        for path in (each for each in paths if f"/archive/{version}-" in each):
            with suppress(BlobMissing):
                await self.storage.blobs.read(path)
                return True
        return False


@asynccontextmanager
async def session(folder: Path, *script: Any) -> AsyncGenerator[Session]:
    async with sqlite_storage(folder) as storage:
        with suppress(Conflict):  # opened again
            await storage.sessions.create("s", OWNER, None, 1)
        yield Session(storage, ScriptedModel(*script))


def _settings(**given: Any) -> Settings:
    usual = {"context_window": 100_000, "model_attempts": 1, "summary_tokens": 600}
    return load_settings(**(usual | given))


class Failing:
    """Something that works but for `method`, which raises `failure`."""

    def __init__(self, whole: object, method: str, failure: Exception) -> None:
        self._whole, self._method, self._failure = whole, method, failure

    def __getattr__(self, name: str) -> Any:
        if name != self._method:
            return getattr(self._whole, name)
        return self._stream if name == "stream" else self._fail

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise self._failure

    async def _stream(self, *_: Any) -> AsyncGenerator[bytes]:
        yield b""
        raise self._failure


def talk(count: int, text: str) -> Sequence[tuple[Message, Message]]:
    return [(user(f"question {n}: {text}"), says(f"answer {n}: {text}")) for n in range(count)]


async def archived(opened: Session, row: CompressionRow) -> list[bytes]:
    """The lines of a version's archive."""
    return [line async for line in read_version(opened.storage.blobs, row)]
