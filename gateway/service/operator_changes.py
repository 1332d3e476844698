"""What the operator changes while the gateway runs: every replica goes by it, and at once where it is told.

a change ─▶ committed, with a signal ─▶ `look` of each replica ─▶ read ─▶ applied
a signal that was lost ───────────────▶ within LOOK_EVERY
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from gateway.errors import StorageError
from gateway.storage.replica_signals import Signals

LOOK_EVERY = 30.0
"""Seconds after which the database is looked at without a signal."""

log = structlog.get_logger(__name__)

Look = Callable[[], Awaitable[None]]
"""Reads what there is now and applies it. Raises errors.StorageError."""


class OperatorChanges:
    """One per process. Looks are made one after the other, so that what is applied last was read last."""

    def __init__(self, signals: Signals) -> None:
        self._looks: list[Look] = []
        self._wanted = asyncio.Event()
        self._looking = asyncio.Lock()
        signals.on("configured", lambda _: self._wanted.set())

    async def follow(self, look: Look) -> None:
        """Looks, and again whenever something may have changed. Raises what `look` raises."""
        await look()
        self._looks.append(look)

    async def look(self) -> None:
        """Applies what there is now. Raises errors.StorageError."""
        async with self._looking:
            for look in self._looks:
                await look()

    async def run(self) -> None:
        """Looks when it is told, and now and then, until it is cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), LOOK_EVERY)
            self._wanted.clear()
            try:
                await self.look()
            except StorageError as error:  # what was read before holds
                log.warning("operator_changes_unread", code=error.code, error=str(error))
