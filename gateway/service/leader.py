"""Work that one process of a store does for all: it costs money, or is needed only once."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import structlog

from gateway.errors import StorageError
from gateway.storage.exclusive import Exclusive
from gateway.supervisor import Supervisor, Work

NAME = "leader"
RETRY = 1.0
"""Seconds until the leadership is sought again after the database could not be asked for its holder."""

log = structlog.get_logger(__name__)


class Leader:
    """One per process. Of all processes of a store one does the `works`, each with its name, for as long as
    it can be sure to be the one; when it ends, or is cut off from the database, another one does."""

    def __init__(
        self, exclusive: Exclusive, supervisor: Supervisor, works: Sequence[tuple[Work, str]]
    ) -> None:
        self.leads = False
        self._exclusive = exclusive
        self._supervisor = supervisor
        self._works = works

    async def run(self) -> None:
        """Waits for its turn and works, until it is cancelled."""
        while True:
            try:
                await self._lead()
            except StorageError as error:
                log.warning("not_leading", code=error.code, error=str(error))
                await asyncio.sleep(RETRY)

    async def _lead(self) -> None:
        async with self._exclusive.hold(NAME), AsyncExitStack() as stack:
            for work, name in self._works:
                await stack.enter_async_context(self._supervisor.running(work, name))
            self.leads = True
            stack.callback(setattr, self, "leads", False)
            await asyncio.Event().wait()
