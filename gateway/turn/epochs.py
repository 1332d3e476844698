"""Epochs of a session: within one, what comes before its messages stays as it is."""

from dataclasses import replace

from gateway.storage.base import History
from gateway.turn.parts import Parts


async def begin_epoch(parts: Parts, session_id: str, history: History) -> History:
    """The history with an epoch that begins now: thinking that was signed until now is sent no more."""
    last = history.messages[-1].position if history.messages else 0
    await parts.sessions.begin_epoch(session_id, last, instead_of=history.epoch_from)
    return replace(history, epoch_from=last)
