"""The contract of storage for what the gateways of one database have in common."""

from typing import Protocol


class Installation(Protocol):
    """One database, and all processes that work on it."""

    async def secret(self, name: str) -> bytes:
        """256 random bits, the same for each process and after each restart: made when they are first asked
        for. Raises errors.StorageError."""
        ...
