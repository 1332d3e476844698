"""What users may take of the operator's limits: the charges of a turn, and how the limits stand."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import cast

from gateway.auth import Principal
from gateway.errors import InvalidRequest, LimitReached, StorageError
from gateway.history.tokens import START
from gateway.ids import now_ms
from gateway.lexical import estimate_tokens
from gateway.messages import Usage
from gateway.model.prices import cost_of
from gateway.service.request_rates import Counted, RequestRates, counted_for
from gateway.settings import Settings
from gateway.settings.limit_rules import parse_rules
from gateway.storage.limits import Charge, Held, LimitCounter, SideUsage, Spent, Standing, microdollars
from gateway.storage.limits.store import Limits
from gateway.turn.budget import max_usage

PROMPT = 4000
"""Tokens that are taken for the prompt and the tools of a session's first turn: what the bundled ones have.
What is wrong in that is mended before the turn's first call, when the prompt is known."""
SWEEP_EVERY = 60.0
"""Seconds. What is asked of a counter meanwhile settles that one."""
SETTLED = 200
"""Counters that are settled in one transaction."""
FORGOTTEN_AFTER = 172_800_000
"""Milliseconds after its end for which a counter is kept."""

STANDINGS: ContextVar[list[Standing] | None] = ContextVar("limit_standings", default=None)
"""Where the standings of the limits of a request are gathered, for the headers of its answer."""


CALLER: ContextVar[Principal | None] = ContextVar("caller", default=None)
"""Who makes the request that is being answered, and what it sets off."""


class UserLimits:
    """One per process. `refused` is called with whom and what a limit that was reached is about."""

    def __init__(
        self,
        settings: Settings,
        limits: Limits,
        refused: Callable[[str, str], None] = lambda _who, _measure: None,
    ) -> None:
        self._of_settings = parse_rules(settings.limits)
        self.become(())
        self._limits = limits
        self._max_tokens = settings.max_tokens
        self._settings = settings
        self._refused = refused
        self.requests = RequestRates(settings, limits, refused)

    def become(self, added: Sequence[str]) -> None:
        """Has these rules hold before those of the settings, from the next turn on. Raises ValueError: one is
        none."""
        rules = [*parse_rules(added), *self._of_settings]
        self._of_turns = [rule for rule in rules if rule.measure != "requests"]
        self._of_spending = [rule for rule in rules if rule.measure in {"tokens", "cost"}]

    @property
    def is_spending_limited(self) -> bool:
        """Whether something of what turns spend is limited."""
        return bool(self._of_spending)

    async def raise_hold(self, turn_id: str, spent: Spent, following: Spent) -> Standing | None:
        """As `TurnBudget` has it."""
        return await self._limits.raise_hold(turn_id, spent, following)

    def charges(self, who: Principal, model: str, text: str) -> Sequence[Charge]:
        """What a turn of theirs with that message takes. Raises errors.InvalidRequest (price_unknown): its
        cost is limited, and nobody knows what its model costs."""
        if not self._of_turns:
            return ()
        now, tokens = now_ms(), PROMPT + round(START * estimate_tokens(text))
        return [self._charge(each, model, tokens, now) for each in counted_for(self._of_turns, who, model)]

    def charges_of_call(self, who: Principal, model: str, most: Usage) -> Sequence[Charge]:
        """The charges of a call beside turns on their behalf that uses `most`. Raises errors.LimitReached
        (price_unknown): its cost is limited, and nobody knows what its model costs."""
        found: list[Charge] = []
        for each in counted_for(self._of_spending, who, model):
            if each.rule.who != "all" and not who.user_id:
                continue
            counter = _counter(each, now_ms())
            if each.rule.measure == "tokens":
                found.append(Charge(counter, "tokens", most.total))
            elif (cost := cost_of(model, most)) is not None:
                found.append(Charge(counter, "cost", microdollars(cost)))
            else:
                raise LimitReached(
                    f"The price of {model} is not known, and the limit {each.rule.title} is on costs.",
                    code="price_unknown",
                    retryable=False,
                    details={"policy": each.rule.title},
                    standing=Standing(counter, 0),
                )
        return found

    async def side_usage(self, who: Principal, since: int) -> Sequence[SideUsage]:
        """The usage on their behalf beside turns. Raises errors.StorageError."""
        return await self._limits.side_usage(who.user_id, since)

    def reached(self, error: LimitReached) -> None:
        """Notes that a turn was refused, or a call beside turns."""
        standing = cast("Standing", error.standing)
        self._refused(standing.counter.whose, standing.counter.measure)
        show([standing])

    async def standings(self, who: Principal) -> Sequence[Standing]:
        """How the limits stand that hold for them: of limits of one model those of the models that they may
        ask. Raises errors.StorageError."""
        now = now_ms()
        counters = {
            each.name: _counter(each, now)
            for model in self._settings.models
            for each in counted_for(self._of_turns, who, model)
        }
        turns = await self._limits.standings(list(counters.values())) if counters else ()
        return [*self.requests.standings(who), *turns]

    async def sweep(self) -> None:
        """Settles what is held for turns that are over, and forgets counters that ended long ago, again and
        again, until it is cancelled. Raises errors.StorageError."""
        while True:
            while await self._limits.settle(SETTLED) == SETTLED:
                pass
            await self._limits.forget(now_ms() - FORGOTTEN_AFTER)
            await self._limits.forget_calls(now_ms())
            await asyncio.sleep(SWEEP_EVERY)

    async def settle(self) -> None:
        """As `sweep`, before a session is deleted, whose turns tell what they used. What cannot be settled
        counts as it is held."""
        try:
            if self._of_spending:
                await self._limits.settle(SETTLED)
        except StorageError:
            return

    def _charge(self, counted: Counted, model: str, tokens: int, now: int) -> Charge:
        rule, counter = counted.rule, _counter(counted, now)
        measure = cast("Held", rule.measure)
        match measure:
            case "tokens":
                return Charge(counter, measure, tokens + self._max_tokens, 1.0, self._max_tokens)
            case "cost":
                cost = cost_of(model, max_usage(tokens, self._max_tokens))
                million = cost_of(model, max_usage(1_000_000, 0))
                if cost is None or million is None:
                    raise InvalidRequest(
                        f"The price of {model} is not known, and the limit {rule.title} is on what it costs: "
                        "choose another model. Operators can limit its tokens instead.",
                        code="price_unknown",
                    )
                return Charge(counter, measure, microdollars(cost), million)
            case _:
                return Charge(counter, measure, 1)


def show(standings: Sequence[Standing]) -> None:
    """Has the headers of this request's answer show how the limits stand."""
    if (shown := STANDINGS.get()) is not None:
        shown += standings


def _counter(counted: Counted, now: int) -> LimitCounter:
    rule, name, user_id = counted
    return LimitCounter(name, rule.title, rule.most, *rule.window(now), user_id)
