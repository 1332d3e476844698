"""Suggestions of tools for the memory, handed on in the background: no turn waits for them."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog

from gateway.events.tool_calls import MemoryWriteSuggestion

MAX_WAITING = 1000
"""Calls whose suggestions may wait for the memory; those of more are dropped."""
DRAIN_TIMEOUT = 2.0
"""Seconds that waiting suggestions get when the server stops."""
CALL_TIMEOUT = 30.0
"""Seconds that the memory may take for the suggestions of one call."""

log = structlog.get_logger(__name__)


class WriteSource(NamedTuple):
    """Whose call the suggestions come from."""

    owner: str
    session_id: str
    turn_id: str
    tool_call_id: str
    tool: str
    trusted: bool = False
    """Whether the operator trusts the tool, and all that the model had read when it called it."""

    @property
    def ids(self) -> dict[str, str]:
        """The fields of a log line about it."""
        return {name: value for name, value in self._asdict().items() if name not in {"owner", "trusted"}}


class MemoryPort(Protocol):
    """Where suggestions go. It decides what becomes of them, for `source.owner` alone: the owner that a
    suggestion names is a tool's word. It may raise anything; the same suggestions are not tried again."""

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: WriteSource) -> None: ...


class LoggedMemory:
    """Remembers nothing: a line in the log for each suggestion, without its content."""

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: WriteSource) -> None:
        for write in writes:
            log.info(
                "memory_write_suggested",
                **source.ids,
                type=write.type,
                owner_type=write.owner_type,
                importance=write.importance,
                size=len(write.content),
            )


class MemoryWriteQueue:
    """Hands suggestions on, one call's after the other, while `run` runs."""

    def __init__(self, port: MemoryPort | None = None) -> None:
        self._port = port or LoggedMemory()
        self._waiting = asyncio.Queue[tuple[Sequence[MemoryWriteSuggestion], WriteSource]](MAX_WAITING)
        self.dropped = 0

    def enqueue(self, writes: Sequence[MemoryWriteSuggestion], source: WriteSource) -> None:
        """Takes the suggestions of one call. Never raises and never waits: what is too much is dropped, with
        a line in the log, and counted in `dropped`."""
        try:
            self._waiting.put_nowait((tuple(writes), source))
        except asyncio.QueueFull:
            self.dropped += len(writes)
            log.warning("memory_writes_dropped", tool=source.tool, writes=len(writes), dropped=self.dropped)

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            writes, source = await self._waiting.get()
            try:
                async with asyncio.timeout(CALL_TIMEOUT):
                    await self._port.suggest(writes, source)
            except Exception as error:  # noqa: BLE001 - a failure of the memory must not end a turn
                kind = type(error).__name__
                log.warning("memory_writes_failed", **source.ids, writes=len(writes), error=kind)
            finally:
                self._waiting.task_done()

    async def close(self) -> None:
        """Waits, shortly, until what has been handed over has been handed on; `run` must still be running."""
        try:
            async with asyncio.timeout(DRAIN_TIMEOUT):
                await self._waiting.join()
        except TimeoutError:
            log.warning("memory_writes_dropped", waiting=self._waiting.qsize())
