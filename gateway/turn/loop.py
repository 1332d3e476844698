"""The ReAct loop: ask, run the tools that were called, until the model stops or a limit says so."""

from gateway.errors import ModelError
from gateway.messages import Message
from gateway.turn.attaching import remember_withheld, with_files, withhold_files
from gateway.turn.books import COMPLETED, Ending, failed, noted
from gateway.turn.compressing import compress_if_due, compress_overflow
from gateway.turn.conversation import Conversation
from gateway.turn.emitter import Emitter
from gateway.turn.limits import Limits, limit_reached
from gateway.turn.model_call import ask
from gateway.turn.parts import Parts
from gateway.turn.tool_calls import run_tool_calls

CUT_SHORT = {
    "max_tokens": "The answer reached the most tokens one model call may write.",
    "model_context_window_exceeded": "The answer reached the end of the model's context window.",
}


async def run_loop(
    parts: Parts, emitter: Emitter, conversation: Conversation, limits: Limits
) -> Ending | None:
    """Goes on from `emitter.progress` and `conversation` (this turn's messages included) to the end.

    Returns how the turn ends; its books are not closed yet. None: it was parked, and awaits an approval.

    Raises:
        ModelError: the model failed for good; what it streamed is still open.
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped; whatever is open is in `emitter.progress`.
    """
    progress = emitter.progress
    while True:
        if progress.calls:
            if not await _calls_answered(parts, emitter, conversation):
                return None
        elif progress.stop_reason is not None and progress.stop_reason != "pause_turn":
            return _end(progress.stop_reason, emitter)
        repeats = progress.iteration > 0 and progress.stop_reason is None
        if not repeats:
            if (reached := limit_reached(progress, limits)) is not None:
                return noted("limit_reached", reached.code, reached.message)
            emitter.iteration = progress.iteration + 1
        former = emitter.prefix_hash
        request, prefix_hash = conversation.request()
        if await compress_if_due(parts, emitter, conversation, request):
            request, prefix_hash = conversation.request()
        emitter.prefix_hash = prefix_hash
        digests = conversation.digests if emitter.prefix_hash != former else None
        shown = await with_files(parts, emitter, conversation, request)
        try:
            answer = await ask(
                parts.model, shown, conversation.tools, emitter, parts.settings, digests=digests
            )
        except ModelError as error:
            if not await _mended(error, parts, emitter, conversation, shows_files=shown is not request):
                raise
            continue
        remember_withheld(parts, emitter, conversation)
        if parts.settings.compress_at is not None and answer.usage is not None and conversation.shows_all:
            parts.meter.learn_from(request, answer.usage)
        if answer.content:
            conversation.add(Message("assistant", answer.content), answer.usage)


async def _mended(
    error: ModelError, parts: Parts, emitter: Emitter, conversation: Conversation, *, shows_files: bool
) -> bool:
    """Whether the model is to be asked again, otherwise, after it failed: with less, and once for each
    cause."""
    if error.code == "context_overflow" and await compress_overflow(parts, emitter, conversation):
        return True
    return shows_files and withhold_files(error, parts, emitter, conversation)


async def _calls_answered(parts: Parts, emitter: Emitter, conversation: Conversation) -> bool:
    """Sees to it that the calls of the last answer have their results; False when the turn was parked."""
    if conversation.messages[-1].role != "assistant":
        return True
    answers = await run_tool_calls(parts, conversation.catalog, conversation.tools, emitter)
    if answers is not None:
        conversation.add(answers)
    return answers is not None


def _end(stop_reason: str, emitter: Emitter) -> Ending:
    if stop_reason == "refusal":
        return failed("content_refused", "The model declined to answer this.", retryable=False)
    if stop_reason in CUT_SHORT:
        return noted("completed", stop_reason, CUT_SHORT[stop_reason])
    if not "".join(emitter.progress.text).strip():
        return noted("completed", "empty_answer", "The model wrote no answer.")
    return COMPLETED
