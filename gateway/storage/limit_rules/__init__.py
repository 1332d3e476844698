"""The contract of storage for limits that the operator sets while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AddedRule:
    """A limit as `settings.limit_rules` has it; `number` is its place among the others. `changed_at` in Unix
    milliseconds."""

    number: int
    rule: str
    changed_by: str
    changed_at: int


class AddedRules(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def list(self) -> Sequence[AddedRule]:
        """In their order."""
        ...

    async def replace(self, rules: Sequence[str], by: str, at: int) -> None:
        """Puts these in the place of all that there are, and tells all replicas. A rule that was there stays
        as it was changed last."""
        ...
