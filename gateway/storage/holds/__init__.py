"""The contract of storage for legal holds: what a user has, or one session, stays until the hold is lifted.

The transactions that would remove something, or overwrite what stands nowhere else, look for one
(`statements.check_not_held`), whoever asks for it: its owner, an admin, retention, an erasure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

HoldKind = Literal["user", "session"]


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold on `subject_id`, a user or a session of the user `owner`, since `placed_at` (Unix ms). `reason`
    is for admins."""

    id: str
    kind: HoldKind
    subject_id: str
    owner: str
    tenant: str
    reason: str
    placed_by: str
    placed_at: int


class Holds(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def place(self, hold: Hold) -> None:
        """Raises errors.Conflict (hold_exists): there is one on this subject."""
        ...

    async def owner_of(self, session_id: str) -> str:
        """Whose a session is, for an admin. Raises errors.NotFound (session_not_found)."""
        ...

    async def get(self, hold_id: str) -> Hold:
        """Raises errors.NotFound (hold_not_found)."""
        ...

    async def list(self, *, tenant: str | None = None, owner: str | None = None) -> Sequence[Hold]:
        """Those of a tenant's users, of one user, or all: the oldest first."""
        ...

    async def lift(self, hold_id: str) -> None:
        """Ends it. Raises errors.NotFound (hold_not_found)."""
        ...

    async def check(self, owner: str, session_id: str | None = None) -> None:
        """Raises errors.Conflict (legal_hold): there is one on the user, or on that session."""
        ...
