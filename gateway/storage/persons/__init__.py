"""The contract of storage for persons: what there is of a user wherever they are named, and its erasure.

    requested ──▶ running ──▶ done            nothing names them any more but a pseudonym
                   │    ▲
                   ▼    │
                  held ─┘                     a legal hold was placed meanwhile

Which tables name persons, and how, is in `tables.py`; a test holds it to the schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ErasureState = Literal["requested", "running", "held", "done"]
Key = tuple[Any, ...]
"""The primary key of a row."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an erasure leaves, how many of it (None: unknown), and why."""

    what: str
    count: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """The erasure of a person, who is named by their user id, and by a pseudonym before its last step.
    `found` is how many there were of each kind when it began, `step` what it does, or did last, `waits_for`
    why it does not go on. `starts` counts the processes that worked on it. Times are Unix milliseconds."""

    id: str
    tenant: str
    person: str
    requested_by: str
    requested_at: int
    state: ErasureState = "requested"
    step: str = "requested"
    starts: int = 0
    found: Mapping[str, int] | None = None
    kept: Sequence[Kept] = ()
    waits_for: str | None = None
    finished_at: int | None = None


class PersonErasures(Protocol):
    """The erasures that were asked for. Every method raises errors.StorageError when the database cannot do
    its work."""

    async def request(self, erasure: Erasure) -> Erasure:
        """Stores it; of a person whose erasure is not done yet, returns that one. Raises errors.Conflict
        (legal_hold): something of theirs is held."""
        ...

    async def unfinished(self) -> Sequence[Erasure]:
        """The oldest first."""
        ...

    async def of(self, *persons: str) -> Erasure | None:
        """The newest of these names."""
        ...

    async def ids(self, tenant: str) -> Sequence[str]:
        """Of all erasures of a tenant's users, the newest first."""
        ...

    async def put(self, erasure: Erasure) -> bool:
        """Stores how far it is. False, and nothing done: it is done already."""
        ...


class Persons(Protocol):
    """What there is of a user, by the names in `tables.py`. Every method raises errors.StorageError when the
    database cannot do its work."""

    @property
    def exported(self) -> Sequence[str]:
        """The tables whose rows are exported."""
        ...

    @property
    def removed(self) -> Sequence[str]:
        """The tables whose rows `remove` is to remove, in this order: of the others they go with sessions and
        artifacts."""
        ...

    async def counts(self, user_id: str) -> Mapping[str, int]:
        """How many rows of each table are theirs, by its name, without those that have none."""
        ...

    async def page(
        self, table: str, user_id: str, *, after: Key | None, limit: int
    ) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
        """Rows of theirs in the order of their keys, behind that one, without what is secret; and the key of
        the last one, None where there are no more."""
        ...

    async def elsewhere(
        self, user_id: str, *, after: Key | None, limit: int
    ) -> tuple[Sequence[Mapping[str, Any]], Key | None]:
        """What they wrote in sessions of others, which no export of sessions has, as `page` gives it."""
        ...

    async def remove(self, table: str, user_id: str, limit: int) -> int:
        """Removes at most `limit` of their rows; how many that were. Raises errors.Conflict (legal_hold)."""
        ...

    async def rename(self, user_id: str, pseudonym: str) -> int:
        """Puts the pseudonym in the place of a user, whose sessions are removed, where they did something to
        what is others', and of their turns in sessions of others; how often."""
        ...

    async def named(self, user_id: str) -> Mapping[str, int]:
        """How many rows of each table still name them, in any of its columns."""
        ...
