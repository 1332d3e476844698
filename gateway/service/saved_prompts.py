"""The operations of saved prompts: prompts that people call by their names, and personas."""

from collections.abc import Sequence

from gateway.auth import Principal
from gateway.errors import InvalidRequest
from gateway.ids import new_saved_prompt_id, now_ms
from gateway.storage.saved_prompts import SavedPrompt, SavedPromptChanges, SavedPromptKind, SavedPrompts

MAX_SAVED_PROMPTS = 200
"""Of one person, one project, or one tenant."""
MAX_SHOWN = 2_000
"""That one user is shown: of all their projects, too."""


class UserSavedPrompts:
    """One per process."""

    def __init__(self, saved_prompts: SavedPrompts, models: Sequence[str]) -> None:
        """`models` are those that may answer."""
        self._saved_prompts = saved_prompts
        self._models = models

    async def list(self, who: Principal) -> Sequence[SavedPrompt]:
        """All that the caller may use, at most MAX_SHOWN."""
        return await self._saved_prompts.list(who.user_id, who.tenant, limit=MAX_SHOWN)

    async def create(
        self,
        who: Principal,
        kind: SavedPromptKind,
        name: str,
        text: str,
        *,
        title: str | None = None,
        model: str | None = None,
        project_id: str | None = None,
        for_all: bool = False,
    ) -> SavedPrompt:
        """The caller's, or the project's, or `for_all` users of the caller's tenant, which is for admins.
        Raises errors.InvalidRequest (model), and what `SavedPrompts.add` raises."""
        self._check_model(model)
        now = now_ms()
        prompt = SavedPrompt(
            id=new_saved_prompt_id(),
            kind=kind,
            tenant=who.tenant,
            owner=None if for_all or project_id is not None else who.user_id,
            project_id=project_id,
            name=name,
            title=title,
            text=text,
            model=model,
            created_by=who.user_id,
            created_at=now,
            updated_at=now,
        )
        await self._saved_prompts.add(prompt, most=MAX_SAVED_PROMPTS)
        return prompt

    async def change(
        self, who: Principal, prompt_id: str, changes: SavedPromptChanges, *, for_all: bool = False
    ) -> SavedPrompt:
        """Raises errors.InvalidRequest (model), and what `SavedPrompts.change` raises."""
        self._check_model(changes.model)
        tenant = who.tenant if for_all else None
        return await self._saved_prompts.change(prompt_id, who.user_id, changes, now_ms(), tenant=tenant)

    async def delete(self, who: Principal, prompt_id: str, *, for_all: bool = False) -> None:
        """Raises what `SavedPrompts.delete` raises."""
        await self._saved_prompts.delete(prompt_id, who.user_id, tenant=who.tenant if for_all else None)

    def _check_model(self, model: str | None) -> None:
        if model and model not in self._models:
            raise InvalidRequest(
                f"The model must be one of {', '.join(self._models)}.", details={"models": list(self._models)}
            )
