"""Small documents about a user or a household that stand in every prompt: a name, a language, a time zone."""

from collections.abc import Mapping

from gateway.errors import InvalidRequest, NotFound
from gateway.ids import now_ms
from gateway.memory.validation import clean
from gateway.memory.versions import check_version, retry_conflicts
from gateway.storage.memories import Profile, ProfileKind, Scope
from gateway.storage.memories.store import MemoryStore

MAX_KEYS = 50
MAX_KEY = 64
MAX_VALUE = 1_000
"""Characters of one value."""
MAX_PROFILE = 10_000
"""Characters of all keys and values: they are in every prompt."""


class ScopedProfiles:
    """Those of one store. A user has their own, and shares that of each household they are a member of."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def get(self, scope: Scope, kind: ProfileKind, id: str) -> Profile:
        """The profile; before the first write an empty one of version 0.

        Raises:
            errors.NotFound (profile_not_found): it is not one of the scope's.
        """
        _check_whose(scope, kind, id)
        return await self._store.profile(kind, id) or Profile(kind, id, {}, 0, 0, "")

    async def put(
        self,
        scope: Scope,
        kind: ProfileKind,
        id: str,
        fields: Mapping[str, str],
        actor: str,
        *,
        version: int | None = None,
    ) -> Profile:
        """Makes `fields` the whole of the profile; with `version` only while it is at that one.

        Raises:
            errors.NotFound (profile_not_found), errors.InvalidRequest (profile_invalid).
            errors.MemoryChanged: it is at another version; `details` has it.
        """
        fields = checked(fields)

        async def once() -> Profile:
            known = await self.get(scope, kind, id)
            check_version(id, known.version, version)
            profile = Profile(kind, id, fields, known.version + 1, max(now_ms(), known.updated_at), actor)
            await self._store.put_profile(profile)
            return profile

        return await retry_conflicts(once) if version is None else await once()


def checked(fields: Mapping[str, str]) -> dict[str, str]:
    """`fields` as they are stored: visible characters only, keys on one line. Raises InvalidRequest."""
    if len(fields) > MAX_KEYS:
        raise _invalid(f"A profile has at most {MAX_KEYS} keys, not {len(fields)}.")
    kept: dict[str, str] = {}
    for given, text in fields.items():
        key, value = " ".join(clean(given).split()), clean(text)
        if not key or len(key) > MAX_KEY:
            raise _invalid(f"A key has 1 to {MAX_KEY} characters.")
        if key in kept:
            raise _invalid(f"The key {key} is there twice.")
        if not value or len(value) > MAX_VALUE:
            raise _invalid(
                f"The value of {key} has 1 to {MAX_VALUE} characters: leave a key out to remove it."
            )
        kept[key] = value
    if sum(map(len, (*kept, *kept.values()))) > MAX_PROFILE:
        raise _invalid(f"A profile has at most {MAX_PROFILE} characters: what is longer is a memory.")
    return kept


def _check_whose(scope: Scope, kind: ProfileKind, id: str) -> None:
    if id in ((scope.user_id,) if kind == "user" else scope.households):
        return
    why = (
        f"yours is that of {scope.user_id}."
        if kind == "user"
        else "you are not among its members. GATEWAY_HOUSEHOLDS lists them."
    )
    raise NotFound(f"There is no such profile of a {kind}: {why}", code="profile_not_found")


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="profile_invalid")
