"""One model call: attempts until one is complete, and what each of them streams."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from time import monotonic

import orjson

from gateway.errors import ModelError, TooManyToolCalls
from gateway.events.lifecycle import IterationEnd, IterationStart, IterationSuperseded, TurnWarning
from gateway.history.thinking_reader import maker_of_answer, may_think, signed_off
from gateway.history.transcript import fold, problems
from gateway.ids import is_client_call, is_id, new_client_call_id, new_tool_call_id
from gateway.messages import Block, Message, shortened
from gateway.model.base import Answer, Delta, ModelRequest, Started
from gateway.model.model_limits import output_limit
from gateway.model.prices import cost_of
from gateway.model.retry_delay import StartPatience
from gateway.prompt.cache_points import mark_messages
from gateway.prompt.system_prompt import CLIENT
from gateway.turn.budget import reserve_budget
from gateway.turn.client_calls import client_call_ids, expect_results
from gateway.turn.context import TurnContext
from gateway.turn.model_slot import give_back, take_slot, wait_for_start
from gateway.turn.progress import TurnProgress
from gateway.turn.tool_calls import record_intents, refuse_bad_inputs

NEVER_RUNS = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})
"""Stop reasons after which no tools of a message run. After all others they do, also after none: a call that
is complete is meant, whatever a server makes of its reason."""
SHOWN_CALLS = 3
"""Different calls of a message that was cut that are told; of each so many characters of its arguments:"""
SHOWN_ARGUMENTS = 120


MIN_BUDGET = 1024
"""Tokens (Messages API, "Extended thinking": budget_tokens)."""


def next_request(turn: TurnContext) -> ModelRequest:
    """What the model is asked next.

    Raises:
        AssertionError: the endpoint would refuse the messages.
    """
    settings, messages = turn.settings, fold(turn.messages)
    if wrong := problems(messages):
        raise AssertionError(f"the history is not valid: {wrong}")
    thinks = (
        settings.thinking_budget is not None
        and turn.thinks
        and turn.row.model not in turn.deps.model.facts.without_thinking
        and may_think(turn.history, turn.reader)
    )
    wanted = turn.row.sampling
    max_tokens = most_tokens(turn)
    return ModelRequest(
        model=turn.row.model,
        max_tokens=max_tokens,
        system=turn.prefix.system,
        messages=mark_messages(messages),
        tools=turn.prefix.tools,
        thinking_budget=budget_within(max_tokens, settings.thinking_budget) if thinks else None,
        temperature=settings.temperature if wanted.temperature is None else wanted.temperature,
        owner=turn.row.owner,
        may_call=not turn.progress.repeated.ends or turn.ignores_choice,
        top_p=wanted.top_p,
        top_k=wanted.top_k,
        stop_sequences=wanted.stop_sequences,
    )


def most_tokens(turn: TurnContext) -> int:
    """The most tokens of an answer of this turn: the model's limit, or what its client wants, if less."""
    limit = output_limit(turn.settings, turn.deps.model.facts.of(turn.row.model)).tokens
    return min(limit, turn.row.sampling.max_tokens or limit)


def budget_within(max_tokens: int, budget: int | None) -> int | None:
    """The budget for thinking of an answer of so many tokens, which it is a part of; None where the least
    that there is would not fit."""
    if budget is None or budget < max_tokens:
        return budget
    return max_tokens - 1 if max_tokens > MIN_BUDGET else None


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
    queue, patience, ticket = turn.deps.model.queue, StartPatience(), None
    while True:
        attempt += 1
        await turn.ensure_lease()
        if queue.slots is not None:
            ticket = await take_slot(turn, ticket)
        start = IterationStart(
            attempt=attempt,
            model=request.model,
            prefix_hash=prefix_hash,
            components=digests,
            instructions_tokens=client_section.tokens if digests and client_section is not None else None,
            prompt_profile="small" if digests and turn.prompt.profile == "small" else None,
            tools_left_out=_left_out(turn) if digests else None,
        )
        try:
            turn.emit(start, can_wait=True)
            digests = None
            return await _attempt(turn, request)
        except ModelError as error:
            give_back(turn, ticket)
            delay = patience.next_delay(error, attempt, attempts=settings.model_attempts, settings=settings)
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
            if error.starts_within is not None:
                await wait_for_start(turn, patience)
            await asyncio.sleep(delay)
        finally:
            give_back(turn, ticket)


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
                    answer = _usable(chunk, turn.progress)
                    progress.attempt_usage = answer.usage
                    _check_calls(answer, turn.settings.max_tool_calls)
                    on_client = await client_call_ids(turn, answer)
                    answer = _with_usable_ids(answer, progress.call_ids, on_client)
                    endpoint, in_text = turn.deps.model.facts.name, answer.thinks_in_text
                    maker = maker_of_answer(request.model, answer.model, endpoint, in_text=in_text)
                    answer = replace(answer, content=signed_off(answer.content, maker))
                    end = _end(answer, request, ttft_ms, _ms_since(asked_at))
                    await expect_results(turn, answer)
                    with emitter.atomic():
                        turn.emit(end, message=_message(answer), usage=answer.usage)
                        if (unrun := _not_run(chunk)) is not None:
                            turn.emit(unrun)
                        record_intents(turn, answer)
                    refuse_bad_inputs(turn, answer)
                    return answer
    raise ModelError("The model's stream ended without an answer.", code="upstream_truncated", retryable=True)


def _left_out(turn: TurnContext) -> list[str] | None:
    return [each.name for each in turn.prompt.offered().left_out] or None


def _check_calls(answer: Answer, most: int) -> None:
    """Raises TooManyToolCalls. Checked here too, since not every implementation of `Model` has the limit."""
    if sum(block["type"] == "tool_use" for block in answer.content) > most:
        raise TooManyToolCalls(most)


def _usable(answer: Answer, progress: TurnProgress) -> Answer:
    """The answer without tool calls that must not run: of a message that did not end in order, or that was
    asked for without any."""
    if answer.stop_reason not in NEVER_RUNS and not progress.repeated.ends:
        return answer
    return replace(answer, content=[block for block in answer.content if block["type"] != "tool_use"])


def _not_run(answer: Answer) -> TurnWarning | None:
    """What stood in a message that was cut while it called tools; None if that did not happen."""
    calls = [block for block in answer.content if block["type"] == "tool_use"]
    if answer.stop_reason not in ("max_tokens", "model_context_window_exceeded") or not calls:
        return None
    written = Counter(_shown(call, answer.bad_inputs) for call in calls)
    shown = [f"{call} ({count} times)" if count > 1 else call for call, count in written.most_common()]
    more = f", and {len(shown) - SHOWN_CALLS} others" if len(shown) > SHOWN_CALLS else ""
    return TurnWarning(
        code="calls_not_run",
        message=f"The answer was cut off while it called tools, and none of its {len(calls)} calls was run: "
        f"{', '.join(shown[:SHOWN_CALLS])}{more}.",
    )


def _shown(call: Block, bad_inputs: Mapping[str, str]) -> str:
    if call["id"] in bad_inputs:
        return f"{call['name']} (arguments not complete)"
    return f"{call['name']} {shortened(orjson.dumps(call['input']).decode(), SHOWN_ARGUMENTS)}"


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
        stop_sequence=answer.stop_sequence,
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
