"""The operations on the catalog of skills: list it, look again, switch one."""

from gateway.auth import Principal
from gateway.service.dependencies import Dependencies
from gateway.skills.catalog import Catalog
from gateway.skills.skill import CatalogSkill


class SkillsOffered:
    """What the model may use, the same for all users of this gateway."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    @property
    def catalog(self) -> Catalog:
        return self._deps.skills.catalog

    async def refresh(self) -> Catalog:
        """Looks at the folders again."""
        return await self._deps.skills.refresh()

    async def switch(self, who: Principal, name: str, *, enabled: bool) -> CatalogSkill:
        """Switches a skill on or off, for everybody and for good. Running turns go on with what they have;
        one that waits for a person finds the new catalog when it goes on.

        Raises:
            errors.NotFound: there is no skill of that name.
            errors.Conflict: it cannot be switched off.
        """
        return await self._deps.skills.switch(name, enabled=enabled, by=who.user_id)
