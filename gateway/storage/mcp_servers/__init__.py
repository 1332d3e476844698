"""The contract of storage for MCP servers that the operator adds while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AddedMcpServer:
    """A server by its name; `settings` are those of `settings.value_types.McpServer` as JSON, with its
    secrets. `changed_at` in Unix milliseconds."""

    name: str
    settings: str
    changed_by: str
    changed_at: int


class AddedMcpServers(Protocol):
    """Settings are encrypted where there is a key to encrypt with. Every method raises errors.StorageError
    when the database cannot do its work."""

    async def list(self) -> Sequence[AddedMcpServer]:
        """All, by name; but for those whose encryption key is missing, which are logged."""
        ...

    async def put(self, server: AddedMcpServer, *, is_secret: bool, most: int) -> None:
        """Adds it, or puts it in the place of the one of that name, and tells all replicas.

        Raises:
            errors.EncryptionOff: it `is_secret`, and there is no key to encrypt with.
            errors.Conflict (too_many_mcp_servers): there are `most` of other names.
        """
        ...

    async def remove(self, name: str) -> bool:
        """Whether there was one; all replicas are told."""
        ...
