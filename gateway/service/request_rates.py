"""Requests counted before anything of them is read.

In one process the counts are in memory. Where replicas share a database each takes a part of what is left
there, a LEASE at a time, and counts that down: no more is let in than the limit, and with n replicas at most
(n - 1) / 200 of it too little, as parts stay unused. One statement for each request would be exact to the
last one, and cost each of them a commit.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from gateway.auth import Principal
from gateway.auth.failed_attempts import network_of
from gateway.bounded_dict import BoundedDict
from gateway.errors import LimitsUnavailable, StorageError
from gateway.ids import now_ms
from gateway.service.user_pace import UserPace
from gateway.settings import Settings
from gateway.settings.limit_rules import LimitRule, applying, parse_rules
from gateway.storage.limits import LimitCounter, Standing, limit_reached
from gateway.storage.limits.store import Limits

LEASE = 200
"""The part of a limit that a replica takes at a time: one of so many."""
MAX_COUNTED = 100_000
"""Users, keys, tenants and addresses whose requests are counted at a time; who was counted first is
forgotten."""
DOWN_FOR = 1.0
"""Seconds for which the database is not asked again after it failed."""

log = structlog.get_logger(__name__)


class Counted(NamedTuple):
    """A rule that holds for somebody, the name of its counter, and the user whom that is about; None: it is
    about a key, a tenant, an address or all."""

    rule: LimitRule
    name: str
    user_id: str | None


class _Count:
    """What is left here of a limit until `ends`. `is_spent`: nothing is left anywhere else."""

    __slots__ = ("asking", "began", "ends", "is_spent", "left", "used")

    def __init__(self, began: int, ends: int, left: int, *, is_spent: bool) -> None:
        self.began, self.ends, self.left, self.is_spent = began, ends, left, is_spent
        self.used = left
        """What has been taken of all, with what is left here."""
        self.asking = asyncio.Lock()


class RequestRates:
    """One per process. `refused` is called with the title of a limit that was reached."""

    def __init__(
        self,
        settings: Settings,
        limits: Limits,
        refused: Callable[[str, str], None] = lambda _who, _measure: None,
    ) -> None:
        rules = [rule for rule in parse_rules(settings.limits) if rule.measure == "requests"]
        self._rules = [rule for rule in rules if rule.who != "address"]
        self._of_addresses = [rule for rule in rules if rule.who == "address"]
        # A rule of the operator's on what a user asks in a second takes the place of our own pace.
        has_own = any(rule.who == "user" and rule.period == "second" for rule in rules)
        self._pace = UserPace(refused) if settings.has_accounts and not has_own else None
        self.are_counted = bool(rules) or self._pace is not None
        self._limits = limits
        self._is_shared = settings.is_shared
        self._is_closed_when_down = settings.limits_when_down == "closed"
        self._refused = refused
        self._counts = BoundedDict[str, _Count](MAX_COUNTED)
        self._of = BoundedDict[tuple[str, str | None], Sequence[Counted]](MAX_COUNTED)
        self._down_until = 0.0

    async def take(self, who: Principal) -> Sequence[Standing]:
        """Counts a request of theirs, which may wait a moment (`user_pace.py`). Raises errors.LimitReached,
        errors.LimitsUnavailable."""
        if self._pace is not None:
            await self._pace.keep(who.user_id)
        key = (who.user_id, who.key_id)
        if (found := self._of.get(key)) is None:
            found = self._of[key] = counted_for(self._rules, who)
        return await self._take(found) if found else ()

    async def take_address(self, address: str | None) -> Sequence[Standing]:
        """Counts a request of nobody who is known. Raises as `take`."""
        if not self._of_addresses or address is None:
            return ()
        rules, counted = applying(self._of_addresses, address, None), _hashed(network_of(address))
        return await self._take([Counted(rule, f"{rule.counts} {counted}", None) for rule in rules])

    @property
    def is_down(self) -> bool:
        """Whether what is counted could not be had a moment ago."""
        return time.monotonic() < self._down_until

    def standings(self, who: Principal) -> Sequence[Standing]:
        """How those of a user stand, as far as this process knows."""
        now = now_ms()
        return [
            self._standing(each.rule, self._count(each.rule, each.name, now))
            for each in counted_for(self._rules, who)
        ]

    async def _take(self, wanted: Sequence[Counted]) -> Sequence[Standing]:
        while True:
            now = now_ms()
            found = [(each, self._count(each.rule, each.name, now)) for each in wanted]
            short = next((each for each in found if each[1].left <= 0), None)
            if short is None:
                break
            if short[1].is_spent:
                rule, standing = short[0].rule, self._standing(short[0].rule, short[1])
                self._refused(rule.who, rule.measure)
                raise limit_reached(standing, 1, now)
            if not await self._lease(*short):
                return ()
        for _, count in found:
            count.left -= 1
        return [self._standing(each.rule, count) for each, count in found]

    def _count(self, rule: LimitRule, name: str, now: int) -> _Count:
        count = self._counts.get(name)
        if count is None or not count.began <= now < count.ends:
            left, alone = 0 if self._is_shared else rule.most, not self._is_shared
            count = self._counts[name] = _Count(*rule.window(now), left, is_spent=alone)
        return count

    async def _lease(self, counted: Counted, count: _Count) -> bool:
        """Takes a part of what is left for all. False: that cannot be done, and the request comes in
        uncounted. Raises errors.LimitsUnavailable."""
        async with count.asking:
            if count.left > 0 or count.is_spent:
                return True
            try:
                if self.is_down:
                    raise StorageError("The limits could not be read a moment ago.")
                rule, name, user_id = counted
                counter = LimitCounter(name, rule.title, rule.most, count.began, count.ends, user_id)
                granted, count.used = await self._limits.take(counter, max(1, rule.most // LEASE))
            except StorageError as error:
                if not self.is_down:
                    log.warning("limits_unavailable", code=error.code, error=str(error))
                    self._down_until = time.monotonic() + DOWN_FOR
                if self._is_closed_when_down:
                    raise LimitsUnavailable(
                        "What is counted for the limits cannot be read now. Try again."
                    ) from None
                return False
            count.left += granted
            count.is_spent = granted == 0
            return True

    @staticmethod
    def _standing(rule: LimitRule, count: _Count) -> Standing:
        counter = LimitCounter("", rule.title, rule.most, count.began, count.ends)
        return Standing(counter, count.used - count.left)


def counted_for(rules: Sequence[LimitRule], who: Principal, model: str | None = None) -> list[Counted]:
    """What holds for them, of a turn with that model."""
    found: list[Counted] = []
    for kind, name in (("user", who.user_id), ("key", who.key_id), ("tenant", who.tenant), ("all", "")):
        if name is not None:
            for rule in applying([rule for rule in rules if rule.who == kind], name, model):
                of_model = (model or "") if rule.model == "" else ""
                counter = " ".join((rule.counts, _hashed(name), of_model))
                found.append(Counted(rule, counter, who.user_id if kind == "user" else None))
    return found


def _hashed(name: str) -> str:
    """Who is counted, in the name of a counter. Counters outlive an erasure, which would give a new budget
    otherwise, and name nobody."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
