"""What the operator writes in place of files of the prompt: versions, with a way back to each, and to the
file."""

import hashlib
from collections.abc import Sequence

from gateway.auth import Principal
from gateway.errors import InvalidRequest, NotFound, TooLarge
from gateway.ids import now_ms
from gateway.prompt.components import MAX_FILE_SIZE, PromptFolder
from gateway.prompt.text_cleaning import clean
from gateway.service.api_keys import ApiKeys
from gateway.storage.prompt_versions import PromptVersion, PromptVersions

PAGE = 50


class PromptEdits:
    """One per process. A version holds from the next turn on, on every replica; what a session's prompt was
    before stays recorded as it was."""

    def __init__(self, folder: PromptFolder, versions: PromptVersions, api_keys: ApiKeys) -> None:
        self._folder, self._versions, self._api_keys = folder, versions, api_keys

    async def look(self) -> None:
        """Has the newest versions hold. Raises errors.StorageError."""
        newest = await self._versions.newest()
        self._folder.become({each.component: each.text for each in newest if each.text is not None})

    async def versions(self, component: str, before: int | None) -> Sequence[PromptVersion]:
        """A page of a component's versions, the newest first. Raises errors.NotFound."""
        self._check(component)
        return await self._versions.of(component, before=before, limit=PAGE)

    async def change(
        self, who: Principal, component: str, text: str | None, note: str, *, after: int
    ) -> PromptVersion:
        """Adds a version, cleaned as a file is; None: the file holds again. `after` is the number of the
        newest that the caller has seen, 0: of none.

        Raises:
            errors.NotFound (component_not_found).
            errors.InvalidRequest: there is nothing in the text. errors.TooLarge: too much for a file.
            errors.Conflict (component_changed): there is a newer version.
            errors.Forbidden: not with the key that they came with.
        """
        await self._api_keys.check_in_person(who)
        self._check(component)
        digest: str | None = None
        if text is not None:
            if len(text.encode()) > MAX_FILE_SIZE:
                raise TooLarge(f"A component has at most {MAX_FILE_SIZE} bytes.")
            if not (text := clean(text)):
                raise InvalidRequest("A component cannot be empty: use its file again, or write something.")
            digest = hashlib.sha256(text.encode()).hexdigest()
        new = PromptVersion(0, component, text, digest, note, who.user_id, now_ms())
        version = await self._versions.add(new, after=after)
        await self.look()
        return version

    def _check(self, component: str) -> None:
        if component not in {each.name for each in self._folder.read().items}:
            raise NotFound(
                f"There is no component {component[:100]!r} in the prompt.", code="component_not_found"
            )
