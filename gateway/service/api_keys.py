"""The operations of stored API keys: who may make which, list and revoke them."""

from collections.abc import Collection, Sequence

from gateway.auth import SCOPES_OF, Principal, Role, Scope, tenant_of, user_id_of
from gateway.auth.stored_keys import new_secret
from gateway.errors import Forbidden, InvalidRequest, NotFound
from gateway.events.tool_calls import AUTOMATIC_DECIDERS
from gateway.ids import new_key_id, now_ms
from gateway.service.admin_rights import is_admin_of, is_operator
from gateway.settings import Settings
from gateway.storage.api_keys import ApiKey, Keys

OWN_ROLES: frozenset[Role] = frozenset(("member", "reader"))
"""Of keys that anybody may make for themselves."""


class ApiKeys:
    """One per process. An admin of the default tenant is the operator, and makes keys for users of any
    tenant; one of another tenant for its users; anybody else for themselves, with scopes that they have."""

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys = keys
        self._settings = settings

    async def create(
        self,
        who: Principal,
        name: str,
        *,
        user: str | None = None,
        tenant: str | None = None,
        role: Role = "member",
        scopes: Collection[Scope] | None = None,
        expires_at: int | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key, and its secret form, which is stored nowhere. It is `user`'s in `tenant` (absent: the
        caller's own), has the scopes of its `role`, or those of them that are named, and holds until
        `expires_at` (Unix milliseconds).

        Raises:
            errors.Forbidden: for somebody else, or with more than the caller has; or the caller has a stored
                key themselves, without the scope admin: who finds one must not make more of it.
            errors.InvalidRequest: an expiry that has passed, or scopes that the role has not.
            errors.Conflict (too_many_keys).
        """
        now, tenant = now_ms(), tenant or who.tenant
        user_id = who.user_id if user is None else user_id_of(tenant, user)
        chosen = SCOPES_OF[role] if scopes is None else frozenset(scopes)
        await self._check_maker(who)
        if not is_admin_of(who, tenant_of(user_id)) and (user_id != who.user_id or role not in OWN_ROLES):
            raise Forbidden(
                "Only an admin makes keys for others, and for services.", details={"scope": "admin"}
            )
        if tenant_of(user_id) != tenant or user in AUTOMATIC_DECIDERS:
            raise InvalidRequest(f"{user or who.user_id} cannot be a user of the tenant {tenant}.")
        if excess := chosen - SCOPES_OF[role] - {"metrics"}:
            raise InvalidRequest(f"A {role} cannot have the scope {min(excess)}.")
        if excess := chosen - who.scopes:
            raise Forbidden(
                f"You do not have the scope {min(excess)} yourself.", details={"scope": min(excess)}
            )
        if expires_at is not None and expires_at <= now:
            raise InvalidRequest("expires_at has passed already.")
        key_id = new_key_id()
        secret, digest = new_secret(key_id)
        key = ApiKey(
            key_id,
            tenant,
            user_id,
            name,
            (role,),
            tuple(sorted(chosen)),
            digest,
            now,
            who.user_id,
            expires_at,
        )
        await self._keys.add(key, most=self._settings.max_keys)
        return key, secret

    async def list(self, who: Principal, *, everybody: bool = False) -> Sequence[ApiKey]:
        """The caller's, or with `everybody` those of all whom an admin may make keys for, the oldest
        first."""
        if not everybody:
            return await self._keys.list(user_id=who.user_id)
        return await self._keys.list(tenant=None if is_operator(who) else who.tenant)

    async def revoke(self, who: Principal, key_id: str) -> None:
        """Ends a key for good: at once on this replica and on others that are told, else within seconds.
        Raises errors.NotFound: there is none, or it is somebody else's."""
        key = await self._keys.find(key_id)
        if key is None or not (key.user_id == who.user_id or is_admin_of(who, key.tenant)):
            raise NotFound(f"There is no key {key_id}.", code="key_not_found")
        await self._keys.revoke(key_id, now_ms())

    async def check_in_person(self, who: Principal) -> None:
        """Of what cannot be undone, or takes something over. Raises errors.Forbidden (not_with_this_key): a
        stored key that does not have the scope admin may have been found by anybody."""
        if await self._is_bounded(who):
            raise Forbidden(
                "A stored key without the scope admin does not do that: sign in, or use another key.",
                code="not_with_this_key",
            )

    async def _check_maker(self, who: Principal) -> None:
        if "service" in who.roles:
            raise Forbidden("A service makes no keys.", code="key_makes_no_keys")
        if await self._is_bounded(who):
            raise Forbidden("A stored key without the scope admin makes no keys.", code="key_makes_no_keys")

    async def _is_bounded(self, who: Principal) -> bool:
        if "admin" in who.scopes or who.key_id is None:
            return False
        return await self._keys.find(who.key_id) is not None
