"""Limits: what was taken of each in a period, and what open turns hold of it.

    accept ─▶ hold        the estimate of the turn, in the transaction that accepts it
    before each call ─▶ raise the hold, where the turn has come near it
    done   ─▶ nothing     the turn's row has what it used: whoever looks at the counter next settles the hold

A hold whose turn is over is settled from the turn's own row, by whom the counter's row is locked: once, and
without any writer that could be killed in between.
"""

import math
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gateway.errors import LimitReached
from gateway.messages import Usage

HELD_FOR = 5
"""Seconds after which what open turns hold is asked for again."""

Held = Literal["turns", "concurrent", "tokens", "cost"]


class LimitCounter(NamedTuple):
    """What counts for a limit: `name` is that of the limit and of whom it is about, from `began` to `ends`
    (Unix milliseconds; both 0: for ever). `title` is what the limit is called, `most` its amount, `user_id`
    the user whom it is about; None: a key, a tenant, or all."""

    name: str
    title: str
    most: int
    began: int = 0
    ends: int = 0
    user_id: str | None = None

    @property
    def whose(self) -> str:
        """user, key, tenant, address or all."""
        return re.split("[=+:]", self.title, maxsplit=1)[0]

    @property
    def measure(self) -> str:
        """What is counted: requests, turns, concurrent, tokens or cost."""
        return self.title.rpartition(":")[2].partition("/")[0]


@dataclass(frozen=True, slots=True)
class Charge:
    """What a turn takes of a counter when it is accepted: `amount`, and `per_token` for each token of the
    session's last model call. Turns are counted at once; of the rest it is held until the turn is
    over. Tokens are tokens, cost is microdollars. A call that began to answer and never reported what it
    used counts as `answer` tokens beside what is known."""

    counter: LimitCounter
    measure: Held
    amount: int
    per_token: float = 0.0
    answer: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How a limit stands: `used` is settled, `held` what open turns may still take."""

    counter: LimitCounter
    used: int
    held: int = 0

    @property
    def left(self) -> int:
        return max(0, self.counter.most - self.used - self.held)


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call beside turns that is over, on behalf of `owner`. `cost` is in microdollars; None: no price is
    known."""

    owner: str
    purpose: str
    model: str
    usage: Usage
    cost: int | None
    at: int


class SideUsage(NamedTuple):
    """What the calls of one purpose beside turns used with a model, or the turns of sessions that are deleted
    (`storage.turns.DELETED_SESSIONS`): tokens that were read and written,
    microdollars as far as prices are known, and how many calls are `unpriced`."""

    purpose: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost: int
    unpriced: int


class DaySideUsage(NamedTuple):
    """The same on one day, in days since 1970, UTC."""

    day: int
    used: SideUsage


class Spent(NamedTuple):
    """Tokens and microdollars; None: at an unknown price."""

    tokens: int
    cost: int | None

    def of(self, measure: Held) -> int:
        return self.tokens if measure == "tokens" else self.cost or 0


class TurnBudget(Protocol):
    """What a running turn asks."""

    @property
    def is_spending_limited(self) -> bool:
        """Whether something of what turns spend is limited now."""
        ...

    async def raise_hold(self, turn_id: str, spent: Spent, following: Spent) -> Standing | None:
        """As `counters.raise_hold`. Raises errors.StorageError."""
        ...


def limit_reached(standing: Standing, wanted: int, now: int, what: str = "this turn") -> LimitReached:
    """The refusal of what would take `wanted` more than there is room for."""
    counter = standing.counter
    is_budget = counter.measure in {"tokens", "cost"}
    unit = 1_000_000 if counter.measure == "cost" else 1
    amounts = {"limit": counter.most / unit, "left": standing.left / unit, "wanted": wanted / unit}
    if unit == 1:
        amounts = {name: int(value) for name, value in amounts.items()}
    is_held = standing.used + wanted <= counter.most  # there is room once turns are over that are open
    wait = HELD_FOR if is_held or not counter.ends else max(1, -(-(counter.ends - now) // 1000))
    message = f"The limit {counter.title} of {amounts['limit']:,} has {amounts['left']:,} left"
    if is_budget:
        message += f", and {what} may take {amounts['wanted']:,}"
    if is_held and is_budget:
        message += "; turns that are open hold the rest"
    message += f". Try again in {in_words(wait)}." if wanted <= counter.most else "; operators can give more."
    return LimitReached(
        message,
        code="budget_exhausted" if is_budget else "rate_limited",
        retryable=not is_budget or is_held,
        details={"policy": counter.title, **amounts, "retry_after": wait},
        standing=standing,
    )


def in_words(seconds: int) -> str:
    """Such a time for people, rounded up: 45 seconds, 12 minutes, 3 hours, 12 days."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds > 2 * length:
            return f"{-(-seconds // length)} {unit}s"
    return f"{seconds} second" + ("s" if seconds != 1 else "")


def microdollars(cost: float) -> int:
    """Of US dollars, rounded up."""
    return math.ceil(round(cost * 1_000_000, 6))
