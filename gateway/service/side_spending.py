"""Model calls beside turns, charged to the limits of whoever causes them, as turns are."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from gateway.auth import Principal
from gateway.errors import LimitReached, LimitsUnavailable, StorageError
from gateway.history.tokens import START, request_tokens
from gateway.ids import now_ms
from gateway.messages import Usage
from gateway.model.base import ModelRequest
from gateway.model.prices import cost_of
from gateway.model.side_calls import CallContext, ModelCall
from gateway.service.limits import CALLER, UserLimits
from gateway.storage.limits import Charge, SideCall, microdollars
from gateway.storage.limits.store import Limits
from gateway.turn.budget import NOTHING, max_usage

log = structlog.get_logger(__name__)

NOBODY = ""
"""On whose behalf the gateway's own calls are made: what is limited of all together holds for them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A call that was paid for in advance: `charges` have the amounts, `answer` the tokens that one
    attempt may write."""

    owner: str
    charges: Sequence[Charge]
    answer: int


class SideSpending:
    """The `Spending` protocol of model calls. One per process."""

    def __init__(self, limits: UserLimits, store: Limits, *, is_closed_when_down: bool) -> None:
        self._limits = limits
        self._store = store
        self._is_closed_when_down = is_closed_when_down

    async def take(self, request: ModelRequest, context: CallContext) -> Taken:
        """Takes what one attempt of the call may use: its prompt, estimated, and its longest answer. Raises
        errors.LimitReached, errors.LimitsUnavailable."""
        owner = context.owner or NOBODY
        caller = CALLER.get()
        who = caller if caller is not None and caller.user_id == owner else Principal(owner)
        tokens = round(START * request_tokens(request))
        charges = self._limits.charges_of_call(who, request.model, max_usage(tokens, request.max_tokens))
        if charges:
            try:
                await self._store.take_for_call(charges, now_ms())
            except LimitReached as error:
                self._limits.reached(error)
                raise
            except StorageError as error:
                if self._is_closed_when_down:
                    raise LimitsUnavailable(
                        "What is counted for the limits cannot be read now. Try again."
                    ) from None
                log.warning("limits_unavailable", code=error.code, error=str(error))
                charges = ()
        return Taken(owner, charges, request.max_tokens)

    async def settle(self, taken: Taken, call: ModelCall) -> None:
        """Charges what the call used in place of what was taken for it. An attempt that began to answer and
        never said what it used counts with its longest answer. Raises nothing."""
        attempts = [(call.model, each.usage) for each in call.superseded]
        attempts.append((call.response_model or call.model, call.usage))
        used, cost = NOTHING, 0.0
        is_priced = True
        for model, usage in attempts:
            if usage is not None:
                used += usage
                price = cost_of(model, usage)
                cost, is_priced = cost + (price or 0.0), is_priced and price is not None
        unreported = max_usage(0, call.unreported * taken.answer)
        lost = cost_of(call.model, unreported)
        changes = [
            (charge.counter, self._spent(charge, used + unreported, cost + (lost or 0.0), is_priced))
            for charge in taken.charges
        ]
        done = None
        if taken.owner != NOBODY and (used.total or call.unreported):
            known = microdollars(cost) if is_priced and not call.unreported else None
            done = SideCall(taken.owner, call.purpose, call.model, used, known, call.ended_at or now_ms())
        if done is None and not changes:
            return
        try:
            await self._store.settle_call([(counter, more) for counter, more in changes if more], done)
        except StorageError as error:  # what was taken stays taken
            log.warning("side_call_not_counted", purpose=call.purpose, code=error.code, error=str(error))

    @staticmethod
    def _spent(charge: Charge, used: Usage, cost: float, is_priced: bool) -> int:
        """The amount that was used beyond what was taken."""
        if charge.measure == "tokens":
            return used.total - charge.amount
        return microdollars(cost) - charge.amount if is_priced else 0
