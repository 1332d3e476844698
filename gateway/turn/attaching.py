"""The files of a conversation as the model gets them: read when it is asked, and in no history."""

from dataclasses import replace

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.history.transcript import view
from gateway.model.base import ModelRequest
from gateway.turn.conversation import Conversation, without_turn
from gateway.turn.emitter import Emitter
from gateway.turn.epochs import begin_epoch
from gateway.turn.parts import Parts

WITHHELD = (
    "The model's endpoint refused a request that shows files (one may be broken, or the model may not take "
    "such): it is asked without them, and told so."
)
TOO_LONG = (
    "The files of this conversation are longer than the model can read: it is asked again without them, and "
    "told so."
)
LEFT_OUT = (
    "Older files of this conversation make room for newer ones and are not shown to the model any more: a "
    "new epoch begins, and thinking from before it is not sent any more."
)


async def with_files(
    parts: Parts, emitter: Emitter, conversation: Conversation, request: ModelRequest
) -> ModelRequest:
    """The request with the contents of images and documents; the same object when it has none. What cannot
    be shown is told in its place, and in a warning once a turn."""
    filled = await parts.attachments.fill(
        emitter.turn.owner, request.messages, model=request.model, withheld=conversation.withheld
    )
    conversation.shows_all = filled.is_whole
    for problem in filled.problems:
        if problem not in conversation.not_shown:
            conversation.not_shown.add(problem)
            emitter.emit(TurnWarning(code="attachment_not_shown", message=problem))
    if filled.messages is request.messages:
        return request
    return replace(request, messages=tuple(filled.messages))


async def make_room(parts: Parts, emitter: Emitter, conversation: Conversation) -> None:
    """When the files of a turn's message take the room of older ones, what comes before it changes: an epoch
    begins. At a turn's first model call only; later ones add no files."""
    if emitter.progress.iteration > 0:
        return
    turn, left_out = emitter.turn, parts.attachments.left_out
    before = left_out(view(without_turn(conversation.history, turn.id)))
    if left_out(conversation.messages) > before:
        emitter.emit(TurnWarning(code="attachment_not_shown", message=LEFT_OUT))
        conversation.replace(await begin_epoch(parts, turn.session_id, conversation.history))


def withhold_files(error: ModelError, parts: Parts, emitter: Emitter, conversation: Conversation) -> bool:
    """After a request that showed files was refused, or was too long: whether it is to be sent again without
    them. A file that an endpoint does not take would otherwise end this and every later turn."""
    too_long = error.code == "context_overflow"
    if not too_long and (not error.refused or error.retryable):
        return False
    suspects = parts.attachments.suspects(conversation.messages, conversation.withheld)
    if not suspects:
        return False
    conversation.withheld |= suspects
    if emitter.progress.attempt_open:
        emitter.emit(IterationSuperseded(attempt=emitter.progress.attempt, reason=error.code))
    emitter.emit(TurnWarning(code="attachment_not_shown", message=TOO_LONG if too_long else WITHHELD))
    return True


def remember_withheld(parts: Parts, emitter: Emitter, conversation: Conversation) -> None:
    """The endpoint answered: what was withheld from it was why it did not before."""
    if conversation.withheld:
        turn = emitter.turn
        parts.attachments.refuse(turn.owner, turn.model, conversation.withheld)
