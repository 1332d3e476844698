"""What a turn does when the endpoint refuses its history for the thinking in it: it asks again in another
form, each form once, and remembers the one that was answered.

own (what the model can read) -> all that there is, or none, by what the refusal says -> not to think at all

A model that does not think says so at once, and is not asked to for the rest of the process.
"""

import re
from dataclasses import replace
from typing import Literal

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.history.thinking_reader import Form, is_signed, is_thinking, refuses_thinking
from gateway.history.transcript import view
from gateway.messages import Block, Message
from gateway.turn.context import TurnContext
from gateway.turn.prompt_generation import Reason, begin_generation

_WANTS_IT = re.compile(r"pass(ed)? back|must be|expected `?thinking|missing|required", re.IGNORECASE)
"""DeepSeek: "The `content[].thinking` in the thinking mode must be passed back to the API"; Anthropic:
"Expected `thinking` or `redacted_thinking`, but found `tool_use`"."""
_KNOWS_NONE = re.compile(
    r"not support|unsupported|extra inputs|not permitted|unknown|unrecognized", re.IGNORECASE
)
"""Ollama: "\"gemma3\" does not support thinking"; servers that check bodies: "thinking: Extra inputs are not
permitted"."""

UNREADABLE = Reason(
    "thinking_refused", "The model's endpoint cannot read former thinking of this conversation."
)
NOT_THINKING = (
    "The model's endpoint refuses to think on this conversation, as former thinking is missing: the turn "
    "goes on without thinking."
)


def change_form(turn: TurnContext, error: ModelError) -> bool:
    """After a refusal that names thinking or a signature: whether the turn asks again, with other thinking
    before it, or not thinking itself."""
    if not refuses_thinking(error):
        return False
    if _KNOWS_NONE.search(error.message) and "messages." not in error.message and _thinks(turn):
        turn.thinks = False
        return _superseded(turn, error)
    turn.forms_tried.add(turn.reader.form)
    wants = _WANTS_IT.search(error.message) is not None and "signature" not in error.message.lower()
    forms: tuple[Form, ...] = ("all", "none", "own") if wants else ("none", "all", "own")
    changed = any(_try(turn, form) for form in forms if form not in turn.forms_tried)
    if not changed and _thinks(turn):
        turn.thinks, changed = False, True
        _use(turn, "none")
        turn.emit(TurnWarning(code="thinking_refused", message=NOT_THINKING))
    return changed and _superseded(turn, error)


def _thinks(turn: TurnContext) -> bool:
    """Whether the turn asks the model to think."""
    known = turn.deps.model.facts.without_thinking
    return turn.settings.thinking_budget is not None and turn.thinks and turn.row.model not in known


def _superseded(turn: TurnContext, error: ModelError) -> Literal[True]:
    if turn.progress.attempt_open:
        turn.emit(IterationSuperseded(attempt=turn.progress.attempt, reason=error.code))
    return True


async def remember_form(turn: TurnContext) -> None:
    """Called when the endpoint answered: what it was asked with after a refusal is its way. That it wants
    former thinking, or none without a signature, counts for the process; that it cannot read what is signed
    is about this session."""
    facts, model = turn.deps.model.facts, turn.row.model
    if not turn.thinks and turn.thinking_form is None and model not in facts.without_thinking:
        facts.without_thinking.add(model)
        facts.adapted(f"{model} does not think at this endpoint: GATEWAY_THINKING_BUDGET is not sent to it")
    if turn.thinking_form is None or not turn.thinks:
        return
    form, turn.thinking_form = turn.thinking_form, None
    turn.forms_tried.clear()
    if form == "all":
        facts.wants_thinking.add(model)
        facts.adapted(f"{model} wants former thinking back at this endpoint: all of it is sent")
        return
    if form == "own":
        return
    left_out = _left_out(turn)
    if any(not is_signed(block) for block in left_out) and model not in facts.refuses_unsigned:
        facts.refuses_unsigned.add(model)
        facts.adapted(f"{model} takes no thinking without a signature back: it is not sent")
    if any(is_signed(block) for block in left_out):
        turn.set_history(await begin_generation(turn, turn.history, [UNREADABLE]))
    else:
        turn.reader = turn.reader_of(turn.history)


def _try(turn: TurnContext, form: Form) -> bool:
    """Whether that form makes another request."""
    turn.forms_tried.add(form)
    before = turn.messages
    _use(turn, form)
    return not _same(turn.messages, before)


def _use(turn: TurnContext, form: Form) -> None:
    turn.thinking_form, turn.reader = form, replace(turn.reader, form=form)
    turn.messages = view(turn.history, turn.reader)


def _left_out(turn: TurnContext) -> list[Block]:
    """The thinking that would be sent if nothing had been refused."""
    whole = view(turn.history, replace(turn.reader, form="own"))
    return [block for message in whole for block in message.content if is_thinking(block)]


def _same(some: list[Message], others: list[Message]) -> bool:
    return [(each.role, [*each.content]) for each in some] == [
        (each.role, [*each.content]) for each in others
    ]
