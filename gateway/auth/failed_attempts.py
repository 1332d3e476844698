"""Counts credentials that do not hold, and paces what is looked at of a source that has many of them.

A right credential is let in however many wrong ones came before it: 256 random bits are not guessed, and many
people have one address. Who fails too often is told so, and waits; nobody else does.
"""

import asyncio
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from time import monotonic
from typing import NamedTuple

from gateway.auth.client_addresses import Client
from gateway.bounded_dict import BoundedDict

MAX_FAILURES = 10
"""Failures of an address or of one credential, each within an hour of the one before, that lock it out …"""
FIRST_LOCK = 60.0
"""… for so many seconds; each failure that comes after a lock doubles the next one, …"""
MAX_LOCK = 900.0
"""… and at most so long."""
FORGOTTEN_AFTER = 3600.0
"""Seconds after the last failure."""
HELD_FOR = 600.0
"""Seconds for which credentials that held are looked at at once."""
RATE = 200.0
"""Failures a second of one source that are looked at without a wait: each takes some 0.05 ms."""
MAX_DELAY = 1.0
"""Seconds that others wait at most who come from that source, …"""
MAX_AFTER = 10.0
"""… and for how long after the last wrong credential."""
MAX_SOURCES = 10_000
MAX_HELD = 10_000


def network_of(address: str) -> str:
    """The name that an address is counted under: itself, or the /64 network of an IPv6 one, since who has one
    of its addresses has them all."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except AddressValueError:
        return address
    if (mapped := found.ipv4_mapped) is not None:
        return str(mapped)
    return str(IPv6Network((int(found) >> 64 << 64, 64)))


class Lock(NamedTuple):
    """For how many seconds further failures are answered with that; `begins`: as of this one."""

    seconds: float
    begins: bool


class _Failures(NamedTuple):
    times: int
    at: float
    locked_until: float = 0.0


class FailedAttempts:
    """Counts the failures of each credential, by its digest, and of each address that is a client's own. Each
    process counts for itself, in bounded memory."""

    def __init__(self) -> None:
        self._of_credentials = BoundedDict[str, _Failures](MAX_SOURCES)
        self._of_addresses = BoundedDict[str, _Failures](MAX_SOURCES)
        self._held = BoundedDict[bytes, float](MAX_HELD)
        self._busy_until = BoundedDict[str, float](MAX_SOURCES)

    async def pace(self, client: Client, digest: bytes) -> None:
        """Waits, where more than RATE credentials a second do not hold that come from there: MAX_DELAY at
        most, and not for credentials that held lately."""
        if not self._busy_until or monotonic() - self._held.get(digest, -HELD_FOR) < HELD_FOR:
            return
        ahead = self._busy_until.get(_source(client), 0.0) - monotonic()
        if ahead > MAX_DELAY:
            await asyncio.sleep(MAX_DELAY)

    def held(self, digest: bytes) -> None:
        """Notes that credentials held."""
        self._held[digest] = monotonic()

    def looked_at(self, client: Client) -> None:
        """Notes that work was done for credentials that did not hold."""
        source, now = _source(client), monotonic()
        busy_until = max(self._busy_until.get(source, 0.0), now) + 1 / RATE
        self._busy_until[source] = min(busy_until, now + MAX_AFTER)

    def failed(self, client: Client, digest: bytes) -> Lock:
        """Counts a failure, unless it comes within a lock; how the lock stands."""
        lock = _count(self._of_credentials, digest.hex())
        if client.is_own and client.address is not None:
            lock = max(lock, _count(self._of_addresses, network_of(client.address)))
        return lock


def _source(client: Client) -> str:
    return network_of(client.address or "") if client.is_own else f"by {client.peer}"


def _count(failures: BoundedDict[str, _Failures], key: str) -> Lock:
    now = monotonic()
    former = failures.get(key, _Failures(0, now))
    if former.locked_until > now:
        return Lock(former.locked_until - now, begins=False)
    times = (former.times if now - former.at < FORGOTTEN_AFTER else 0) + 1
    over = times - MAX_FAILURES
    lock = min(FIRST_LOCK * 2.0 ** min(over, 10), MAX_LOCK) if over >= 0 else 0.0
    failures[key] = _Failures(times, now, now + lock)
    return Lock(0.0, begins=lock > 0)
