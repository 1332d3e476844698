"""Requests counted before anything of them is read.

In one process the counts are in memory. Where replicas share a database each takes a part of what is left
there, a LEASE at a time, and counts that down: no more is let in than the limit, and with n replicas at most
(n - 1) / 200 of it too little, as parts stay unused. One statement for each request would be exact to the
last one, and cost each of them a commit.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from gateway.auth import Principal
from gateway.bounded_dict import BoundedDict
from gateway.errors import LimitsUnavailable, StorageError
from gateway.ids import now_ms
from gateway.settings import Settings
from gateway.settings.limit_rules import LimitRule, applying, parse_rules
from gateway.storage.limits import Counter, Limits, Standing, limit_reached

LEASE = 200
"""The part of a limit that a replica takes at a time: one of so many."""
MAX_COUNTED = 100_000
"""Users, keys, tenants and addresses whose requests are counted at a time; who was counted first is
forgotten."""
DOWN_FOR = 1.0
"""Seconds for which the database is not asked again after it failed."""

log = structlog.get_logger(__name__)


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
        self._limits = limits
        self._is_shared = settings.is_shared
        self._is_closed_when_down = settings.limits_when_down == "closed"
        self._refused = refused
        self._counts = BoundedDict[str, _Count](MAX_COUNTED)
        self._of = BoundedDict[tuple[str, str | None], Sequence[tuple[LimitRule, str]]](MAX_COUNTED)
        self._down_until = 0.0

    async def take(self, who: Principal) -> Sequence[Standing]:
        """Counts a request of theirs. Raises errors.LimitReached, errors.LimitsUnavailable."""
        key = (who.user_id, who.key_id)
        if (found := self._of.get(key)) is None:
            found = self._of[key] = counted_for(self._rules, who)
        return await self._take(found) if found else ()

    async def take_address(self, address: str | None) -> Sequence[Standing]:
        """Counts a request of nobody who is known. Raises as `take`."""
        if not self._of_addresses or address is None:
            return ()
        rules = applying(self._of_addresses, address, None)
        return await self._take([(rule, f"{rule.title} {address}") for rule in rules])

    @property
    def is_down(self) -> bool:
        """Whether what is counted could not be had a moment ago."""
        return time.monotonic() < self._down_until

    def standings(self, who: Principal) -> Sequence[Standing]:
        """How those of a user stand, as far as this process knows."""
        now = now_ms()
        return [
            self._standing(rule, self._count(rule, name, now)) for rule, name in counted_for(self._rules, who)
        ]

    async def _take(self, wanted: Sequence[tuple[LimitRule, str]]) -> Sequence[Standing]:
        while True:
            now = now_ms()
            found = [(rule, name, self._count(rule, name, now)) for rule, name in wanted]
            short = next((each for each in found if each[2].left <= 0), None)
            if short is None:
                break
            if short[2].is_spent:
                standing = self._standing(short[0], short[2])
                self._refused(short[0].who, short[0].measure)
                raise limit_reached(standing, 1, now)
            if not await self._lease(*short):
                return ()
        for _, _, count in found:
            count.left -= 1
        return [self._standing(rule, count) for rule, _, count in found]

    def _count(self, rule: LimitRule, name: str, now: int) -> _Count:
        count = self._counts.get(name)
        if count is None or not count.began <= now < count.ends:
            left, alone = 0 if self._is_shared else rule.most, not self._is_shared
            count = self._counts[name] = _Count(*rule.window(now), left, is_spent=alone)
        return count

    async def _lease(self, rule: LimitRule, name: str, count: _Count) -> bool:
        """Takes a part of what is left for all. False: that cannot be done, and the request comes in
        uncounted. Raises errors.LimitsUnavailable."""
        async with count.asking:
            if count.left > 0 or count.is_spent:
                return True
            try:
                if self.is_down:
                    raise StorageError("The limits could not be read a moment ago.")
                counter = Counter(
                    name, rule.title, rule.most, count.began, count.ends, user_counted(rule, name)
                )
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
        counter = Counter("", rule.title, rule.most, count.began, count.ends)
        return Standing(counter, count.used - count.left)


def user_counted(rule: LimitRule, name: str) -> str | None:
    """The user whom a counter of that name is about, as `counted_for` names it; None: it is of no user."""
    return name.removeprefix(rule.title + " ").partition(" ")[0] if rule.who == "user" else None


def counted_for(
    rules: Sequence[LimitRule], who: Principal, model: str | None = None
) -> list[tuple[LimitRule, str]]:
    """The rules that hold for them, of a turn with that model, each with the name of its counter."""
    found: list[tuple[LimitRule, str]] = []
    for kind, name in (("user", who.user_id), ("key", who.key_id), ("tenant", who.tenant), ("all", "")):
        if name is not None:
            for rule in applying([rule for rule in rules if rule.who == kind], name, model):
                found.append((rule, " ".join((rule.title, name, (model or "") if rule.model == "" else ""))))
    return found
