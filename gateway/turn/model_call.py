"""One model call: attempts until one is complete, and what each of them streams."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from time import monotonic

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationEnd, IterationStart, IterationSuperseded
from gateway.ids import is_id, new_tool_call_id
from gateway.messages import Message
from gateway.model.base import Answer, Model, ModelRequest, Piece, Started
from gateway.model.prices import cost_of
from gateway.model.retry import next_delay
from gateway.settings import Settings
from gateway.tools.registry import Tools
from gateway.turn.emitter import Emitter
from gateway.turn.tool_calls import record_intents, refuse_bad_inputs

RUNS_TOOLS = frozenset({"tool_use", "end_turn"})
"""Stop reasons after which the tools of a complete message may run; some compatible servers say end_turn."""


async def ask(
    model: Model,
    request: ModelRequest,
    tools: Tools,
    emitter: Emitter,
    settings: Settings,
    *,
    digests: dict[str, str] | None = None,
) -> Answer:
    """Asks until an attempt is complete, emitting iteration_start, the pieces and iteration_end, with which
    the message and the intents of its tool calls are stored. A failed attempt worth repeating is
    superseded. `digests` are those of the prompt's components, when they are news.

    Raises:
        ModelError: the last attempt's failure; its iteration is still open, `books.py` keeps what it
        streamed. StorageError: the log failed.
    """
    attempt = emitter.progress.attempt if emitter.progress.iteration == emitter.iteration else 0
    while True:
        attempt += 1
        start = IterationStart(
            attempt=attempt, model=request.model, prefix_hash=emitter.prefix_hash, components=digests
        )
        emitter.emit(start)
        digests = None
        try:
            return await _attempt(model, request, tools, emitter, settings)
        except ModelError as error:
            delay = next_delay(error, attempt, attempts=settings.model_attempts, settings=settings)
            if delay is None:
                raise
            progress = emitter.progress
            emitter.emit(
                IterationSuperseded(
                    attempt=attempt,
                    reason=error.code,
                    began=progress.attempt_began or None,
                    usage=progress.attempt_usage,
                )
            )
            await asyncio.sleep(delay)


async def _attempt(
    model: Model, request: ModelRequest, tools: Tools, emitter: Emitter, settings: Settings
) -> Answer:
    asked_at = monotonic()
    ttft_ms: int | None = None
    async with model.stream(request) as chunks:
        async for chunk in chunks:
            match chunk:
                case Piece():
                    if ttft_ms is None:
                        ttft_ms = _ms_since(asked_at)
                    emitter.piece(chunk.kind, chunk.text)
                    await emitter.room()
                case Started():
                    emitter.progress.attempt_began = True
                    emitter.progress.attempt_usage = chunk.usage
                case Answer():
                    answer = _with_usable_ids(_usable(chunk), emitter.progress.call_ids)
                    end = _end(answer, request, ttft_ms, _ms_since(asked_at))
                    with emitter.together():
                        emitter.emit(end, message=_message(answer), usage=answer.usage)
                        record_intents(answer, tools, emitter, settings.tool_policy)
                    refuse_bad_inputs(answer, emitter)
                    return answer
    raise ModelError("The model's stream ended without an answer.", code="upstream_truncated", retryable=True)


def _usable(answer: Answer) -> Answer:
    """The answer without tool calls that must not run: those of a message that did not end in order."""
    if answer.stop_reason in RUNS_TOOLS:
        return answer
    return replace(answer, content=[block for block in answer.content if block["type"] != "tool_use"])


def _with_usable_ids(answer: Answer, taken: Collection[str]) -> Answer:
    """The answer with another id for each tool call whose own is no id, or was used before in this turn: some
    endpoints count from 1 in every answer, and what was decided about one call must not count for another.
    The history is sent back with the same ids."""
    fresh = {
        block["id"]: new_tool_call_id()
        for block in answer.content
        if block["type"] == "tool_use" and (block["id"] in taken or not is_id(block["id"]))
    }
    if not fresh:
        return answer
    content = [
        block | {"id": fresh.get(block["id"], block["id"])} if block["type"] == "tool_use" else block
        for block in answer.content
    ]
    bad_inputs = {fresh.get(call_id, call_id): problem for call_id, problem in answer.bad_inputs.items()}
    return replace(answer, content=content, bad_inputs=bad_inputs)


def _message(answer: Answer) -> Message | None:
    """What joins the history. A refused answer does not: the API asks to leave it out of what follows."""
    return (
        Message("assistant", answer.content) if answer.content and answer.stop_reason != "refusal" else None
    )


def _end(answer: Answer, request: ModelRequest, ttft_ms: int | None, duration_ms: int) -> IterationEnd:
    cost = cost_of(answer.model or request.model, answer.usage) if answer.usage is not None else None
    return IterationEnd(
        stop_reason=answer.stop_reason or "unknown",
        usage=answer.usage,
        cost=cost,
        ttft_ms=ttft_ms,
        duration_ms=duration_ms,
        model=answer.model,
        response_id=answer.response_id,
    )


def _ms_since(start: float) -> int:
    return int((monotonic() - start) * 1000)
