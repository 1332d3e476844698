"""What a turn may still spend: asked before each model call, so that no call begins that a limit has no room
for."""

from gateway.history.tokens import overhead_of
from gateway.messages import Usage
from gateway.model.base import ModelRequest
from gateway.model.prices import cost_of
from gateway.storage.limits import Spent, microdollars
from gateway.turn.context import TurnContext
from gateway.turn.start_and_end import Ending, ended_with_warning

NOTHING = Usage(input_tokens=0, output_tokens=0)


async def reserve_budget(turn: TurnContext, request: ModelRequest) -> Ending | None:
    """Reserves what the turn has spent and what `request` may cost: its prompt, and `max_tokens` of answer.
    An attempt that broke off may have cost its `max_tokens` too, whatever it reported. Returns None, or how
    the turn ends if the reservation would exceed a limit. Raises errors.StorageError."""
    limits, model = turn.deps.limits, request.model
    if limits is None or not limits.is_spending_limited:
        return None
    progress = turn.progress
    used, unreported = progress.usage or NOTHING, progress.unreported
    if progress.attempt_open and progress.attempt_began:
        used, unreported = used + (progress.attempt_usage or NOTHING), unreported + 1
    used += max_usage(0, unreported * request.max_tokens)
    overhead = overhead_of(turn.prefix.system, turn.prefix.tools)
    prompt = turn.deps.meter.size(model, turn.history, overhead=overhead)
    following = max_usage(prompt, request.max_tokens)
    standing = await limits.raise_hold(turn.row.id, _spent(model, used), _spent(model, following))
    if standing is None:
        return None
    return ended_with_warning(
        "limit_reached",
        "budget_exceeded",
        f"Stopped before the next model call: it may take more than the limit {standing.counter.title} has.",
    )


def max_usage(prompt: int, answer: int) -> Usage:
    """The usage of a call that costs most: a prompt that is written to the cache is dearer than one that is
    not."""
    return Usage(input_tokens=0, output_tokens=answer, cache_creation_input_tokens=prompt)


def _spent(model: str, usage: Usage) -> Spent:
    """An estimate by the list prices of the model that was asked for. What is charged when the turn ends is
    the usage that its calls reported."""
    cost = cost_of(model, usage)
    return Spent(usage.total, None if cost is None else microdollars(cost))
