"""Limits as an operator writes them: `user:turns=20/minute`, `tenant:cost=50/month`.

    WHO[=GLOB][+model[=GLOB]]:WHAT=AMOUNT[/PERIOD]

WHO has a count of its own for each user, key, tenant or address, or one for all together; `+model` makes it
one for each model besides, or for all models that a glob fits. `model=GLOB` is short for `all+model=GLOB`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, cast, get_args

Who = Literal["user", "key", "tenant", "address", "all"]
Measure = Literal["requests", "turns", "concurrent", "tokens", "cost"]
Period = Literal["second", "minute", "hour", "day", "month"]

WHO, MEASURES, PERIODS = get_args(Who), get_args(Measure), get_args(Period)
SECONDS: dict[str, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
"""Of the periods that have the same length always."""
MICRODOLLARS = 1_000_000
"""What a cost is counted in: a token of a cheap model costs a few of them."""
MAX_AMOUNT = 2**53
"""The largest number that every reader of JSON knows exactly."""
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([a-z]?)")
_GLOB = r"[^\s,:+=]{1,200}"
_RULE = re.compile(
    rf"(?:model=(?P<only>{_GLOB})|(?P<who>[a-z]+)(?:=(?P<name>{_GLOB}))?"
    rf"(?P<each>\+model(?:=(?P<model>{_GLOB}))?)?):(?P<measure>[a-z]+)=(?P<amount>[^/\s]+)(?:/(?P<period>[a-z]+))?"
)
FORM = "WHO[=GLOB][+model[=GLOB]]:WHAT=AMOUNT/PERIOD, such as user:turns=20/minute or tenant:cost=50/month"


@dataclass(frozen=True, slots=True)
class LimitRule:
    """`most` is in requests, turns, tokens or microdollars. `name` is a glob of whom it holds for,
    `model` one of the models that it is about: "" stands for each by itself, None for all together."""

    who: Who
    name: str | None
    model: str | None
    measure: Measure
    most: int
    period: Period | None

    @property
    def counts(self) -> str:
        """The measure that the rule counts: the rule without its amount and whom it is for. The first rule
        that fits is the one that holds."""
        return self._without_amount(self.who)

    @property
    def title(self) -> str:
        """How it is named in answers: the rule without its amount."""
        return self._without_amount(self.who if self.name is None else f"{self.who}={self.name}")

    def _without_amount(self, who: str) -> str:
        about = who if self.model is None else f"{who}+model" + (self.model and f"={self.model}")
        return f"{about}:{self.measure}" + (f"/{self.period}" if self.period else "")

    def is_for(self, name: str, model: str | None) -> bool:
        """Whether it holds for whom is called so, with that model."""
        if self.name is not None and not fnmatchcase(name, self.name):
            return False
        return not self.model or (model is not None and fnmatchcase(model, self.model))

    def window(self, now: int) -> tuple[int, int]:
        """When the period that `now` is in began and ends, in Unix milliseconds, by the calendar of UTC;
        zeros for what has none."""
        if self.period is None:
            return 0, 0
        if self.period == "month":
            return _month(now // 86_400_000)
        length = SECONDS[self.period] * 1000
        return (began := now - now % length), began + length


@lru_cache(maxsize=8)
def _month(day: int) -> tuple[int, int]:
    date = datetime.fromtimestamp(day * 86_400, UTC)
    first = datetime(date.year, date.month, 1, tzinfo=UTC)
    following = datetime(date.year + date.month // 12, date.month % 12 + 1, 1, tzinfo=UTC)
    return int(first.timestamp()) * 1000, int(following.timestamp()) * 1000


def parse_rule(text: str) -> LimitRule:
    """Raises ValueError: it is no rule; the message says what is wrong with it."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} must be {FORM}")
    part = found.groupdict()
    who, measure, period = part["who"] or "all", part["measure"], part["period"]
    for value, known, what in (
        (who, WHO, "WHO"),
        (measure, MEASURES, "WHAT"),
        (period, (*PERIODS, None), "PERIOD"),
    ):
        if value not in known:
            choices = ", ".join(filter(None, known))
            raise ValueError(f"{text[:100]!r}: {what} must be one of {choices}, not {value[:40]!r}")
    model = part["only"] or (None if part["each"] is None else part["model"] or "")
    if who == "address" and measure != "requests":
        raise ValueError(f"{text[:100]!r}: of an address only requests are counted")
    if measure == "requests" and model is not None:
        raise ValueError(f"{text[:100]!r}: requests have no model")
    if (period is None) != (measure == "concurrent"):
        need = "has no period" if period else f"needs a period: {measure}=…/day"
        raise ValueError(f"{text[:100]!r}: {measure} {need}")
    return LimitRule(
        cast("Who", who),
        part["name"],
        model,
        cast("Measure", measure),
        _amount(text, part["amount"], measure),
        cast("Period | None", period),
    )


def _amount(text: str, given: str, measure: str) -> int:
    found = _AMOUNT.fullmatch(given.lower())
    factor = _FACTORS.get(found[2]) if found else None
    if found is None or factor is None:
        raise ValueError(f"{text[:100]!r}: AMOUNT must be a number, as 20, 0.5, 100k or 2M")
    amount = Decimal(found[1]) * factor * (MICRODOLLARS if measure == "cost" else 1)
    if amount != int(amount) or not 0 <= amount <= MAX_AMOUNT:
        raise ValueError(f"{text[:100]!r}: AMOUNT must be a whole number of {measure}, at most {MAX_AMOUNT}")
    return int(amount)


def parse_rules(rules: Sequence[str]) -> tuple[LimitRule, ...]:
    """Raises ValueError."""
    return tuple(map(parse_rule, rules))


def applying(rules: Sequence[LimitRule], name: str, model: str | None) -> list[LimitRule]:
    """The rules that hold for the user or the tenant of this name: of rules that count the same the first
    that fits."""
    first: dict[str, LimitRule] = {}
    for rule in rules:
        if rule.is_for(name, model):
            first.setdefault(rule.counts, rule)
    return list(first.values())


def check_rules(rules: tuple[str, ...]) -> tuple[str, ...]:
    parse_rules(rules)
    return rules
