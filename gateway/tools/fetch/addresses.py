"""Where a fetch may go: names and addresses of the public web, and nothing behind or beside it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

import httpx2

from gateway.errors import ToolError

MAX_URL = 2048
"""Characters of an address."""

MAX_PORT = 65_535

Address = IPv4Address | IPv6Address

# Scheme, host and port with nothing beside them: no user name, no escapes, no zone of an IPv6 address.
_START = re.compile(
    r"https?://(\[[0-9a-f:.]{2,45}\]|[^\s\[\]:@%\\/?#]+)(:(80|443)?)?(?=[/?#]|\Z)", re.IGNORECASE
)
_START_ANY_PORT = re.compile(_START.pattern.replace("80|443", "[0-9]{1,5}"), re.IGNORECASE)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# A name whose last label is a number is an IPv4 address in some spelling (WHATWG URL, "ends in a number").
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# RFC 6761, 6762, 7686, 8375 and ICANN's .internal: names that never lead to the public web.
_INSIDE = re.compile(r"(.*\.)?(localhost|local|internal|home\.arpa|onion|invalid|test)")

# IANA IPv4 and IPv6 Special-Purpose Address Registries. They are written down since `is_global` follows
# them only as far as the Python in use knows them (CVE-2024-4032).
_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # every Azure machine's way to its host
        ),
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")  # all that is given out as global unicast (RFC 4291)
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",
            "2002::/16",  # 6to4: an IPv4 address inside
            "2620:4f:8000::/48",
            "3fff::/20",
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: how the public IPv4 web looks from an IPv6-only network
_ISATAP = (0x00005EFE, 0x02005EFE)  # RFC 5214: an IPv4 address follows, in any prefix


def is_public(address: Address) -> bool:
    """Whether `address` belongs to the public Internet; what carries an IPv4 address inside does not, but for
    NAT64 with a public one."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return (
        address in _PUBLIC_6
        and address.is_global
        and not any(address in network for network in _NOT_PUBLIC_6)
    )


@dataclass(frozen=True, slots=True)
class ListedHosts:
    """Hosts that the operator allowed though they are not public, or on another port."""

    names: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Self:
        """Each is a name, an address or a range of addresses (10.1.0.0/16). Raises ValueError."""
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                networks.append(ip_network(entry))
            except ValueError:
                if "/" in entry or not all(map(_LABEL.fullmatch, entry.lower().split("."))):
                    raise ValueError(f"{entry[:100]!r} is no name, address or range of addresses") from None
                names.add(entry.lower())
        return cls(frozenset(names), tuple(networks))

    def has(self, host: str) -> bool:
        """Whether that name or address is listed itself."""
        if (address := literal(host)) is None:
            return host in self.names
        return any(address in network for network in self.networks)

    def allows(self, host: str, address: Address) -> bool:
        """Whether a request to `host` may go to that address, to which its name leads."""
        return is_public(address) or host in self.names or self.has(str(address))


NOTHING = ListedHosts()


def literal(host: str) -> Address | None:
    """The address that `host` is; None when it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def host_of(url: httpx2.URL) -> str:
    """The host as it is asked for: an address, or a name in ASCII (`URL.host` raises for odd names)."""
    return url.raw_host.decode("ascii")


def checked(url: str, listed: ListedHosts = NOTHING) -> httpx2.URL:
    """`url` in its one canonical form: host in lower case and IDNA, no dot at its end, no fragment.

    Raises:
        ToolError: it is not the address of a page on the public web, as far as its text shows, nor at one of
            the `listed` hosts. The addresses of a name are checked when it has been resolved.
    """
    if len(url) > MAX_URL or not url.isprintable() or " " in url or not _START_ANY_PORT.match(url):
        raise _refused()
    try:
        parsed = httpx2.URL(url)
        host = host_of(parsed).removesuffix(".")
        parsed = parsed.copy_with(host=host, fragment=None)
    except (httpx2.InvalidURL, UnicodeError):
        raise _refused() from None
    if (parsed.port or 0) > MAX_PORT:
        raise _refused()
    if listed.has(host):
        return parsed
    address = literal(host)
    if not _START.match(url):
        raise _refused()
    if address is None:
        _check_name(host)
    elif not is_public(address):
        raise not_public(host)
    return parsed


def not_public(host: str) -> ToolError:
    """The same words for a name that does not exist and one that leads inside: the caller learns nothing
    about the inside."""
    return ToolError(
        f"There is no public web page at {host}: the name leads nowhere, or not to a public address. "
        "Use the address of a page on the public web."
    )


def _check_name(host: str) -> None:
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused()
    if len(labels) < 2 or _NUMBER.fullmatch(labels[-1]) or _INSIDE.fullmatch(host):
        raise not_public(host)


def _refused() -> ToolError:
    return ToolError(
        "This is not an address that can be fetched. It must start with http:// or https:// and a public "
        "host, without user name or password, on port 80 or 443, without spaces, "
        f"in {MAX_URL} characters at most."
    )
