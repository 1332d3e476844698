"""The contract of storage for the audit: who did what, when, from where, with which result; no content.

Entries are added, never changed. Triggers in the database refuse any other statement than these two: the
removal of what is older than a time that was written down before (`audit_removals`), and the pseudonym that
takes the place of a person who is erased.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

ERASED = "erased:"
"""What a pseudonym begins with. No user's id has a colon."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done or refused `at` a time (Unix ms). `actor` is the user's id, `cli:<user of the
    system>`, or None: nobody knows who. `subject_kind` and `subject_id` name what it was done to. `result` is
    done, `refused:<code>` or `failed:<code>`. `times` counts equal refusals that came soon after another, or
    what ended with somebody's access."""

    at: int
    tenant: str
    actor: str | None
    key_id: str | None
    address: str | None
    action: str
    subject_kind: str | None
    subject_id: str | None
    result: str
    request_id: str | None
    times: int = 1


class StoredEntry(NamedTuple):
    """An entry, and its number: the order in which they were added."""

    number: int
    entry: AuditEntry


class AuditFilter(NamedTuple):
    """What a reader wants; None: any. `since` and `until` are Unix ms, the latter not included; `action` is a
    whole one, or the subject of several (`session` for `session.delete` and all others)."""

    actor: str | None = None
    action: str | None = None
    since: int | None = None
    until: int | None = None


class AuditLog(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def add(self, entries: Sequence[AuditEntry]) -> None:
        """Adds them, all or none."""
        ...

    async def list(
        self, tenant: str, wanted: AuditFilter, *, before: int | None, limit: int
    ) -> Sequence[StoredEntry]:
        """The newest first, those with a number below `before`."""
        ...

    async def about(self, user_id: str, *, before: int | None, limit: int) -> Sequence[StoredEntry]:
        """What that user did, and what was done to them as a person, as `list`."""
        ...

    async def pseudonymise(self, user_id: str, pseudonym: str) -> int:
        """Puts `pseudonym` in the place of a user, without address and key; returns in how many entries."""
        ...

    async def count(self, actor: str) -> int:
        """How many entries there are of what somebody did, or was done to them as a person."""
        ...

    async def sweep(self, *, before: int, now: int, limit: int) -> int:
        """Removes at most `limit` entries older than `before` (Unix ms), but those of users that are held;
        returns how many."""
        ...
