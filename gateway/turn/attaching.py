"""The files of a conversation as the model gets them: read when it is asked, and in no history."""

from dataclasses import replace

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.model.base import ModelRequest
from gateway.turn.conversation import Conversation
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts

WITHHELD = (
    "The model's endpoint refused a request that shows files (one may be broken, or the model may not take "
    "such): it is asked without them, and told so."
)


async def with_files(
    parts: Parts, emitter: Emitter, conversation: Conversation, request: ModelRequest
) -> ModelRequest:
    """The request with the contents of images and documents; the same object when it shows none. What cannot
    be shown is told in its place, and in a warning once a turn."""
    if conversation.files_withheld:
        return replace(request, messages=tuple(parts.attachments.withhold(request.messages)))
    filled = await parts.attachments.fill(emitter.turn.owner, request.messages)
    for problem in filled.problems:
        if problem not in conversation.not_shown:
            conversation.not_shown.add(problem)
            emitter.emit(TurnWarning(code="attachment_not_shown", message=problem))
    if filled.messages is request.messages:
        return request
    return replace(request, messages=tuple(filled.messages))


def withhold_refused(error: ModelError, emitter: Emitter, conversation: Conversation) -> bool:
    """After a request that showed files failed: whether it is to be sent again without them. A file that an
    endpoint does not take would otherwise end this and every later turn of the session."""
    if conversation.files_withheld or error.code != "upstream_error" or error.retryable:
        return False
    conversation.files_withheld = True
    if emitter.progress.attempt_open:
        emitter.emit(IterationSuperseded(attempt=emitter.progress.attempt, reason=error.code))
    emitter.emit(TurnWarning(code="attachment_not_shown", message=WITHHELD))
    return True
