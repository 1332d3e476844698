"""The address of a request: its connection's, or the one that the listed proxies before us have seen."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from gateway.auth.identity_fields import FORWARDED_FOR
from gateway.bounded_dict import BoundedDict
from gateway.errors import SettingsError
from gateway.settings import Settings

MAX_PEERS = 10_000
"""Ends of connections that are remembered."""
MAX_HOPS = 20
"""Addresses in the header that are looked at, from the last one on."""

Network = IPv4Network | IPv6Network


class Client(NamedTuple):
    """The sender of a request. `peer` is the other end of the connection, a listed proxy or not; `address`
    is the client's as far as it is known."""

    peer: str | None = None
    address: str | None = None
    is_own: bool = False
    """Whether the address is that client's: not a proxy's that tells of no client, not this machine's."""


UNKNOWN = Client()
"""A client of whom nothing is known."""


class ClientAddresses:
    """The one rule for addresses of clients: what is counted by an address, audited or logged, goes by it."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError: `trusted_proxies` has what is no range of addresses, or all of them."""
        self._proxies = networks(settings.trusted_proxies)
        self._peers = BoundedDict[str | None, tuple[Client, bool]](MAX_PEERS)

    def of(self, scope: Mapping[str, object]) -> Client:
        """The client whose request that is: of `X-Forwarded-For` the last address that is no listed proxy's,
        where a listed proxy sent it; else the connection's. What is no address ends the way back: the proxy
        who wrote it is as far as it is known."""
        connection: Sequence[str] | None = scope.get("client")  # pyright: ignore[reportAssignmentType] - ASGI's
        peer = connection[0] if connection else None
        if (known := self._peers.get(peer)) is None:
            known = self._peers[peer] = self._at(peer)
        client, is_proxy = known
        if not is_proxy:
            return client
        fields: Iterable[tuple[bytes, bytes]] = scope["headers"]  # pyright: ignore[reportAssignmentType]
        found = None
        for found in _hops(fields):
            if not is_in(found, self._proxies):
                break
        if found is None:
            return client
        return Client(peer, str(found), not found.is_loopback and not is_in(found, self._proxies))

    def _at(self, peer: str | None) -> tuple[Client, bool]:
        """The client at the other end of a connection, and whether that is a listed proxy."""
        found = address_in(peer or "")
        if found is None:
            return Client(peer, peer), False
        is_proxy = is_in(found, self._proxies)
        return Client(peer, str(found), not found.is_loopback and not is_proxy), is_proxy


def networks(given: Iterable[str]) -> list[Network]:
    """Ranges of addresses. Raises SettingsError: one of them is none, or all addresses."""
    return [_network(each) for each in given]


def is_in(address: IPv4Address | IPv6Address, ranges: Iterable[Network]) -> bool:
    """Whether one of the ranges has the address."""
    return any(address in each for each in ranges)


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """The address, with an IPv4 one that is written as IPv6 as what it is; None: it is none, as a Unix
    socket's."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def _hops(fields: Iterable[tuple[bytes, bytes]]) -> Iterable[IPv4Address | IPv6Address]:
    """The addresses of the header, the last one first, until something is none."""
    named = FORWARDED_FOR.encode()
    text = b",".join(value for name, value in fields if name == named).decode("latin-1")
    for each in reversed(text.rsplit(",", MAX_HOPS)[-MAX_HOPS:]):
        hop = each.strip()
        if hop.startswith("["):  # some write a port behind it
            hop = hop[1:].partition("]")[0]
        elif hop.count(":") == 1:
            hop = hop.partition(":")[0]
        if (found := address_in(hop)) is None:
            return
        yield found


def _network(given: str) -> Network:
    try:
        network = ip_network(given, strict=False)
    except ValueError:
        raise SettingsError(
            f"GATEWAY_TRUSTED_PROXIES: {given[:64]!r} is no address and no range such as 10.1.0.0/16."
        ) from None
    if network.prefixlen == 0:
        raise SettingsError("GATEWAY_TRUSTED_PROXIES must not be every address: anybody could be anybody.")
    return network
