"""The operations of legal holds, for admins."""

from collections.abc import Sequence

from gateway.auth import Principal, tenant_of
from gateway.errors import Forbidden, NotFound
from gateway.ids import new_hold_id, now_ms
from gateway.service.admin_rights import is_admin_of, is_operator
from gateway.service.dependencies import Dependencies
from gateway.storage.holds import Hold, HoldKind, Holds
from gateway.storage.refusals import no_session


class UserHolds:
    """One per process. An admin looks after the users of their tenant, the operator after all."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._holds: Holds = deps.holds

    async def place(
        self, who: Principal, reason: str, *, user_id: str | None = None, session_id: str | None = None
    ) -> Hold:
        """Holds what a user has, or (with `session_id`) one session.

        Raises:
            errors.Forbidden: the user is of a tenant of which the caller is no admin.
            errors.NotFound: (session_not_found) there is no such session in their tenant.
            errors.Conflict: (hold_exists).
        """
        kind: HoldKind = "user"
        if session_id is not None:
            kind, user_id = "session", await self._holds.owner_of(session_id)
        assert user_id is not None
        if not is_admin_of(who, tenant_of(user_id)):
            if session_id is not None:
                raise no_session(session_id)
            tenant = tenant_of(user_id)
            raise Forbidden(f"You are no admin of the tenant {tenant}.", details={"scope": "admin"})
        subject = session_id or user_id
        hold = Hold(new_hold_id(), kind, subject, user_id, tenant_of(user_id), reason, who.user_id, now_ms())
        if kind == "user":
            await self._tell_memory(user_id)
        await self._holds.place(hold)
        return hold

    async def list(self, who: Principal) -> Sequence[Hold]:
        """The holds of the caller's tenant, or of all."""
        return await self._holds.list(tenant=None if is_operator(who) else who.tenant)

    async def lift(self, who: Principal, hold_id: str) -> Hold:
        """Ends a hold. Raises errors.NotFound (hold_not_found)."""
        hold = await self._holds.get(hold_id)
        if not is_admin_of(who, hold.tenant):
            raise NotFound(f"There is no hold {hold_id}.", code="hold_not_found")
        await self._holds.lift(hold_id)
        await self._tell_memory()
        return hold

    async def _tell_memory(self, *also: str) -> None:
        await tell_memory(self._deps, *also)


async def tell_memory(deps: Dependencies, *also: str) -> None:
    """The memories have a copy of who is held, which is made anew each time. Raises errors.StorageError."""
    if deps.memory is not None:
        held = {each.owner for each in await deps.holds.list() if each.kind == "user"}
        await deps.memory.store.hold(held | set(also))
