"""Generations of a session's prompt: within one, what comes before its messages stays as it is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from gateway.events.lifecycle import TurnWarning
from gateway.history.transcript import last_position
from gateway.storage.messages import History
from gateway.turn.context import TurnContext

BEGINS = "A new prompt generation begins, and thinking from before it is not sent any more."


class Reason(NamedTuple):
    """Why a generation begins: the code of its warning, and a sentence for people."""

    code: str
    message: str


async def begin_generation(turn: TurnContext, history: History, reasons: Sequence[Reason] = ()) -> History:
    """The history with a prompt generation that begins now: thinking that was signed until now is no longer
    sent. One warning names the reasons, if there are any."""
    if reasons:
        turn.emit(warning_of(reasons))
    last = last_position(history)
    await turn.deps.sessions.begin_generation(turn.row.session_id, last, instead_of=history.generation_from)
    turn.progress.prefix_hash = None
    return replace(history, generation_from=last, prefix_hash=None)


def warning_of(reasons: Sequence[Reason]) -> TurnWarning:
    """With the code of its reason, or `prompt_changed` and the codes of all of them."""
    message = " ".join([*(each.message for each in reasons), BEGINS])
    if len(reasons) == 1:
        return TurnWarning(code=reasons[0].code, message=message)
    return TurnWarning(code="prompt_changed", message=message, reasons=[each.code for each in reasons])
