"""Work that one process at a time does, of all that have a store open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from gateway.errors import GatewayError


class Exclusive(Protocol):
    """Names, each held by one task at a time."""

    def hold(self, name: str, *, refusal: GatewayError | None = None) -> AbstractAsyncContextManager[None]:
        """Holds the name for as long as the context is open. While another holder has it, entering raises
        `refusal`; without one it waits until the name is free.

        Raises:
            errors.StorageError: the holder cannot be determined; or (code hold_lost) another process may hold
                the name by now: the task in the context was cancelled for that.
        """
        ...


class LocalExclusive:
    """The `Exclusive` protocol where one process has the store."""

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def hold(self, name: str, *, refusal: GatewayError | None = None) -> AsyncGenerator[None]:
        """Holds the name in this process while the context is open; waits for it, or raises `refusal`."""
        while (until := self._held.get(name)) is not None:
            if refusal is not None:
                raise refusal
            await until.wait()
        self._held[name] = over = asyncio.Event()
        try:
            yield
        finally:
            del self._held[name]
            over.set()
