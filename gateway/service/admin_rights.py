"""Of which tenants somebody is an admin, and which persons they may name."""

from gateway.auth import DEFAULT_TENANT, Principal, user_id_of
from gateway.errors import Forbidden


def is_operator(who: Principal) -> bool:
    """Whether they are an admin of all tenants."""
    return "admin" in who.scopes and who.tenant == DEFAULT_TENANT


def is_admin_of(who: Principal, tenant: str) -> bool:
    """Whether they are an admin of that tenant, as the operator is of all."""
    return is_operator(who) or ("admin" in who.scopes and who.tenant == tenant)


def person_of(who: Principal, user: str, tenant: str | None) -> str:
    """The stored id of a user that an admin names. Raises errors.Forbidden: of another tenant."""
    wanted = tenant or who.tenant
    if not is_admin_of(who, wanted):
        raise Forbidden(f"You are no admin of the tenant {wanted}.", details={"scope": "admin"})
    return user_id_of(wanted, user)
