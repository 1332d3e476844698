"""The contract of storage for the gateway's own sign-ins to MCP servers."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class McpSignIns(Protocol):
    """Texts, each under a key, encrypted and bound to it. Every method raises errors.StorageError when the
    database cannot do its work, and errors.DecryptionFailed: a text is not what was written, or its
    encryption key is missing."""

    @property
    def can_store(self) -> bool:
        """Whether there is a key to encrypt with; without one nothing can be put, and nothing is found."""
        ...

    async def put(self, key: str, secret: str, expires_at: int | None = None) -> None:
        """In place of the one there was; `expires_at` in Unix milliseconds. Raises errors.EncryptionOff."""
        ...

    async def get(self, key: str) -> str | None: ...

    async def take(self, key: str, now: int) -> str | None:
        """Removes it, and returns it if its time is not over: of several that ask, to one. Also removes all
        whose time is over."""
        ...

    async def remove(self, key: str) -> bool:
        """Whether there was one."""
        ...

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        """One task of all processes at a time."""
        ...
