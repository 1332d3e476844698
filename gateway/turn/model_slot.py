"""A turn waits for the model: for a slot of an endpoint that has few, or for a server that starts. The
person gets a word, once a turn for each reason."""

from gateway.events.lifecycle import TurnWarning
from gateway.model.endpoint_queue import Ticket
from gateway.model.retry_delay import StartPatience
from gateway.turn.context import TurnContext

NOTICE_AFTER = 0.3
"""Seconds of a wait that nobody is told of."""

BUSY, STARTING = "model_busy", "model_starting"


async def take_slot(turn: TurnContext, former: Ticket | None = None) -> Ticket:
    """Waits for a slot of the model's endpoint, which is to be given back; who repeats a call keeps the
    place in the line of the `former` one.

    Raises:
        ModelError: too many wait (upstream_overloaded). TurnLost: another replica has the turn by now.
    """
    queue = turn.deps.model.queue
    ticket = queue.join(turn.row.owner, rank=former.rank if former is not None else None)
    if ticket.granted:
        return ticket
    try:
        if not await ticket.turn_comes(NOTICE_AFTER):
            before = queue.before(ticket)
            _tell(turn, TurnWarning(code=BUSY, message=_waits_for(before), before=before))
            await ticket.turn_comes()
        await turn.ensure_lease()
    except BaseException:
        queue.leave(ticket)
        raise
    return ticket


def give_back(turn: TurnContext, ticket: Ticket | None) -> None:
    """The slot is free, if there was one. Idempotent."""
    if ticket is not None:
        turn.deps.model.queue.leave(ticket)


async def wait_for_start(turn: TurnContext, patience: StartPatience) -> None:
    """Waits until the server of the model can be asked, or the patience is over."""
    message = f"The model's server is starting or away: it is waited for, up to {patience.left:.0f} seconds."
    _tell(turn, TurnWarning(code=STARTING, message=message))
    await turn.deps.model.started(patience.left)


def _tell(turn: TurnContext, warning: TurnWarning) -> None:
    if warning.code not in turn.told_to_wait:
        turn.told_to_wait |= {warning.code}
        turn.emit(warning)


def _waits_for(before: int) -> str:
    requests = "1 request is" if before == 1 else f"{before} requests are"
    return f"Waiting for the model: {requests} answered before."
