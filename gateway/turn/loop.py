"""The ReAct loop: ask, run the tools that were called, until the model stops or a limit says so."""

from collections.abc import Sequence

from gateway.history.transcript import fold
from gateway.messages import Message
from gateway.model.base import Answer, ModelRequest
from gateway.prompt.assemble import PromptLimits, assemble
from gateway.prompt.components import Components
from gateway.turn.books import COMPLETED, Ending, failed, noted
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
    parts: Parts, emitter: Emitter, components: Components, history: Sequence[Message], limits: Limits
) -> Ending:
    """Goes on from `emitter.progress` and `history` (the session's messages, this turn's included) to the
    end.

    Returns how the turn ends; its books are not closed yet.

    Raises:
        ModelError: the model failed for good; what it streamed is still open.
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped; whatever is open is in `emitter.progress`.
    """
    messages = list(history)
    progress = emitter.progress
    while True:
        if progress.calls:
            if messages[-1].role == "assistant":
                messages.append(await run_tool_calls(parts.tools, emitter, parts.settings))
        elif progress.stop_reason is not None and progress.stop_reason != "pause_turn":
            return _end(progress.stop_reason, emitter)
        repeats = progress.iteration > 0 and progress.stop_reason is None
        if not repeats:
            if (reached := limit_reached(progress, limits)) is not None:
                return noted("limit_reached", reached.code, reached.message)
            emitter.iteration = progress.iteration + 1
        request = model_request(parts, emitter.turn.model, components, messages)
        answer = await ask(parts.model, request, parts.tools, emitter, parts.settings)
        _remember(answer, messages)


def model_request(
    parts: Parts, model: str, components: Components, messages: Sequence[Message]
) -> ModelRequest:
    """What the model is sent for `messages`: the assembled prompt with the configured parameters."""
    settings = parts.settings
    limits = PromptLimits(total_tokens=settings.prompt_tokens)
    assembled = assemble(components, fold(messages), tools=parts.tools.specs(), limits=limits)
    return ModelRequest(
        model=model,
        max_tokens=settings.max_tokens,
        system=assembled.system,
        messages=assembled.messages,
        tools=assembled.tools,
        thinking_budget=settings.thinking_budget,
        temperature=settings.temperature,
    )


def _remember(answer: Answer, messages: list[Message]) -> None:
    if answer.content:
        messages.append(Message("assistant", answer.content))


def _end(stop_reason: str, emitter: Emitter) -> Ending:
    if stop_reason == "refusal":
        return failed("content_refused", "The model declined to answer this.", retryable=False)
    if stop_reason in CUT_SHORT:
        return noted("completed", stop_reason, CUT_SHORT[stop_reason])
    if not "".join(emitter.progress.text).strip():
        return noted("completed", "empty_answer", "The model wrote no answer.")
    return COMPLETED
