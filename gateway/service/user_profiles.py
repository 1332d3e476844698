"""The operations on profiles: named facts of a user, and of their households."""

from collections.abc import Sequence

from gateway.auth import Principal
from gateway.service.dependencies import Dependencies
from gateway.service.memory_access import MemoryAccess
from gateway.storage.memories import Profile, ProfileKind


class UserProfiles:
    """One per process. With the memory switched off every operation raises errors.NotFound (memory_off)."""

    def __init__(self, deps: Dependencies) -> None:
        self._for = MemoryAccess(deps)

    async def list(self, who: Principal) -> Sequence[Profile]:
        """The caller's own, and those of their households."""
        scope, profiles = self._for.own(who), self._for.services.profiles
        own = await profiles.get(scope, "user", who.user_id)
        return [own, *[await profiles.get(scope, "household", name) for name in scope.households]]

    async def get(self, who: Principal, kind: ProfileKind, name: str) -> Profile:
        """Raises errors.NotFound for one that is not the caller's, or their household's."""
        return await self._for.services.profiles.get(self._for.own(who), kind, name)

    async def put(
        self, who: Principal, kind: ProfileKind, name: str, fields: dict[str, str], *, version: int | None
    ) -> Profile:
        """Raises errors.NotFound, errors.InvalidRequest, errors.MemoryChanged."""
        return await self._for.services.profiles.put(
            self._for.own(who), kind, name, fields, who.user_id, version=version
        )
