"""Authentication and rights: who is asking, and what they may do.

A request is given one `Principal`, in `authentication.py`, by the first way that is configured and that the
request has credentials for: `static_keys.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

Scope = Literal["chat", "read", "memory", "artifacts", "admin", "metrics"]
"""What a route needs. chat: turns, sessions, decisions, schedules and webhooks; read: to look at what is
one's own; memory, artifacts: to change these; admin: what concerns everybody; metrics: /metrics."""
Role = Literal["admin", "member", "reader", "service"]

SCOPES: frozenset[Scope] = frozenset(get_args(Scope))
MEMBER_SCOPES: frozenset[Scope] = frozenset(("chat", "read", "memory", "artifacts"))
SCOPES_OF: Mapping[Role, frozenset[Scope]] = MappingProxyType(
    {
        "admin": SCOPES,
        "member": MEMBER_SCOPES,
        "reader": frozenset(("read",)),
        "service": MEMBER_SCOPES,
    }
)
"""What each role may do. A service acts for users that it names."""
DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody with sessions of their own. Every query takes one, and goes by its `user_id`, which names one
    user of all tenants: `tenant/user`, or the user alone in the default tenant. `dialect` names the adapter
    by which they ask; None: by our own routes, or by none. `key_id` names the key that they came with,
    `sign_in` is the digest of their sign-in on the page. `expires_at` is when that ends, or their token
    (Unix milliseconds; None: it does not by itself)."""

    user_id: str
    dialect: str | None = None
    roles: frozenset[Role] = frozenset(("member",))
    scopes: frozenset[Scope] = MEMBER_SCOPES
    key_id: str | None = None
    sign_in: str | None = None
    expires_at: int | None = None

    @property
    def tenant(self) -> str:
        return tenant_of(self.user_id)


def user_id_of(tenant: str, user: str) -> str:
    """The id under which what is a user's is stored. Neither part has a slash: ids have none."""
    return user if tenant == DEFAULT_TENANT else f"{tenant}/{user}"


def tenant_of(user_id: str) -> str:
    """The tenant of a stored id. Nothing of one tenant is another's, as no id of a user is."""
    tenant, slash, _ = user_id.partition("/")
    return tenant if slash else DEFAULT_TENANT


def user_of(user_id: str) -> str:
    """The user of a stored id, by the name that they have in their tenant."""
    return user_id.rpartition("/")[2]


def scopes_of(roles: Iterable[Role]) -> frozenset[Scope]:
    """Returns the scopes that somebody with all of these roles has."""
    return frozenset[Scope]().union(*(SCOPES_OF[role] for role in roles))


def stored_scopes(scopes: frozenset[Scope]) -> str | None:
    """The part that is kept of a caller's scopes with what they begin, and goes on without them; None: what a
    member may, and nothing less."""
    return None if scopes >= MEMBER_SCOPES else " ".join(sorted(scopes))


def scopes_stored(kept: str | None) -> frozenset[Scope]:
    """The scopes of `stored_scopes`. Never more than a member's: what runs without its caller is no admin."""
    if kept is None:
        return MEMBER_SCOPES
    return frozenset[Scope](scope for scope in MEMBER_SCOPES if scope in kept.split())


LOCAL_USER = Principal("local", roles=frozenset(("admin",)), scopes=SCOPES)
"""The caller of a gateway without any way to sign in, which listens on loopback only."""
