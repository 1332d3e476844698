"""Limits that the operator sets while the gateway runs: they go before those of the settings."""

from collections.abc import Sequence

import structlog

from gateway.auth import Principal
from gateway.errors import InvalidRequest
from gateway.ids import now_ms
from gateway.service.limits import UserLimits
from gateway.settings.limit_rules import parse_rule
from gateway.storage.limit_rules import AddedRule, AddedRules

log = structlog.get_logger(__name__)


class OperatorLimits:
    """One per process. Of rules that count the same the first that fits holds, and those that are added come
    first: so they give a user more as well as less."""

    def __init__(self, limits: UserLimits, store: AddedRules) -> None:
        self._limits, self._store = limits, store

    async def look(self) -> None:
        """Has the rules that are stored hold. Raises errors.StorageError."""
        found: list[str] = []
        for each in await self._store.list():
            try:
                check_rule(each.rule)
            except ValueError as error:  # of a version to come
                log.warning("limit_rule_unreadable", rule=each.rule, error=str(error))
                continue
            found.append(each.rule)
        self._limits.become(found)

    async def list(self) -> Sequence[AddedRule]:
        """Those that are added, in their order. Raises errors.StorageError."""
        return await self._store.list()

    async def replace(self, who: Principal, rules: Sequence[str]) -> None:
        """Puts these in the place of all that were added. They hold for the next turn on every replica.
        Raises errors.InvalidRequest: one is no rule, or there twice, or is about requests."""
        for rule in rules:
            try:
                check_rule(rule)
            except ValueError as error:
                raise InvalidRequest(str(error)) from None
        if len(set(rules)) < len(rules):
            raise InvalidRequest("A rule is there twice.")
        await self._store.replace(rules, who.user_id, now_ms())
        await self.look()


def check_rule(rule: str) -> None:
    """Raises ValueError: it is none, or it is about requests, which are counted before it is known who
    asks."""
    if parse_rule(rule).measure == "requests":
        raise ValueError(f"{rule[:100]!r}: limits on requests are in the settings alone (GATEWAY_LIMITS)")
