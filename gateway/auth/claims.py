"""Claims of an identity provider about a person, as a principal."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast, get_args

from gateway.auth import DEFAULT_TENANT, MEMBER_SCOPES, Principal, Role, Scope, scopes_of, user_id_of
from gateway.errors import NotAuthenticated, SettingsError
from gateway.events.tool_calls import AUTOMATIC_DECIDERS
from gateway.ids import is_id
from gateway.settings import Settings

MAX_VALUES = 1000
"""Values of the claim of roles that are looked at."""
ROLES: frozenset[Role] = frozenset(get_args(Role))


class ClaimMapping:
    """The claims that name the user, the roles and the tenant. A name of a claim with dots is a path into
    objects, as Keycloak's `realm_access.roles`."""

    def __init__(
        self,
        issuer: str,
        user: str,
        tenant: str | None,
        roles: str,
        names: Mapping[str, Role],
        *,
        may_be_default: bool = False,
    ) -> None:
        """`names` are the values of the claim `roles` that give a role; with none everybody is a member.
        `may_be_default`: the claim `tenant` may name the default tenant, whose admins are the operator."""
        self._issuer, self._user, self._tenant, self._roles = issuer, user, tenant, roles
        self._may_be_default = may_be_default
        self._names = dict(names)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Reads the names of the claims from the settings. Raises SettingsError: a role that there is not."""
        return cls(
            settings.oidc_issuer or "",
            settings.oidc_user_claim,
            settings.oidc_tenant_claim,
            settings.oidc_roles_claim,
            roles_by_name(settings.oidc_roles),
            may_be_default=settings.default_tenant_by_claim,
        )

    def principal(self, claims: Mapping[str, Any]) -> Principal:
        """The principal that the claims are about. A user's name that is no id is stored by its SHA-256,
        which no id looks like as none has a dot.

        Raises:
            NotAuthenticated (tenant_reserved): the operator's tenant, which the claim may not name;
                (token_without_user): no usable user or tenant, or an e-mail address that the
                provider has not verified; (no_role): none of their values gives a role.
        """
        user = _at(claims, self._user)
        if not isinstance(user, str) or not user.strip() or user in AUTOMATIC_DECIDERS:
            raise NotAuthenticated(f"{self._user} names no user of this gateway.", code="token_without_user")
        if self._user == "email" and claims.get("email_verified") is not True:
            raise NotAuthenticated(
                "The identity provider has not verified this e-mail address.", code="token_without_user"
            )
        if not is_id(user):
            user = f"sha256.{hashlib.sha256(f'{self._issuer} {user}'.encode()).hexdigest()[:32]}"
        roles = self._roles_of(claims)
        scopes: frozenset[Scope] = scopes_of(roles) if self._names else MEMBER_SCOPES
        return Principal(user_id_of(self._tenant_of(claims), user), roles=roles, scopes=scopes)

    def _tenant_of(self, claims: Mapping[str, Any]) -> str:
        if self._tenant is None:
            return DEFAULT_TENANT
        tenant = _at(claims, self._tenant)
        if not isinstance(tenant, str) or not is_id(tenant):
            raise NotAuthenticated(f"{self._tenant} names no tenant.", code="token_without_user")
        if tenant == DEFAULT_TENANT and not self._may_be_default:
            # Whoever may choose the name of an organisation would look after all others.
            raise NotAuthenticated(
                f"The tenant {DEFAULT_TENANT} is the operator's, and {self._tenant} may not name it: see "
                "GATEWAY_DEFAULT_TENANT_BY_CLAIM.",
                code="tenant_reserved",
            )
        return tenant

    def _roles_of(self, claims: Mapping[str, Any]) -> frozenset[Role]:
        if not self._names:
            return frozenset(("member",))
        found = _at(claims, self._roles)
        values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        roles = frozenset[Role](
            self._names[value]
            for value in cast("Sequence[object]", values)[:MAX_VALUES]
            if isinstance(value, str) and value in self._names
        )
        if not roles:
            raise NotAuthenticated(
                f"Nothing in {self._roles} gives a role at this gateway: ask an admin for one.",
                code="no_role",
            )
        return roles


def roles_by_name(rules: Sequence[str]) -> Mapping[str, Role]:
    """Reads what rules of the form value=role say. Raises SettingsError: another form, or no role."""
    names: dict[str, Role] = {}
    for rule in rules:
        name, _, role = rule.rpartition("=")
        if not name or role not in ROLES:
            raise SettingsError(
                f"{rule[:100]!r} must be a value, = and one of {', '.join(sorted(ROLES))}: staff=member."
            )
        names[name] = role
    return names


def _at(claims: Mapping[str, Any], path: str) -> object:
    """The claim of that name, or what lies at the path into one; None: there is none."""
    if path in claims:  # a name may have dots itself, as https://example.org/roles
        return claims[path]
    found: object = claims
    for part in path.split("."):
        found = cast("Mapping[str, object]", found).get(part) if isinstance(found, Mapping) else None
    return found
