"""The contract of storage for saved prompts: texts that people keep for use.

A person's are seen by that person, a project's by its members, a tenant's by all its users.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SavedPromptKind = Literal["prompt", "persona"]


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """A row of its own. prompt: a message to begin with, called by its `name`. persona: instructions for a
    session, and the `model` that answers there (None: any). It is its `owner`'s, or the project's, or with
    neither the tenant's. Times are in Unix milliseconds."""

    id: str
    kind: SavedPromptKind
    tenant: str
    owner: str | None
    project_id: str | None
    name: str
    title: str | None
    text: str
    model: str | None
    created_by: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class SavedPromptChanges:
    """What becomes of a saved prompt; None: that stays, "": it has none any more."""

    name: str | None = None
    title: str | None = None
    text: str | None = None
    model: str | None = None


class SavedPrompts(Protocol):
    """What is nobody's to see is as absent as what never was. Rights are checked in the transaction that
    writes. Every method raises errors.StorageError when the database cannot do its work."""

    async def list(self, user_id: str, tenant: str, *, limit: int) -> Sequence[SavedPrompt]:
        """All that the user may use, by kind and name: their own before the projects', then the tenant's."""
        ...

    async def add(self, prompt: SavedPrompt, *, most: int) -> None:
        """Raises errors.Conflict (too_many_saved_prompts: there are `most` of that person, project or tenant;
        name_taken), errors.NotFound (project_not_found), errors.Forbidden (read_only): its maker only reads
        in the project."""
        ...

    async def change(
        self, prompt_id: str, user_id: str, changes: SavedPromptChanges, at: int, *, tenant: str | None = None
    ) -> SavedPrompt:
        """For its owner, or for who may write in its project, or with a `tenant` for an admin of that.
        Raises errors.NotFound (saved_prompt_not_found), errors.Forbidden (read_only), errors.Conflict
        (name_taken; legal_hold)."""
        ...

    async def delete(self, prompt_id: str, user_id: str, *, tenant: str | None = None) -> None:
        """Raises as `change`."""
        ...
