"""Locks out those who try credentials that do not hold."""

import math
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv6Address, IPv6Network
from time import monotonic
from typing import NamedTuple

from gateway.bounded_dict import BoundedDict
from gateway.errors import LockedOut

MAX_FAILURES = 10
"""Failures of an address or of a key's id, each within an hour of the one before, that lock it out …"""
FIRST_LOCK = 60.0
"""… for so many seconds; each failure that comes after a lock doubles the next one, …"""
MAX_LOCK = 900.0
"""… and at most so long."""
FORGOTTEN_AFTER = 3600.0
"""Seconds after the last failure."""
HELD_FOR = 600.0
"""Seconds for which credentials that held are asked further though their address is locked out: it may be one
of many people behind a router."""
MAX_SOURCES = 10_000
MAX_HELD = 10_000


def network_of(address: str) -> str:
    """What an address is counted as: itself, or the /64 network of an IPv6 one, since who has one of its
    addresses has them all."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except AddressValueError:
        return address
    if (mapped := found.ipv4_mapped) is not None:
        return str(mapped)
    return str(IPv6Network((int(found) >> 64 << 64, 64)))


class _Failures(NamedTuple):
    times: int
    at: float
    locked_until: float = 0.0


class FailedAttempts:
    """Counts the failures of sources: addresses, and ids of keys. Each process counts for itself, in bounded
    memory: with n replicas n times as many attempts are looked at."""

    def __init__(self) -> None:
        self._failures = BoundedDict[str, _Failures](MAX_SOURCES)
        self._held = BoundedDict[bytes, float](MAX_HELD)

    def check(self, sources: Sequence[str], digest: bytes = b"") -> None:
        """Raises LockedOut: one of the sources is, and the credentials of that digest did not hold lately."""
        if not self._failures:
            return
        now = monotonic()
        until = max(self._failures[each].locked_until if each in self._failures else 0.0 for each in sources)
        if until > now and now - self._held.get(digest, -HELD_FOR) >= HELD_FOR:
            seconds = math.ceil(until - now)
            raise LockedOut(
                f"Too many attempts with keys that do not hold: try again in {seconds} s.",
                details={"retry_after": seconds},
            )

    def held(self, digest: bytes) -> None:
        """Notes that credentials held."""
        self._held[digest] = monotonic()

    def failed(self, sources: Sequence[str]) -> bool:
        """Counts a failure of all of the sources; whether one of them is locked out by it."""
        now, is_locked = monotonic(), False
        for source in sources:
            former = self._failures.get(source, _Failures(0, now))
            times = (former.times if now - former.at < FORGOTTEN_AFTER else 0) + 1
            over = times - MAX_FAILURES
            lock = min(FIRST_LOCK * 2.0 ** min(over, 10), MAX_LOCK) if over >= 0 else 0.0
            self._failures[source] = _Failures(times, now, now + lock)
            is_locked |= lock > 0
        return is_locked
