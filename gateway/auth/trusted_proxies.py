"""Users that a proxy before the gateway has signed in, and names in headers."""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from gateway.auth import Principal
from gateway.auth.authentication import SINGLE
from gateway.auth.claims import ClaimMapping, roles_by_name
from gateway.auth.static_keys import given_keys
from gateway.errors import SettingsError
from gateway.settings import Settings

ROLES = "roles"


class TrustedProxies:
    """The word of proxies at listed addresses. From another address the headers are ignored, whatever they
    say: anybody can send them."""

    gives_roles = False

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError: a setting is no range of addresses, or all of them; or a header's name has
        another meaning."""
        self._networks = [_network(each) for each in settings.trusted_proxies]
        self._user, *others = proxy_headers(settings)
        self._tenant, self._roles = settings.proxy_tenant_header, settings.proxy_roles_header
        if taken := {self._user, *others} & {*SINGLE, "cookie"}:
            raise SettingsError(
                f"The header {min(taken)} means something else: proxies name users in another."
            )
        rules = roles_by_name(settings.proxy_roles)
        tenant = self._tenant and self._tenant.lower()
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
        claims: dict[str, object] = dict(headers)
        listed = headers.get((self._roles or "").lower(), "")
        claims[ROLES] = [part.strip() for part in listed.split(",")]
        return self._claims.principal(claims)

    def _trusts(self, address: str | None) -> bool:
        try:
            peer = ip_address(address or "")
        except ValueError:  # as a Unix socket's
            return False
        if isinstance(peer, IPv6Address) and peer.ipv4_mapped is not None:
            peer = peer.ipv4_mapped
        return any(peer in network for network in self._networks)


def proxy_headers(settings: Settings) -> Collection[str]:
    """The names of the headers that listed proxies are believed, the user's first; none without proxies."""
    if not settings.trusted_proxies:
        return ()
    names = (settings.proxy_user_header, settings.proxy_tenant_header, settings.proxy_roles_header)
    return tuple(name.lower() for name in names if name is not None)


def _network(given: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(given, strict=False)
    except ValueError:
        raise SettingsError(
            f"GATEWAY_TRUSTED_PROXIES: {given[:64]!r} is no address and no range such as 10.1.0.0/16."
        ) from None
    if network.prefixlen == 0:
        raise SettingsError("GATEWAY_TRUSTED_PROXIES must not be every address: anybody could be anybody.")
    return network
