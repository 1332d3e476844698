"""A turn within the model's window: what is known of that, what an overflow teaches, and what is done then.

before a call    compression that is due, room for an answer in a small window
after a refusal  ask for a shorter answer -> the short form of the prompt -> compress, at most three times
"""

import asyncio
from dataclasses import replace

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationSuperseded
from gateway.history.tokens import overhead_of
from gateway.model.base import ModelRequest
from gateway.prompt.prompt_profile import small_window
from gateway.turn.compression import compress_if_due, compress_overflow
from gateway.turn.context import TurnContext
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.memory_context import render_in_prompt
from gateway.turn.prompt_generation import Reason, begin_generation
from gateway.turn.turn_prompt import Prompt

FACTS_TIMEOUT = 1.0
"""Seconds that a turn waits for what the endpoint says of itself, at its start."""
_TICK = 0.02
MIN_ANSWER = 256
"""Tokens of an answer for which a request is worth making: with less room older messages make way first."""
_RESERVED = 8
"""The part of a small window, as a divisor, that is kept free for the answer."""
_MARGIN = 0.05
"""Of our own count, which may be too low."""

SHORTENED = Reason(
    "prompt_changed", "The model's window is small: from now on it is sent the short form of the prompt."
)
_PROMPT_ALONE = (
    "The prompt and the tools alone are about {tokens} tokens, and the model reads {window}: set "
    "GATEWAY_PROMPT_PROFILE=small, switch off what is not needed, or load the model with a larger context. "
)
_MESSAGE_ALONE = (
    "This message alone is longer than the model can read: shorten it, send it in parts, or attach it as a "
    "file. "
)


async def facts_asked(deps: TurnDependencies) -> None:
    """Waits for a moment while the endpoint is asked for the first time how much its model reads: a session
    whose prompt changed its form later would lose the endpoint's cache."""
    left = FACTS_TIMEOUT
    while deps.model.facts.is_asking and left > 0:
        await asyncio.sleep(_TICK)
        left -= _TICK


async def make_room(turn: TurnContext, request: ModelRequest) -> bool:
    """Compresses before `request` is sent, if that is due by the share that is set, or where a small window
    has no room left for an answer. Returns whether it did."""
    if turn.settings.compress_at is not None:
        return await compress_if_due(turn, request)
    window = _small_window(turn)
    if window is None or turn.incompressible:
        return False
    overhead, model = overhead_of(request.system, request.tools), turn.row.model
    size = turn.deps.meter.size(model, turn.history, overhead=overhead)
    if size <= window - window // _RESERVED or turn.deps.meter.estimate(model, (), overhead) > window // 2:
        return False
    return await compress_overflow(turn)


def within_window(turn: TurnContext, request: ModelRequest) -> ModelRequest:
    """The request, with no larger an answer than there is room for, as far as that is known."""
    most, window = turn.most_output, _small_window(turn)
    if window is not None:
        overhead = overhead_of(request.system, request.tools)
        size = turn.deps.meter.size(turn.row.model, turn.history, overhead=overhead)
        room = window - int((1 + _MARGIN) * size)
        if room >= MIN_ANSWER:
            most = room if most is None else min(most, room)
    if most is None or most >= request.max_tokens:
        return request
    budget = request.thinking_budget
    return replace(
        request, max_tokens=most, thinking_budget=budget if budget is not None and budget < most else None
    )


async def is_overflow(turn: TurnContext, error: ModelError) -> bool:
    """Whether a call failed since its request was too long: by the endpoint's words, or, where these say
    nothing of the kind, by our own count against the known window."""
    if error.code == "context_overflow":
        return True
    if not error.refused or error.retryable:
        return False
    overhead = overhead_of(turn.prefix.system, turn.prefix.tools)
    size = turn.deps.meter.size(turn.row.model, turn.history, overhead=overhead)
    return size > await turn.deps.compressor.window(turn.row.model)


async def meet_overflow(turn: TurnContext, error: ModelError, request: ModelRequest) -> bool:
    """After `request` was refused as too long: whether a shorter one is to be sent."""
    _remember(turn, error)
    room = error.overflow.room if error.overflow is not None else None
    if room is not None and turn.most_output is None and MIN_ANSWER <= room < request.max_tokens:
        turn.most_output = room
        _supersede(turn)
        return True
    turn.most_output = None
    return await _shorten_prompt(turn) or await compress_overflow(turn)


def explained(turn: TurnContext, error: ModelError) -> ModelError:
    """`error`, which ends the turn; of a request that is too long it says what to do."""
    if error.code != "context_overflow":
        return error
    meter, model = turn.deps.meter, turn.row.model
    alone = meter.estimate(model, (), overhead_of(turn.prefix.system, turn.prefix.tools))
    own = [item.message for item in turn.history.messages if item.turn_id == turn.row.id]
    said = meter.estimate(model, own[:1])
    told = error.overflow.window if error.overflow is not None else None
    window = turn.settings.context_window or turn.deps.model.facts.of(model).context_window or told
    advice = ""
    if window is not None and alone > window - MIN_ANSWER:
        advice = _PROMPT_ALONE.format(tokens=alone, window=window)
    elif said > alone and said > meter.estimate(model, turn.messages) // 2:
        advice = _MESSAGE_ALONE
    error.message = f"{advice}{error.message}"
    error.args = (error.message,)
    return error


async def _shorten_prompt(turn: TurnContext) -> bool:
    """Whether the prompt is shorter now, by what is known of the window."""
    prompt = Prompt.read(turn.deps, turn.client_specs, model=turn.row.model)
    new = prompt.prefix(turn.history)
    size, before = (overhead_of(each.system, each.tools) for each in (new, turn.prefix))
    if size >= before:
        return False
    _supersede(turn)
    turn.prompt = prompt
    # Before the first answer there is nothing that would change for anybody.
    is_told = turn.history.compression is not None or any(each.role == "assistant" for each in turn.messages)
    history = await begin_generation(turn, turn.history, [SHORTENED] if is_told else ())
    turn.set_history(await render_in_prompt(turn, history))
    return True


def _remember(turn: TurnContext, error: ModelError) -> None:
    """Keeps the window that the endpoint told, where nothing else is known of it."""
    facts, model = turn.deps.model.facts, turn.row.model
    window = error.overflow.window if error.overflow is not None else None
    if window is None or turn.settings.context_window is not None:
        return
    known = facts.of(model)
    if known.context_window is None:
        facts.models[model] = replace(known, context_window=window)


def _supersede(turn: TurnContext) -> None:
    if turn.progress.attempt_open:
        turn.emit(IterationSuperseded(attempt=turn.progress.attempt, reason="context_overflow"))


def _small_window(turn: TurnContext) -> int | None:
    return small_window(turn.settings, turn.deps.model.facts, turn.row.model)
