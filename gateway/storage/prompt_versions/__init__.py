"""The contract of storage for what the operator writes in place of files of the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """What a component says from then on: `text`, or None: its file again. `digest` is the SHA-256 of the
    text in hex, `number` grows with each version of any component, `changed_at` is in Unix milliseconds."""

    number: int
    component: str
    text: str | None
    digest: str | None
    note: str
    changed_by: str
    changed_at: int


class PromptVersions(Protocol):
    """Versions are added, and never changed. Every method raises errors.StorageError when the database cannot
    do its work."""

    async def add(self, version: PromptVersion, *, after: int) -> PromptVersion:
        """The version with the number that it gets, in the place of its own; all replicas are told. Raises
        errors.Conflict (component_changed): the component's newest version is not number `after`, 0 where
        there is none."""
        ...

    async def newest(self) -> Sequence[PromptVersion]:
        """The newest version of each component, by its name."""
        ...

    async def of(self, component: str, *, before: int | None, limit: int) -> Sequence[PromptVersion]:
        """A component's, the newest first: at most `limit` with a number below `before`."""
        ...
