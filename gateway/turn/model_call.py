"""One model call: attempts until one is complete, and what each of them streams."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from time import monotonic

from gateway.errors import ModelError, TooManyToolCalls
from gateway.events.lifecycle import IterationEnd, IterationStart, IterationSuperseded
from gateway.history.transcript import fold, problems
from gateway.ids import is_client_call, is_id, new_client_call_id, new_tool_call_id
from gateway.messages import Message
from gateway.model.base import Answer, Delta, ModelRequest, Started
from gateway.model.model_limits import output_limit
from gateway.model.prices import cost_of
from gateway.model.retry_delay import next_delay
from gateway.prompt.cache_points import mark_messages
from gateway.prompt.system_prompt import CLIENT
from gateway.storage.messages import History
from gateway.turn.budget import reserve_budget
from gateway.turn.client_calls import client_call_ids, expect_results
from gateway.turn.context import TurnContext
from gateway.turn.tool_calls import record_intents, refuse_bad_inputs

RUNS_TOOLS = frozenset({"tool_use", "end_turn"})
"""Stop reasons after which the tools of a complete message may run; some compatible servers send end_turn."""


def next_request(turn: TurnContext) -> ModelRequest:
    """What the model is asked next.

    Raises:
        AssertionError: the endpoint would refuse the messages.
    """
    settings, messages = turn.settings, fold(turn.messages)
    if wrong := problems(messages):
        raise AssertionError(f"the history is not valid: {wrong}")
    thinks = settings.thinking_budget is not None and may_think(turn.history, turn.row.id)
    return ModelRequest(
        model=turn.row.model,
        max_tokens=output_limit(settings, turn.deps.model.facts.of(turn.row.model)).tokens,
        system=turn.prefix.system,
        messages=mark_messages(messages),
        tools=turn.prefix.tools,
        thinking_budget=settings.thinking_budget if thinks else None,
        temperature=settings.temperature,
        owner=turn.row.owner,
    )


def may_think(history: History, turn_id: str) -> bool:
    """Whether the next call of that turn may think. While tools run, the API wants the thought that led to
    the first call; when that was signed for a prefix that is gone, the rest of the turn goes without."""
    return not any(
        item.turn_id == turn_id
        and item.message.role == "assistant"
        and item.position <= history.generation_from
        for item in history.messages
    )


async def ask(turn: TurnContext, request: ModelRequest) -> Answer:
    """Asks until an attempt is complete, emitting iteration_start, the deltas and iteration_end, with which
    the message and the records of its tool calls are stored. An attempt whose failure is retryable is
    superseded by another one, unless that would exceed a limit.

    Raises:
        ModelError: the last attempt's failure; its iteration is still open, start_and_end.py keeps what it
        streamed. StorageError: the log failed.
    """
    progress, settings, prefix_hash = turn.progress, turn.settings, turn.prefix.prefix_hash
    attempt = progress.attempt if progress.iteration == turn.emitter.iteration else 0
    client_section = next((section for section in turn.prefix.sections if section.name == CLIENT), None)
    digests = turn.prompt.digests() if prefix_hash != progress.prefix_hash else None
    if digests is not None and client_section is not None:
        digests[CLIENT] = client_section.digest[:12]
    while True:
        attempt += 1
        await turn.ensure_lease()
        start = IterationStart(
            attempt=attempt,
            model=request.model,
            prefix_hash=prefix_hash,
            components=digests,
            instructions_tokens=client_section.tokens if digests and client_section is not None else None,
        )
        turn.emit(start, can_wait=True)
        digests = None
        try:
            return await _attempt(turn, request)
        except ModelError as error:
            delay = next_delay(error, attempt, attempts=settings.model_attempts, settings=settings)
            if delay is None or (progress.attempt_began and await reserve_budget(turn, request) is not None):
                raise
            turn.emit(
                IterationSuperseded(
                    attempt=attempt,
                    reason=error.code,
                    began=progress.attempt_began or None,
                    usage=progress.attempt_usage,
                )
            )
            await asyncio.sleep(delay)


async def _attempt(turn: TurnContext, request: ModelRequest) -> Answer:
    emitter, progress = turn.emitter, turn.progress
    asked_at = monotonic()
    ttft_ms: int | None = None

    def emit(delta: Delta) -> bool:
        nonlocal ttft_ms
        if ttft_ms is None:
            ttft_ms = _ms_since(asked_at)
        emitter.delta(delta.kind, delta.text)
        return True

    def take(delta: Delta) -> bool:
        return emitter.has_capacity and emit(delta)

    async with turn.deps.model.stream(request, take) as chunks:
        async for chunk in chunks:
            match chunk:
                case Delta():
                    emit(chunk)
                    await emitter.wait_for_capacity()
                case Started():
                    progress.attempt_began = True
                    progress.attempt_usage = chunk.usage
                case Answer():
                    answer = _usable(chunk)
                    progress.attempt_usage = answer.usage
                    _check_calls(answer, turn.settings.max_tool_calls)
                    on_client = await client_call_ids(turn, answer)
                    answer = _with_usable_ids(answer, progress.call_ids, on_client)
                    end = _end(answer, request, ttft_ms, _ms_since(asked_at))
                    await expect_results(turn, answer)
                    with emitter.atomic():
                        turn.emit(end, message=_message(answer), usage=answer.usage)
                        record_intents(turn, answer)
                    refuse_bad_inputs(turn, answer)
                    return answer
    raise ModelError("The model's stream ended without an answer.", code="upstream_truncated", retryable=True)


def _check_calls(answer: Answer, most: int) -> None:
    """Raises TooManyToolCalls. Checked here too, since not every implementation of `Model` has the limit."""
    if sum(block["type"] == "tool_use" for block in answer.content) > most:
        raise TooManyToolCalls(most)


def _usable(answer: Answer) -> Answer:
    """The answer without tool calls that must not run: those of a message that did not end in order."""
    if answer.stop_reason in RUNS_TOOLS:
        return answer
    return replace(answer, content=[block for block in answer.content if block["type"] != "tool_use"])


def _with_usable_ids(answer: Answer, taken: Collection[str], clients: Collection[str]) -> Answer:
    """The answer with another id for each tool call whose own is no id, or was used before in this turn: some
    endpoints count from 1 in every answer, and what was decided about one call must not count for another.
    Calls that the client runs have ids by which they are recognised. The history is sent back with the same
    ids."""
    fresh = {
        block["id"]: new_client_call_id() if block["id"] in clients else new_tool_call_id()
        for block in answer.content
        if block["type"] == "tool_use"
        and (block["id"] in {*taken, *clients} or not is_id(block["id"]) or is_client_call(block["id"]))
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
    """The message that joins the history. A refused answer does not: the API asks to leave it out."""
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
        key_of=answer.key_of,
    )


def _ms_since(start: float) -> int:
    return int((monotonic() - start) * 1000)
