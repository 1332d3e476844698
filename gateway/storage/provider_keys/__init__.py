"""The contract of storage for keys of the model's provider that users and tenants bring along."""

from dataclasses import dataclass, field
from typing import Protocol

TENANT = ""
"""In the place of a user: the key is the tenant's."""


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """The key of a user, or (TENANT) of all users of a tenant who have none. `ending` is what may be shown of
    it. `set_at` is in Unix milliseconds."""

    tenant: str
    user_id: str
    secret: str = field(repr=False)
    ending: str
    set_at: int
    set_by: str


class ProviderKeys(Protocol):
    """Keys are encrypted, bound to whose they are. Every method raises errors.StorageError when the database
    cannot do its work, and errors.DecryptionFailed: a row is not what was written, or its key is missing."""

    @property
    def can_store(self) -> bool:
        """Whether there is a key to encrypt with; without one nothing can be set, and nothing is found."""
        ...

    async def set(self, key: ProviderKey) -> None:
        """Adds it, or puts it in the place of the one that there is."""
        ...

    async def get(self, tenant: str, user_id: str) -> ProviderKey | None: ...

    async def serving(self, tenant: str, user_id: str) -> ProviderKey | None:
        """The user's own, else their tenant's."""
        ...

    async def remove(self, tenant: str, user_id: str) -> bool:
        """Whether there was one."""
        ...
