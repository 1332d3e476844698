"""Users that a proxy before the gateway has signed in, and names in headers."""

from collections.abc import Mapping

from gateway.auth import Principal
from gateway.auth.claims import ClaimMapping, roles_by_name
from gateway.auth.client_addresses import address_in, is_in, networks
from gateway.auth.identity_fields import CALLER_FIELDS, FORWARDED_FOR, PAGE_FIELDS, proxy_fields
from gateway.auth.static_keys import given_keys
from gateway.errors import SettingsError
from gateway.settings import Settings

ROLES = "roles"


class TrustedProxies:
    """The users that proxies at listed addresses name. From another address the headers are ignored: anybody
    can send them."""

    gives_roles = False

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError: a setting is no range of addresses, or all of them; or a header's name has
        another meaning."""
        self._networks = networks(settings.trusted_proxies)
        self._user, *others = proxy_fields(settings)
        self._roles = (settings.proxy_roles_header or "").lower()
        if taken := {self._user, *others} & {*CALLER_FIELDS, *PAGE_FIELDS, FORWARDED_FOR}:
            raise SettingsError(
                f"The header {min(taken)} means something else: proxies name users in another."
            )
        rules = roles_by_name(settings.proxy_roles)
        tenant = settings.proxy_tenant_header and settings.proxy_tenant_header.lower()
        self._named = (self._user, *filter(None, (tenant,)))
        self._claims = ClaimMapping(
            "proxy", self._user, tenant, ROLES, rules, may_be_default=settings.default_tenant_by_claim
        )

    async def knows(self, user_id: str) -> bool:
        """Always: only the proxy has a list of its users."""
        return True

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The user whom a listed proxy names; nobody where a key is given, which then decides. `address` is
        that of the connection. Raises NotAuthenticated: a name that is none, or none of their roles is known
        here."""
        if self._user not in headers or given_keys(headers) or not self._trusts(address):
            return None
        claims: dict[str, object] = {name: headers[name] for name in self._named if name in headers}
        listed = headers.get(self._roles, "")
        claims[ROLES] = [part.strip() for part in listed.split(",")]
        return self._claims.principal(claims)

    def _trusts(self, address: str | None) -> bool:
        peer = address_in(address or "")
        return peer is not None and is_in(peer, self._networks)
