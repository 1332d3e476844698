"""The contract of storage for links by which a session is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Audience = Literal["signed_in", "anybody"]
"""signed_in: whoever is known to this gateway, in the tenant of the link's owner; anybody: who has the
link."""


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A link of `owner` to a session of theirs, of whose secret the `digest` alone is stored: SHA-256 in hex
    of 256 random bits, which nobody can guess. It shows the events up to `until_seq` of a `branch`; None: all
    that there are, of the one that is active. Times are Unix milliseconds."""

    id: str
    digest: str
    owner: str
    session: str
    audience: Audience
    until_seq: int | None
    branch: int | None
    created_at: int
    expires_at: int | None = None
    opened_at: int | None = None
    openings: int = 0

    def holds(self, now: int) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


class SharedLinks(Protocol):
    """A link ends with its session. Every method raises errors.StorageError when the database cannot do its
    work."""

    async def add(self, link: SharedLink, *, most: int) -> None:
        """Raises errors.Conflict (too_many_links): its owner has `most` that have not expired. Those that
        have are removed."""
        ...

    async def list(self, owner: str) -> Sequence[tuple[SharedLink, str | None]]:
        """The owner's, the newest first, each with the title of its session."""
        ...

    async def find(self, digest: str) -> SharedLink | None:
        """The link of that digest, expired or not, to a session that its owner has still."""
        ...

    async def opened(self, link_id: str, now: int) -> None:
        """Notes that it was opened."""
        ...

    async def end(self, owner: str, link_id: str) -> bool:
        """Removes one of the owner's; whether there was one."""
        ...
