"""The contract of storage for retention: after how many days without use sessions are archived, and deleted.

What holds for a session is decided value by value: its own, else its tenant's, else the settings'. A tenant's
that is fixed goes before a session's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

FOR_GOOD = 0
"""In place of days: never."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A tenant's: days, FOR_GOOD, or None: as the settings say. While it is `fixed` sessions have none of
    their own."""

    tenant: str
    archive_days: int | None
    delete_days: int | None
    fixed: bool
    changed_by: str
    changed_at: int


class SessionDays(NamedTuple):
    """A session's own: days, FOR_GOOD, or None: its tenant's hold."""

    archive: int | None
    delete: int | None


@dataclass(frozen=True, slots=True)
class RetainedSession:
    """A session as retention looks at it: last used at `updated_at`, with its own days. `is_archived`: there
    are no rows to move; `is_held`: there is a legal hold on it, or its owner; `is_temporary`: it ends
    soon."""

    id: str
    owner: str
    updated_at: int
    archive_days: int | None
    delete_days: int | None
    is_archived: bool
    is_held: bool
    is_temporary: bool = False


class Retention(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def rules(self) -> Sequence[RetentionRule]:
        """Of all tenants that have one, by tenant."""
        ...

    async def put(self, rule: RetentionRule) -> None:
        """In place of the tenant's former one."""
        ...

    async def idle(self, *, before: int, after: str, limit: int) -> Sequence[RetainedSession]:
        """Sessions without a turn in flight that were used last before that time (Unix ms), in the order of
        their ids, beginning after that one."""
        ...
