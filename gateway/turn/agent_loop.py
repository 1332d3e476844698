"""The ReAct loop: ask, run the tools that were called, until the model stops or a limit is reached."""

import re

from gateway.errors import ModelError
from gateway.messages import Message
from gateway.model.base import ModelRequest
from gateway.model.model_limits import output_limit
from gateway.turn.budget import reserve_budget
from gateway.turn.context import TurnContext
from gateway.turn.context_limits import (
    explained,
    is_overflow,
    make_room,
    meet_overflow,
    within_window,
)
from gateway.turn.model_call import ask, most_tokens, next_request
from gateway.turn.model_call_files import remember_withheld, with_files, withhold_files
from gateway.turn.progress import TurnProgress
from gateway.turn.start_and_end import COMPLETED, Ending, TurnBounds, ended_with_warning, failed
from gateway.turn.thinking_refusals import change_form, remember_form
from gateway.turn.tool_calls import run_tool_calls

MAX_TOKENS, WINDOW_FULL = "max_tokens", "model_context_window_exceeded"
ALL_WRITTEN = "The answer reached the most tokens one model call may write ({})."
CLEARLY_LESS = 0.95
"""The share of a limit below which it was not reached: servers count a little differently."""
SMALLEST_WINDOW = 1024
"""Tokens. Less than this fills no model's context."""
_NAMES_CHOICE = re.compile(r"tool[_ ]choice", re.IGNORECASE)


async def run_agent_loop(turn: TurnContext) -> Ending | None:
    """Goes on from the turn's progress and history to the end.

    Returns how the turn ends; it is not finalized yet. None: it is suspended for an approval, or left to
    another replica.

    Raises:
        ModelError: the model failed for good; what it streamed is still open.
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped; open calls are in `turn.progress`.
    """
    progress, lease = turn.progress, turn.deps.replicas.lease
    asked = most_tokens(turn)
    while True:
        if not progress.calls and progress.stop_reason is not None and progress.stop_reason != "pause_turn":
            return _end(turn, progress.stop_reason, asked)
        if lease.handing_over or (progress.calls and not await _answer_calls(turn)) or lease.handing_over:
            return None
        repeats = progress.iteration > 0 and progress.stop_reason is None
        if not repeats:
            if (ending := limit_reached(progress, turn.limits)) is not None:
                return ending
            turn.emitter.iteration = progress.iteration + 1
        request = next_request(turn)
        if await make_room(turn, request):
            request = next_request(turn)
        request = within_window(turn, request)
        if (ending := await reserve_budget(turn, request)) is not None:
            return ending
        shown, asked = await with_files(turn, request), request.max_tokens
        try:
            answer = await ask(turn, shown)
        except ModelError as error:
            refuses_choice = not request.may_call and error.refused and _NAMES_CHOICE.search(error.message)
            turn.ignores_choice = turn.ignores_choice or bool(refuses_choice)
            if not refuses_choice and not await _change_request(
                turn, error, shown, shows_files=shown is not request
            ):
                raise explained(turn, error) from None
            continue
        remember_withheld(turn)
        await remember_form(turn)
        if turn.settings.compress_at is not None and answer.usage is not None and turn.shows_all:
            turn.deps.meter.calibrate(request, answer.usage)
        if answer.content:
            turn.add(Message("assistant", answer.content), answer.usage)


def limit_reached(progress: TurnProgress, limits: TurnBounds) -> Ending | None:
    """Whether another model call is over a limit. The time limit is not checked here but in `runner.py`."""
    if progress.iteration >= limits.iterations:
        return ended_with_warning(
            "limit_reached", "max_iterations", f"Stopped after {limits.iterations} model calls."
        )
    if limits.tokens is not None and progress.usage is not None and progress.usage.total >= limits.tokens:
        spent = f"Stopped at {progress.usage.total} of {limits.tokens} tokens."
        return ended_with_warning("limit_reached", "budget_exceeded", spent)
    return None


async def _change_request(
    turn: TurnContext, error: ModelError, request: ModelRequest, *, shows_files: bool
) -> bool:
    """Makes the request of a failed call smaller (a shorter answer, a shorter prompt, compression, or without
    files, a bounded number of times for each cause), or asks with other thinking. False: it cannot be."""
    if await is_overflow(turn, error) and await meet_overflow(turn, error, request):
        return True
    if change_form(turn, error):
        return True
    return shows_files and withhold_files(turn, error)


async def _answer_calls(turn: TurnContext) -> bool:
    """Runs the open calls of the last answer; False when the turn was suspended."""
    if turn.messages[-1].role != "assistant":
        return True
    answers = await run_tool_calls(turn)
    if answers is not None:
        turn.add(answers)
    return answers is not None


def is_wished(turn: TurnContext, stop_reason: str, asked: int) -> bool:
    """Whether the answer ends where its client wanted it to: at its own limit, or at one of its texts. A call
    that was `asked` for fewer tokens, or wrote fewer, met another limit first."""
    wanted = turn.row.sampling
    if stop_reason == MAX_TOKENS:
        own = wanted.max_tokens is not None and wanted.max_tokens < turn.settings.max_tokens
        return own and asked == wanted.max_tokens and _wrote_all(turn, asked)
    return stop_reason == "stop_sequence" and bool(wanted.stop_sequences)


def _end(turn: TurnContext, stop_reason: str, asked: int) -> Ending:
    if stop_reason == "refusal":
        return failed("content_refused", "The model declined to answer this.", retryable=False)
    if is_wished(turn, stop_reason, asked):
        return COMPLETED
    if stop_reason == MAX_TOKENS:
        return _cut_short(turn, asked)
    if stop_reason == WINDOW_FULL:
        return ended_with_warning(
            "completed", WINDOW_FULL, "The answer reached the end of the model's context."
        )
    if not turn.progress.text.decode().strip():
        return ended_with_warning("completed", "empty_answer", "The model wrote no answer.")
    return COMPLETED


def _cut_short(turn: TurnContext, asked: int) -> Ending:
    """The ending of an answer that was cut. Local servers name a full context, and a limit of their own, as
    they name the tokens that it was `asked` to have at most: what was counted tells which it was."""
    usage, facts = turn.progress.attempt_usage, turn.deps.model.facts.of(turn.row.model)
    window = turn.settings.context_window or facts.context_window
    limit = output_limit(turn.settings, facts)
    if usage is None or _wrote_all(turn, asked):
        if asked >= limit.tokens or turn.row.sampling.max_tokens == asked:
            own = limit.source == "endpoint"
            why = (
                f"{limit.tokens} for this model; GATEWAY_MAX_TOKENS sets another"
                if own
                else "GATEWAY_MAX_TOKENS"
            )
            return ended_with_warning("completed", MAX_TOKENS, ALL_WRITTEN.format(why))
        # It was asked for no more than there was room for.
        written = f"{asked} tokens were left for this answer"
    else:
        read = usage.total - usage.output_tokens
        written = f"it wrote {usage.output_tokens} of at most {asked} tokens after {read} that it had read"
        if window is None and usage.total >= SMALLEST_WINDOW:
            why = f"The model's context is most likely full: {written}."
            return ended_with_warning("completed", MAX_TOKENS, why)
        if window is None or usage.total < window * CLEARLY_LESS:
            why = f"The model's endpoint ended the answer at a limit of its own: {written}."
            return ended_with_warning("completed", MAX_TOKENS, why)
    full = (
        f"The model's context of {window} tokens is full"
        if window is not None
        else "The model's context is full"
    )
    return ended_with_warning("completed", WINDOW_FULL, f"{full}: {written}.")


def _wrote_all(turn: TurnContext, asked: int) -> bool:
    """Whether the last answer has all tokens that it was `asked` to have at most, or was not counted."""
    usage = turn.progress.attempt_usage
    return usage is None or usage.output_tokens <= 0 or usage.output_tokens >= asked * CLEARLY_LESS
